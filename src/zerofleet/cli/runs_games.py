"""zerofleet runs games"""

import sys
from collections.abc import Iterator
from heapq import nlargest
from itertools import islice
from pathlib import Path
from typing import Annotated, Literal

import typer

from zerofleet.cli.arguments import refuse_unwritable
from zerofleet.cli.output import print_table
from zerofleet.errors import BadText, Unsupported
from zerofleet.games import games_to_text, write_games
from zerofleet.games.formats import FORMATS
from zerofleet.games.formats.text import SEATS
from zerofleet.printing import say
from zerofleet.runs import LoggedGame, LoggedGames, games
from zerofleet.runs.logged_games import TRUNCATED


def runs_games(
    name: Annotated[str, typer.Argument(metavar="NAME", help="One of `zerofleet runs list`.")],
    order: Annotated[
        Literal["newest", "oldest", "longest"], typer.Option(help="Which games come first.")
    ] = "newest",
    result: Annotated[
        str | None,
        typer.Option(help="Only games with this result for the first player: win, truncated, …"),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Number of games to list.")] = 20,
    show: Annotated[
        str | None, typer.Option(metavar="ID", help="Show one game, by number or id, ply by ply.")
    ] = None,
    write_as: Annotated[
        str | None,
        typer.Option(
            "--format", metavar="FORMAT", help=f"Write the games as {', '.join(FORMATS)}."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The output file. Default: print.")
    ] = None,
) -> None:
    """List the games in a run's log, show one, or write them to a file.

    The log keeps the newest games. The run may be training.

    Example: zerofleet runs games c4 --order longest --limit 5
    """
    log = games(name)
    chosen = [log.find(show)] if show else selected(log, order, result, limit)
    if write_as or out:
        write(chosen, write_as, out)
    elif show:
        show_game(chosen[0])
    else:
        list_games(chosen)
    for fault in log.faults.values():
        say(f"{fault}; skipped", file=sys.stderr)


def selected(log: LoggedGames, order: str, result: str | None, limit: int) -> list[LoggedGame]:
    known = [*(outcome.name for outcome in log.game.outcomes), TRUNCATED]
    if result is not None and result not in known:
        raise Unsupported(f"{log.game.name} has no result {result!r}; known: {', '.join(known)}")
    ordered = reversed(log) if order == "newest" else iter(log)
    found = (played for played in ordered if result in (None, played.result))
    if order == "longest":
        return nlargest(limit, found, key=lambda played: played.num_plies)
    return list(islice(found, limit))


def write(chosen: list[LoggedGame], write_as: str | None, out: Path | None) -> None:
    if not chosen:
        raise BadText("the log has no such game, so nothing is written")
    records = [played.record() for played in chosen]
    if out is None:
        say(games_to_text(records, write_as or "text"), end="")
        return
    refuse_unwritable(out)
    write_games(out, records, write_as)
    say(f"{out}: {len(records)} games" if len(records) > 1 else f"{out}: game {chosen[0].number}")


def list_games(chosen: list[LoggedGame]) -> None:
    header = ("game", "id", "version", "plies", "result")
    rows = [
        (
            str(played.number),
            played.id,
            str(played.version),
            str(played.num_plies),
            played.result,
        )
        for played in chosen
    ]
    print_table(header, rows, numbers=("game", "version", "plies"))


def show_game(played: LoggedGame) -> None:
    """Prints every ply with its search result, then the final position."""
    say(f"game {played.number} of {played.run}, id {played.id}")
    say(f"result for the first player: {played.result}")
    header = ("ply", "player", "plays", "search", "version", "value", "policy")
    print_table(header, list(plies(played)), numbers=("ply", "version", "value", "policy"))
    print(played.positions()[-1], end="")


def plies(played: LoggedGame) -> Iterator[tuple[str, ...]]:
    decisions = played.decisions()
    events = zip(played.positions(), played.episode.events, strict=False)
    for ply, (position, event) in enumerate(events, start=1):
        text = position.action_text(event.id)
        if event.kind == "chance":
            yield str(ply), "chance", text, "", "", "", ""
            continue
        decision = next(decisions)
        value = "" if decision.value_to_move is None else f"{decision.value_to_move:+.3f}"
        share = f"{decision.policy[event.id]:.1%}" if event.id in decision.policy else ""
        player = SEATS[position.to_move]
        yield str(ply), player, text, decision.kind, str(decision.version), value, share
