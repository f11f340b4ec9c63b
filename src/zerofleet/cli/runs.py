"""zerofleet runs"""

from itertools import pairwise
from pathlib import Path
from typing import Annotated

import typer

from zerofleet import metrics
from zerofleet.cli.output import print_table
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
    help="List, show, remove and pack runs. Runs are in $ZEROFLEET_RUNS, else in ./runs.",
)


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
    """Show a run: game, progress and latest metrics.

    Example: zerofleet runs show c4
    """
    run = find(name)
    found = summary(run.folder)
    say(f"run {name}: {found.game}")
    say(f"folder {run.folder}, {size_text(found.size_bytes)}; settings in {run.config_path}")
    say(f"created {run.facts.created:%Y-%m-%d %H:%M} UTC, id {run.facts.id}")
    say(f"{found.num_steps} steps, {found.num_games} games")
    rows = [
        (kind, str(record["step"]), metric, value_text(value))
        for kind, record in metrics.latest(run.folder).items()
        for metric, value in record.items()
        if metric not in ("time", "step", "kind")
    ]
    print_table(("kind", "step", "metric", "value"), rows, numbers=("step", "value"))


@runs.command()
def rm(
    name: RunName,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask to confirm.")] = False,
) -> None:
    """Remove a run with its games and weights.

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
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The output folder.")],
    max_bytes: Annotated[
        int, typer.Option(help="Largest size of a file. Default: 16 MiB.", show_default=False)
    ] = DEFAULT_PART_BYTES,
    without_games: Annotated[
        bool,
        typer.Option(
            "--without-games", help="Leave out games; a resumed run refills its replay buffer."
        ),
    ] = False,
    without_checkpoints: Annotated[
        bool,
        typer.Option(
            "--without-checkpoints", help="Enough to play and rate the run, not to resume it."
        ),
    ] = False,
) -> None:
    """Pack a run into files of bounded size.

    Use it to copy a run to another machine. It leaves out TensorBoard files, and games too old for
    the replay buffer.

    Example: zerofleet runs pack c4 packs
    """
    run = find(name)
    leave_out = old_segments(run)
    if without_checkpoints:
        leave_out |= set(run.checkpoints.glob("*"))
    list_path, *parts = pack(run, folder, max_bytes, leave_out, without_games)
    size_bytes = sum(path.stat().st_size for path in parts)
    say(f"packed {name}: {len(parts)} parts, {size_text(size_bytes)}")
    say(f"unpack with: {program_name()} runs unpack {list_path}")


@runs.command("unpack")
def unpack_run(
    list_path: Annotated[
        Path,
        typer.Argument(metavar="LIST", help="NAME.pack.json, with its parts in the same folder."),
    ],
    name: Annotated[
        str | None, typer.Option("--run", metavar="NAME", help="Another name for the run.")
    ] = None,
    max_bytes: Annotated[
        int,
        typer.Option(
            min=1,
            help="Largest size of the run. Default: 16 GiB, or the free space if less.",
            show_default=False,
        ),
    ] = DEFAULT_UNPACKED_BYTES,
) -> None:
    """Unpack a run. Every part is verified before anything is written.

    A custom game that the run names is not executed until `zerofleet runs source` sets where it is.

    Example: zerofleet runs unpack packs/c4.pack.json --run c4-again
    """
    run = unpack(list_path, name, max_bytes)
    say(f"unpacked {run.name}: {run.folder}")
    if is_source(run.facts.game):
        say(
            f"its game is {run.facts.game}; to use it: {program_name()} runs source {run.name} "
            "PLACE"
        )


@runs.command()
def source(
    name: RunName,
    place: Annotated[str, typer.Argument(metavar="GAME", help="file.py:Class or file.h.")],
) -> None:
    """Set where a run's custom game is.

    Needed after the game has moved or the run came from a pack. The rules must be those that the
    run started with. The file is executed: read it first.

    Example: zerofleet runs source sticks games/sticks.py:Sticks
    """
    run = set_source(name, place)
    say(f"{run.name} plays {run.facts.game}")


def old_segments(run: Run) -> set[Path]:
    """Log files older than two replay buffers; a resumed run needs one buffer."""
    starts: dict[Path, int] = {}
    for path in sorted(run.episodes.glob("segment-*.zfl")):
        try:
            header, _ = read_header(path.read_bytes(), str(path))
        except BadBytes:
            continue  # reported when the log is opened
        starts[path] = header.rows_before
    kept_from = max(starts.values(), default=0) - 2 * read(run.config_path).replay.capacity_rows
    return {path for path, following in pairwise(starts) if starts[following] <= kept_from}
