"""The bus of a fleet's run, for verbs that inspect it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from zerofleet.bus import Bus
from zerofleet.errors import BadText

StreamRun = Annotated[
    str | None, typer.Option("--run", metavar="NAME", help="For the source redis: the run.")
]


@contextmanager
def bus_of(run: str, redis: str | None) -> Iterator[Bus]:
    """The bus of a run of which Redis knows something."""
    # Imported here: they load redis.
    from zerofleet.bus.redis import RedisBus
    from zerofleet.fleet.local_redis import address_for

    address = address_for(run, redis)
    bus = RedisBus(address, run)
    try:
        if bus.run_facts() is None and not bus.backlog_by_worker():
            raise BadText(f"{address} has no run {run}")
        yield bus
    finally:
        bus.close()
