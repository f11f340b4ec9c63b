"""The address and credentials of Redis: from the command line, the environment or files.

    address = read_address("rediss://box:6380/0")   # or None: from the environment
    bus = RedisBus(address, "my-run")

A password never comes from the command line, where every user of the machine can read it:

    REDIS_URL, REDIS_URL_FILE             redis[s]://[user[:password]@]host[:port][/database]
    REDIS_USER                            the user, unless the URL names one
    REDIS_PASSWORD, REDIS_PASSWORD_FILE   the password, unless REDIS_URL has one
    REDIS_CA_FILE                         for rediss: certificates to trust, instead of the system's
    REDIS_CERT_FILE, REDIS_KEY_FILE       for rediss: certificate and key of the client
"""

import os
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from urllib.parse import SplitResult, unquote, urlsplit

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from zerofleet.errors import BadText, Unsupported

OLDEST_REDIS = (7, 0)
"""ACL selectors and script flags begin here."""
TRIED = ("Redis 7.0", "Valkey 9.1")
"""What the tests were run against."""
TIMEOUT_S = 5.0
"""An answer that takes longer counts as a lost connection."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 10.0
"""Bounds of the delay before the first and before later attempts to reconnect."""
RETURNS_PER_S = 100
"""In a large fleet this many reconnect per second on average, all within LONGEST_SPREAD_S."""
LONGEST_SPREAD_S = 60.0


@dataclass(frozen=True)
class RedisAddress:
    """A server and a user of it. Its text has no password."""

    host: str
    port: int = 6379
    database: int = 0
    tls: bool = False
    user: str = ""
    password: str = field(default="", repr=False)
    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""

    def __str__(self) -> str:
        user = f"{self.user}@" if self.user else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        database = f"/{self.database}" if self.database else ""
        return f"redis{'s' if self.tls else ''}://{user}{host}:{self.port}{database}"

    def client(self) -> "redis.Redis":
        """A pool of connections, each made when it is first needed. No call is repeated."""
        options: dict[str, Any] = {}
        if self.tls:
            options = {
                "ssl": True,
                "ssl_cert_reqs": "required",
                "ssl_check_hostname": True,
                "ssl_ca_certs": self.ca_file or None,
                "ssl_certfile": self.cert_file or None,
                "ssl_keyfile": self.key_file or None,
            }
        return redis.Redis(
            host=self.host,
            port=self.port,
            db=self.database,
            username=self.user or None,
            password=self.password or None,
            protocol=2,
            socket_timeout=TIMEOUT_S,
            socket_connect_timeout=TIMEOUT_S,
            socket_keepalive=True,
            retry=Retry(NoBackoff(), 0),
            **options,
        )


def read_address(
    option: str | None = None, environment: Mapping[str, str] = os.environ
) -> RedisAddress:
    """The Redis that `--redis` names, else the one of the environment."""
    url, source = option, "--redis"
    if url is None:
        url, source = _value("REDIS_URL", environment), "REDIS_URL"
    if not url:
        raise BadText(
            "no Redis is given: use --redis redis://HOST:6379, or set REDIS_URL or REDIS_URL_FILE"
        )
    parts, port, database = _parsed(url, source)
    if parts.password is not None and option is not None:
        raise BadText(
            "--redis must not hold a password, which every user of this machine could read; put it "
            "into REDIS_PASSWORD, or into a file that REDIS_PASSWORD_FILE names"
        )
    return RedisAddress(
        host=cast(str, parts.hostname),
        port=port,
        database=database,
        tls=parts.scheme == "rediss",
        user=unquote(parts.username or "") or environment.get("REDIS_USER", ""),
        password=unquote(parts.password or "") or _value("REDIS_PASSWORD", environment),
        ca_file=_existing("REDIS_CA_FILE", environment),
        cert_file=_existing("REDIS_CERT_FILE", environment),
        key_file=_existing("REDIS_KEY_FILE", environment),
    )


def _parsed(url: str, source: str) -> tuple[SplitResult, int, int]:
    """A URL with its port and database. No message repeats the URL: it may hold a password."""
    wanted = "redis://HOST:6379, or rediss://HOST:6380 for TLS"
    try:
        parts = urlsplit(url)
        port = 6379 if parts.port is None else parts.port
    except ValueError as error:
        raise BadText(f"{source} is not a URL ({error}); it must look like {wanted}") from None
    if parts.scheme not in ("redis", "rediss"):
        raise BadText(f"{source} begins with {parts.scheme or 'no scheme'!r}; it must be {wanted}")
    if not parts.hostname:
        raise BadText(f"{source} names no host; it must look like {wanted}")
    database = parts.path.strip("/") or "0"
    if not database.isdecimal() or len(database) > 5 or parts.query or parts.fragment:
        raise BadText(f"{source} must end in the number of a database, or in the port: {wanted}")
    return parts, port, int(database)


def _value(name: str, environment: Mapping[str, str]) -> str:
    """A secret, from the variable or from the file that NAME_FILE names."""
    value, path = environment.get(name, ""), environment.get(f"{name}_FILE", "")
    if value and path:
        raise BadText(f"{name} and {name}_FILE are both set; keep one")
    if not path:
        return value
    try:
        return Path(path).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadText(f"{name}_FILE: {path} cannot be read: {error}") from None


def _existing(name: str, environment: Mapping[str, str]) -> str:
    path = environment.get(name, "")
    if path and not Path(path).is_file():
        raise BadText(f"{name}: there is no file {path}")
    return path


def pause_before(attempt: int, num_others: int = 0) -> float:
    """Seconds to wait before this attempt, counted from 0, to reconnect.

    Full jitter: uniform up to a bound that doubles. The first bound already spreads a whole fleet:
    while the bound doubles, those with the shortest delays would return within one second and the
    rest long after them.
    """
    doubled_s = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(attempt, 30))
    spread_s = min(LONGEST_SPREAD_S, num_others / RETURNS_PER_S)
    return random.uniform(0, max(doubled_s, spread_s))


def check_server(info: Mapping[str, Any], address: RedisAddress) -> str:
    """Name and version of the server, from its INFO; Unsupported if a run would not be safe on it.

    Managed servers have no CONFIG, so everything comes from INFO.
    """
    is_valkey = info.get("server_name") == "valkey"
    name = "Valkey" if is_valkey else "Redis"
    version = str(info.get("valkey_version" if is_valkey else "redis_version", "0"))
    spoken = str(info.get("redis_version", "0"))
    numbers = tuple(int(part) for part in spoken.split(".")[:2] if part.isdecimal())
    if numbers < OLDEST_REDIS:
        raise Unsupported(
            f"{address} is {name} {version}; zerofleet needs Redis 7.0 or newer, or Valkey: on "
            "Debian, apt-get install redis-server"
        )
    policy = str(info.get("maxmemory_policy", "noeviction"))
    if policy != "noeviction":
        raise Unsupported(
            f"{address} evicts keys when it is full (maxmemory-policy {policy}), and would lose "
            "games; fix: redis-cli CONFIG SET maxmemory-policy noeviction, and the same in "
            "redis.conf or in the settings of a managed server"
        )
    return f"{name} {version}"


def untried(server: str) -> str:
    """A line about a server that the tests were not run against; empty for those that they were."""
    if any(server.startswith(f"{each}.") for each in TRIED):
        return ""
    return f"{server} is untested; zerofleet's tests were run against {' and '.join(TRIED)}"
