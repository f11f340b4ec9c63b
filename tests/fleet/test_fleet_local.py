"""A real fleet on this machine: processes and a real Redis, from start to end."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from command_line import TRAIN_ONLY, ran_in
from tiny_runs import TINY_RUN

import zerofleet as zf
from zerofleet import metrics
from zerofleet.bus.redis import RedisBus
from zerofleet.config import ReplayConfig
from zerofleet.fleet.local_redis import address_in
from zerofleet.replay import EpisodeLog

RUN = "tiny"
PATIENCE_S = 60
OLD_SIGNATURE = "0123456789abcdef"
OLD_WORKER = f"""
import zerofleet._core
zerofleet._core.signature = lambda game: {OLD_SIGNATURE!r}
from zerofleet.cli import main
main(["worker", "--run", {RUN!r}, "--worker-id", "old", "--processes", "1"])
"""
WITHOUT_TORCH = f"""
import sys
for name in {TRAIN_ONLY!r}: sys.modules[name] = None
from zerofleet.cli import main
main(["worker", "--run", {RUN!r}, "--worker-id", "plain", "--processes", "1", "--finish-games"])
"""


@dataclass
class Observed:
    """What a fleet did, from outside."""

    folder: Path
    status: dict
    """While it ran."""
    held: dict
    """While an operator paused all workers."""
    table: str
    picture: str
    """What the monitor shows while it ran."""
    old: "subprocess.CompletedProcess[str]"
    plain: "subprocess.CompletedProcess[str]"
    output: str
    exit_status: int
    left: list[int] = field(default_factory=list)
    """Processes that outlived it."""


def command(*arguments):
    return [sys.executable, "-m", "zerofleet", *arguments]


def processes_of(folder):
    """Those whose runs are in this folder."""
    wanted = f"ZEROFLEET_RUNS={folder}".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if wanted in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def left_behind(folder):
    """Processes that do not end within ten seconds, which is time enough to exit."""
    end_s = time.monotonic() + 10
    while (found := processes_of(folder)) and time.monotonic() < end_s:
        time.sleep(0.2)
    return found


def wait_for(look, what):
    end_s = time.monotonic() + PATIENCE_S
    while not (found := look()):
        assert time.monotonic() < end_s, f"waited in vain for {what}"
        time.sleep(0.2)
    return found


@pytest.fixture(scope="module")
def observed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fleet")
    runs = folder / "runs"
    without = {"REDIS_URL", "REDIS_URL_FILE"}
    environment = {name: value for name, value in os.environ.items() if name not in without}
    environment |= {"ZEROFLEET_RUNS": str(runs), "ZEROFLEET_SPOOL": str(folder / "spool")}

    def start(arguments):
        return subprocess.Popen(
            arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def ended(process, timeout_s=PATIENCE_S):
        output, errors = process.communicate(timeout=timeout_s)
        return subprocess.CompletedProcess(process.args, process.returncode, output, errors)

    def asked(*arguments):
        """A command line in this process, which saves the imports."""
        given = {"ZEROFLEET_RUNS": str(runs), "COLUMNS": "160"}
        ran = ran_in(folder, *arguments, "--run", RUN, **given)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    settings = [*TINY_RUN, "train.publish_every_steps=10", "search.num_simulations=4"]
    sets = [part for each in settings for part in ("--set", each)]
    fleet = start(command("fleet", "local", "tictactoe", "--preset", "fast", "--run", RUN, *sets))
    started = [fleet]
    url = runs / RUN / "redis" / "url"
    try:
        wait_for((runs / RUN / "graph.json").exists, "the trainer")
        old = start([sys.executable, "-c", OLD_WORKER])
        plain = start([sys.executable, "-c", WITHOUT_TORCH])
        started += [old, plain]

        address = wait_for(lambda: url.exists() and address_in(url), "Redis")
        with closing(RedisBus(address, RUN)) as bus:

            def all_play():
                found = {role.id: role.counters for role in bus.roles()}
                plays = all(found.get(each, {}).get("games") for each in ("worker-0", "plain"))
                return plays and found["worker-0"].get("weights_loaded", 0) > 1

            def all_say_why():
                return all("lunch" in role.doing for role in bus.roles() if role.kind == "worker")

            wait_for(all_play, "games of both workers and new weights")
            status = json.loads(asked("fleet", "status", "--json"))
            table = asked("fleet", "status")
            picture = asked("monitor", "--once")
            asked("fleet", "pause", "--reason", "lunch")
            wait_for(all_say_why, "paused workers")
            held = json.loads(asked("fleet", "status", "--json"))
            asked("fleet", "resume")
        plain.send_signal(signal.SIGTERM)
        ran_plain, ran_old = ended(plain), ended(old)
        fleet.send_signal(signal.SIGTERM)
        ran = ended(fleet)
        yield Observed(
            runs / RUN,
            status,
            held,
            table,
            picture,
            ran_old,
            ran_plain,
            ran.stdout + ran.stderr,
            ran.returncode,
            left_behind(runs),
        )
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
                process.communicate()


def logged_ids(folder):
    game = zf.games.get("tictactoe")
    with closing(EpisodeLog(folder / "episodes", game, ReplayConfig())) as log:
        return [
            (episode.worker, episode.sequence)
            for episode in map(zf.games.Episode.decode, log.episodes())
        ]


def games_played(text):
    return sum(int(each.replace(",", "")) for each in re.findall(r": ([\d,]+) games played", text))


def test_a_fleet_trains_and_every_game_that_was_played_is_logged_once(observed):
    assert observed.exit_status == 0, observed.output
    assert "wait in the spool" not in observed.output + observed.plain.stdout
    ids = logged_ids(observed.folder)
    assert len(set(ids)) == len(ids)
    assert len(ids) == games_played(observed.output) + games_played(observed.plain.stdout)
    assert len({incarnation for incarnation, _ in ids}) == 2
    assert metrics.latest(observed.folder)["train"]["step"] > 0
    assert list((observed.folder / "checkpoints").glob("*.json"))


def test_the_end_of_a_fleet_leaves_no_process(observed):
    assert observed.left == []


def test_a_worker_without_torch_plays_and_finishes_its_games_when_asked_to_end(observed):
    assert (observed.plain.returncode, observed.plain.stderr) == (0, "")
    assert "finishing games" in observed.plain.stdout


def test_an_old_worker_is_refused_with_both_fingerprints(observed):
    assert observed.old.returncode == 2
    expected = zf._core.signature(zf.games.get("tictactoe"))
    assert f"{OLD_SIGNATURE} here and {expected} in the run" in observed.old.stderr


def test_the_status_of_a_fleet_names_every_role_and_what_it_does(observed):
    by_id = {role["id"]: role for role in observed.status["roles"]}
    assert {"trainer", "rater", "worker-0", "plain"} <= by_id.keys()
    assert by_id["worker-0"]["device"] == "cpu"
    assert by_id["trainer"]["counters"]["steps"] > 0
    assert by_id["trainer"]["counters"]["weights_published"] > 0
    assert by_id["worker-0"]["counters"]["weights_loaded"] > 0
    assert observed.status["heartbeats"].keys() == by_id.keys()
    assert observed.status["figures"]["memory_bytes"] > 0
    for name in ("worker-0", "queue: ", "pace: ", "weights: "):
        assert name in observed.table
    assert re.search(r"^(Redis|Valkey) \d.* of memory", observed.table, re.MULTILINE)


def test_the_monitor_of_a_fleet_has_a_row_per_role_and_rates(observed):
    assert re.search(r"^1 trainer  1 rater  \d workers", observed.picture, re.MULTILINE)
    for role_id in ("trainer", "rater", "worker-0", "plain"):
        assert re.search(rf"^{role_id} +\S+ +cpu +\d", observed.picture, re.MULTILINE)
    assert re.search(r"^games +[\d.k]+ +[\d.kM]+ +[\d.k]+ ", observed.picture, re.MULTILINE)
    assert re.search(r"^weights +\d+, .* in use \d+ x", observed.picture, re.MULTILINE)


def test_an_operator_pauses_workers_which_then_say_why(observed):
    doing = {role["id"]: role["doing"] for role in observed.held["roles"]}
    assert "lunch" in doing["worker-0"]
    assert "lunch" in doing["plain"]
