"""How a worker's leaves are evaluated: by itself, or by the run's inference servers.

Either way a worker gets its games, a feed that keeps it up to date, and a pipeline, and does not
know which of the two it has.
"""

from collections.abc import Callable
from dataclasses import dataclass

from zerofleet import _core
from zerofleet.bus import Bus, PublishedWeights
from zerofleet.config import Config
from zerofleet.fleet.facts import FleetFacts
from zerofleet.fleet.handshake import Say, fetch_of
from zerofleet.fleet.rater_role import MakeEvaluator
from zerofleet.fleet.role_metrics import Values, percentile_values
from zerofleet.fleet.run_network import GameSlots, RunNetwork
from zerofleet.games import Game
from zerofleet.infer.evaluator import EvaluatorKind, Pipeline
from zerofleet.metrics import needed
from zerofleet.selfplay.fleet_feed import FleetWeightsFeed
from zerofleet.selfplay.worker import OnFault, WeightsFeed

REMOTE_GROUPS = 4
"""Of games, where one thread searches: while some groups are at the servers, it searches others."""
REMOTE_GAMES_PER_GROUP = 128
"""Where the run has them measured, which needs an evaluator of one's own."""


@dataclass(frozen=True)
class Served:
    """The run that a worker serves, and what it may ask of it."""

    bus: Bus
    facts: FleetFacts
    config: Config
    game: Game
    weights: PublishedWeights
    """What was published at the start."""
    is_stopping: Callable[[], bool]
    on_fault: OnFault
    say: Say

    def weights_feed(self) -> FleetWeightsFeed:
        return FleetWeightsFeed(
            self.bus,
            self.weights.version,
            self.is_stopping,
            self.on_fault,
            self.config.fleet,
            self.say,
            self.weights.sha256,
            fetch_of(self.config, self.facts.run_name, self.say),
        )


@dataclass(frozen=True)
class Evaluation:
    """Whoever evaluates for a worker."""

    device: str
    """As the registry shows it."""
    slots: GameSlots
    feed: WeightsFeed
    make_pipeline: Callable[[_core.SelfPlay], Pipeline]
    """For the batches of a driver with these slots."""
    rates_with: MakeEvaluator | None
    """For rating games while the worker is idle; None: it plays none."""
    values: Callable[[], Values]
    """Counters and gauges, by the names of role_metrics."""
    why_waiting: Callable[[], str] = lambda: ""
    """Why nothing is evaluated, in a few words; empty where something is."""
    close: Callable[[], None] = lambda: None


def own_evaluation(
    served: Served, kind: EvaluatorKind | None, device: str, num_search_threads: int
) -> Evaluation:
    """By this process, with weights that it fetches. `kind` None: what the run says."""
    config = served.config
    network = RunNetwork(served.bus, served.facts, config, served.game, kind, device)
    slots = network.slots(num_search_threads)
    evaluator = network.evaluator(served.weights, config.run.compile_inference)
    feed = served.weights_feed()
    return Evaluation(
        network.device,
        slots,
        feed,
        lambda driver: network.pipeline(evaluator, slots),
        network.evaluator,
        feed.values,
    )


def remote_evaluation(
    served: Served, device: str, num_search_threads: int, falls_back: bool
) -> Evaluation:
    """By the run's inference servers; with `falls_back` on this device while none answers. Rating
    games need weights by version, which servers do not have: such a worker plays none."""
    needed("zmq", "zerofleet[worker]")
    # Imported here: only those who ask servers need it.
    from zerofleet.infer.remote import RemoteEvaluator
    from zerofleet.infer.sockets import read_key
    from zerofleet.infer.wire import WireGame
    from zerofleet.selfplay.remote_feed import RemoteFeed

    config, bus = served.config, served.bus
    slots = remote_slots(config, num_search_threads, served.game.in_python)
    own, fallback = None, None
    if falls_back:
        network = RunNetwork(bus, served.facts, config, served.game, None, device)
        evaluator = network.evaluator(served.weights, config.run.compile_inference)
        own, fallback = served.weights_feed(), network.pipeline(evaluator, slots)
    feed = RemoteFeed(
        bus,
        config.fleet.max_versions_behind,
        served.is_stopping,
        served.on_fault,
        own,
        fallback,
    )
    asking = RemoteEvaluator(
        WireGame.of(served.game, served.facts.run_id),
        feed.find_servers,
        feed.versions.why_refused,
        config.fleet.inference_timeout_s,
        read_key(),
        served.say,
        fallback,
    )

    def values() -> Values:
        counts = asking.counts
        return {
            **feed.values(),
            "remote_requests": counts.num_requests,
            "remote_retries": counts.num_retries,
            "remote_refused": counts.num_refused,
            "fallback_rows": counts.num_fallback_rows,
            "inference_servers": asking.num_usable,
            **percentile_values("round_trip", counts.latencies),
        }

    return Evaluation(
        "remote",
        slots,
        feed,
        lambda driver: asking.pipeline(slots.num_groups, driver.action_masks),
        None,
        values,
        lambda: asking.waits_because,
        asking.close,
    )


def remote_slots(config: Config, num_search_threads: int, in_python: bool) -> GameSlots:
    """One search thread is the one that sends and receives."""
    num_threads = num_search_threads if num_search_threads > 1 and not in_python else 0
    num_groups = num_threads + 5 if num_threads else REMOTE_GROUPS
    selfplay = config.selfplay
    return GameSlots(
        num_threads,
        selfplay.num_groups or num_groups,
        selfplay.games_per_group or REMOTE_GAMES_PER_GROUP,
    )
