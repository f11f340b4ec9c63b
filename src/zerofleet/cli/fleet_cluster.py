"""zerofleet fleet up, scale and down: a fleet on a Ray cluster."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zerofleet.cli.fleet_arguments import RunName
from zerofleet.cli.output import print_table
from zerofleet.config.cluster import read_cluster
from zerofleet.errors import BadText
from zerofleet.printing import say

if TYPE_CHECKING:
    from zerofleet.fleet.ray_cluster import Report

PLACING_S = 60.0
"""How long `fleet up` and `scale` wait until all roles run."""
POLL_S = 1.0
HEADER = ("role", "node", "doing", "failures", "last failure")

RayAddress = Annotated[
    str | None,
    typer.Option(
        "--address",
        metavar="ADDRESS",
        help="The Ray cluster: HOST:6379 from one of its nodes, ray://HOST:10001 from outside. "
        "Default: RAY_ADDRESS, else the one that this machine belongs to.",
    ),
]


def up(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A cluster file; configs/cluster.yaml and cluster_small.yaml are examples.",
        ),
    ],
    address: RayAddress = None,
) -> None:
    """Start a run on an existing Ray cluster.

    FILE has the run, its settings, and the number of each role, in total or per node. Roles that
    die are restarted, nodes that join get theirs, nodes that leave are drained. Roles are ordinary
    processes that communicate through a Redis, which must be running. Every node needs zerofleet,
    and the password of Redis in its environment or in a file. The command returns when the roles
    run; `zerofleet monitor` shows what they do.

    Example: zerofleet fleet up configs/cluster_small.yaml
    """
    cluster = read_cluster(file)

    # Imported here: they load redis and ray.
    from zerofleet.bus.connect import read_address
    from zerofleet.bus.keys import checked_name
    from zerofleet.fleet.ray_cluster import connected, start

    checked_name("run", cluster.run)
    if cluster.redis:
        read_address(cluster.redis, {})
    with connected(address):
        print_placed(start(cluster))
    say(f"watch it with: zerofleet monitor --run {cluster.run}")
    say(f"end it with:   zerofleet fleet down --run {cluster.run}")


def scale(
    run: RunName,
    numbers: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ROLE=NUMBER]...",
            help="The new number of a role, in total or per node as in the cluster file.",
        ),
    ] = None,
    address: RayAddress = None,
) -> None:
    """Change how many workers or servers a Ray cluster runs.

    Surplus ones are drained: they hand over their games and end. Without numbers this only shows
    where each role runs and how often it was restarted.

    Example: zerofleet fleet scale --run bb worker=8 rater=2
    """
    wanted = dict(map(number_of, numbers or []))

    # Imported here: they load ray.
    from zerofleet.fleet.ray_cluster import connected, supervisor_of
    from zerofleet.fleet.ray_cluster import scale as scale_roles

    with connected(address):
        supervisor = supervisor_of(run)
        scale_roles(supervisor, wanted)
        print_placed(supervisor)


def down(run: RunName, address: RayAddress = None) -> None:
    """End a run on a Ray cluster.

    Its roles drain; the trainer ends last, with a checkpoint.
    No process is left on the nodes. `fleet up` with the same file resumes the run.

    Example: zerofleet fleet down --run bb
    """
    # Imported here: they load ray.
    from zerofleet.fleet.ray_cluster import connected, end_all, supervisor_of

    shown: list[str] = []
    with connected(address):
        for report in end_all(supervisor_of(run)):
            names = [role.name for role in report.roles]
            if names != shown:
                shown = names
                say(f"waiting for: {', '.join(names)}", flush=True)
    say(f"run {run} has ended")


def number_of(text: str) -> tuple[str, int]:
    """Parses worker=8."""
    kind, _, number = text.partition("=")
    if not number.isdecimal() or len(number) > 5:
        raise BadText(f"{text!r} must be ROLE=NUMBER, such as worker=8")
    return kind, int(number)


def print_placed(supervisor: object) -> None:
    """Waits until all roles run, for at most PLACING_S, then prints where each is."""
    # Imported here: they load ray.
    from zerofleet.fleet.ray_cluster import RUNNING, report_of

    end_s = time.monotonic() + PLACING_S
    while True:
        time.sleep(POLL_S)
        report = report_of(supervisor)
        settled = report.roles and all(role.doing == RUNNING for role in report.roles)
        if settled or report.ending or time.monotonic() > end_s:
            break
    print_table(HEADER, rows_of(report), numbers=["failures"])
    say("requested: " + ", ".join(f"{kind} {text}" for kind, text in report.wanted.items()))
    if report.ending:
        say(f"ending: {report.ending}")
    if report.fault:
        say(f"the supervisor cannot manage the roles: {report.fault}; see Ray's logs")


def rows_of(report: "Report") -> Sequence[Sequence[str]]:
    return [
        (role.name, role.node, role.doing, str(role.num_failures), role.last_failure)
        for role in report.roles
    ]
