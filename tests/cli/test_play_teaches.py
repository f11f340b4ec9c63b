"""zerofleet play teaches: rules, the meaning of numbers, each step of a turn, the last move, the
end."""

import random
import re
from pathlib import Path

import pytest

import zerofleet as zf
from zerofleet.cli import play_backgammon
from zerofleet.cli.play_pictures import legal_text, picture
from zerofleet.errors import ZerofleetError
from zerofleet.games import Game, Position, beastybar
from zerofleet.games.rules import rules_text

BEASTY = zf.games.get("beastybar")


def played(game: Game, moves: str) -> list[Position]:
    """The positions of a game, each with one more move."""
    positions = [game.new_position()]
    for move in moves.split():
        positions.append(positions[-1].copy())
        game.play_from_text(positions[-1], move)
    return positions


def events(state: str, move: str) -> list[str]:
    """What happens when player 0, the person, makes a move in a state of Beasty Bar."""
    position = BEASTY.from_text(f"player=0 {state}")
    return beastybar.turn_lines(position, position.action_from_text(move), 0)


# ---- rules


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("beastybar", {}, "more points in it win"),
        ("beastybar", {"scoring": "animals"}, "more animals in it\nwin"),
        ("gomoku", {}, "A line of more than 5 wins too"),
        ("gomoku", {"size": 9, "rule": "exact"}, "Only a line of exactly 5 wins"),
        ("tictactoe", {}, "Tic-tac-toe, on 3 by 3"),
        ("backgammon", {"checkers": 3}, "with 3 checkers each"),
        ("connect4", {}, "7 columns of 6"),
    ],
)
def test_the_rules_of_every_game_fit_a_screen_and_name_its_options(
    name: str, options: dict[str, int | str], told: str
) -> None:
    text = rules_text(name, zf.games.get(name, **options))
    assert told in text
    assert len(text.splitlines()) <= 32
    assert max(map(len, text.splitlines())) <= 80


def test_every_game_has_rules() -> None:
    assert all(rules_text(name, zf.games.get(name)) for name in zf.games.names())


@pytest.mark.parametrize(
    ("name", "text", "rules"),
    [
        ("a.py:A", '"""Module."""\nclass A:\n    """Class."""\n    rules = "Own."', "Own."),
        ("b.py:A", '"""Module."""\nclass A:\n    """Class."""', "Class."),
        ("c.py:A", '"""Module."""\nclass A: pass', "Module."),
        ("d.py:A", "class A: pass", "d.py:A has no rules to show: a Python class gives"),
        (
            "e.h",
            "// Take sticks.\n// The last loses.\n#pragma once\n// Not this.",
            "Take sticks.\n",
        ),
    ],
)
def test_a_custom_game_prints_its_own_rules(
    name: str, text: str, rules: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name.partition(":")[0]).write_text(text)
    told = rules_text(name, BEASTY)
    assert told.startswith(rules)
    assert "Not this" not in told


# ---- Beasty Bar


def test_strengths_and_points_are_those_of_the_core() -> None:
    for name, species in beastybar.SPECIES.items():
        position = BEASTY.from_text(
            f"player=0 bar={name}0 hand0=zebra"
            if name != "zebra"
            else "player=0 bar=zebra0 hand0=lion"
        )
        assert position.action_text(species.strength - 1) == name
        assert position.describe()["points"] == [species.points, 0]


def test_numbers_are_shown_with_what_they_mean() -> None:
    position = BEASTY.from_text(
        "player=0 queue=kangaroo1,crocodile1,seal0 hand0=parrot,kangaroo,chameleon,lion "
        "hand1=skunk,snake pile0=hippo"
    )
    shown = legal_text(position, 24).removeprefix("legal: ").split(", ")
    assert shown == [
        "lion",
        "kangaroo 1 → over SEAL",
        "kangaroo 2 → over SEAL and crocodile",
        "parrot 0 → kangaroo",
        "parrot 1 → crocodile",
        "parrot 2 → SEAL",
        "chameleon 1 → as crocodile",
        "chameleon 2 → as SEAL",
        "chameleon 0 1 → as kangaroo: over SEAL",
        "chameleon 0 2 → as kangaroo: over SEAL and crocodile",
    ]


