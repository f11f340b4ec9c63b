"""The rules of each game, as `rules` shows them in play: a screenful each."""

import inspect
import sys
from itertools import takewhile
from pathlib import Path

from zerofleet.cli.play_beastybar import SPECIES, species_row
from zerofleet.games import Game, is_source
from zerofleet.games.sources import find_class


def rules_text(name: str, game: Game) -> str:
    """The rules of the game that a person calls by this name, with its options."""
    if is_source(name):
        return own_rules(name) or (
            f"{name} does not tell its rules: a Python class tells them by `rules` or a "
            "docstring, a header by the comment that it opens with"
        )
    return RULES[game.name](game)


def own_rules(source: str) -> str:
    """What a custom game says about itself; empty where it says nothing."""
    if source.endswith(".h"):
        lines = Path(source).read_text(encoding="utf-8").splitlines()
        comment = takewhile(lambda line: line.startswith("//"), lines)
        return "\n".join(line.removeprefix("//").removeprefix(" ") for line in comment)
    own = find_class(source)
    text = getattr(own, "rules", None) or own.__doc__ or sys.modules[own.__module__].__doc__
    return inspect.cleandoc(str(text or ""))


def gomoku(game: Game) -> str:
    size, line = int(game.options["size"]), int(game.options["line"])
    middle = (size + 1) // 2
    is_exact = game.options["rule"] == "exact" and size > line
    title = "Tic-tac-toe" if size == line == 3 else "Gomoku"
    longer = (
        f"Only a line of exactly {line} wins (rule=exact): a longer one counts for nothing."
        if is_exact
        else f"A line of more than {line} wins too (rule=freestyle)."
    )
    return "\n".join(
        [
            f"{title}, on {size} by {size} points. X moves first, then O, in turn.",
            "",
            "A move puts one stone of yours on any empty point. Stones never move and are",
            f"never taken. Who first has {line} of their stones in an unbroken line wins:",
            "across, up and down, or diagonally.",
            *([longer] if size > line else []),
            "When the board is full and nobody has a line, the game is a draw.",
            "",
            f"You write a point as its column and row, such as {chr(96 + middle)}{middle}: "
            "row 1 is at the",
            "bottom. The last stone stands in brackets.",
        ]
    )


def connect4(_: Game) -> str:
    return """\
Connect Four, on 7 columns of 6 cells. X moves first, then O, in turn.

A move drops one piece of yours into a column that is not full; it falls to the
lowest empty cell. Who first has four of their pieces in an unbroken line wins:
across, up and down, or diagonally. When all columns are full and nobody has
four, the game is a draw.

You write a column by its number, 1 to 7. The last piece stands in brackets."""


def backgammon(game: Game) -> str:
    checkers = int(game.options["checkers"])
    return f"""\
Backgammon, with {checkers} checker{"s" * (checkers > 1)} each; no doubling cube.

You move your checkers down the points, from 24 to your home (6 to 1), and then
off the board; the opponent runs the other way. In your turn the board is
numbered as you count: your point 8 is the opponent's 17. Who has borne off all
checkers first wins.

  Dice      Each die moves one checker; one checker may use both. A double is
            played four times. You must use both dice if you can, else the
            larger if you can. Who cannot move at all passes.
  Points    You may land where the opponent has at most one checker.
  Hitting   A single checker that you land on goes to the bar.
  The bar   Who has a checker there must first bring it in: a 3 enters on
            point 22, a 1 on point 24.
  Bearing   With all your checkers at home a die takes one off from its point;
  off       if none stands there or higher, the highest one goes off.

A win counts 1; 2 (a gammon) if the loser has borne off none; 3 (a backgammon)
if the loser then still has a checker on the bar or in the winner's home. In the
opening roll each player has one die: the higher begins, with these two dice.

You write a turn as people do: 8/5 6/5, or bar/22 6/off. > marks the points to
which the last turn has moved."""


def beastybar(game: Game) -> str:
    wins = (
        "more points in it win"
        if game.options["scoring"] == "points"
        else "more animals in it\nwin; where both have as many, the weaker ones"
    )
    return "\n".join(
        [
            "Beasty Bar. Each player has the same twelve animals, shuffled: four in the hand,",
            f"the others in a face-down pile. They queue for the bar: {wins}.",
            "",
            "In your turn (1) a card goes to the back of the queue; (2) it does what it does;",
            "(3) from the front, every other hippo, crocodile and giraffe acts again; (4) if",
            "five stand in the queue, the first two enter the bar and the last is bounced: it",
            "goes to That's It, out of the game; (5) you draw a card while there are any.",
            "",
            "  animal   strength  points",
            *(species_row(name, name) for name in SPECIES),
            "",
            "The game ends when all cards are played, or when fewer than five are left in",
            "queue, hands and piles: then the bar cannot open again.",
            "",
            "You write the animal and, where it has a choice, a number: kangaroo 2 (hops over",
            "two), parrot 0 (drives off the one at the front), chameleon 1 (copies the second",
            "in the queue; chameleon 1 0 if that is a parrot, which drives off the first).",
            "Places count from the front, which is 0. Your animals are in CAPITALS.",
        ]
    )


RULES = {
    "gomoku": gomoku,
    "connect4": connect4,
    "backgammon": backgammon,
    "beastybar": beastybar,
}
"""By the game's own name; tictactoe is a gomoku."""
