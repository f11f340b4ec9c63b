"""The command line: `zerofleet VERB …`, one file per verb.

An error in what was asked, in a file or of the machine is one line on standard error and exit
status 2; with ZEROFLEET_DEBUG=1 its traceback comes first. Ctrl-C ends quietly with 130.
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
from zerofleet.cli.convert import convert
from zerofleet.cli.doctor import doctor
from zerofleet.cli.doctor_found import required_libraries
from zerofleet.cli.export import export
from zerofleet.cli.games import games
from zerofleet.cli.gate import gate
from zerofleet.cli.gomocup import gomocup
from zerofleet.cli.judge import judge
from zerofleet.cli.match import match
from zerofleet.cli.play import play
from zerofleet.cli.plugins import with_plugins
from zerofleet.cli.rate import rate
from zerofleet.cli.report import report
from zerofleet.cli.review import review
from zerofleet.cli.runs import runs
from zerofleet.cli.show import show
from zerofleet.cli.train import train
from zerofleet.errors import ZerofleetError
from zerofleet.games.sources import CUSTOM_MODULE
from zerofleet.printing import printable, say
from zerofleet.program import program_name

PYTHONS_FORMAT = warnings.formatwarning

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
USE_NETWORKS = {analyse, export, gate, gomocup, judge, match, play, rate, report, review, train}
for verb in (
    games,
    check,
    show,
    convert,
    analyse,
    review,
    train,
    export,
    judge,
    gomocup,
    play,
    report,
    doctor,
    match,
    rate,
    gate,
):
    app.command()(with_plugins(verb) if verb in USE_NETWORKS else verb)
# What follows the name of a benchmark is for the benchmark, --help too.
app.command(context_settings={"allow_interspersed_args": False})(bench)
app.add_typer(runs, name="runs")


def print_version(wanted: bool) -> None:
    if wanted:
        print(f"zerofleet {version('zerofleet')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Say which.")
    ] = False,
) -> None:
    """Board and card games, searched and learnt by self-play.

    With ZEROFLEET_DEBUG=1 in the environment an error shows its traceback too.
    """


def main(arguments: list[str] | None = None) -> None:
    """Runs a command line, by default that of this process, and exits."""
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
    """A warning of zerofleet is a line like an error's; one of a library is as Python has it."""
    if issubclass(category, ZerofleetError):
        return printable(f"zerofleet: {message}\n")
    return PYTHONS_FORMAT(message, category, filename, lineno, line)


def error_text(error: Exception) -> str | None:
    """What to tell a user of an error; None where it is a fault of zerofleet itself."""
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
    if isinstance(error, MemoryError) or is_torchs_out_of_memory(error):
        details = str(error).partition("\n")[0]
        return f"there is not enough memory{f': {details}' if details else ''}"
    return None


def place_in_custom_game(error: Exception) -> str:
    """File and line of a custom game's code that raised an error; empty where it was not such."""
    frames = list(traceback.walk_tb(error.__traceback__))
    for frame, line in reversed(frames):
        if str(frame.f_globals.get("__name__")).startswith(CUSTOM_MODULE):
            return f"{frame.f_code.co_filename}:{line}"
    return ""


def is_torchs_out_of_memory(error: Exception) -> bool:
    """Of a GPU, or of the processor, which torch has no class for."""
    return type(error).__name__ == "OutOfMemoryError" or (
        isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error)
    )
