"""zerofleet monitor"""

import os
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from zerofleet.cli.fleet_arguments import RedisUrl, RunName
from zerofleet.cli.output import TextConsole

if TYPE_CHECKING:
    from zerofleet.bus.connect import RedisAddress

SNAPSHOT_WIDTH = 160
"""Columns in a file or a pipe, unless COLUMNS says otherwise."""
MARGIN_S = 0.5


def monitor(
    run: RunName,
    redis: RedisUrl = None,
    once: Annotated[
        bool, typer.Option("--once", help="Print one picture and end, as into a file or a pipe.")
    ] = False,
    interval_s: Annotated[
        float,
        typer.Option("--interval", min=0.1, metavar="SECONDS", help="Seconds between two looks."),
    ] = 1.0,
) -> None:
    """Show a fleet live.

    What each role does or waits for, throughput, queue, weights, loss and rating.
    Red is what stands still, is silent or gone. Keys sort, filter and scroll; `?` lists them, `q`
    leaves. A viewer's user suffices. While Redis is out of reach the last picture stays, in grey.

    Example: zerofleet monitor --run c4
    """
    # Imported here: they load redis.
    from zerofleet.cli.monitor_live import watch
    from zerofleet.fleet.local_redis import address_for

    address = address_for(run, redis)
    if once or not (sys.stdin.isatty() and sys.stdout.isatty()):
        print_snapshot(address, run)
    else:
        watch(address, run, interval_s)


def print_snapshot(address: "RedisAddress", run: str) -> None:
    """Prints one picture, of two looks so far apart that they see two heartbeats."""
    # Imported here: they load redis.
    from zerofleet.bus.redis import RedisBus
    from zerofleet.cli.monitor_controls import Controls
    from zerofleet.cli.monitor_head import Connection
    from zerofleet.cli.monitor_picture import picture
    from zerofleet.fleet.fleet_status import FleetStatus
    from zerofleet.fleet.monitor import FleetMonitor
    from zerofleet.fleet.role import HEARTBEAT_S

    looks = FleetMonitor()
    with closing(RedisBus(address, run)) as bus:
        view = looks.look(FleetStatus.read(bus, run, bus.server), time.monotonic())
        if view.roles:
            time.sleep(HEARTBEAT_S + MARGIN_S)
            view = looks.look(FleetStatus.read(bus, run, bus.server), time.monotonic())
    console = TextConsole()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = SNAPSHOT_WIDTH
    console.print(picture(Connection(run, str(address)), view, Controls(), console.width))
