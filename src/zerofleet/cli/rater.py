"""zerofleet rater"""

from typing import Annotated

import typer

from zerofleet.cli.fleet_arguments import LOOPBACK, HealthHost, HealthPortNumber, RedisUrl, RunName
from zerofleet.cli.worker import DeviceName, EvaluatorName, GameFile
from zerofleet.printing import say


def rater(
    run: RunName,
    redis: RedisUrl = None,
    rater_id: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="Name of this rater in the fleet, the one that `fleet acl --rater` was given. "
            "Default: the host's name and -rater.",
        ),
    ] = None,
    game: GameFile = None,
    evaluator: EvaluatorName = None,
    device: DeviceName = "auto",
    health_port: HealthPortNumber = 0,
    health_host: HealthHost = LOOPBACK,
) -> None:
    """Play rating games for a fleet.

    The run's weights play against the opponents that its settings name.
    The trainer splits a rating into blocks; each rater leases one after another and reports its
    games. Any number of raters gives the same result as one machine.

    Example: zerofleet rater --run c4 --redis redis://127.0.0.1:6379
    """
    # Imported here: they load redis.
    from zerofleet.bus.keys import checked_name
    from zerofleet.fleet.fleet_rater import RaterOptions, rate
    from zerofleet.fleet.local_redis import address_for
    from zerofleet.fleet.role import HealthPort, default_role_id
    from zerofleet.fleet.signals import GracefulStop

    address = address_for(run, redis)
    options = RaterOptions(
        checked_name("rater", rater_id or f"{default_role_id()}-rater"),
        game,
        evaluator,
        device,
        HealthPort(health_host, health_port),
    )
    stop = GracefulStop()
    with stop.on_signals(lambda: None):
        rate(address, run, options, stop, lambda text: say(text, flush=True))
