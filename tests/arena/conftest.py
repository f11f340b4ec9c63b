"""Shared by the tests of the arena: random positions, and a run with weights."""

import random

import pytest
import torch

import zerofleet as zf
from zerofleet import config, nets
from zerofleet.runs.folder import create_or_open
from zerofleet.weights import Weights, WeightsStore


@pytest.fixture(scope="session")
def random_positions():
    """Positions of random games in which a player has a choice."""

    def positions(name, count, seed=5, **options):
        game = zf.games.get(name, **options)
        rng = random.Random(seed)
        found = []
        while len(found) < count:
            position = game.new_position(rng.randrange(10**6))
            for _ in range(rng.randrange(20)):
                if position.to_move == zf.OVER:
                    break
                chances = [outcome for outcome, _ in position.chance_outcomes()]
                position.play(rng.choice(position.legal_actions() or chances))
            if len(position.legal_actions()) > 1:
                found.append(position)
        return found

    return positions


@pytest.fixture(scope="session")
def runs_folder(tmp_path_factory):
    """A run `bb` of Beasty Bar with weights of steps 0 and 7, which differ and are not trained."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ZEROFLEET_RUNS", str(folder))
        with create_or_open("bb", config.load("beastybar")) as run:
            for version in (0, 7):
                torch.manual_seed(version)
                network = nets.build(zf.games.get("beastybar"), "tiny")
                with torch.no_grad():
                    for parameter in network.parameters():
                        parameter.add_(0.3 * torch.randn_like(parameter))
                tensors = {name: value.numpy() for name, value in network.state_dict().items()}
                WeightsStore(run.weights).publish(Weights(version, network.spec.to_dict(), tensors))
    return folder


@pytest.fixture
def run_of_beastybar(runs_folder, monkeypatch):
    monkeypatch.setenv("ZEROFLEET_RUNS", str(runs_folder))
    return runs_folder / "bb"
