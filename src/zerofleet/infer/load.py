"""Trained networks, ready to judge positions: of a run, or of a file of weights."""

from pathlib import Path

from torch import from_numpy

from zerofleet import nets
from zerofleet.errors import BadText, Inconsistent
from zerofleet.games import Game
from zerofleet.infer.evaluator import Evaluator
from zerofleet.infer.make import EvaluatorKind, make_evaluator
from zerofleet.run_folders import find
from zerofleet.weights import Weights, WeightsStore, best_of, read_weights


def load_network(
    run: str, step: int | None = None, game: Game | None = None
) -> tuple[nets.Network, int]:
    """The network of a run with its newest good weights, or those of a step, and their version.

    An error says so where they are for another game than the run's, or than `game`.
    """
    network, version = network_of(weights_of_run(run, step), find(run).game())
    if game is not None:
        nets.refuse_mismatch(network.spec, game)
    return network, version


def weights_of_run(run: str, step: int | None = None) -> Weights:
    """The newest good weights of a run, or those of a step."""
    store = WeightsStore(find(run).weights)
    if step is not None:
        return store.load(step)
    weights, faults = store.load_newest()
    if weights is None:
        what = "; ".join(faults) or "it has not come to its first checkpoint"
        raise Inconsistent(f"run {run} has no weights: {what}")
    return weights


def weights_named(source: str, game: Game) -> Weights:
    """The weights that a player's text names: best, run:NAME, run:NAME@STEP or file:PATH."""
    kind, _, rest = source.partition(":")
    if source == "best":
        return read_weights(best_of(game.name, game.options).path, "best")
    if kind == "file" and rest:
        return read_weights(Path(rest), rest)
    run, at, step = rest.partition("@")
    if kind != "run" or not run or (at and not step.isdecimal()):
        raise BadText(f"{source!r} names no weights; write best, run:NAME[@STEP] or file:PATH")
    return weights_of_run(run, int(step) if at else None)


def network_of(weights: Weights, game: Game) -> tuple[nets.Network, int]:
    spec = nets.NetworkSpec.from_dict(weights.spec)
    nets.refuse_mismatch(spec, game)
    network = nets.from_spec(spec).eval()
    tensors = {name: from_numpy(each) for name, each in weights.tensors.items()}
    network.take(tensors, f"weights {weights.version}")
    return network, weights.version


def load(
    run: str,
    step: int | None = None,
    *,
    game: Game | None = None,
    kind: EvaluatorKind = "auto",
    device: str = "auto",
    num_threads: int = 1,
) -> Evaluator:
    """An evaluator with the weights of a run: the newest good ones, or those of a step.

    It can be given to zf.search.analyse and zf.selfplay.play.
    """
    network, version = load_network(run, step, game)
    return make_evaluator(network, kind, device, num_threads, version, compiles=False)


def load_file(
    path: Path,
    game: Game,
    *,
    kind: EvaluatorKind = "auto",
    device: str = "auto",
    num_threads: int = 1,
) -> Evaluator:
    """An evaluator with the weights of a safetensors file such as a run's, its manifest beside."""
    network, version = network_of(read_weights(path, str(path)), game)
    return make_evaluator(network, kind, device, num_threads, version, compiles=False)
