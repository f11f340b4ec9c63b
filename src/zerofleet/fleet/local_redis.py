"""A Redis of one run, on the loopback of this machine.

Data, configuration and address are in the run's folder. The password is in files that only their
owner can read: other users of the machine have no access.
"""

import os
import secrets
import shutil
import socket
import time
from pathlib import Path

from zerofleet.bus.connect import RedisAddress, read_address
from zerofleet.errors import EngineFailed, Unsupported
from zerofleet.fleet.processes import OnLine, Process
from zerofleet.runs.folder import REDIS, runs_folder

SERVERS = ("redis-server", "valkey-server")
START_TIMEOUT_S = 20.0
POLL_S = 0.05
CONFIGURATION = """\
bind 127.0.0.1
port {port}
requirepass {password}
dir {folder}
appendonly yes
appendfsync everysec
save ""
maxmemory-policy noeviction
daemonize no
loglevel notice
logfile redis.log
"""


def url_file(run: str) -> Path:
    """The file with the address of a run's own Redis."""
    return runs_folder() / run / REDIS / "url"


def address_for(run: str, option: str | None) -> RedisAddress:
    """The Redis of `--redis` or of the environment, else the run's own on this machine."""
    given = option or os.environ.get("REDIS_URL") or os.environ.get("REDIS_URL_FILE")
    if not given and url_file(run).exists():
        return address_in(url_file(run))
    return read_address(option)


def server_program() -> str | None:
    """The path of the server that is installed here; None where there is none."""
    return next(filter(None, map(shutil.which, SERVERS)), None)


def address_in(path: Path) -> RedisAddress:
    return read_address(None, {"REDIS_URL_FILE": str(path)})


class LocalRedis:
    """Started when made; `close` ends it."""

    def __init__(self, run: str, on_line: OnLine) -> None:
        server = server_program()
        if server is None:
            raise Unsupported(
                "there is no redis-server here: install it (Debian, Ubuntu: apt-get install "
                "redis-server; macOS: brew install redis), or name a running one by --redis or "
                "REDIS_URL"
            )
        folder = url_file(run).parent.absolute()
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        port, password = free_port(), secrets.token_urlsafe(24)
        text = CONFIGURATION.format(port=port, password=password, folder=folder)
        configuration = folder / "redis.conf"
        write_privately(configuration, text)
        write_privately(url_file(run), f"redis://:{password}@127.0.0.1:{port}\n")
        self.address = address_in(url_file(run))
        self._process = Process("redis", [server, str(configuration)], on_line)
        try:
            self._wait_until_up(configuration)
        except BaseException:
            self._process.kill()
            raise

    @property
    def exit_status(self) -> int | None:
        return self._process.exit_status

    def close(self) -> None:
        """Stops the server. Its data is on disk for the next start."""
        self._process.terminate()
        if self._process.wait(START_TIMEOUT_S) is None:
            self._process.kill()

    def _wait_until_up(self, configuration: Path) -> None:
        end_s = time.monotonic() + START_TIMEOUT_S
        while self._process.exit_status is None and time.monotonic() < end_s:
            try:
                with socket.create_connection((self.address.host, self.address.port), 1.0):
                    return
            except OSError:
                time.sleep(POLL_S)
        raise EngineFailed(f"redis-server did not start; see {configuration}")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def write_privately(path: Path, text: str) -> None:
    """Writes a file that only its owner can read."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