REST = "hand1=seal,snake pile0=skunk pile1=lion"


@pytest.mark.parametrize(
    ("state", "move", "told"),
    [
        (
            "queue=skunk1,seal0 hand0=crocodile",
            "crocodile",
            ["CROCODILE eats SEAL and skunk", "queue: CROCODILE"],
        ),
        (
            "queue=zebra1,seal0 hand0=hippo",
            "hippo",
            ["HIPPO passes SEAL", "queue: zebra HIPPO SEAL"],
        ),
        (
            "queue=seal0,giraffe1 hand0=kangaroo",
            "kangaroo 1",
            [
                "KANGAROO hops over giraffe",
                "recurring giraffe passes KANGAROO",
                "queue: SEAL giraffe KANGAROO",
            ],
        ),
        (
            "queue=lion1 hand0=lion",
            "lion",
            ["LION is bounced: a lion is in the queue already", "queue: lion"],
        ),
        (
            "queue=monkey1,zebra1 hand0=lion",
            "lion",
            ["LION drives off monkey", "LION passes zebra, to the front", "queue: LION zebra"],
        ),
        (
            "queue=monkey1,hippo1 hand0=monkey",
            "monkey",
            [
                "MONKEY drives off hippo",
                "MONKEY leads the monkeys to the front",
                "queue: MONKEY monkey",
            ],
        ),
        (
            "queue=parrot1,seal1 hand0=chameleon",
            "chameleon 0 1",
            ["CHAMELEON, as parrot, drives off seal", "queue: parrot CHAMELEON"],
        ),
        (
            "queue=parrot1,zebra0,monkey1,chameleon1 hand0=seal",
            "seal",
            [
                "SEAL reverses the queue",
                "five in the queue: SEAL and chameleon enter the bar (you +2, opponent +3)",
                "parrot is bounced: it goes to That's It",
                "queue: monkey ZEBRA",
            ],
        ),
        ("queue=zebra1 hand0=parrot", "parrot 0", ["PARROT drives off zebra", "queue: PARROT"]),
        ("hand0=parrot", "parrot", ["PARROT stands at the back", "queue: PARROT"]),
    ],
)
def test_every_event_of_a_turn_is_printed_in_order(state: str, move: str, told: list[str]) -> None:
    cards = re.findall(r"(\w+)1", state)
    rest = ",".join(card for card in ("seal", "snake", "lion", "skunk") if card not in cards)
    assert events(f"{state} hand1={rest} pile0=snake,giraffe", move) == told


def test_the_steps_of_a_turn_end_where_playing_it_ends() -> None:
    rng = random.Random(1)
    for seed in range(20):
        position = BEASTY.new_position(seed)
        while position.to_move != zf.OVER:
            action = rng.choice(position.legal_actions())
            steps = position.steps(action)
            before = position.describe()
            position.play(action)
            after = position.describe()
            assert steps[-1]["queue"] == after["queue"]
            for zone in ("bar", "thats_it"):
                came = [card for step in steps for card in step[zone]]
                assert before[zone] + came == after[zone]
            assert beastybar.turn_lines(BEASTY.from_describe(before), action, 0)


def test_steps_of_an_illegal_action_are_refused_and_other_games_have_none() -> None:
    with pytest.raises(ZerofleetError, match="action 99 is not legal here"):
        BEASTY.new_position().steps(99)
    assert zf.games.get("connect4").new_position().steps(3) == []


def test_the_end_shows_the_score_with_its_cards_and_why_a_card_was_left() -> None:
    over = BEASTY.from_text(
        "player=0 queue=seal0 bar=zebra0,lion1,parrot0 hand0=skunk hand1=snake thats_it=hippo1"
    )
    assert over.to_move == zf.OVER
    assert beastybar.final_score(over, 0).splitlines() == [
        "YOU       8 points: ZEBRA 4, PARROT 4",
        "opponent  2 points: lion 2",
        "Only 3 cards are left in queue, hands and piles. The bar opens for 5, so nobody can enter "
        "any more: unplayed cards count nothing.",
    ]
    animals = zf.games.get("beastybar", scoring="animals").from_text("player=0 bar=zebra0,lion1")
    assert beastybar.final_score(animals, 1).splitlines() == [
        "YOU       1 animals of strength 12: LION 2",
        "opponent  1 animals of strength 7: zebra 4",
        "All cards are played.",
    ]


