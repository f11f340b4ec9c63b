"""S3 servers for tests: moto in this process, and Ceph's radosgw, which checks signatures."""

import logging
import os
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import boto3
import pytest
from moto.server import ThreadedMotoServer

BUCKET = "zerofleet-test"
PATIENCE_S = 300


def environment(endpoint: str, key: str, secret: str) -> dict[str, str]:
    """What makes boto3 use a server, whatever this machine's own settings are."""
    return {
        "AWS_ACCESS_KEY_ID": key,
        "AWS_SECRET_ACCESS_KEY": secret,
        "AWS_ENDPOINT_URL_S3": endpoint,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    }


@contextmanager
def moto_server() -> Iterator[dict[str, str]]:
    """Yields the environment of its users. The bucket is empty."""
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    variables = environment(f"http://{host}:{port}", "tester", "not-checked")
    try:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            boto3.session.Session().client("s3").create_bucket(Bucket=BUCKET)
            yield variables
    finally:
        address = f"http://{host}:{port}/moto-api/reset"
        urllib.request.urlopen(urllib.request.Request(address, method="POST")).close()
        server.stop()


# ---- Ceph

needs_ceph = pytest.mark.skipif(
    shutil.which("radosgw") is None and not os.environ.get("ZEROFLEET_REQUIRE_TOOLS"),
    reason="Ceph is missing; scripts/install-debian-packages s3",
)

CONFIG = """[global]
fsid = 11111111-2222-3333-4444-555555555555
mon host = {address}:{mon_port}
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
keyring = {folder}/keyring
run dir = {folder}
admin socket = {folder}/$cluster-$name.asok
log file = {folder}/$name.log
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd crush chooseleaf type = 0
osd objectstore = memstore
memstore device bytes = 4294967296
mon allow pool size one = true
mon allow pool delete = true
mon data avail warn = 1
mon data avail crit = 1
osd max object name len = 256
osd max object namespace len = 64
public addr = {address}
cluster addr = {address}
ms bind ipv6 = false

[client.rgw]
rgw frontends = beast endpoint={address}:{port}
rgw dns name = {address}
rgw gc obj min wait = 0
rgw enable usage log = false
rgw thread pool size = 32
"""


class Radosgw:
    """A monitor, one OSD in memory and a gateway, as plain processes at an address."""

    def __init__(self, folder: Path, address: str = "127.0.0.1") -> None:
        self.folder, self._address = folder, address
        self._stack = ExitStack()
        self._config = folder / "ceph.conf"
        port, mon_port = free_port(address), free_port(address)
        self.endpoint = f"http://{address}:{port}"
        self.log = folder / "client.rgw.log"
        for name in ("mon", "osd", "mgr"):
            (folder / name).mkdir(parents=True)
        self._config.write_text(
            CONFIG.format(folder=folder, address=address, mon_port=mon_port, port=port)
        )
        try:
            self._start(mon_port)
        except BaseException:
            self.close()
            raise

    def _start(self, mon_port: int) -> None:
        folder, conf = self.folder, str(self._config)
        ring = str(folder / "keyring")
        tool = ["ceph-authtool", ring, "--gen-key"]
        everything = [
            "--cap",
            "mon",
            "allow *",
            "--cap",
            "osd",
            "allow *",
            "--cap",
            "mgr",
            "allow *",
        ]
        run("ceph-authtool", "--create-keyring", ring)
        run(*tool, "-n", "mon.", "--cap", "mon", "allow *")
        run(*tool, "-n", "client.admin", *everything)
        run(*tool, "-n", "client.rgw", "--cap", "mon", "allow rw", "--cap", "osd", "allow rwx")
        run(*tool, "-n", "osd.0", "--cap", "mon", "allow profile osd", "--cap", "osd", "allow *")
        run(*tool, "-n", "mgr.x", "--cap", "mon", "allow profile mgr", "--cap", "osd", "allow *")
        fsid = "11111111-2222-3333-4444-555555555555"
        monmap = str(folder / "monmap")
        at = f"[v2:{self._address}:{mon_port}]"
        run("monmaptool", "--create", "--fsid", fsid, "--addv", "a", at, monmap)
        mon = ["ceph-mon", "-i", "a", "-c", conf, "--mon-data", str(folder / "mon")]
        run(*mon, "--mkfs", "--monmap", monmap, "--keyring", ring)
        self._daemon(*mon)
        self.ceph("osd", "new", "33333333-2222-3333-4444-555555555555")
        self._daemon("ceph-mgr", "-i", "x", "-c", conf, "--mgr-data", str(folder / "mgr"))
        osd = ["ceph-osd", "-i", "0", "-c", conf, "--osd-data", str(folder / "osd")]
        run(*osd, "--mkfs", "--osd-uuid", "33333333-2222-3333-4444-555555555555")
        self._daemon(*osd)
        self._daemon("radosgw", "-n", "client.rgw", "-c", conf, "--rgw-data", str(folder))
        wait_for_port(self.endpoint.rpartition(":")[2], self._address)

    def ceph(self, *arguments: str) -> str:
        return run("ceph", "-c", str(self._config), "--connect-timeout", "120", *arguments)

    def add_user(self, key: str, secret: str) -> None:
        """A user who may create buckets."""
        admin = ["radosgw-admin", "-c", str(self._config), "-n", "client.admin"]
        names = ["--uid", key, "--display-name", key, "--access-key", key, "--secret-key", secret]
        run(*admin, "user", "create", *names)

    def close(self) -> None:
        self._stack.close()

    def _daemon(self, *command: str) -> None:
        output = self._stack.enter_context((self.folder / f"{command[0]}.out").open("wb"))
        process = subprocess.Popen([*command, "-f"], stdout=output, stderr=subprocess.STDOUT)
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)  # nothing of it is kept


@contextmanager
def radosgw(folder: Path, *others: str) -> Iterator[dict[str, str]]:
    """Yields the environment of a user with an empty bucket. Others exist, with the same secret,
    and may do what a policy of the bucket allows them."""
    server = Radosgw(folder)
    try:
        for key in ("tester", *others):
            server.add_user(key, "of-this-test-alone")
        variables = environment(server.endpoint, "tester", "of-this-test-alone")
        with pytest.MonkeyPatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            boto3.session.Session().client("s3").create_bucket(Bucket=BUCKET)
            yield variables
    finally:
        server.close()


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def free_port(address: str) -> int:
    with socket.socket() as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])


def wait_for_port(port: str, address: str) -> None:
    end_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            socket.create_connection((address, int(port)), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > end_s:
                raise
            time.sleep(0.2)
