"""zerofleet queue"""

import sys
from typing import Annotated, Literal

import typer

from zerofleet.bus import Bus
from zerofleet.cli.fleet_arguments import RedisUrl, RunName
from zerofleet.cli.fleet_bus import bus_of
from zerofleet.cli.output import print_table
from zerofleet.errors import BadText
from zerofleet.printing import duration_text, say, size_text


def queue(
    run: RunName,
    action: Annotated[
        Literal["show", "clear"],
        typer.Argument(metavar="ACTION", help="Show the waiting games, or discard them."),
    ] = "show",
    yes: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Clear without asking; repeat the name of the run."),
    ] = None,
    redis: RedisUrl = None,
) -> None:
    """Show or discard the games that wait for a fleet's trainer.

    `clear` asks twice. The games are marked as done, so that workers delete them too and do not
    send them again.

    Example: zerofleet queue --run c4 --redis redis://127.0.0.1:6379
    """
    with bus_of(run, redis) as bus:
        if action == "show":
            show(bus)
        else:
            clear(bus, run, yes)


def show(bus: Bus) -> None:
    workers = bus.backlog_by_worker()
    if not workers:
        say("no game waits for the trainer")
        return
    header = ("worker", "games", "size", "oldest")
    rows = [
        (
            worker,
            str(each.num_episodes),
            size_text(each.num_bytes),
            duration_text(each.oldest_s),
        )
        for worker, each in workers.items()
    ]
    print_table(header, rows, numbers=header[1:])
    say(f"in all {waiting_text(bus)}")


def waiting_text(bus: Bus) -> str:
    total = bus.backlog()
    return (
        f"{total.num_episodes} games, {size_text(total.num_bytes)}, the oldest "
        f"{duration_text(total.oldest_s)} old"
    )


def clear(bus: Bus, run: str, yes: str | None) -> None:
    if bus.backlog().num_episodes == 0:
        say("no game waits for the trainer; nothing is cleared")
        return
    if yes is not None and yes != run:
        raise BadText(f"--yes {yes}: repeat the name of the run, {run}")
    if yes is None:
        ask_twice(bus, run)
    num_cleared = bus.clear_backlog()
    say(f"cleared {num_cleared} games of {run}; workers will not send them again")


def ask_twice(bus: Bus, run: str) -> None:
    if not sys.stdin.isatty():
        raise BadText(
            f"there is no terminal to ask on; to clear {waiting_text(bus)}, add --yes {run}"
        )
    typer.confirm(f"Discard {waiting_text(bus)}? They will never be trained on.", abort=True)
    typed = typer.prompt("Type the name of the run to clear it")
    if typed != run:
        raise BadText(f"{typed!r} is not {run}; nothing is cleared")
