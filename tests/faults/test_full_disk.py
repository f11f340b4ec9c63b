"""On a full disk a run pauses; it resumes when there is room, or ends when asked to."""

import re
import signal
import subprocess
import threading
import time

import pytest
from command_line import ZEROFLEET
from full_disk import fill
from played_games import played
from tiny_runs import TINY_RUN

from zerofleet import metrics
from zerofleet.bus import MemoryBus, Sender
from zerofleet.config import Config, GameConfig
from zerofleet.errors import DiskFull
from zerofleet.metrics import MetricsLog, open_sinks
from zerofleet.selfplay.outbox import SpooledOutbox
from zerofleet.selfplay.spool import older_spools
from zerofleet.storage import Disk, write_output, write_whole

TIMEOUT_S = 120
DISK_KIB = 16 << 10


@pytest.fixture
def disk(disk_of):
    return disk_of(DISK_KIB)


def wait_until_full(disk):
    end_s = time.monotonic() + TIMEOUT_S
    while not disk.is_full:
        assert time.monotonic() < end_s
        time.sleep(0.05)


# ---- one write


def test_a_file_that_has_no_room_is_named_and_not_left_empty(disk):
    fill(disk, left_bytes=8192)
    with pytest.raises(OSError, match=r"No space left on device.*x\.onnx"):
        write_output(disk / "x.onnx", bytes(64 << 10))
    assert [path.name for path in disk.iterdir()] == ["ballast"]


def test_writers_wait_until_there_is_room_and_report_it_once(disk, monkeypatch):
    monkeypatch.setattr("zerofleet.storage.RETRY_S", 0.2)
    said = []
    patient = Disk(said.append)
    ballast = fill(disk, left_bytes=8192)
    data = bytes(64 << 10)
    writing = threading.Thread(
        target=patient.write, args=(lambda: write_whole(disk / "wanted", data),)
    )
    writing.start()
    wait_until_full(patient)
    assert not (disk / "wanted").exists()
    assert [path.name for path in disk.iterdir() if path.suffix == ".new"] == []
    ballast.unlink()
    writing.join(TIMEOUT_S)
    assert (disk / "wanted").read_bytes() == data
    assert not patient.is_full
    assert len(said) == 1
    assert re.search(r"paused: .*No space left.*trying again every", said[0])


@pytest.mark.filterwarnings("ignore")  # of tensorboard's reader
def test_records_and_their_curves_wait_for_room_and_none_is_lost_or_doubled(disk, monkeypatch):
    monkeypatch.setattr("zerofleet.storage.RETRY_S", 0.2)
    (disk / "run").mkdir()
    steps = range(400)

    def append_all():
        sinks = open_sinks(["tensorboard"], disk / "run", "r", "id", {})
        with MetricsLog(disk / "run", sinks, patient) as log:
            for step in steps:
                log.append("note", step, {"loss": float(step), "text": "x" * (step % 400)})

    patient = Disk(lambda text: None)
    ballast = fill(disk, left_bytes=24 << 10)
    appending = threading.Thread(target=append_all)
    appending.start()
    wait_until_full(patient)
    ballast.unlink()
    appending.join(TIMEOUT_S)
    assert [record["step"] for record in metrics.read(disk / "run")] == list(steps)

    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    shown = EventAccumulator(str(disk / "run" / "tensorboard"), size_guidance={"scalars": 0})
    shown.Reload()
    assert [each.step for each in shown.Scalars("note/loss")] == list(steps)


# ---- a worker's spool


def test_a_worker_on_a_full_disk_pauses_and_loses_no_finished_game(disk):
    game, episodes = played("connect4", 40)
    games = [each.encode() for each in episodes]
    config = Config(game=GameConfig(name="connect4"))
    bus, sender, said, faults = MemoryBus(), Sender("box", 1), [], []
    args = bus, sender, "run-1", game, config, disk, said.append, faults.append
    outbox = SpooledOutbox(*args)
    outbox.start()
    outbox.send(games[:5])
    ballast = fill(disk, left_bytes=0)
    for each in games[5:]:
        outbox.send([each])
    assert not outbox.wait_to_play(0)
    assert "No space left on device; free some space" in outbox.why_paused
    assert len(said) == 1
    ballast.unlink()
    end_s = time.monotonic() + TIMEOUT_S
    while not outbox.wait_to_play(0.1):
        assert time.monotonic() < end_s
    assert outbox.close(0) == 40
    ((spool,), damage) = older_spools(disk, "run-1")
    assert (spool.read(0, 50, 1 << 20), damage, faults) == (games, [], [])
    spool.close()


def test_a_worker_that_must_end_on_a_full_disk_says_how_many_games_are_lost(disk):
    game, episodes = played("connect4", 40)
    config = Config(game=GameConfig(name="connect4"))
    outbox = SpooledOutbox(MemoryBus(), Sender("box", 1), "run-1", game, config, disk, print, print)
    outbox.start()
    fill(disk, left_bytes=0)
    outbox.send([each.encode() for each in episodes])
    with pytest.raises(DiskFull, match=r"40 games are lost: .*No space left on device"):
        outbox.close(0)


# ---- a whole run


def started(disk):
    settings = [*TINY_RUN, "train.checkpoint_every_steps=15", "train.keep_checkpoints=1"]
    return subprocess.Popen(
        [
            ZEROFLEET,
            "train", "tictactoe", "--run", "r", "--steps", "150",
            *(word for each in settings for word in ("--set", each)),
        ],
        env={"ZEROFLEET_RUNS": str(disk), "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )  # fmt: skip


@pytest.fixture
def paused(disk):
    """A run that has paused, its output so far, and what is to go so that there is room."""
    process = started(disk)
    try:
        while not list(disk.glob("r/checkpoints/*.json")) and process.poll() is None:
            time.sleep(0.05)
        ballast = fill(disk, left_bytes=8192)
        lines = []
        while not (lines and lines[-1].startswith("paused: ")) and process.poll() is None:
            lines.append(process.stdout.readline())
        yield process, ballast, "".join(lines)
    finally:
        process.kill()
        process.communicate()


def test_a_run_on_a_full_disk_pauses_and_comes_to_its_end_when_there_is_room(paused):
    process, ballast, output = paused
    time.sleep(2)
    assert process.poll() is None, output
    ballast.unlink()
    rest, _ = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0, output + rest
    assert "r: 150 steps" in rest


def test_ctrl_c_ends_a_run_that_waits_for_room_with_one_line(paused):
    process, _, output = paused
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 2, output + rest
    assert "zerofleet: ended while the disk was full: " in rest
    assert "Traceback" not in rest


def test_a_run_that_finds_no_room_to_begin_says_so_in_one_line(disk):
    fill(disk, left_bytes=0)
    process = started(disk)
    output, _ = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 2, output
    (fault,) = re.findall(r"^zerofleet: (.*)$", output, re.MULTILINE)
    assert fault == f"{disk}/r/run.lock: No space left on device"
    assert "Traceback" not in output
