"""What the benchmarks of a fleet share: a Redis, roles as processes, recorded games, and what each
process uses.

    with Bench() as bench:
        trainer = bench.role("trainer", "trainer", "connect4", "--run", RUN)
        bench.usage.cpu_s("trainer")

Everything lies in one temporary folder; leaving the block ends all processes and removes it.
"""

import ctypes
import os
import secrets
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path

import zerofleet as zf
from zerofleet.arena.two_samples import t_quantile
from zerofleet.bus.connect import RedisAddress
from zerofleet.bus.redis import RedisBus
from zerofleet.fleet.local_redis import CONFIGURATION, free_port, write_privately
from zerofleet.fleet.processes import own_command

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))
from fleet_history import SpoolWatch as SpoolWatch
from fleet_history import logged
from recording import record as record

RUN = "bench"
PATIENCE_S = 60.0
SAMPLE_S = 1.0
MIB = 1 << 20
NO_RATING = ("rating.interval_minutes=0", "rating.final_games=0", "rating.opponents=[]")
NEVER_TRAINS = (*NO_RATING, "replay.samples_per_row=1e-6")
"""So few samples are due that no step is made and nobody waits for training."""
PR_SET_PDEATHSIG = 1


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Server:
    """A process with its lines in a file; killed when the thread that started it ends."""

    def __init__(self, command, environment, output):
        self.output = output
        with output.open("ab") as lines:
            self._process = subprocess.Popen(
                command,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=lines,
                stderr=lines,
                preexec_fn=die_with_parent,
            )
        self.pid = self._process.pid

    @property
    def exit_status(self):
        return self._process.poll()

    def signal(self, number):
        if self.exit_status is None:
            self._process.send_signal(number)

    def kill(self):
        """At once: it can do nothing about it."""
        self.signal(signal.SIGKILL)
        self._process.wait()

    def end(self, patience_s=PATIENCE_S):
        """Asks it to end and returns its exit status; kills it if it takes too long."""
        self.signal(signal.SIGTERM)
        try:
            return self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            self.kill()
            return None


class Bench:
    """A folder with a Redis, the roles of one run and what they use."""

    def __init__(self, append_only=True):
        self._stack = ExitStack()
        self.folder = Path(
            self._stack.enter_context(tempfile.TemporaryDirectory(prefix="zerofleet-bench-"))
        )
        self.port, self._password = free_port(), secrets.token_urlsafe(24)
        self.address = RedisAddress("127.0.0.1", self.port, password=self._password)
        (self.folder / "redis").mkdir()
        text = CONFIGURATION.format(
            port=self.port, password=self._password, folder=self.folder / "redis"
        )
        if not append_only:
            text = text.replace("appendonly yes", "appendonly no")
        write_privately(self.folder / "redis.conf", text)
        self.environment = {
            "ZEROFLEET_RUNS": str(self.folder / "runs"),
            "ZEROFLEET_SPOOL": str(self.folder / "spool"),
            "REDIS_URL": self._url("127.0.0.1", self.port),
            "PYTHONUNBUFFERED": "1",
        }
        self.usage = Usage()
        self._roles = {}
        self.start_redis()

    def __enter__(self):
        self._stack.enter_context(self.usage)
        return self

    def __exit__(self, *fault):
        for name in reversed(self._roles):  # Redis, the first, is the last to go
            self._roles[name].kill()
        self._stack.close()

    @property
    def run(self):
        return self.folder / "runs" / RUN

    def start_redis(self):
        command = ["redis-server", str(self.folder / "redis.conf")]
        self._start("redis", command, {})
        with closing(self.address.client()) as client:
            wait_for(lambda: answers(client), "Redis")

    def role(self, name, *arguments, link=None, environment=None):
        """Starts a verb of zerofleet, behind a link if one is given; again under the same name,
        once that was ended."""
        command, environment = own_command(*arguments), self.environment | (environment or {})
        if link is not None:
            command = [*link.prefix, *command]
            environment = environment | {"REDIS_URL": self._url(link.host, link.port)}
        return self._start(name, command, environment)

    def _url(self, host, port):
        return f"redis://:{self._password}@{host}:{port}"

    def _start(self, name, command, environment):
        server = Server(command, environment, self.folder / f"{name}.out")
        self._roles[name] = server
        self.usage.watch(name, server.pid)
        return server

    def __getitem__(self, name):
        return self._roles[name]

    def trainer(self, game, *settings, preset="fast", num_threads=1):
        common = ("--run", RUN, "--threads", str(num_threads))
        return self.role("trainer", "trainer", game, "--preset", preset, *common, *sets(settings))

    def bus(self):
        """A bus of the run, to be closed."""
        return closing(RedisBus(self.address, RUN))

    def wait_for_trainer(self):
        """Until it has published the run and takes games in."""
        with self.bus() as bus:
            wait_for(lambda: bus.pace() is not None, "the trainer", self["trainer"])
            return bus.run_facts()

    def info(self, section="all"):
        with closing(self.address.client()) as client:
            return client.info(section)


