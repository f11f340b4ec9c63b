"""The rater role of a fleet: plays the rating games of a run, given Redis and the run's name.

rate(address, "c4", options, stop, say)
"""

from contextlib import ExitStack
from dataclasses import dataclass

from zerofleet.bus import PublishedWeights
from zerofleet.bus.connect import RedisAddress
from zerofleet.bus.redis import RedisBus
from zerofleet.fleet.facts import FleetFacts
from zerofleet.fleet.handshake import RunWatch, Say, serve_each_run
from zerofleet.fleet.rater_role import BlockRater
from zerofleet.fleet.role import LOOPBACK_PORT, HealthPort, RolePresence
from zerofleet.fleet.run_network import RunNetwork
from zerofleet.fleet.signals import GracefulStop
from zerofleet.infer.evaluator import EvaluatorKind


@dataclass(frozen=True)
class RaterOptions:
    """Options of a rater, besides Redis and the run."""

    rater_id: str
    game_source: str | None = None
    evaluator: EvaluatorKind | None = None
    device: str = "auto"
    health: HealthPort = LOOPBACK_PORT


def rate(
    address: RedisAddress, run: str, options: RaterOptions, stop: GracefulStop, say: Say
) -> None:
    """Plays blocks until the signal or the end of the run."""

    def play_blocks(bus: RedisBus, facts: FleetFacts, weights: PublishedWeights) -> bool:
        with ExitStack() as stack:
            return rated_until_another_run(bus, facts, options, stop, say, stack)

    serve_each_run(address, run, stop, say, play_blocks)


def rated_until_another_run(
    bus: RedisBus,
    facts: FleetFacts,
    options: RaterOptions,
    stop: GracefulStop,
    say: Say,
    stack: ExitStack,
) -> bool:
    """Plays blocks of one run. Whether it ended because another run has its name."""
    game = facts.played(options.game_source)
    facts.refuse_unlike(game)
    config = facts.config()
    network = RunNetwork(bus, facts, config, game, options.evaluator, options.device)
    rater = BlockRater(
        options.rater_id, game, bus, network.evaluator, network.device, config.fleet.block_lease_s
    )

    def values() -> dict[str, float]:
        counts = rater.counts
        return {
            "blocks": counts.num_blocks,
            "blocks_returned": counts.num_returned,
            "weights_loaded": counts.num_loaded,
        }

    presence = stack.enter_context(
        RolePresence(
            "rater", options.rater_id, bus, facts.run_name, network.device, values, options.health
        )
    )
    say(
        f"{options.rater_id} rates run {facts.run_name} on {network.device}; health on "
        f"{presence.address}"
    )
    watch = RunWatch(bus, facts)

    def is_ending() -> bool:
        presence.beat(rater.doing)
        return stop.requested or watch.is_outdated

    rater.rate_blocks(is_ending)
    return watch.is_outdated
