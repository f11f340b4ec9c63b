"""The command line: `zerofleet VERB …`, one file per verb.

An error in what was asked, or a full disk, is one line on standard error and exit status 2.
"""

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from zerofleet.cli.analyse import analyse
from zerofleet.cli.bench import bench
from zerofleet.cli.check import check
from zerofleet.cli.convert import convert
from zerofleet.cli.doctor import doctor
from zerofleet.cli.export import export
from zerofleet.cli.games import games
from zerofleet.cli.gate import gate
from zerofleet.cli.gomocup import gomocup
from zerofleet.cli.judge import judge
from zerofleet.cli.match import match
from zerofleet.cli.play import play
from zerofleet.cli.rate import rate
from zerofleet.cli.report import report
from zerofleet.cli.runs import runs
from zerofleet.cli.show import show
from zerofleet.cli.train import train
from zerofleet.errors import ZerofleetError
from zerofleet.files import NO_ROOM

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for verb in (
    games,
    check,
    show,
    convert,
    analyse,
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
    app.command()(verb)
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
    """Board and card games, searched and learnt by self-play."""


def main(arguments: list[str] | None = None) -> None:
    """Runs a command line, by default that of this process, and exits."""
    try:
        app(args=arguments, prog_name="zerofleet")
    except (ZerofleetError, OSError) as error:
        if isinstance(error, OSError) and error.errno not in NO_ROOM:
            raise
        print(f"zerofleet: {error}", file=sys.stderr)
        raise SystemExit(2) from None
