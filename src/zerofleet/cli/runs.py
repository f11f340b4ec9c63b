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
from zerofleet.runs.lock import locked
from zerofleet.runs.packs import DEFAULT_PART_BYTES, DEFAULT_UNPACKED_BYTES, pack, unpack
from zerofleet.runs.summaries import list_runs as all_runs
from zerofleet.runs.summaries import summary

RunName = Annotated[str, typer.Argument(metavar="NAME", help="One of `zerofleet runs list`.")]
OtherName = Annotated[
    str | None, typer.Option("--run", metavar="NAME", help="Another name for the run.")
]
MaxRunBytes = Annotated[
    int,
    typer.Option(
        "--max-bytes",
        min=1,
        help="Largest size of the run. Default: 16 GiB, or the free space if less.",
        show_default=False,
    ),
]

runs = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="List, show, remove and pack runs, and save them in S3. Runs are in $ZEROFLEET_RUNS, else "
    "in ./runs.",
)


@runs.command("list")
def list_runs(
    s3: Annotated[
        str | None,
        typer.Option("--s3", metavar="URL", help="List those saved below s3://BUCKET/PREFIX."),
    ] = None,
) -> None:
    """List the runs.

    Example: zerofleet runs list
    """
    if s3 is not None:
        list_saved_runs(s3)
        return
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
    name: OtherName = None,
    max_bytes: MaxRunBytes = DEFAULT_UNPACKED_BYTES,
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


SavedUrl = Annotated[
    str, typer.Argument(metavar="URL", help="A folder of runs in S3: s3://BUCKET/PREFIX.")
]


@runs.command()
def push(name: RunName, url: SavedUrl) -> None:
    """Save a run in S3.

    Only what is new is uploaded, and it becomes visible when it is complete. A run that was
    continued elsewhere is not overwritten. Credentials come from the environment, as for every
    program that uses boto3. `zerofleet train --s3 URL` does the same at each checkpoint.

    Example: zerofleet runs push c4 s3://my-bucket/runs
    """
    # Imported here: few need it.
    from zerofleet.remote import Uploader, checked_url

    run = find(name)
    with locked(run.folder), Uploader(run, checked_url(url), say, lambda fault: None):
        pass


@runs.command("pull")
def pull_run(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name in S3.")],
    url: SavedUrl,
    as_name: OtherName = None,
    max_bytes: MaxRunBytes = DEFAULT_UNPACKED_BYTES,
) -> None:
    """Download a run from S3. Every file is verified.

    Code that the run names is not executed until you name it too, as after `unpack`.

    Example: zerofleet runs pull c4 s3://my-bucket/runs
    """
    # Imported here: few need it.
    from zerofleet.remote import checked_url, pull

    run = pull(checked_url(url), name, as_name, say, max_bytes)
    say(f"pulled {run.name}: {run.folder}")


def list_saved_runs(url: str) -> None:
    # Imported here: few need it.
    from zerofleet.remote import checked_url, saved_runs

    rows = [
        (name, str(manifest.step), str(number), size_text(manifest.num_bytes), manifest.host)
        for name, number, manifest in saved_runs(checked_url(url))
    ]
    print_table(("run", "steps", "manifest", "size", "saved by"), rows, numbers=("steps", "size"))


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
