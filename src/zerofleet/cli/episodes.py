"""zerofleet episodes"""

import json
from collections.abc import Iterator
from heapq import nlargest
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from zerofleet.cli.arguments import GameOfFile, GameOptions, refuse_unwritable
from zerofleet.cli.episode_sources import Source, Where, no_games, reading
from zerofleet.cli.episodes_compare import compare
from zerofleet.cli.fleet_arguments import RedisUrl
from zerofleet.cli.fleet_bus import StreamRun
from zerofleet.cli.output import print_table
from zerofleet.errors import BadText, Unsupported
from zerofleet.games import games_to_text, write_games
from zerofleet.games.formats import FORMATS
from zerofleet.games.formats.text import SEATS
from zerofleet.printing import say
from zerofleet.runs import Decision, LoggedGame
from zerofleet.runs.logged_games import TRUNCATED, GameSet

NUM_LISTED = 20
"""Games listed where no number is given."""
ACTIONS_SHOWN = 3
"""Best actions of a policy target."""

GameId = Annotated[
    str | None,
    typer.Argument(metavar="ID", help="Number or id of a game. Default: the newest."),
]
Last = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help=f"The newest N games. Default: {NUM_LISTED}."),
]
First = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Instead the oldest N, oldest first.")
]
Longest = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Instead the longest N, longest first.")
]
Result = Annotated[
    str | None,
    typer.Option(help="Only games with this result for the first player: win, truncated, …"),
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object per line.")]

episodes = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="List, show, export and compare games of self-play. The run may be training; its log "
    "keeps the newest games.",
)
episodes.command()(compare)


@episodes.command("list")
def list_episodes(
    source: Source,
    last: Last = None,
    first: First = None,
    longest: Longest = None,
    result: Result = None,
    as_json: AsJson = False,
    name: GameOfFile = None,
    option: GameOptions = None,
    run: StreamRun = None,
    redis: RedisUrl = None,
) -> None:
    """List games, the newest first.

    The columns full, fast and none count the decisions with that kind of search.

    Example: zerofleet episodes list run:c4 --last 5
    """
    with reading(source, Where(name, option, run, redis)) as games:
        chosen = selected(games, last, first, longest, result)
    if as_json:
        for played in chosen:
            print(json.dumps(facts(played)))
        return
    header = ("game", "id", "plies", "result", "versions", "full", "fast", "none")
    numbers = ("game", "plies", "versions", "full", "fast", "none")
    print_table(header, [listed(played) for played in chosen], numbers)


@episodes.command()
def show(
    source: Source,
    game_id: GameId = None,
    boards: Annotated[
        bool, typer.Option("--boards", help="Show the position before every decision.")
    ] = False,
    name: GameOfFile = None,
    option: GameOptions = None,
    run: StreamRun = None,
    redis: RedisUrl = None,
) -> None:
    """Show one game: every ply with its search, and the final position.

    `value` is the root's expected reward in the mover's view, `surprise` the divergence of the
    policy target from the priors, `target` the policy target's best actions.

    Example: zerofleet episodes show run:c4
    """
    with reading(source, Where(name, option, run, redis)) as games:
        played = found(games, game_id)
    low, high = played.versions
    say(f"game {played.number} of {source}, id {played.id}")
    say(f"result for the first player: {played.result}")
    say(f"weights: version {low}" if low == high else f"weights: versions {low} to {high}")
    header = ("ply", "player", "plays", "search", "version", "value", "surprise", "target")
    numbers = ("ply", "version", "value", "surprise")
    if boards:
        for position, row in zip(played.positions(), plies(played), strict=False):
            say()
            print(position, end="")
            print_table(header, [row], numbers)
        say()
    else:
        print_table(header, list(plies(played)), numbers)
    print(played.positions()[-1], end="")


@episodes.command()
def export(
    source: Source,
    game_id: Annotated[
        str | None,
        typer.Argument(metavar="ID", help="Number or id of one game. Default: as the options say."),
    ] = None,
    last: Last = None,
    first: First = None,
    longest: Longest = None,
    result: Result = None,
    write_as: Annotated[
        str | None,
        typer.Option("--format", metavar="FORMAT", help=f"One of {', '.join(FORMATS)}."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The output file. Default: print.")
    ] = None,
    name: GameOfFile = None,
    option: GameOptions = None,
    run: StreamRun = None,
    redis: RedisUrl = None,
) -> None:
    """Write games in a format that other programs read.

    Example: zerofleet episodes export run:c4 --last 50 --out c4.moves
    """
    if game_id is not None and (last or first or longest or result):
        raise BadText("an ID names one game; leave out --last, --first, --longest and --result")
    refuse_unwritable(out)
    with reading(source, Where(name, option, run, redis)) as games:
        one = None if game_id is None else [games.find(game_id)]
        chosen = one or selected(games, last, first, longest, result)
    if not chosen:
        raise BadText(f"{source} has no such game, so nothing is written")
    records = [played.record() for played in chosen]
    if out is None:
        say(games_to_text(records, write_as or "text"), end="")
        return
    write_games(out, records, write_as)
    say(f"{out}: {len(records)} games" if len(records) > 1 else f"{out}: game {chosen[0].number}")


def selected(
    games: GameSet, last: int | None, first: int | None, longest: int | None, result: str | None
) -> list[LoggedGame]:
    if sum(number is not None for number in (last, first, longest)) > 1:
        raise BadText("--last, --first and --longest are mutually exclusive; give one of them")
    known = [*(outcome.name for outcome in games.game.outcomes), TRUNCATED]
    if result is not None and result not in known:
        raise Unsupported(f"{games.game.name} has no result {result!r}; known: {', '.join(known)}")
    ordered = reversed(games) if first is None and longest is None else iter(games)
    matching = (played for played in ordered if result in (None, played.result))
    if longest is not None:
        return nlargest(longest, matching, key=lambda played: played.num_plies)
    return list(islice(matching, first or last or NUM_LISTED))


def found(games: GameSet, game_id: str | None) -> LoggedGame:
    if game_id is not None:
        return games.find(game_id)
    for played in reversed(games):
        return played
    raise no_games(games)


def facts(played: LoggedGame) -> dict[str, object]:
    return {
        "game": played.number,
        "id": played.id,
        "plies": played.num_plies,
        "result": played.result,
        "versions": played.versions,
        "searches": dict(played.searches),
    }


def listed(played: LoggedGame) -> tuple[str, ...]:
    low, high = played.versions
    searches = played.searches
    return (
        str(played.number),
        played.id,
        str(played.num_plies),
        played.result,
        str(low) if low == high else f"{low}-{high}",
        *(str(searches[kind]) for kind in ("full", "fast", "none")),
    )


def plies(played: LoggedGame) -> Iterator[tuple[str, ...]]:
    decisions = played.decisions()
    events = zip(played.positions(), played.episode.events, strict=False)
    for ply, (position, event) in enumerate(events, start=1):
        text = position.action_text(event.id)
        if event.kind == "chance":
            yield str(ply), "chance", text, "", "", "", "", ""
            continue
        decision = next(decisions)
        yield (
            str(ply),
            SEATS[position.to_move],
            text,
            decision.kind,
            str(decision.version),
            "" if decision.value_to_move is None else f"{decision.value_to_move:+.3f}",
            "" if decision.surprise is None else f"{decision.surprise:.3f}",
            target_text(decision),
        )


def target_text(decision: Decision) -> str:
    best = nlargest(ACTIONS_SHOWN, decision.policy.items(), key=lambda item: item[1])
    return ", ".join(
        f"{decision.position.action_text(action)} {share:.0%}" for action, share in best
    )
