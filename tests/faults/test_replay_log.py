"""The episode log through crashes, damage and a full disk: nothing is lost silently."""

import random
import resource
import shutil
import subprocess
import sys
import time
from bisect import bisect_right
from contextlib import closing, contextmanager

import pytest
from played_games import entries

import zerofleet as zf
from zerofleet.config import ReplayConfig
from zerofleet.replay import EpisodeLog, LogFull, Replay
from zerofleet.replay.recovery import LogRecovery
from zerofleet.replay.segment import CRC, RECORD_HEADER, RECORD_HEADER_BYTES, crc32

ROWS = 10
"""Rows that each episode declares."""

GAME = zf.games.get("gomoku", size=3, line=3)


def played(num_episodes, worker=0):
    data = zf.selfplay.play(
        GAME, "hash", num_episodes=num_episodes, num_simulations=4, num_threads=0, worker=worker
    )
    return [zf.games.Episode.decode(each) for each in data]


def append(log, episodes):
    return log.append(entries(episodes, [ROWS] * len(episodes)))


def ids(log):
    episodes = [zf.games.Episode.decode(data) for data in log.episodes()]
    return [(episode.worker, episode.sequence) for episode in episodes]


def opened(folder, **settings):
    return closing(EpisodeLog(folder, GAME, ReplayConfig(min_rows=1, **settings)))


# ---- killed

BATCH = 20

APPENDS = f"""
import os, sys
from pathlib import Path
import zerofleet as zf
from zerofleet.config import ReplayConfig
from zerofleet.replay import EpisodeLog
from zerofleet.replay.segment import Entry

# A write may take less than it is given. Here it always does, so that kills hit one in the middle.
whole_write = os.pwrite
os.pwrite = lambda file, data, offset: whole_write(file, data[:1], offset)

game = zf.games.get("gomoku", size=3, line=3)
log = EpisodeLog(Path(sys.argv[1]), game, ReplayConfig(segment_bytes=1 << 14))
batch = []
for data in zf.selfplay.play(
    game, "hash", num_episodes=10**6, num_simulations=4, num_threads=0, worker=int(sys.argv[2])
):
    batch.append(zf.games.Episode.decode(data))
    if len(batch) == {BATCH}:
        log.append([Entry(each.encode(), each.worker, each.sequence, {ROWS}) for each in batch])
        print(*(episode.sequence for episode in batch), flush=True)
        batch = []
"""


def test_killed_at_any_moment_it_keeps_every_episode_that_it_confirmed(tmp_path):
    rng = random.Random(1)
    durable = set()
    num_torn = 0
    for worker in range(12):
        process = subprocess.Popen(
            [sys.executable, "-c", APPENDS, tmp_path, str(worker)], stdout=subprocess.PIPE
        )
        first = process.stdout.readline()
        time.sleep(rng.uniform(0, 0.1))
        process.kill()
        lines = [first, *process.stdout.read().splitlines(keepends=True)]
        process.stdout.close()
        assert process.wait() == -9
        for line in lines:
            if line.endswith(b"\n"):
                durable |= {(worker, int(sequence)) for sequence in line.split()}

        newest = max(tmp_path.glob("segment-*.zfl"))
        size_before = newest.stat().st_size
        with opened(tmp_path, segment_bytes=1 << 14) as log:
            found = ids(log)
            assert log.report.damage == ()
            assert log.report.torn_bytes == size_before - newest.stat().st_size
            num_torn += log.report.torn_bytes > 0
        assert len(set(found)) == len(found) == log.position.num_episodes
        assert durable <= set(found)
        # At each kill one batch may be written, in part or whole, and not yet reported.
        assert len(found) <= len(durable) + BATCH * (worker + 1)
    assert num_torn > 0


# ---- torn and damaged


@pytest.fixture(scope="module")
def three():
    return played(3)


def written(folder, episodes, **settings):
    """The only file of a log with these episodes."""
    with opened(folder, **settings) as log:
        append(log, episodes)
    (path,) = folder.glob("segment-*.zfl")
    return path


