"""A whole cluster, each role on a host of its own: Redis users, CURVE keys, no shared loopback.

Nine hosts in network namespaces: Redis, a trainer, two inference servers, four workers that can
evaluate nothing themselves, and a live monitor. What is tested is what they learn.
"""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
import time
from contextlib import ExitStack

import pytest
from lost_lines import num_lost_lines
from network_hosts import Network
from redis_server import needs_redis

import zerofleet as zf
from zerofleet import nets
from zerofleet.config import read
from zerofleet.infer import make_evaluator
from zerofleet.replay import EpisodeLog
from zerofleet.runs.folder import find

pytestmark = [needs_redis, pytest.mark.long]

RUN = "ttt"
PORT = 6379
SERVERS = ("gpu-0", "gpu-1")
WORKERS = ("box-0", "box-1", "box-2", "box-3")
SETTINGS = (
    "stop.steps=2500",
    "train.checkpoint_every_minutes=null",
    "train.keep_checkpoints=1",
    "rating.interval_minutes=0",
    "rating.final_games=0",
    "selfplay.num_groups=2",
    "selfplay.games_per_group=16",
    "fleet.pace_slack_s=0",
)
TRAINING_S = 900.0
PATIENCE_S = 120.0
ANSWERED = re.compile(r"(\d[\d,]*) requests answered, 0 refused")


def zerofleet(*arguments):
    return [sys.executable, "-m", "zerofleet", *arguments]


class Cluster:
    """The hosts, and a process on each. `folder` has what each prints, and its files."""

    def __init__(self, folder, stack):
        self.folder = folder
        self.network = stack.enter_context(Network(["redis", "trainer", *SERVERS, *WORKERS, "tv"]))
        self._stack = stack
        self._secrets = folder / "secrets"
        ids = [f"--worker={each}" for each in WORKERS] + [f"--inference={each}" for each in SERVERS]
        command = zerofleet("fleet", "acl", "--run", RUN, "--passwords", str(self._secrets), *ids)
        users = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        (folder / "users.acl").write_text(f"{users}user default off\n")

    def start_redis(self):
        address = self.network.addresses["redis"]
        options = ["--bind", address, "--port", str(PORT), "--dir", str(self.folder), "--save", ""]
        users = ["--aclfile", str(self.folder / "users.acl")]
        return self._start("redis", ["redis-server", *options, *users], {})

    def start(self, host, user, *arguments, key="", **more):
        """A role on a host, with its user's password, and the key file of its kind."""
        password = next(self._secrets.glob(f"*{user}*"))
        environment = {
            "REDIS_URL": f"redis://{self.network.addresses['redis']}:{PORT}",
            "REDIS_USER": f"zf-{RUN}-{user}",
            "REDIS_PASSWORD_FILE": str(password),
            "ZEROFLEET_RUNS": str(self.folder / f"runs-{host}"),
            "ZEROFLEET_SPOOL": str(self.folder / f"spool-{host}"),
        }
        if key:
            environment["ZEROFLEET_CURVE_KEY_FILE"] = str(self._secrets / key)
        command = zerofleet(arguments[0], *arguments[1:], "--run", RUN)
        return self._start(host, command, environment, **more)

    def _start(self, host, command, environment, **more):
        process = self.network.start(host, command, environment, self.output(host), **more)
        self._stack.callback(end, process)
        return process

    def output(self, host):
        return self.folder / f"{host}.txt"

    def text(self, host):
        return self.output(host).read_text() if self.output(host).exists() else ""


def end(process):
    if process.poll() is None:
        process.kill()
    process.wait()


class LiveMonitor:
    """On a terminal of its host, as long as the run lasts."""

    def __init__(self, cluster):
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 160, 0, 0))
        streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
        self.process = cluster.start("tv", "viewer", "monitor", **streams)
        os.close(theirs)
        self._ours, self.shown = ours, ""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        try:
            while data := os.read(self._ours, 65536):
                self.shown += data.decode(errors="replace")
        except OSError:  # its end
            pass

    def leave(self):
        os.write(self._ours, b"q")
        self.process.wait(PATIENCE_S)
        self._thread.join(PATIENCE_S)
        os.close(self._ours)
        return self.process.returncode


def wait_for(look, what, patience_s=PATIENCE_S):
    end_s = time.monotonic() + patience_s
    while not (found := look()):
        assert time.monotonic() < end_s, f"waited in vain for {what}"
        time.sleep(0.2)
    return found


@pytest.fixture
def cluster(tmp_path):
    with ExitStack() as stack:
        cluster = Cluster(tmp_path, stack)
        try:
            yield cluster
        finally:
            for host in cluster.network.addresses:
                print(f"---- {host}:\n{cluster.text(host)[-3000:]}")


def test_a_cluster_learns_tic_tac_toe_to_no_lost_line(cluster, monkeypatch):
    cluster.start_redis()
    sets = [word for each in SETTINGS for word in ("--set", each)]
    options = ["--preset", "fast", "--threads", "1", "--no-check", "--device", "cpu"]
    trainer = cluster.start("trainer", "trainer", "trainer", "tictactoe", *options, *sets)
    servers = {
        host: cluster.start(
            *(host, f"inference-{host}", "inference", "--server-id", host, "--device", "cpu"),
            *("--host", cluster.network.addresses[host]),
            key="curve-servers",
        )
        for host in SERVERS
    }
    workers = {
        host: cluster.start(
            *(host, f"worker-{host}", "worker", "--worker-id", host, "--processes", "1"),
            *("--evaluator", "remote"),
            key="curve-workers",
        )
        for host in WORKERS
    }
    monitor = LiveMonitor(cluster)
    wait_for(lambda: all(each in monitor.shown for each in (*SERVERS, *WORKERS)), "all roles shown")
    assert trainer.wait(TRAINING_S) == 0
    assert monitor.leave() == 0
    for host, process in {**servers, **workers}.items():
        assert process.wait(PATIENCE_S) == 0, cluster.text(host)

    # Every host had its part.
    monkeypatch.setenv("ZEROFLEET_RUNS", str(cluster.folder / "runs-trainer"))
    run = find(RUN)
    log = EpisodeLog(run.episodes, run.game(), read(run.config_path).replay)
    logged = {sender.worker: number for sender, number in log.marks().items()}
    log.close()
    assert set(logged) == set(WORKERS)
    assert min(logged.values()) > 50, logged
    answered = {host: ANSWERED.search(cluster.text(host)) for host in SERVERS}
    assert all(found and int(found[1].replace(",", "")) > 1000 for found in answered.values())

    # And together they learnt what the first weights did not know.
    game = run.game()
    untrained = make_evaluator(nets.build(game, "tiny").eval(), device="cpu")
    assert sum(num_lost_lines(game, untrained, seat) for seat in (0, 1)) > 0
    trained = zf.load(RUN)
    assert [num_lost_lines(game, trained, seat) for seat in (0, 1)] == [0, 0]
    print(f"games {logged}, requests {[found[1] for found in answered.values() if found]}")
