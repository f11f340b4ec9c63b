"""The game of a run: loaded again, and rejected if its rules have changed.

Built-in games are identified by name and options. A custom game is code, identified by its location
and by the fingerprint of its rules: it may move after the run was started, but its rules must not
change. A run's text is not trusted, so:

- code inside the runs folder is never executed, nor any without a fingerprint;
- a run from a pack executes nothing that it names, neither its game nor a program as an opponent,
  until the user has named the same on the command line.
"""

from collections.abc import Sequence
from pathlib import Path

from zerofleet import games
from zerofleet.config import GameConfig, game_text
from zerofleet.errors import BadText, Inconsistent
from zerofleet.games import Game
from zerofleet.program import program_name

PROGRAM = "gomocup:"
"""Prefix of a player that is an external program, started by its path."""


def game_of_run(
    folder: Path, played: GameConfig, named: Game | None = None, is_foreign: bool = False
) -> Game:
    """The game of the run in a folder, with the rules that the run was started with.

    `named` is the game that the user named: a custom game must be that one, and no other code is
    executed. `is_foreign` says that the run came from a pack.
    """
    if not games.is_source(played.name):
        return games.get(played.name, **played.options)
    if not played.rules:
        raise Inconsistent(
            f"{folder} names code, {played.name}, without the fingerprint of its rules; zerofleet "
            "writes no such run, so it is not executed"
        )
    if named is not None:
        if games.fingerprint(named) != played.rules:
            raise Inconsistent(
                f"{game_text(named.name, named.options)} is not the game of {folder}, or its rules "
                "have changed since that was started: the games and weights there do not fit"
            )
        return named
    if is_foreign:
        raise Inconsistent(
            f"{folder} came from a pack and names code, {played.name}, which is not executed "
            f"unasked; read it, then `{program_name()} runs source {folder.name} PLACE` sets "
            "where its game is"
        )
    refuse_code_of_runs(folder, played.name)
    try:
        game = games.get(played.name, **played.options)
    except BadText as error:
        raise Inconsistent(
            f"the game of {folder} cannot be loaded: {error}; if it has moved, "
            f"`{program_name()} runs source {folder.name} PLACE` sets where it is now"
        ) from None
    if games.fingerprint(game) != played.rules:
        raise Inconsistent(changed_rules(folder, played.name))
    return game


def refuse_code_of_runs(folder: Path, source: str) -> None:
    """Raises Inconsistent for code inside the runs folder: it may have come with a run."""
    where = source.partition(":")[0]
    if games.is_file(where) and not Path(where).is_absolute():
        raise Inconsistent(f"{folder} names its code by {where}, which is not an absolute path")
    for place in games.code_places(source):
        for runs in (folder.parent.resolve(), folder.resolve()):
            if place.is_relative_to(runs):
                raise Inconsistent(f"{place} is in a run folder; no code there is executed")


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
    """The players that are external programs."""
    return [text for text in players if text.startswith(PROGRAM)]


def changed_rules(folder: Path, source: str) -> str:
    return (
        f"the rules of {source} have changed since {folder} was started: the games and weights "
        "there no longer fit; undo the change, or use another name"
    )


def default_name(game: str, preset: str) -> str:
    """The default name of a run: connect4-fast."""
    return f"{games.short_name(game) if games.is_source(game) else game}-{preset}"
