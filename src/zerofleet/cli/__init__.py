"""The command line: `zerofleet VERB …`, one file per verb.

A user error, a bad file or a system error prints one line on standard error and exits with status
2; with ZEROFLEET_DEBUG=1 its traceback comes first. Ctrl-C exits quietly with status 130.
"""

import os
import sys
import traceback
import warnings
from importlib.metadata import version
from typing import Annotated

import typer

from zerofleet.cli.analyse import analyse
from zerofleet.cli.bench import bench
from zerofleet.cli.check import check
from zerofleet.cli.cloud import cloud
from zerofleet.cli.convert import convert
from zerofleet.cli.dash import dash
from zerofleet.cli.doctor import doctor
from zerofleet.cli.doctor_findings import required_libraries
from zerofleet.cli.episodes import episodes
from zerofleet.cli.exploit import exploit
from zerofleet.cli.export import export
from zerofleet.cli.fleet import fleet
from zerofleet.cli.games import games
from zerofleet.cli.gate import gate
from zerofleet.cli.gomocup import gomocup
from zerofleet.cli.inference import inference
from zerofleet.cli.judge import judge
from zerofleet.cli.match import match
from zerofleet.cli.monitor import monitor
from zerofleet.cli.play import play
from zerofleet.cli.plugins import with_plugins
from zerofleet.cli.queue import queue
from zerofleet.cli.rate import rate
from zerofleet.cli.rater import rater
from zerofleet.cli.report import report
from zerofleet.cli.review import review
from zerofleet.cli.runs import runs
from zerofleet.cli.show import show
from zerofleet.cli.solve import solve
from zerofleet.cli.sweep import sweep
from zerofleet.cli.train import train
from zerofleet.cli.trainer import trainer
from zerofleet.cli.validate import validate
from zerofleet.cli.worker import worker
from zerofleet.errors import ZerofleetError
from zerofleet.games.sources import CUSTOM_MODULE
from zerofleet.printing import printable, say
from zerofleet.program import program_name

DEFAULT_FORMAT = warnings.formatwarning

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
USE_NETWORKS = {
    *(
        analyse,
        dash,
        exploit,
        export,
        gate,
        gomocup,
        inference,
        judge,
        match,
        play,
        rate,
        rater,
        report,
        review,
    ),
    *(sweep, train, trainer, validate, worker),
}
for verb in (
    games,
    check,
    show,
    convert,
    analyse,
    review,
    train,
    trainer,
    worker,
    inference,
    rater,
    exploit,
    export,
    judge,
    gomocup,
    play,
    dash,
    report,
    doctor,
    match,
    rate,
    gate,
    sweep,
    queue,
    monitor,
    validate,
    solve,
):
    app.command()(with_plugins(verb) if verb in USE_NETWORKS else verb)
# Arguments after the name of a benchmark belong to the benchmark, --help too.
app.command(context_settings={"allow_interspersed_args": False})(bench)
app.add_typer(fleet, name="fleet")
app.add_typer(cloud, name="cloud")
app.add_typer(runs, name="runs")
app.add_typer(episodes, name="episodes")


def print_version(wanted: bool) -> None:
    if wanted:
        print(f"zerofleet {version('zerofleet')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Self-play training, play and analysis for board and card games, in the style of AlphaZero.

    ZEROFLEET_DEBUG=1 in the environment shows the traceback of an error.
    """


def main(arguments: list[str] | None = None) -> None:
    """Runs a command line, by default this process's, and exits."""
    warnings.formatwarning = warning_text
    try:
        app(args=arguments, prog_name=program_name())
    except Exception as error:
        text = error_text(error)
        if text is None:
            raise
        if os.environ.get("ZEROFLEET_DEBUG"):
            traceback.print_exc()
        say(f"zerofleet: {text}", file=sys.stderr)
        raise SystemExit(2) from None


def warning_text(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    line: str | None = None,
) -> str:
    """Formats zerofleet's warnings like its errors; leaves those of libraries alone."""
    if issubclass(category, ZerofleetError):
        return printable(f"zerofleet: {message}\n")
    return DEFAULT_FORMAT(message, category, filename, lineno, line)


def error_text(error: Exception) -> str | None:
    """The message for the user; None if the error is a bug in zerofleet."""
    if isinstance(error, ZerofleetError):
        return str(error)
    if isinstance(error, OSError):
        what = error.strerror or str(error)
        paths = [str(path) for path in (error.filename, error.filename2) if path is not None]
        return f"{' and '.join(paths)}: {what}" if paths else what
    if isinstance(error, ModuleNotFoundError):
        library = (error.name or "").partition(".")[0]
        extra = dict(required_libraries()).get(library)
        return f"{error}; pip install 'zerofleet[{extra}]'" if extra else None
    if place := place_in_custom_game(error):
        return f"{place}: {type(error).__name__}: {error}"
    if isinstance(error, MemoryError) or is_torch_out_of_memory(error):
        details = str(error).partition("\n")[0]
        return f"out of memory{f': {details}' if details else ''}"
    return None


def place_in_custom_game(error: Exception) -> str:
    """File and line in a custom game that raised the error; empty if none did."""
    frames = list(traceback.walk_tb(error.__traceback__))
    for frame, line in reversed(frames):
        if str(frame.f_globals.get("__name__")).startswith(CUSTOM_MODULE):
            return f"{frame.f_code.co_filename}:{line}"
    return ""


def is_torch_out_of_memory(error: Exception) -> bool:
    """On a GPU, or on the CPU, for which torch has no exception class."""
    return type(error).__name__ == "OutOfMemoryError" or (
        isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error)
    )