def test_a_last_episode_torn_at_any_byte_is_truncated_and_its_bytes_are_counted(tmp_path, three):
    path = written(tmp_path, three[:2])
    num_whole = path.stat().st_size
    path.unlink()
    data = written(tmp_path, three).read_bytes()
    for size in range(num_whole + 1, len(data)):
        path.write_bytes(data[:size])
        recovery = LogRecovery(tmp_path, GAME, None)
        assert recovery.report.torn_bytes == size - num_whole
        assert recovery.report.damage == ()
        assert path.read_bytes() == data[:num_whole]
    with opened(tmp_path) as log:
        assert append(log, three) == [False, False, True]
    assert path.read_bytes() == data


def test_damage_to_any_byte_is_named_and_loses_that_record_alone(tmp_path, three):
    path = written(tmp_path, three)
    data = path.read_bytes()
    episodes = [episode.encode() for episode in three]
    ends = [data.index(episode) + len(episode) for episode in episodes]
    first = data.index(episodes[0]) - RECORD_HEADER_BYTES
    for at in range(len(data)):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :])
        recovery = LogRecovery(tmp_path, GAME, None)
        (damage,) = recovery.report.damage
        assert str(path) in damage
        assert "skipped" in damage
        (segment,) = recovery.segments
        lost = None if at < first else bisect_right(ends, at)
        kept = [each for index, each in enumerate(episodes) if index != lost]
        assert [entry.data for entry in segment.entries()] == kept
        assert segment.num_episodes == len(kept)
        assert not segment.can_grow


@pytest.mark.parametrize("how", ["zeros", "removed", "inserted"])
def test_after_damage_reading_resumes_at_the_next_intact_record(tmp_path, how):
    episodes = played(30)
    path = written(tmp_path, episodes)
    data = path.read_bytes()
    ours = [episode.encode() for episode in episodes]
    begin, end = data.index(ours[10]) + 5, data.index(ours[12]) + 7  # inside both
    put = {"zeros": bytes(end - begin), "removed": b"", "inserted": data[begin:end] + bytes(99)}[
        how
    ]
    path.write_bytes(data[:begin] + put + data[end:])
    lost = [12] if how == "inserted" else [10, 11, 12]
    with opened(tmp_path) as log:
        left = [ours.index(each) for each in log.episodes()]
        assert left == [number for number in range(30) if number not in lost]
        assert log.report.torn_bytes == 0
        (damage,) = log.report.damage
        assert "bytes are skipped, up to a whole record at byte" in damage


def test_what_only_looks_like_a_record_is_not_taken_for_one(tmp_path, three):
    """Within a damaged record lie headers with right CRCs: of another id, of a wrong length, and
    of bytes that are no episode."""
    path = written(tmp_path, three)
    data = path.read_bytes()
    body = three[1].encode()

    def head(length, sequence, checked):
        fields = RECORD_HEADER.pack(length, ROWS, three[1].worker, sequence, -1, 0, crc32(checked))
        return fields + CRC.pack(crc32(fields))

    fakes = [
        head(len(body), 10**6, body) + body,
        head(2**31, three[1].sequence, body) + body,
        head(9, three[1].sequence, b"ZFE\1rubbi") + b"ZFE\1rubbi",
    ]
    at = data.index(body)
    path.write_bytes(data[:at] + b"".join(fakes) + data[at:])
    recovery = LogRecovery(tmp_path, GAME, None)
    (segment,) = recovery.segments
    assert [entry.data for entry in segment.entries()] == [three[0].encode(), three[2].encode()]


