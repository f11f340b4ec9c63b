"""Shared by the tests of networks: one small network of each kind, and real observations."""

import random
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from nim import Nim

import zerofleet as zf
from zerofleet import nets


def game_of(name: str, **options: int | str) -> zf.games.Game:
    return zf.games.from_class(Nim) if name == "nim" else zf.games.get(name, **options)


def observations_of(game: zf.games.Game, num_rows: int, seed: int = 1) -> np.ndarray:
    """What both players see in random games, the last positions too; uint8 [num_rows, N]."""
    rng, rows = random.Random(seed), []
    while len(rows) < num_rows:
        position = game.new_position(seed=rng.randrange(1000))
        while True:
            rows += [position.observe(0), position.observe(1)]
            ids = position.legal_actions() + [each for each, _ in position.chance_outcomes()]
            if not ids:
                break
            position.play(rng.choice(ids))
    return np.stack(rows[:num_rows])


ONE_OF_EACH_KIND = [
    ("connect4", {}, "tiny", {}),
    ("gomoku", {"size": 5, "line": 4}, "tiny", {}),
    ("gomoku", {"size": 5, "line": 4}, "tiny", {"line_planes": True}),
    ("beastybar", {}, "tiny", {}),
    ("beastybar", {}, "cards-tiny", {}),
    ("beastybar", {}, "places-tiny", {}),
    ("beastybar", {}, "pooled-tiny", {}),
    ("backgammon", {}, "tiny", {}),
    ("nim", {}, "tiny", {}),
]


@pytest.fixture(autouse=True)
def one_thread_and_the_same_weights() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(1)


@pytest.fixture(scope="session")
def get_game():
    return game_of


@pytest.fixture(scope="session")
def observe():
    return observations_of


@pytest.fixture(params=ONE_OF_EACH_KIND, ids=lambda case: " ".join([case[0], case[2], *case[3]]))
def game_and_network(
    request: pytest.FixtureRequest, one_thread_and_the_same_weights: None
) -> tuple[zf.games.Game, nets.Network]:
    name, options, preset, network_options = request.param
    game = game_of(name, **options)
    return game, nets.build(game, preset, **network_options)


@dataclass(frozen=True)
class Batch:
    """The least that auxiliary losses need."""

    reply_B: torch.Tensor
    final_observation_BN: torch.Tensor


@pytest.fixture(scope="session")
def make_batch():
    return Batch
