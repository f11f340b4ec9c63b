"""zerofleet validate"""

import json
import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zerofleet.cli.arguments import GameOptions, option_values, refuse_unwritable
from zerofleet.cli.bench import BENCHMARKS
from zerofleet.cli.output import print_table
from zerofleet.cli.progress import progress_of
from zerofleet.cli.train_arguments import Device, Settings
from zerofleet.config import preset_names
from zerofleet.metrics import needed
from zerofleet.printing import say
from zerofleet.report.validation import CheckResult, summary, validation_page
from zerofleet.storage import write_output

if TYPE_CHECKING:
    from zerofleet.fleet.validation import Validation


def validate(
    game: Annotated[
        str,
        typer.Argument(metavar="[GAME]", help="A game, or a custom game: file.py:Class or file.h."),
    ] = "tictactoe",
    quick: Annotated[
        bool, typer.Option("--quick", help="About a minute instead of several.")
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only", metavar="CHECK", help="Only this check of those below; may be repeated."
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="A check that is skipped counts as failed.")
    ] = False,
    device: Device = None,
    settings: Settings = None,
    option: GameOptions = None,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="The page with the results, as HTML.")
    ] = Path("validation.html"),
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of a table.")
    ] = False,
    record: Annotated[
        bool,
        typer.Option(
            "--record",
            help="Check nothing; record what this platform gives, for later validations.",
        ),
    ] = False,
) -> None:
    """Check that this machine trains, plays and counts right.

    Use it before renting many machines of a kind.
    Small runs of the game are made: deterministic ones, one in this process, and a fleet of real
    processes around a Redis that is started for it. A check passes, fails, or is skipped with the
    reason, as where there is no redis-server. The exit status is 1 if one fails. Ctrl-C ends all
    that was started.

    Checks: deterministic, the same seed gives the same weights, and those recorded for this
    platform; checkpoint, a resumed run ends like one never stopped; match, the policy beats random
    by as much as it should; publications, no loss is infinite or NaN; counts, games and rows add
    up; kinds, workers with ONNX, torch and an inference server play alike; fleet-weights,
    fleet-counts and fleet-curve, a fleet loads, logs and learns what it should; throughput, as
    fast as `zerofleet bench train` recorded.

    Example: zerofleet validate tictactoe --quick
    """
    # Imported here: they load what runs need.
    from zerofleet.fleet.validation import NAMES, Validation, refuse_unknown
    from zerofleet.fleet.validation_records import RECORDS
    from zerofleet.fleet.validation_runs import FULL, QUICK, ValidationRuns, runs_in

    refuse_unknown(only or [])
    refuse_unwritable(out)
    preset_names(game)  # rejects an unknown game before anything is made
    folder = Path(tempfile.mkdtemp(prefix="zerofleet-validate-"))
    has_failed = True
    try:
        with (
            (folder / "log.txt").open("w") as log,
            progress_of("done") as show,
            runs_in(folder),
        ):
            runs = ValidationRuns(
                game,
                QUICK if quick else FULL,
                option_values(option),
                settings or [],
                device or "auto",
                show,
                lambda line: say(line, file=log, flush=True),
            )
            benchmarks = BENCHMARKS / "results"
            validation = Validation(runs, folder, benchmarks if benchmarks.is_dir() else None)
            if record:
                validation.add_record()
                results = []
            else:
                results = list(validation.results(only or NAMES))
            about = facts(validation)
        has_failed = any(
            each.verdict == "fail" or (strict and each.verdict == "skipped") for each in results
        )
    finally:
        if has_failed and sys.exc_info()[0] is None:
            say(f"the runs, and log.txt with what they printed, are in {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder)
    if record:
        say(f"recorded in {RECORDS}")
        return
    page = validation_page(f"Validation: {game}", about, results, picture(results))
    write_output(out, page.encode())
    if as_json:
        print(json.dumps(about | {"checks": [asdict(each) for each in results]}))
    else:
        print_results(results)
        say(f"page: {out}")
    raise typer.Exit(1 if has_failed else 0)


def facts(validation: "Validation") -> dict[str, str]:
    runs = validation.runs
    return {
        "command": shlex.join(["zerofleet", *sys.argv[1:]]),
        "game": runs.game,
        "scale": runs.scale.name,
        "platform": validation.platform,
        "zerofleet": version("zerofleet"),
        "time": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
    }


def picture(results: Sequence[CheckResult]) -> bytes | None:
    """The learning curves, where a check has any."""
    curves: Mapping[str, Mapping[int, float]] = {
        name: curve for each in results for name, curve in each.curves.items()
    }
    if not curves:
        return None
    needed("matplotlib", "zerofleet[train]")
    # Imported here: it loads matplotlib.
    from zerofleet.report.plots import learning_curves

    return learning_curves(curves)


def print_results(results: Sequence[CheckResult]) -> None:
    rows = [
        (each.verdict, each.name, "\n".join(each.figures), f"{each.seconds:.1f}")
        for each in results
    ]
    print_table(("verdict", "check", "figures", "seconds"), rows, numbers=("seconds",))
    say(summary(results))