def test_an_episode_that_was_damaged_is_lost_but_no_other(tmp_path):
    episodes = played(30)
    with opened(tmp_path, segment_bytes=2048) as log:
        for episode in episodes:
            append(log, [episode])
        before = ids(log)
    _, second, third, *_ = sorted(tmp_path.glob("segment-*.zfl"))
    data = bytearray(second.read_bytes())
    data[len(data) // 2] ^= 1
    second.write_bytes(data)
    with opened(tmp_path, segment_bytes=2048) as log:
        left = ids(log)
        lost = [each for each in before if each not in left]
        damaged, missing = log.report.damage
        assert str(second) in damaged
        assert missing == f"{third}: {len(lost)} episodes before it are missing"
        assert left == [each for each in before if each not in lost]
        assert len(lost) == 1
        assert log.position.num_episodes == 30
        assert append(log, episodes) == [False] * 30  # counted once, also those that were lost
    assert second.read_bytes() == data


def test_zeros_after_the_end_are_reported_and_not_overwritten(tmp_path, three):
    path = written(tmp_path, three[:2])
    with path.open("ab") as file:
        file.write(bytes(500))
    data = path.read_bytes()
    with opened(tmp_path) as log:
        (damage,) = log.report.damage
        assert damage.endswith("its last 500 bytes are skipped")
        assert append(log, three) == [False, False, True]
    assert path.read_bytes() == data
    with opened(tmp_path) as log:
        assert len(ids(log)) == 3


def test_a_file_that_was_copied_into_the_log_does_not_count_twice(tmp_path, three):
    path = written(tmp_path, three)
    shutil.copy(path, path.with_name("segment-00000002.zfl"))
    with opened(tmp_path) as log:
        (damage,) = log.report.damage
        assert "repeats episode" in damage
        assert len(ids(log)) == 3


# ---- in use


def test_a_log_that_another_process_has_open_is_refused(tmp_path):
    script = (
        "import sys; from pathlib import Path; import zerofleet as zf\n"
        "from zerofleet.config import ReplayConfig\n"
        "from zerofleet.replay import EpisodeLog\n"
        "game = zf.games.get('gomoku', size=3, line=3)\n"
        "EpisodeLog(Path(sys.argv[1]), game, ReplayConfig())"
    )
    with opened(tmp_path):
        tried = subprocess.run(
            [sys.executable, "-c", script, tmp_path], capture_output=True, text=True
        )
    assert tried.returncode == 1
    assert f"LogInUse: {tmp_path} is in use by another process" in tried.stderr


# ---- full


@contextmanager
def largest_file(size_bytes):
    """While it lasts no file can grow beyond so much."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def append_until_full(log, episodes):
    """How many fitted, one by one; nothing must have changed by the one that did not."""
    count, fault = 0, None
    while fault is None:
        position = log.position
        try:
            append(log, [episodes[count]])
            count += 1
        except LogFull as full:
            fault = full
    assert "cannot grow" in str(fault)
    assert log.position == position
    assert len(ids(log)) == count
    return count


def test_a_file_that_cannot_grow_is_reported_and_can_be_retried(tmp_path):
    episodes = played(50)
    with opened(tmp_path) as log:
        with largest_file(4000):
            count = append_until_full(log, episodes)
            assert 3 < count < 40
        assert append(log, episodes) == [False] * count + [True] * (50 - count)
    with opened(tmp_path) as log:
        assert (log.report.torn_bytes, log.report.damage) == (0, ())
        assert len(ids(log)) == 50


def test_what_was_written_of_a_batch_that_did_not_fit_is_gone(tmp_path):
    episodes = played(50)
    with opened(tmp_path) as log:
        with largest_file(4000), pytest.raises(LogFull):
            append(log, episodes)
        append(log, episodes[-1:])
    with opened(tmp_path) as log:
        assert (log.report.torn_bytes, log.report.damage) == (0, ())
        assert ids(log) == [(episodes[-1].worker, episodes[-1].sequence)]


@pytest.mark.parametrize("segment_bytes", [1 << 10, 1 << 24], ids=["many files", "one file"])
def test_a_full_disk_is_reported_and_the_write_can_be_retried(disk_of, segment_bytes):
    small_disk = disk_of(size_kib=64)
    episodes = played(300)
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(40 << 10))
    with opened(small_disk / "log", segment_bytes=segment_bytes) as log:
        count = append_until_full(log, episodes)
        assert count > 2
        ballast.unlink()
        assert append(log, episodes[: count + 1]) == [False] * count + [True]
    with opened(small_disk / "log", segment_bytes=segment_bytes) as log:
        assert (log.report.torn_bytes, log.report.damage) == (0, ())
        assert len(ids(log)) == count + 1


def test_while_the_log_is_full_the_buffer_waits_with_it(tmp_path):
    episodes = [episode.encode() for episode in played(50)]
    config = ReplayConfig(min_rows=1)
    with closing(Replay(tmp_path, GAME, config, seed=1)) as replay:
        with largest_file(4000), pytest.raises(LogFull):
            replay.accept(episodes)
        assert replay.buffer.num_added == replay.limiter.state.num_rows == 0
        assert replay.accept(episodes) == replay.buffer.num_added > 200