# ---- boards


def test_the_last_stone_stands_in_brackets() -> None:
    assert picture(played(zf.games.get("tictactoe"), "b2 c1"), 0).splitlines() == [
        " 3 . . .",
        " 2 . X .",
        " 1 . .(O)",
        "   a b c",
        "X to move",
    ]
    drawn = picture(played(zf.games.get("connect4"), "4 4"), 0).splitlines()
    assert drawn[4:6] == [" 2 . . .(O). . .", " 1 . . . X . . ."]


def test_a_backgammon_reply_is_printed_per_checker_in_the_users_numbering_and_marked() -> None:
    game = zf.games.get("backgammon")
    start = game.from_describe(
        {
            "points": [0, -2, 0, 0, 0, 5, 0, 3, 0, 0, 0, -5, 5, 0, 0, 0, 0, 0, -5, 0, -3, 0, 0, 2],
            "dice": [3, 1],
            "player": 0,
        }
    )
    positions = [start]
    actions = []
    for text in ("8/5", "6/5"):
        actions.append(positions[-1].action_from_text(text))
        positions.append(positions[-1].copy())
        positions[-1].play(actions[-1])
    assert play_backgammon.checker_lines(positions, actions) == [
        "8/5: from your point 17 to your point 20",
        "6/5: from your point 19 to your point 20",
    ]
    rows = picture(positions, 1).splitlines()
    assert rows[-2].startswith(" +-13-14-15-16-17-18-------19>20-21-")  # as player 1 counts
    assert rows[-1] == "O to roll"


# ---- hidden information

PEEK = '''
"""Each player holds a card 0..9; the mover says higher or lower. A game to try pictures with."""
import random
import zerofleet as zf


class Peek:
    name = "peek"
    num_actions = 2
    observation_bytes = 2
    max_plies = 1
    hidden = True

    def __init__(self, seed=0):
        self.cards = random.Random(seed).sample(range(10), 2)
        self.said = None

    @property
    def to_move(self):
        return 0 if self.said is None else zf.OVER

    def legal_actions(self):
        return [0, 1]

    def play(self, action):
        self.said = action

    def rewards(self):
        right = (self.cards[0] > self.cards[1]) == bool(self.said)
        return [1, -1] if right else [-1, 1]

    def observe(self, player):
        return [self.cards[player], self.to_move == player]

    def copy(self):
        new = type(self)()
        new.cards, new.said = list(self.cards), self.said
        return new

    def resample_hidden(self, player, seed):
        others = [card for card in range(10) if card != self.cards[player]]
        self.cards[1 - player] = random.Random(seed).choice(others)

    def to_text(self):
        return f"{self.cards[0]} {self.cards[1]} {self.said}"

    @classmethod
    def from_text(cls, text):
        new = cls()
        first, second, said = text.split()
        new.cards, new.said = [int(first), int(second)], None if said == "None" else int(said)
        return new

    def __str__(self):
        return f"cards {self.cards}"


class Drawn(Peek):
    def picture_for(self, player):
        return f"your card is {self.cards[player]}"


class Leaking(Peek):
    def picture_for(self, player):
        return str(self)
'''


@pytest.fixture
def peek(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("peek.py").write_text(PEEK)


@pytest.mark.usefixtures("peek")
def test_a_custom_hidden_game_draws_itself_for_a_player_or_shows_what_the_player_observes() -> None:
    for source, shown in (("Drawn", "your card is 7"), ("Peek", "observation: 7 0")):
        game = zf.games.get(f"peek.py:{source}")
        assert picture([game.from_text("2 7 None")], 1) == shown
        zf.games.check(game, num_games=20)


@pytest.mark.usefixtures("peek")
def test_a_picture_for_a_player_that_shows_what_is_hidden_is_found_by_check() -> None:
    with pytest.raises(ZerofleetError, match="changes what that player is shown"):
        zf.games.check(zf.games.get("peek.py:Leaking"), num_games=20)
