"""Beasty Bar as Python sees it; the rules themselves are tested in cpp/tests/test_beastybar.cc."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import zerofleet as zf

ORACLES = Path(__file__).parents[1] / "oracles"
CASES = json.loads((ORACLES / "beastybar_cases.json").read_text(encoding="utf-8"))["cases"]
DECK = "hippo,kangaroo,monkey,zebra,parrot,crocodile,snake,chameleon,giraffe,lion,skunk,seal"
GAME = f"first=0 deck0={DECK} deck1={DECK} moves=hippo;kangaroo 1;parrot 0"


def described(case: dict[str, Any]) -> dict[str, Any]:
    """The situation of a case in the form of `describe`."""
    own_first = case["player"] == 0
    hands = [case["hand"], case["opponent_hand"]]
    piles = [case["pile"], case["opponent_pile"]]
    return {
        "queue": case["queue"],
        "bar": case["bar"],
        "thats_it": case["thats_it"],
        "hands": hands if own_first else hands[::-1],
        "piles": piles if own_first else piles[::-1],
        "player": case["player"],
    }


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("case", CASES, ids=[case["title"] for case in CASES])
def test_a_turn_makes_of_a_situation_what_the_independent_implementation_makes(
    case: dict[str, Any],
) -> None:
    player = case["player"]
    position = zf.games.get("beastybar").from_describe(described(case))
    assert position.to_move == player
    position.play(position.action_from_text(case["action"]))
    after, expected = position.describe(), case["after"]
    assert after["queue"] == expected["queue"]
    assert after["bar"] == expected["bar"]
    assert after["thats_it"] == expected["thats_it"]
    assert after["hands"][player] == expected["hand"]
    assert after["piles"][player] == expected["pile"]
    assert after["points"] == expected["points"]
    assert (position.to_move == zf.OVER) == expected["over"]


def test_the_text_of_the_cases_that_the_cpp_tests_read_is_that_of_the_json() -> None:
    script = load(ORACLES / "beastybar_cases_as_text.py")
    assert (ORACLES / "beastybar_cases.txt").read_text(encoding="utf-8") == script.all_as_text()


@pytest.mark.parametrize("scoring", ["points", "animals"])
def test_the_contract_holds(scoring: str) -> None:
    zf.games.check(zf.games.get("beastybar", scoring=scoring), num_games=100)


def test_a_game_written_as_text_is_read_and_written_back() -> None:
    position = zf.games.get("beastybar").from_text(GAME)
    assert position.to_text() == GAME
    assert position.to_move == 1
    # The hippo passes the kangaroo again at once, so the parrot finds it at the front.
    assert position.describe()["queue"] == ["kangaroo1", "parrot0"]
    assert position.describe()["thats_it"] == ["hippo0"]


def test_a_description_gives_the_described_position_back() -> None:
    game = zf.games.get("beastybar")
    position = game.from_text(GAME)
    again = game.from_describe(position.describe())
    assert again.describe() == position.describe()
    for player in (0, 1):
        assert again.observe(player).tolist() == position.observe(player).tolist()


def test_a_player_sees_the_sizes_of_hidden_zones() -> None:
    seen = zf.games.get("beastybar").from_text(GAME).describe(player=1)
    assert seen["hands"] == [4, ["hippo1", "monkey1", "zebra1", "parrot1"]]
    assert seen["piles"] == [6, 7]


def test_positions_that_differ_in_what_a_player_cannot_see_look_alike_to_it() -> None:
    game = zf.games.get("beastybar")
    common = {"queue": ["zebra1"], "player": 0}
    one = game.from_describe(
        {
            "hands": [["lion0", "seal0"], ["lion1", "skunk1"]],
            "piles": [["hippo0", "snake0"], ["monkey1"]],
            **common,
        }
    )
    two = game.from_describe(
        {
            "hands": [["lion0", "seal0"], ["monkey1", "lion1"]],
            "piles": [["snake0", "hippo0"], ["skunk1"]],
            **common,
        }
    )
    assert one.observe(0).tolist() == two.observe(0).tolist()
    assert one.describe(player=0) == two.describe(player=0)
    assert one.legal_actions() == two.legal_actions()
    assert one.observe(1).tolist() != two.observe(1).tolist()


def test_the_same_seed_deals_the_same_cards() -> None:
    game = zf.games.get("beastybar")
    deals = [game.new_position(seed=seed).to_text() for seed in (7, 7, 8)]
    assert deals[0] == deals[1] != deals[2]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("parrot 3", "the queue has only 2 animals; legal: "),
        ("lion", "it is not in the hand of player 1; legal: "),
        ("lyon", "'lyon' is no animal"),
    ],
)
def test_an_action_that_cannot_be_played_is_refused_with_the_reason(text: str, reason: str) -> None:
    position = zf.games.get("beastybar").from_text(GAME)
    with pytest.raises(ValueError, match=reason):
        position.action_from_text(text)


def test_scoring_decides_who_has_won() -> None:
    text = "player=0 bar=zebra0,seal1"
    assert list(zf.games.get("beastybar").from_text(text).rewards()) == [1, -1]
    assert list(zf.games.get("beastybar", scoring="animals").from_text(text).rewards()) == [-1, 1]
