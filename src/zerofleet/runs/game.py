"""The game of a run: found again, and refused where it is no longer the same.

The games that come with zerofleet are known by name and options. A custom game is code, named by
where it is written, and known by its fingerprint too: it may have moved since the run was begun,
but its rules must not have changed. What a run names is text that others may have written, so:

- code that lies among the runs is never executed, nor any without a fingerprint;
- a run that came out of a pack executes nothing that it names, neither its game nor a program as an
  opponent, until the user has named the same on the command line.
"""

from collections.abc import Sequence
from pathlib import Path

from zerofleet import games
from zerofleet.config import GameConfig, game_text
from zerofleet.errors import BadText, Inconsistent
from zerofleet.games import Game
from zerofleet.program import program_name

PROGRAM = "gomocup:"
"""How a player begins that is a program, started by its path."""


def game_of_run(
    folder: Path, played: GameConfig, named: Game | None = None, is_foreign: bool = False
) -> Game:
    """What the run in a folder plays, as it was when the run was begun.

    `named` is the game that the user has named: where the run's is a custom one it must be that,
    and no other code is executed. `is_foreign` says that the run came out of a pack.
    """
    if not games.is_source(played.name):
        return games.get(played.name, **played.options)
    if not played.rules:
        raise Inconsistent(
            f"{folder} names code, {played.name}, without the fingerprint of its rules; no run of "
            "zerofleet does, so it is not executed"
        )
    if named is not None:
        if games.fingerprint(named) != played.rules:
            raise Inconsistent(
                f"{game_text(named.name, named.options)} is not what {folder} plays, or has other "
                "rules than when that was begun: the games and weights there do not fit"
            )
        return named
    if is_foreign:
        raise Inconsistent(
            f"{folder} came out of a pack and names code, {played.name}, which is not executed "
            f"unasked; look at it, then `{program_name()} runs source {folder.name} PLACE` says "
            "where its game is"
        )
    refuse_code_of_runs(folder, played.name)
    try:
        game = games.get(played.name, **played.options)
    except BadText as error:
        raise Inconsistent(
            f"the game of {folder} cannot be had: {error}; if it has moved, "
            f"`{program_name()} runs source {folder.name} PLACE` says where it is now"
        ) from None
    if games.fingerprint(game) != played.rules:
        raise Inconsistent(changed_rules(folder, played.name))
    return game


def refuse_code_of_runs(folder: Path, source: str) -> None:
    """Raises Inconsistent for code that came with a run, from wherever that came."""
    where = source.partition(":")[0]
    if games.is_file(where) and not Path(where).is_absolute():
        raise Inconsistent(f"{folder} names its code by {where}, which is no absolute path")
    for place in games.code_places(source):
        for runs in (folder.parent.resolve(), folder.resolve()):
            if place.is_relative_to(runs):
                raise Inconsistent(f"{place} lies in a run folder, where no rules are taken from")


def refuse_other_game(folder: Path, played: GameConfig, wanted: GameConfig) -> None:
    """Raises Inconsistent unless the run in a folder can be resumed with the wanted game."""
    is_custom = games.is_source(played.name)
    moved = wanted.model_copy(update={"name": played.name}) if is_custom else wanted
    if moved == played:
        return
    if (played.name, played.options) == (wanted.name, wanted.options):
        raise Inconsistent(changed_rules(folder, wanted.name))
    raise Inconsistent(
        f"{folder} is a run of {game_text(played.name, played.options)}, not of "
        f"{game_text(wanted.name, wanted.options)}; use another name"
    )


def programs_among(players: Sequence[str]) -> list[str]:
    """Those players that are programs of others."""
    return [text for text in players if text.startswith(PROGRAM)]


def changed_rules(folder: Path, source: str) -> str:
    return (
        f"{source} has other rules than when {folder} was begun: the games and weights there no "
        "longer fit; undo the change, or use another name"
    )


def default_name(game: str, preset: str) -> str:
    """The name of a run that was given none: connect4-fast."""
    return f"{games.short_name(game) if games.is_source(game) else game}-{preset}"
