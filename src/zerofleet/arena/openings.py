"""Short openings after which nobody is thought to be ahead.

Players that always answer alike would play one game over and over; from many openings they play
many. The lists are texts in opening_lists, one opening a line, made by scripts/make-openings; each
says how.
"""

from pathlib import Path

from zerofleet.games import Game, get

LISTS = Path(__file__).parent / "opening_lists"

LARGE_GOMOKU, SMALL_GOMOKU = 15, 9
"""Boards that have lists of their own. From size 13 on the large board's openings are laid round
the centre, on 9 to 12 the small one's."""

LARGE_FROM = 13


def openings(game: Game) -> list[list[int]]:
    """Openings as lists of actions, to be played from a new position.

    Connect Four has them, and Gomoku with lines of five on boards of size 9 and more. Everything
    else has none: an empty list. Dice and deals make games differ by themselves.
    """
    if game.name == "connect4":
        return read_list(LISTS / "connect4.txt", game)
    if game.name == "gomoku" and game.options["line"] == "5":
        size = int(game.options["size"])
        if size >= SMALL_GOMOKU:
            list_size = LARGE_GOMOKU if size >= LARGE_FROM else SMALL_GOMOKU
            listed = read_list(LISTS / f"gomoku-{list_size}.txt", get("gomoku", size=list_size))
            return distinct(
                game, [[moved(cell, list_size, size) for cell in cells] for cells in listed]
            )
    return []


def moved(cell: int, from_size: int, to_size: int) -> int:
    """The cell that lies alike to the centre of a square board of another size."""
    row, column = divmod(cell, from_size)
    by = (to_size - from_size) // 2
    return (row + by) * to_size + column + by


def distinct(game: Game, listed: list[list[int]]) -> list[list[int]]:
    """Those that are no earlier one turned or mirrored. On a board with an even side, which has no
    cell in its centre, two openings of a list can be."""
    kept: dict[tuple[tuple[int, ...], ...], list[int]] = {}
    for actions in listed:
        turned = (
            [int(by_action[action]) for action in actions] for by_action, _ in game.symmetries
        )
        stones = min((tuple(sorted(each[0::2])), tuple(sorted(each[1::2]))) for each in turned)
        kept.setdefault(stones, actions)
    return list(kept.values())


def read_list(path: Path, game: Game) -> list[list[int]]:
    """Lines of moves. People read what follows a semicolon, and lines that begin with #."""
    listed = []
    for line in path.read_text().splitlines():
        if line.startswith("#"):
            continue
        position = game.new_position()
        actions = []
        for text in line.partition(";")[0].split():
            actions.append(position.action_from_text(text))
            position.play(actions[-1])
        listed.append(actions)
    return listed
