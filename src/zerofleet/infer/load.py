"""The trained network of a run, ready to judge positions."""

from torch import from_numpy

from zerofleet import nets
from zerofleet.errors import Inconsistent
from zerofleet.games import get
from zerofleet.infer.evaluator import Evaluator
from zerofleet.infer.make import EvaluatorKind, make_evaluator
from zerofleet.run_folders import find
from zerofleet.weights import WeightsStore


def load_network(run: str, step: int | None = None) -> tuple[nets.Network, int]:
    """The network of a run with its newest good weights, or those of a step, and their version."""
    found = find(run)
    store = WeightsStore(found.weights)
    if step is None:
        weights, faults = store.load_newest()
        if weights is None:
            what = "; ".join(faults) or "it has not come to its first checkpoint"
            raise Inconsistent(f"run {run} has no weights: {what}")
    else:
        weights = store.load(step)
    spec = nets.NetworkSpec.from_dict(weights.spec)
    nets.refuse_mismatch(spec, get(found.facts.game, **found.facts.options))
    network = nets.from_spec(spec).eval()
    network.load_state_dict({name: from_numpy(value) for name, value in weights.tensors.items()})
    return network, weights.version


def load(
    run: str,
    step: int | None = None,
    *,
    kind: EvaluatorKind = "auto",
    device: str = "auto",
    num_threads: int = 1,
) -> Evaluator:
    """An evaluator with the weights of a run: the newest good ones, or those of a step.

    It can be given to zf.search.analyse and zf.selfplay.play.
    """
    network, version = load_network(run, step)
    return make_evaluator(network, kind, device, num_threads, version)
