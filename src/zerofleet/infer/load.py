"""Evaluators from trained weights: of a run, of a file, or the shipped ones.

With ONNX Runtime and a graph beside the weights, torch is neither needed nor imported.
"""

import re
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from zerofleet.errors import BadText, Inconsistent, Unsupported
from zerofleet.games import Game, get
from zerofleet.infer.evaluator import Evaluator, EvaluatorKind
from zerofleet.metrics import needed
from zerofleet.runs.folder import BEST, find
from zerofleet.weights import (
    OlderWeights,
    Weights,
    WeightsStore,
    best_of,
    has_graph,
    read_graph,
    read_weights,
)
from zerofleet.weights.spec import NetworkSpec, refuse_mismatch

if TYPE_CHECKING:
    from zerofleet.nets import Network

FORMS = "write best, run:NAME[@STEP] or file:PATH"
MAX_DIGITS = 100
"""Of a number in a player's text; Python refuses thousands."""
MAX_SHOWN = 100
"""Characters of a player's text in an error about its length."""


def load_network(
    run: str, step: int | None = None, game: Game | None = None
) -> "tuple[Network, int]":
    """The network of a run with its newest good weights, or those of a step, and their version.

    Weights of another game than the run's, or than `game`, are an error.
    """
    network, version = network_of(weights_of_run(run, step), find(run).game(game))
    if game is not None:
        refuse_mismatch(network.spec, game)
    return network, version


def weights_of_run(run: str, step: int | None = None) -> Weights:
    """The newest good weights of a run, or those of a step. OlderWeights warns if newer ones are
    damaged."""
    store = WeightsStore(find(run).weights)
    if step is not None:
        return store.load(step)
    weights, faults = store.load_newest()
    if weights is None:
        what = "; ".join(faults) or "it has not come to its first checkpoint"
        raise Inconsistent(f"run {run} has no weights: {what}")
    if faults:
        warnings.warn(
            OlderWeights(
                f"run {run}: {'; '.join(faults)}; the newest good ones are of step "
                f"{weights.version}: run:{run}@{weights.version}, --step {weights.version}"
            ),
            stacklevel=2,
        )
    return weights


def weights_named(source: str, game: Game) -> Weights:
    """The weights that a player's text names: best, run:NAME, run:NAME@STEP or file:PATH."""
    kind, place, step = parts_of(source, repr(source))
    if kind == BEST:
        return read_weights(best_of(game.name, game.options).path, BEST)
    if kind == "file":
        return read_weights(Path(place), place)
    return weights_of_run(place, step)


def load_named(source: str, game: Game, device: str = "auto", called: str = "") -> Evaluator:
    """An evaluator with such weights. Errors refer to the name as `called`."""
    kind, place, step = parts_of(source, called or repr(source))
    if kind == "file":
        return load_file(Path(place), game, device=device)
    return load(place, step, game=game, device=device)


def parts_of(source: str, called: str) -> tuple[str, str, int | None]:
    """Parses a name of weights: its kind (best, run, file), the run or path, and the step."""
    kind, _, place = source.partition(":")
    if source == BEST:
        return BEST, BEST, None
    if kind == "file" and place:
        return kind, place, None
    run, at, step = place.partition("@")
    if kind != "run" or not run:
        raise BadText(f"{called} names no weights; {FORMS}")
    if at and not re.fullmatch(rf"\d{{1,{MAX_DIGITS}}}", step):
        raise BadText(
            f"{called[:MAX_SHOWN]}: @STEP needs a step: an integer ≥ 0 of at most "
            f"{MAX_DIGITS} digits; {FORMS}"
        )
    return kind, run, int(step) if at else None


def network_of(weights: Weights, game: Game) -> "tuple[Network, int]":
    # Imported here: they load torch.
    from torch import from_numpy

    from zerofleet.nets import from_spec

    spec = NetworkSpec.from_dict(weights.spec)
    refuse_mismatch(spec, game)
    network = from_spec(spec).eval()
    tensors = {name: from_numpy(each) for name, each in weights.tensors.items()}
    network.take(tensors, f"weights {weights.version}")
    return network, weights.version


def load(
    run: str,
    step: int | None = None,
    *,
    game: Game | str | None = None,
    kind: EvaluatorKind = "auto",
    device: str = "auto",
    num_threads: int = 1,
) -> Evaluator:
    """An evaluator with the weights of a run: the newest good ones, or those of a step.

    `load("best", game="gomoku")`, or with a game and its options, loads the shipped weights.
    zf.search.analyse and zf.selfplay.play take the result.
    """
    game = get(game) if isinstance(game, str) else game
    if run == BEST:
        if game is None or step is not None:
            raise BadText(f'{BEST!r} needs a game and no step: load("best", game="gomoku")')
        path = best_of(game.name, game.options).path
        return load_file(path, game, kind=kind, device=device, num_threads=num_threads)
    found, weights = find(run), weights_of_run(run, step)
    if game is not None:
        refuse_mismatch(NetworkSpec.from_dict(weights.spec), game)
    return evaluator_of(weights, found.game(game), found.folder, kind, device, num_threads)


def load_file(
    path: Path,
    game: Game,
    *,
    kind: EvaluatorKind = "auto",
    device: str = "auto",
    num_threads: int = 1,
) -> Evaluator:
    """An evaluator with the weights of a safetensors file; its manifest lies beside it."""
    weights = read_weights(path, str(path))
    return evaluator_of(weights, game, path.parent, kind, device, num_threads)


def evaluator_of(
    weights: Weights,
    game: Game,
    graph_folder: Path,
    kind: EvaluatorKind,
    device: str,
    num_threads: int,
) -> Evaluator:
    """With ONNX Runtime and the graph of that folder if possible, else with torch."""
    spec = NetworkSpec.from_dict(weights.spec)
    refuse_mismatch(spec, game)
    if uses_onnx(kind, device) and has_graph(graph_folder):
        needed("onnxruntime", "zerofleet[play]")
        from zerofleet.infer.onnx_evaluator import OnnxEvaluator

        graph = read_graph(graph_folder)
        refuse_mismatch(spec, NetworkSpec.from_dict(graph.spec))
        return OnnxEvaluator(graph, weights.tensors, num_threads, weights.version)
    if not has_torch() and not has_graph(graph_folder):
        raise Unsupported(
            f"{graph_folder} has no graph.onnx, so its weights need torch; "
            "pip install 'zerofleet[train]'"
        )
    needed("torch", "zerofleet[train]")
    # Imported here: it loads torch.
    from zerofleet.infer.make import make_evaluator

    network, version = network_of(weights, game)
    return make_evaluator(network, kind, device, num_threads, version, compiles=False)


def uses_onnx(kind: EvaluatorKind, device: str) -> bool:
    """Whether ONNX Runtime evaluates on a device: on a CPU, and where torch is not installed."""
    if kind not in ("auto", "onnx"):
        return False
    if device == "cpu" or (device == "auto" and not has_torch()):
        return True
    needed("torch", "zerofleet[train]")
    # Imported here: it loads torch.
    from zerofleet.infer.devices import pick_device

    return pick_device(device).type == "cpu"


def has_torch() -> bool:
    return find_spec("torch") is not None
