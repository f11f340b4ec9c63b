"""zerofleet review"""

from pathlib import Path
from typing import Annotated

import typer

from zerofleet import runs
from zerofleet.arena.review import MARKS, Review, Verdict
from zerofleet.arena.review import review as review_game
from zerofleet.cli.analyse import analysing_player
from zerofleet.cli.arguments import (
    AnalysisPlayer,
    GameOfFile,
    GameOptions,
    NumSeconds,
    NumSimulations,
    OnlyGame,
    ReadAs,
    Seed,
    records_of,
)
from zerofleet.cli.output import print_table
from zerofleet.cli.progress import progress_of
from zerofleet.errors import BadText
from zerofleet.games import GameRecord
from zerofleet.games.formats.text import SEATS
from zerofleet.games.record import turn_text
from zerofleet.printing import say

LINE_SHOWN = 6
"""Moves shown after the better one."""


def review(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A game saved by `zerofleet play` or in any format of `zerofleet convert`; or "
            "run:NAME#ID, one of `zerofleet episodes list run:NAME`.",
        ),
    ],
    player: AnalysisPlayer = None,
    num_simulations: NumSimulations = None,
    seconds: NumSeconds = None,
    seed: Seed = 1,
    only: OnlyGame = None,
    read_as: ReadAs = None,
    name: GameOfFile = None,
    option: GameOptions = None,
) -> None:
    """Review a game record and mark its mistakes.

    `lost` is the value of the best turn minus that of the turn played, from the mover's view, as a
    fraction of a plain win: ?! from 0.1, ? from 0.2, ?? from 0.3.

    Example: zerofleet review game.txt --player best,sims=400
    """
    record = record_of(source, read_as, only, name, option)
    with (
        analysing_player(record.game, player, num_simulations, seconds) as analysing,
        progress_of("positions") as show,
    ):
        found = review_game(record, analysing, seed, show)
    print_turns(found)
    print_summary(found)


def record_of(
    source: str,
    read_as: str | None,
    only: int | None,
    name: str | None,
    option: list[str] | None,
) -> GameRecord:
    """The game that a command line names."""
    if source.startswith("run:"):
        run, hash_sign, number = source.removeprefix("run:").partition("#")
        if not (run and hash_sign and number):
            raise BadText(
                f"{source}: write run:NAME#ID; `zerofleet episodes list run:NAME` lists the games "
                "of a run"
            )
        if read_as or only or name or option:
            raise BadText(f"--from, --only and --game cannot be used with {source}")
        return runs.games(run).find(number).record()
    records = records_of(Path(source), read_as, name, option, only)
    if len(records) > 1:
        raise BadText(f"{source} has {len(records)} games; pick one with --only N")
    return records[0]


def print_turns(found: Review) -> None:
    header = ("ply", "player", "played", "", "lost", "value", "better", "line")
    rows = [
        (
            str(verdict.turn.ply + 1),
            SEATS[verdict.turn.player],
            played_text(verdict),
            verdict.mark,
            "not visited" if verdict.points_lost is None else f"{verdict.points_lost:.2f}",
            f"{verdict.value_to_move:+.2f}",
            *better_texts(verdict),
        )
        for verdict in found.verdicts
    ]
    if not rows:
        say("no turn of this game had a choice")
        return
    print_table(header, rows, numbers=("ply", "lost", "value"))


def print_summary(found: Review) -> None:
    header = ("player", "turns", "lost per turn", *(mark for mark, _ in reversed(MARKS)))
    rows = []
    for player in (0, 1):
        verdicts = found.of(player)
        losses = [each.points_lost for each in verdicts if each.points_lost is not None]
        rows.append(
            (
                name_of(found, player),
                str(len(verdicts)),
                f"{sum(losses) / len(losses):.3f}" if losses else "",
                *(str(sum(each.mark == mark for each in verdicts)) for mark, _ in reversed(MARKS)),
            )
        )
    say()
    print_table(header, rows, numbers=header[1:])


def name_of(found: Review, player: int) -> str:
    name = found.record.players[player]
    return f"{SEATS[player]} ({name})" if name else SEATS[player]


def played_text(verdict: Verdict) -> str:
    turn = verdict.turn
    text = turn_text(turn.start, turn.actions)
    return f"{turn.roll}: {text}" if turn.roll else text


def better_texts(verdict: Verdict) -> tuple[str, str]:
    """The better turn and its continuation, if the turn played is marked."""
    if not verdict.mark:
        return "", ""
    whole = turn_text(verdict.turn.start, (*verdict.better, *verdict.line[:LINE_SHOWN]))
    better = turn_text(verdict.turn.start, verdict.better)
    return better, whole.removeprefix(better).strip()
