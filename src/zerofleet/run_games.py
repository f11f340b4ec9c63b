"""The game of a run: found again, and refused where it is no longer the same.

The games that come with zerofleet are known by name and options. One's own is known by its
fingerprint too: it may have moved since the run was begun, but its rules must not have changed.
"""

from collections.abc import Mapping
from pathlib import Path

from zerofleet import games
from zerofleet.errors import BadText, Inconsistent
from zerofleet.games import Game
from zerofleet.program import program_name
from zerofleet.settings import GameConfig


def game_of_run(folder: Path, played: GameConfig) -> Game:
    """What the run in a folder plays, as it was when the run was begun."""
    if not played.rules:
        return games.get(played.name, **played.options)
    # What came with a run, from wherever that came, is never executed.
    source = Path(played.name.partition(":")[0]).resolve()
    if source.is_relative_to(folder.parent.resolve()):
        raise Inconsistent(f"{source} lies in a run folder, where no rules are taken from")
    try:
        game = games.get(played.name, **played.options)
    except BadText as error:
        raise Inconsistent(
            f"the game of {folder} cannot be had: {error}; if it has moved, "
            f"`{program_name()} train PLACE --run {folder.name}` says where it is now"
        ) from None
    if games.fingerprint(game) != played.rules:
        raise Inconsistent(changed_rules(folder, played.name))
    return game


def refuse_other_game(folder: Path, played: GameConfig, wanted: GameConfig) -> None:
    """Raises Inconsistent unless the run in a folder can go on with the game that is wanted."""
    moved = wanted.model_copy(update={"name": played.name}) if played.rules else wanted
    if moved == played:
        return
    if (played.name, played.options) == (wanted.name, wanted.options):
        raise Inconsistent(changed_rules(folder, wanted.name))
    raise Inconsistent(
        f"{folder} is a run of {game_text(played.name, played.options)}, not of "
        f"{game_text(wanted.name, wanted.options)}; use another name"
    )


def changed_rules(folder: Path, source: str) -> str:
    return (
        f"{source} has other rules than when {folder} was begun: the games and weights there no "
        "longer fit; undo the change, or use another name"
    )


def game_text(game: str, options: Mapping[str, int | str]) -> str:
    """The game with its options: gomoku size=9 line=5 rule=freestyle."""
    return " ".join([game, *(f"{name}={value}" for name, value in options.items())])


def default_name(game: str, preset: str) -> str:
    """The name of a run that was given none: connect4-fast."""
    return f"{games.short_name(game) if games.is_source(game) else game}-{preset}"
