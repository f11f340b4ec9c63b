"""A run of tic-tac-toe with weights to rate, and raters of it."""

import json

import torch

from zerofleet import arena, config, games, nets
from zerofleet.bus import PublishedWeights
from zerofleet.fleet.rater import known_opponents
from zerofleet.fleet.rater_role import BlockRater
from zerofleet.fleet.rating_blocks import FleetMatches
from zerofleet.infer import make_evaluator
from zerofleet.runs.folder import create_or_open
from zerofleet.storage import Disk
from zerofleet.weights import Weights, WeightsStore, checked_tensors, encoded_tensors

GAME = games.get("tictactoe")
STEP = 7
NUM_GAMES = 140
"""Three blocks."""
OPPONENTS = ["random", "start"]
NUM_SIMULATIONS = 4


def rated_run(name, opponents=OPPONENTS):
    """A run with untrained weights of steps 0 and STEP, and its config."""
    overrides = [
        "network.preset=tiny",
        f"rating.simulations={NUM_SIMULATIONS}",
        f"rating.opponents={json.dumps(opponents)}",
    ]
    asked = config.load("tictactoe", overrides=overrides)
    with create_or_open(name, asked) as run:
        for step in (0, STEP):
            torch.manual_seed(step)
            network = nets.build(GAME, "tiny")
            tensors = {name: value.numpy() for name, value in network.state_dict().items()}
            WeightsStore(run.weights).publish(Weights(step, network.spec.to_dict(), tensors))
    return run, asked


def evaluator_of(weights):
    """An evaluator with published weights, as a rater makes one."""
    tensors = checked_tensors(weights.data, weights.sha256, f"weights {weights.version}")
    network = nets.build(GAME, "tiny").eval()
    network.load_state_dict({name: torch.from_numpy(each) for name, each in tensors.items()})
    return make_evaluator(network, "torch", "cpu", version=weights.version)


def rater_of(bus, rater_id="box", lease_s=60.0):
    return BlockRater(rater_id, GAME, bus, evaluator_of, "cpu", lease_s)


def fleet_matches(run, asked, bus, screen, rater_id="box", num_threads=1):
    """Its matches in a fleet, as the trainer has them."""
    weights = WeightsStore(run.weights)
    return FleetMatches(
        run=run,
        game=GAME,
        config=asked,
        bus=bus,
        weights=weights,
        disk=Disk(),
        screen=screen,
        opponents=known_opponents(asked, weights, screen.say),
        helper=rater_of(bus, rater_id),
        num_threads=num_threads,
    )


def on_one_machine(run, asked):
    """The games that one process plays against each opponent."""

    def maker(step):
        data, sha256 = encoded_tensors(WeightsStore(run.weights).load(step).tensors)
        evaluator = evaluator_of(PublishedWeights(step, step, sha256, data))
        return lambda: arena.SearchPlayer(f"step {step}", evaluator, NUM_SIMULATIONS)

    return {
        opponent: arena.match(
            GAME, maker(STEP), second, NUM_GAMES, seed=asked.run.seed + STEP
        ).played
        for opponent, second in (("random", "random"), ("start", maker(0)))
    }
