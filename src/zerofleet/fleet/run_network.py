"""The published network of a run, as workers and raters evaluate it on their device.

On a CPU it is ONNX Runtime with the published graph, without torch; elsewhere it is torch.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from zerofleet.bus import Bus, PublishedWeights
from zerofleet.config import Config
from zerofleet.errors import Unsupported
from zerofleet.fleet.facts import FleetFacts
from zerofleet.games import Game
from zerofleet.infer.evaluator import Evaluator, EvaluatorKind, Pipeline, lockstep
from zerofleet.infer.load import has_torch, uses_onnx
from zerofleet.metrics import needed
from zerofleet.printing import say
from zerofleet.weights import Graph, checked_tensors
from zerofleet.weights.spec import NetworkSpec, refuse_mismatch

if TYPE_CHECKING:
    from zerofleet.nets import Network

MEASURED = "selfplay.games_per_group"
GROUPS_IN_LOCKSTEP = 2
"""Of games, where one thread searches and evaluates."""


@dataclass(frozen=True)
class GameSlots:
    """How many concurrent games a worker plays, and the threads that search them."""

    num_search_threads: int
    """0 where the thread that evaluates also searches."""
    num_groups: int
    games_per_group: int

    @property
    def num_games(self) -> int:
        return self.num_groups * self.games_per_group


class RunNetwork:
    """Makes evaluators of a run's network on one device. Refuses a run that cannot be evaluated
    here."""

    def __init__(
        self,
        bus: Bus,
        facts: FleetFacts,
        config: Config,
        game: Game,
        kind: EvaluatorKind | None,
        device: str,
    ) -> None:
        """`kind` None: what the run says."""
        self._config, self._game = config, game
        self._kind: EvaluatorKind = kind or config.run.own_evaluator
        published = bus.graph() if uses_onnx(self._kind, device) else None
        self._graph: Graph | None = None
        if published is not None:
            needed("onnxruntime", "zerofleet[worker]")
            self._graph = Graph.decode(published, f"the graph of run {facts.run_name}")
            refuse_mismatch(NetworkSpec.from_dict(self._graph.spec), game)
            self.device = "cpu"
        elif has_torch():
            # Imported here: it loads torch.
            from zerofleet.infer.devices import pick_device

            self.device = str(pick_device(device))
        else:
            raise Unsupported(
                f"run {facts.run_name} has a network that only torch evaluates; "
                "pip install 'zerofleet[train]'"
            )

    def evaluator(self, weights: PublishedWeights, compiles: bool = False) -> Evaluator:
        """One with these weights, which are checked."""
        tensors = checked_tensors(weights.data, weights.sha256, f"weights {weights.version}")
        if self._graph is not None:
            # Imported here: only those who evaluate with it need it.
            from zerofleet.infer.onnx_evaluator import OnnxEvaluator

            return OnnxEvaluator(self._graph, tensors, num_threads=1, version=weights.version)
        # Imported here: it loads torch.
        from zerofleet.infer.make import make_evaluator

        evaluator = make_evaluator(
            self._network(), self._kind, self.device, num_threads=1, compiles=compiles
        )
        evaluator.load(tensors, weights.version)
        return evaluator

    def slots(self, num_search_threads: int) -> GameSlots:
        """For a worker; search threads are used with a GPU."""
        selfplay = self._config.selfplay
        searches = self.device != "cpu" and not self._game.in_python
        num_threads = num_search_threads if searches else 0
        num_groups = num_threads + 5 if num_threads else GROUPS_IN_LOCKSTEP
        num_games = selfplay.games_per_group or self._measured(num_threads)
        return GameSlots(num_threads, selfplay.num_groups or num_groups, num_games)

    def pipeline(self, evaluator: Evaluator, slots: GameSlots) -> Pipeline:
        if self._graph is not None:
            return lockstep(evaluator)
        # Imported here: it loads torch.
        from zerofleet.infer.make import make_pipeline

        return make_pipeline(evaluator, slots.num_groups, slots.games_per_group)

    def _network(self) -> "Network":
        # Imported here: it loads torch.
        from zerofleet import nets

        chosen = self._config.network
        return nets.build(self._game, chosen.preset, **chosen.options)

    def _measured(self, num_search_threads: int) -> int:
        """Games per group, where the run has them measured."""
        if not has_torch():
            raise Unsupported(
                f"the run measures {MEASURED} at each start, for which a worker needs torch; give "
                f"the trainer a number (--set {MEASURED}=128), or pip install 'zerofleet[train]'"
            )
        # Imported here: they load torch.
        from zerofleet.fleet.group_sizes import games_per_group
        from zerofleet.fleet.hardware import ThreadPlan

        plan = ThreadPlan(num_workers=1, search=num_search_threads, training=1)
        return games_per_group(self._config, self._game, self._network(), self.device, plan, say)
