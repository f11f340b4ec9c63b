"""The rules of each game in words, for `zerofleet play` and the pages."""

import inspect
import sys
from itertools import takewhile
from pathlib import Path

from zerofleet._core import Game
from zerofleet.games.beastybar import SPECIES, species_row
from zerofleet.games.sources import find_class, is_source


def rules_text(name: str, game: Game) -> str:
    """The rules of a game with its options; `name` is how the person named it."""
    if is_source(name):
        return custom_rules(name) or (
            f"{name} has no rules to show: a Python class gives them in `rules` or its docstring, "
            "a header in its opening comment"
        )
    return RULES[game.name](game)


def custom_rules(source: str) -> str:
    """A custom game's own rules; empty if it has none."""
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
            f"{title}, on {size} by {size} points. X moves first, then players alternate.",
            "",
            "A move puts one of your stones on any empty point. Stones never move and are",
            f"never captured. The first player with {line} stones in an unbroken line wins:",
            "horizontal, vertical or diagonal.",
            *([longer] if size > line else []),
            "If the board is full and nobody has a line, the game is a draw.",
            "",
            f"Write a point as its column and row, such as {chr(96 + middle)}{middle}: "
            "row 1 is at the",
            "bottom. The last stone is in brackets.",
        ]
    )


def connect4(_: Game) -> str:
    return """\
Connect Four, on 7 columns of 6 cells. X moves first, then players alternate.

A move drops one of your pieces into a column that is not full; it falls to the
lowest empty cell. The first player with four pieces in an unbroken line wins:
horizontal, vertical or diagonal. If all columns are full and nobody has four,
the game is a draw.

Write a column as its number, 1 to 7. The last piece is in brackets."""


def backgammon(game: Game) -> str:
    checkers = int(game.options["checkers"])
    return f"""\
Backgammon, with {checkers} checker{"s" * (checkers > 1)} each; no doubling cube.

You move your checkers down the points, from 24 to your home (6 to 1), and then
off the board; the opponent moves the other way. The board is numbered from the
side of the player to move: your point 8 is the opponent's 17. The first player
to bear off all checkers wins.

  Dice      Each die moves one checker; one checker may use both. A double is
            played four times. You must use both dice if you can, else the
            larger if you can. A player who cannot move passes.
  Points    You may land where the opponent has at most one checker.
  Hitting   A single checker that you land on goes to the bar.
  The bar   A checker there must enter first: a 3 enters on point 22, a 1 on
            point 24.
  Bearing   With all your checkers at home a die takes one off from its point;
  off       if none stands there or higher, the highest one goes off.

A win counts 1; 2 (a gammon) if the loser has borne off none; 3 (a backgammon)
if the loser then still has a checker on the bar or in the winner's home. In the
opening roll each player has one die: the higher begins, with these two dice.

Write a turn in the usual notation: 8/5 6/5, or bar/22 6/off. > marks the points
that the last turn moved to."""


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
            "In your turn (1) a card goes to the back of the queue; (2) its ability acts;",
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
            "Write the animal and, if it has a choice, a number: kangaroo 2 (hops over",
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
"""By the game's registered name; tictactoe is a variant of gomoku."""
