"""Options that the verbs of a fleet have in common."""

from typing import Annotated

import typer

RunName = Annotated[str, typer.Option("--run", metavar="NAME", help="Name of the run.")]
RedisUrl = Annotated[
    str | None,
    typer.Option(
        "--redis",
        metavar="URL",
        help="Address of Redis: redis://HOST:6379, or rediss://USER@HOST:6380 for TLS. Its "
        "password comes from REDIS_PASSWORD or the file REDIS_PASSWORD_FILE, never from here. "
        "Default: REDIS_URL or the file REDIS_URL_FILE, else the Redis that `fleet local` started.",
    ),
]
HealthPortNumber = Annotated[
    int,
    typer.Option(
        "--health-port",
        min=0,
        max=65535,
        help="Port of /healthz and /metrics, for curl and Prometheus. 0: a free one, which is "
        "printed.",
    ),
]
HealthHost = Annotated[
    str,
    typer.Option(
        "--health-host",
        metavar="ADDRESS",
        help="Address where that port listens. Default: loopback only. It has no password.",
    ),
]
LOOPBACK = "127.0.0.1"
