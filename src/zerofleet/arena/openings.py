"""Short balanced openings, which diversify matches of deterministic players.

The lists in opening_lists are text files with one opening per line. scripts/make-openings writes
them; the head of each list states the command.
"""

from pathlib import Path

from zerofleet.games import Game, get

LISTS = Path(__file__).parent / "opening_lists"

LARGE_GOMOKU, SMALL_GOMOKU = 15, 9
"""Boards with a list. Sizes from 13 use the large board's openings, shifted to the centre; sizes 9
to 12 use the small board's."""

LARGE_FROM = 13


def openings(game: Game) -> list[list[int]]:
    """The openings of a game as lists of actions from a new position.

    Connect Four has them, and Gomoku with line=5 and size 9 or more. All other games have none (an
    empty list): dice and deals already diversify their games.
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
    """The cell with the same offset from the centre on a square board of another size."""
    row, column = divmod(cell, from_size)
    by = (to_size - from_size) // 2
    return (row + by) * to_size + column + by


def distinct(game: Game, listed: list[list[int]]) -> list[list[int]]:
    """Removes openings that are symmetric to an earlier one. A board of even size has no centre
    cell, so there two shifted openings can be symmetric."""
    kept: dict[tuple[tuple[int, ...], ...], list[int]] = {}
    for actions in listed:
        turned = (
            [int(by_action[action]) for action in actions] for by_action, _ in game.symmetries
        )
        stones = min((tuple(sorted(each[0::2])), tuple(sorted(each[1::2]))) for each in turned)
        kept.setdefault(stones, actions)
    return list(kept.values())


def read_list(path: Path, game: Game) -> list[list[int]]:
    """Reads lines of moves. Text after a semicolon and lines that start with # are comments."""
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
