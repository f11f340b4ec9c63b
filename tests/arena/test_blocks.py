"""Blocks of a match, played anywhere in any order, give the match that one machine plays."""

import json
import random

import pytest
import torch
from nim import Nim

import zerofleet as zf
from zerofleet import nets
from zerofleet.arena.blocks import MatchBlocks, named_by_text, play_block
from zerofleet.errors import BadBytes, BadText, Inconsistent
from zerofleet.infer import make_evaluator

TICTACTOE = zf.games.get("tictactoe")
CONNECT4 = zf.games.get("connect4")
BEASTYBAR = zf.games.get("beastybar")
SEED = 3


def played_in_blocks(game, first, second, num_games, openings=None, source_of=named_by_text):
    """Encoded, decoded, played in a random order and merged."""
    blocks = MatchBlocks(game, first, second, num_games, SEED, openings)
    tasks = list(enumerate(blocks.tasks()))
    random.Random(1).shuffle(tasks)
    results = {number: play_block(game, task, source_of) for number, task in tasks}
    return blocks.merge([results[number] for number in range(len(blocks))])


@pytest.mark.parametrize("num_threads", [1, 2])
@pytest.mark.parametrize(
    ("game", "first", "second", "openings"),
    [
        (TICTACTOE, "playout-4", "random", None),
        (TICTACTOE, "random", "playout-4", [[], [4], [0, 8]]),
        (CONNECT4, "heuristic", "random", None),
        (BEASTYBAR, "aggressive", "heuristic", None),
    ],
)
def test_blocks_merge_into_the_match_of_one_machine(game, first, second, openings, num_threads):
    together = zf.arena.match(
        game, first, second, num_games=140, seed=SEED, num_threads=num_threads, openings=openings
    )
    assert played_in_blocks(game, first, second, 140, openings) == together


def network_player(name):
    """A factory of players with a network whose weights depend on the name."""
    torch.manual_seed(len(name))
    evaluator = make_evaluator(nets.build(TICTACTOE, "tiny"), "torch", "cpu")
    return lambda: zf.arena.SearchPlayer(name, evaluator, 4)


def test_networks_play_the_same_games_in_blocks_from_both_seats():
    makers = {name: network_player(name) for name in ("one", "other")}
    for first, second in (("one", "other"), ("other", "one")):
        in_blocks = played_in_blocks(
            TICTACTOE, first, second, 140, source_of=lambda text, sha256: makers[text]
        )
        assert len(set(in_blocks.episodes)) == 140
        for num_threads in (1, 2):
            together = zf.arena.match(
                TICTACTOE, makers[first], makers[second], 140, SEED, num_threads
            )
            assert in_blocks == together


class ShortNim(Nim):
    """Some games end, others are truncated."""

    max_plies = 5


def test_a_truncated_game_counts_as_on_one_machine():
    game = zf.games.from_class(ShortNim)
    together = zf.arena.match(game, "random", "random", num_games=66, seed=SEED)
    assert 0 < together.num_truncated < 66
    assert together.wins > 0
    assert played_in_blocks(game, "random", "random", 66) == together


def test_a_task_says_all_that_a_machine_must_know():
    (task,) = MatchBlocks(CONNECT4, "heuristic", "random", 2, SEED, [[3]]).tasks()
    assert json.loads(task) == {
        "format": 1,
        "game": "connect4",
        "options": dict(CONNECT4.options),
        "first": "heuristic",
        "second": "random",
        "weights_sha256": {},
        "seed": SEED,
        "first_pair": 0,
        "openings": [[3]],
    }


def test_a_task_of_another_game_is_refused():
    (task,) = MatchBlocks(CONNECT4, "heuristic", "random", 2).tasks()
    with pytest.raises(Inconsistent, match="the block is of connect4"):
        play_block(TICTACTOE, task)


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"format": 2}, "format: Input should be 1"),
        ({"seed": -1}, "seed: "),
        ({"openings": []}, "openings: "),
        ({"code": "x"}, "code: Extra inputs"),
    ],
)
def test_a_task_that_is_not_one_is_refused(changed, fault):
    (task,) = MatchBlocks(CONNECT4, "heuristic", "random", 2).tasks()
    with pytest.raises(BadBytes, match=f"not a BlockTask of format 1: {fault}"):
        play_block(CONNECT4, json.dumps(json.loads(task) | changed).encode())


@pytest.mark.parametrize("data", [b"", b"\x80\x04K\x01.", b"[]", b'{"format": 1}', b"[" * 10**5])
def test_garbage_is_refused(data):
    with pytest.raises(BadBytes):
        play_block(CONNECT4, data)
    with pytest.raises(BadBytes, match="block 0 refused"):
        MatchBlocks(CONNECT4, "heuristic", "random", 2).merge([data])


def test_results_of_other_games_are_refused():
    blocks = MatchBlocks(TICTACTOE, "random", "random", 66, SEED)
    first, last = (play_block(TICTACTOE, task) for task in blocks.tasks())
    with pytest.raises(Inconsistent, match="2 blocks has 1 results"):
        blocks.merge([first])
    with pytest.raises(BadBytes, match="block 0 refused: 64 games are due, got 2"):
        blocks.merge([last, first])
    (other_seed,) = MatchBlocks(TICTACTOE, "random", "random", 2, SEED + 1).tasks()
    with pytest.raises(BadBytes, match="block 1 refused: game 64 of seed 3 is due, got game 0"):
        blocks.merge([first, play_block(TICTACTOE, other_seed)])
    (other_game,) = MatchBlocks(CONNECT4, "random", "random", 2, SEED).tasks()
    with pytest.raises(BadBytes, match=r"block 0 refused: .*connect4"):
        MatchBlocks(TICTACTOE, "random", "random", 2, SEED).merge(
            [play_block(CONNECT4, other_game)]
        )


def test_games_come_in_pairs():
    with pytest.raises(BadText, match="num_games must be even, got 3"):
        MatchBlocks(TICTACTOE, "random", "random", 3)