def sets(settings):
    """Settings as options of a command line."""
    return [part for each in settings for part in ("--set", each)]


def answers(client):
    try:
        return client.ping()
    except Exception:  # of whatever kind while it starts
        return False


def wait_for(look, what, server=None, patience_s=PATIENCE_S):
    end_s = time.monotonic() + patience_s
    while not (found := look()):
        if time.monotonic() > end_s or (server is not None and server.exit_status is not None):
            said = server.output.read_text()[-2000:] if server is not None else ""
            sys.exit(f"waited in vain for {what}\n{said}")
        time.sleep(0.05)
    return found


# ---- recorded games


def recorded_games(game, num_games=256, num_simulations=32):
    """Games to send again under other ids: `each.with_id(incarnation, sequence).encode()`."""
    played = zf.selfplay.play(
        zf.games.get(game),
        "playout",
        num_episodes=num_games,
        num_simulations=num_simulations,
        root="gumbel",
        num_threads=0,
    )
    return [zf.games.Episode.decode(each) for each in played]


def spooled_ids(watch):
    """The id of every game in the files of spools that a SpoolWatch has kept."""
    return {(game.incarnation, game.sequence) for game in watch.kept()}


def logged_ids(run):
    """How often each id is in the log of a run folder."""
    return Counter((game.incarnation, game.sequence) for game in logged(run))


def compare_ids(sent, logged):
    """Counts of what must not be, by name: all 0 where each game was logged once."""
    return {
        "lost": len(sent - logged.keys()),
        "never sent": len(logged.keys() - sent),
        "twice": sum(times > 1 for times in logged.values()),
    }


# ---- what processes use


class Usage:
    """CPU seconds and memory of named roles. A role may have several processes, also one after
    another; its memory is that of those that live."""

    def __init__(self):
        self._pids = {}
        self._cpu_s = {}
        self._peak = Counter()
        self.memory = {}
        """Samples (time.monotonic(), bytes) by role."""
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *fault):
        self._ended.set()
        self._thread.join()

    def watch(self, name, pid):
        with self._lock:
            self._pids.setdefault(name, []).append(pid)

    def _run(self):
        while not self._ended.wait(SAMPLE_S):
            self.sample()

    def sample(self):
        with self._lock:
            for name, pids in self._pids.items():
                rss = 0
                for pid in pids:
                    if (found := process_usage(pid)) is not None:
                        self._cpu_s[pid], in_use = found
                        rss += in_use
                if rss:
                    self.memory.setdefault(name, []).append((time.monotonic(), rss))
                    self._peak[name] = max(self._peak[name], rss)

    def cpu_s(self, name):
        """Of all its processes so far."""
        self.sample()
        with self._lock:
            return sum(self._cpu_s.get(pid, 0.0) for pid in self._pids.get(name, ()))

    def peak_bytes(self, name):
        return self._peak[name]

    def names(self):
        return list(self._pids)


def process_usage(pid):
    """CPU seconds and resident bytes; None where it has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    ticks, pages = int(stat[11]) + int(stat[12]), int(stat[21])
    return ticks / os.sysconf("SC_CLK_TCK"), pages * os.sysconf("SC_PAGE_SIZE")


def slope_per_minute(samples, after_s):
    """Bytes/min of memory after a time, with its 95 % interval: a line through the means of
    minutes. None where there are fewer than three whole minutes."""
    by_minute = {}
    for at_s, value in samples:
        if at_s >= after_s:
            by_minute.setdefault(int((at_s - after_s) // 60), []).append(value)
    points = [(minute, statistics.mean(values)) for minute, values in sorted(by_minute.items())]
    if len(points) < 3:
        return None
    xs, ys = zip(*points, strict=True)
    fit = statistics.linear_regression(xs, ys)
    left = [y - fit.intercept - fit.slope * x for x, y in points]
    spread = sum((x - statistics.mean(xs)) ** 2 for x in xs)
    freedom = len(points) - 2
    error = (sum(each**2 for each in left) / freedom / spread) ** 0.5
    half = t_quantile(freedom) * error
    return fit.slope, fit.slope - half, fit.slope + half
