"""zerofleet runs"""

from itertools import pairwise
from pathlib import Path
from typing import Annotated

import typer

from zerofleet import metrics
from zerofleet.cli.output import print_table
from zerofleet.cli.runs_games import runs_games
from zerofleet.config import read
from zerofleet.errors import BadBytes
from zerofleet.games import is_source
from zerofleet.printing import duration_text, say, size_text, value_text
from zerofleet.program import program_name
from zerofleet.replay.segment import read_header
from zerofleet.runs.folder import Run, find, folder_of, remove, set_source
from zerofleet.runs.packs import DEFAULT_PART_BYTES, DEFAULT_UNPACKED_BYTES, pack, unpack
from zerofleet.runs.summaries import list_runs as all_runs
from zerofleet.runs.summaries import summary

RunName = Annotated[str, typer.Argument(metavar="NAME", help="One of `zerofleet runs list`.")]

runs = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="List, show, remove and carry runs, and see their games. They are in $ZEROFLEET_RUNS, "
    "else in ./runs.",
)


runs.command("games")(runs_games)


@runs.command("list")
def list_runs() -> None:
    """List the runs.

    Example: zerofleet runs list
    """
    header = ("run", "game", "steps", "games", "age", "size", "fault")
    rows = [
        (
            run.name,
            run.game,
            str(run.num_steps),
            str(run.num_games),
            duration_text(run.age_s),
            size_text(run.size_bytes),
            run.fault,
        )
        for run in all_runs()
    ]
    print_table(header, rows, numbers=("steps", "games", "age", "size"))


@runs.command()
def show(name: RunName) -> None:
    """Show what a run is, how far it is, and what it measured last.

    Example: zerofleet runs show c4
    """
    run = find(name)
    found = summary(run.folder)
    say(f"run {name}: {found.game}")
    say(f"folder {run.folder}, {size_text(found.size_bytes)}; settings in {run.config_path}")
    say(f"begun {run.facts.created:%Y-%m-%d %H:%M} UTC, id {run.facts.id}")
    say(f"{found.num_steps} steps, {found.num_games} games")
    rows = [
        (kind, str(record["step"]), measured, value_text(value))
        for kind, record in metrics.latest(run.folder).items()
        for measured, value in record.items()
        if measured not in ("time", "step", "kind")
    ]
    print_table(("kind", "step", "measured", "value"), rows, numbers=("step", "value"))


@runs.command()
def rm(
    name: RunName,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Remove a run, with its games and weights.

    Example: zerofleet runs rm c4 --yes
    """
    found = summary(folder_of(name))
    if not yes:
        what = f"{size_text(found.size_bytes)}, {found.num_steps} steps, {found.num_games} games"
        typer.confirm(f"Remove run {name} ({what})?", abort=True)
    remove(name)
    say(f"removed {name}")


@runs.command("pack")
def pack_run(
    name: RunName,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the files go.")],
    max_bytes: Annotated[
        int, typer.Option(help="Of one file; 16 MiB.", show_default=False)
    ] = DEFAULT_PART_BYTES,
    without_games: Annotated[
        bool, typer.Option("--without-games", help="A resumed run then refills its replay buffer.")
    ] = False,
    without_checkpoints: Annotated[
        bool,
        typer.Option(
            "--without-checkpoints", help="To play and rate it elsewhere, not to resume it."
        ),
    ] = False,
) -> None:
    """Pack a run into files of bounded size, to carry it elsewhere.

    Left out: what TensorBoard shows, and games too old to be learnt from.

    Example: zerofleet runs pack c4 packs
    """
    run = find(name)
    leave_out = old_segments(run)
    if without_games:
        leave_out |= set(run.episodes.glob("*"))
    if without_checkpoints:
        leave_out |= set(run.checkpoints.glob("*"))
    list_path, *parts = pack(run, folder, max_bytes, leave_out)
    size_bytes = sum(path.stat().st_size for path in parts)
    say(f"packed {name}: {len(parts)} parts, {size_text(size_bytes)}")
    say(f"elsewhere: {program_name()} runs unpack {list_path}")


@runs.command("unpack")
def unpack_run(
    list_path: Annotated[
        Path, typer.Argument(metavar="LIST", help="NAME.pack.json; its parts lie beside it.")
    ],
    name: Annotated[
        str | None, typer.Option("--run", metavar="NAME", help="Another name for the run.")
    ] = None,
    max_bytes: Annotated[
        int,
        typer.Option(
            min=1, help="Of the whole run; 16 GiB, or what is free there.", show_default=False
        ),
    ] = DEFAULT_UNPACKED_BYTES,
) -> None:
    """Unpack a run. Every file is checked before anything is written.

    A custom game that the run names is not executed until you say where it is: see
    zerofleet runs source.

    Example: zerofleet runs unpack packs/c4.pack.json --run c4-again
    """
    run = unpack(list_path, name, max_bytes)
    say(f"unpacked {run.name}: {run.folder}")
    if is_source(run.facts.game):
        say(
            f"it plays {run.facts.game}; to use that: {program_name()} runs source {run.name} PLACE"
        )


@runs.command()
def source(
    name: RunName,
    place: Annotated[str, typer.Argument(metavar="GAME", help="file.py:Class or file.h.")],
) -> None:
    """Say where the custom game of a run is, which has moved or came with a pack.

    Its rules must be those that the run was begun with. The file is executed: look at it first.

    Example: zerofleet runs source sticks games/sticks.py:Sticks
    """
    run = set_source(name, place)
    say(f"{run.name} plays {run.facts.game}")


def old_segments(run: Run) -> set[Path]:
    """Files of the log that end more than two buffers back: to resume, a run needs one."""
    starts: dict[Path, int] = {}
    for path in sorted(run.episodes.glob("segment-*.zfl")):
        try:
            header, _ = read_header(path.read_bytes(), str(path))
        except BadBytes:
            continue  # the log names it when it is opened
        starts[path] = header.rows_before
    kept_from = max(starts.values(), default=0) - 2 * read(run.config_path).replay.capacity_rows
    return {path for path, following in pairwise(starts) if starts[following] <= kept_from}
