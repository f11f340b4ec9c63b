"""A real Redis for tests, on a free port of the loopback device, that can be killed and restarted.

    with RedisServer(folder, "--appendonly", "yes") as server:
        bus = RedisBus(server.address(), "run")
        server.kill()
        server.start()

Where redis-server is missing its tests are skipped; with ZEROFLEET_REQUIRE_TOOLS=1, as in CI, they
run and fail.
"""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest
import redis

from zerofleet.bus.connect import RedisAddress
from zerofleet.fleet.local_redis import free_port

PAUSE, RESUME = signal.SIGSTOP, signal.SIGCONT

needs_redis = pytest.mark.skipif(
    shutil.which("redis-server") is None and not os.environ.get("ZEROFLEET_REQUIRE_TOOLS"),
    reason="redis-server is missing; scripts/install-debian-packages fleet",
)


class RedisServer:
    """One server with its data in a folder. Options are those of redis-server."""

    def __init__(self, folder: Path, *options: str, password: str = "", tls: bool = False) -> None:
        self.folder = folder
        self.port = free_port()
        self.password = password
        self.tls = tls
        self._options = list(options)
        if password:
            self._options += ["--requirepass", password]
        if tls:
            make_certificates(folder)
            files = {"cert": "server.crt", "key": "server.key", "ca-cert": "ca.crt"}
            for name, file in files.items():
                self._options += [f"--tls-{name}-file", str(folder / file)]
            self._options += ["--tls-port", str(self.port), "--tls-auth-clients", "optional"]
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def address(self, user: str = "", password: str = "") -> RedisAddress:
        ca_file = str(self.folder / "ca.crt") if self.tls else ""
        return RedisAddress(
            "127.0.0.1",
            self.port,
            tls=self.tls,
            user=user,
            password=password or self.password,
            ca_file=ca_file,
        )

    def client(self) -> "redis.Redis":
        """Of the default user."""
        return self.address().client()

    def start(self) -> None:
        """Returns when it answers."""
        port = "0" if self.tls else str(self.port)
        command = ["redis-server", "--port", port, "--bind", "127.0.0.1", "--dir", str(self.folder)]
        with (self.folder / "redis.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--save", "", *self._options], stdout=log, stderr=log
            )
        end_s = time.monotonic() + 20
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > end_s:
                raise RuntimeError((self.folder / "redis.log").read_text())
            time.sleep(0.02)

    def _answers(self) -> bool:
        client = self.client()
        try:
            return bool(client.ping())
        except redis.ConnectionError:
            return False
        finally:
            client.close()

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        """SIGKILL: nothing is written any more."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def empty_disk(self) -> None:
        """Removes what it would read when it is started again."""
        shutil.rmtree(self.folder / "appendonlydir", ignore_errors=True)
        (self.folder / "dump.rdb").unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *fault: object) -> None:
        self.close()

    def close(self) -> None:
        if self.is_alive:
            self.kill()


def make_certificates(folder: Path) -> None:
    """An authority, and a certificate of 127.0.0.1 signed by it."""

    def openssl(*arguments: str) -> None:
        command = ["openssl", *arguments]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)

    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=ca")
    of_server = ["-keyout", "server.key", "-out", "server.crt", "-subj", "/CN=redis"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=CA:FALSE"]
    openssl("req", "-x509", *key, *of_server, *names, "-CA", "ca.crt", "-CAkey", "ca.key")


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    """A server that keeps nothing on disk."""
    with RedisServer(tmp_path) as server:
        yield server
