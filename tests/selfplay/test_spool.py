"""The spool: games on a worker's disk, which outlive its process."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from zerofleet.bus import Sender
from zerofleet.errors import BadText
from zerofleet.selfplay.spool import (
    HEADER_BYTES,
    GrowingSpool,
    older_spools,
    run_folder,
    spool_root,
)

SENDER = Sender("box", 2**64 - 5)
RUN = "3f8a-run"


@pytest.fixture
def opened():
    """Spools to be closed at the end."""
    spools = []
    yield spools
    for spool in spools:
        spool.close()


@pytest.fixture
def grown(tmp_path, opened):
    """Makes a spool of the games b"game 0", b"game 1", … of 10 rows each."""

    def grow(num_games=6, segment_bytes=1 << 20):
        spool = GrowingSpool(tmp_path, RUN, SENDER, segment_bytes, fsync_interval_s=0)
        opened.append(spool)
        for number in range(num_games):
            spool.append([(b"game %d" % number, 10)])
        return spool

    return grow


@pytest.fixture
def reopened(tmp_path, opened):
    """Opens the spool that was closed, and says what is wrong with it."""

    def reopen():
        (spool,), faults = older_spools(tmp_path, RUN)
        opened.append(spool)
        return spool, faults

    return reopen


def games_of(spool):
    games = []
    while spool.first + len(games) < spool.end:
        games += spool.read(spool.first + len(games), 4, 1 << 20)
    return games


def the_file(root):
    (path,) = root.rglob("*.games")
    return path


def test_games_are_read_in_order_within_the_bounds_of_a_batch(tmp_path, grown):
    spool = grown()
    assert spool.read(1, max_count=2, max_bytes=1000) == [b"game 1", b"game 2"]
    assert spool.read(1, max_count=9, max_bytes=13) == [b"game 1", b"game 2"]
    assert spool.read(1, max_count=9, max_bytes=1) == [b"game 1"]
    assert (spool.num_unconfirmed, spool.unconfirmed_rows) == (6, 60)
    assert spool.unconfirmed_bytes == the_file(tmp_path).stat().st_size


def test_what_is_confirmed_is_forgotten_and_its_files_are_deleted(tmp_path, grown):
    spool = grown(segment_bytes=2 * HEADER_BYTES)  # two games per file
    assert len(list(tmp_path.rglob("*.games"))) == 3
    assert spool.confirm(3) == 3
    assert (spool.first, spool.num_unconfirmed, spool.unconfirmed_rows) == (3, 3, 30)
    assert [path.stem[-1] for path in sorted(tmp_path.rglob("*.games"))] == ["2", "4"]
    assert spool.confirm(2) == 0  # an older mark
    assert games_of(spool) == [b"game 3", b"game 4", b"game 5"]
    spool.confirm(6)
    spool.close()
    assert list(run_folder(tmp_path, RUN).iterdir()) == []


def test_the_next_start_finds_what_is_unconfirmed_under_its_sender(grown, reopened):
    spool = grown(segment_bytes=2 * HEADER_BYTES)
    spool.confirm(3)
    spool.close()
    older, faults = reopened()
    assert (older.sender, faults) == (SENDER, [])
    # A file is kept whole: game 2 is confirmed again.
    assert (older.first, games_of(older)) == (2, [b"game 2", b"game 3", b"game 4", b"game 5"])
    assert older.unconfirmed_rows == 40


def test_a_spool_in_use_is_left_to_its_process(tmp_path, grown):
    grown()
    assert older_spools(tmp_path, RUN) == ([], [])


def test_a_spool_belongs_to_the_id_of_its_run(tmp_path, grown):
    grown().close()
    assert older_spools(tmp_path, "another-run") == ([], [])
    run_folder(tmp_path, RUN).rename(run_folder(tmp_path, "another-run"))
    spools, (fault,) = older_spools(tmp_path, "another-run")
    assert spools == []
    assert f"spool.json: of run {RUN}, not of another-run; it is left as it is" in fault
    assert the_file(tmp_path).exists()


@pytest.mark.parametrize("run_id", ["", "../x", "a/b", ".", "a" * 101])
def test_a_run_id_that_is_no_plain_name_is_refused(tmp_path, run_id):
    with pytest.raises(BadText, match="must be letters, digits, - and _"):
        older_spools(tmp_path, run_id)


def test_spools_are_where_the_environment_says(tmp_path, monkeypatch):
    monkeypatch.setenv("ZEROFLEET_SPOOL", str(tmp_path))
    assert spool_root() == tmp_path
    monkeypatch.delenv("ZEROFLEET_SPOOL")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert spool_root().parts[-2:] == ("zerofleet", "spool")


# ---- stopped and damaged


@pytest.mark.parametrize("num_missing", [1, 6, 7, HEADER_BYTES + 5])
def test_a_torn_end_is_truncated(tmp_path, num_missing, grown, reopened):
    grown().close()
    path = the_file(tmp_path)
    os.truncate(path, path.stat().st_size - num_missing)
    older, faults = reopened()
    assert faults == []
    assert games_of(older) == [b"game %d" % number for number in range(5)]
    assert path.stat().st_size == 5 * (HEADER_BYTES + 6)


@pytest.mark.parametrize("offset", [0, 5, HEADER_BYTES, HEADER_BYTES + 5])
def test_damage_is_named_and_the_rest_is_whole(tmp_path, offset, grown, reopened):
    grown().close()
    path, at = the_file(tmp_path), 2 * (HEADER_BYTES + 6)
    data = bytearray(path.read_bytes())
    data[at + offset] ^= 1
    path.write_bytes(data)
    older, (fault,) = reopened()
    assert fault == f"{path}: the record at byte {at} is damaged; lost are games 2 to 2"
    # No bytes stand for it, which the trainer refuses: its mark would not pass a missing number.
    assert games_of(older) == [b"game 0", b"game 1", b"", b"game 3", b"game 4", b"game 5"]


def test_a_damaged_end_is_named(tmp_path, grown, reopened):
    grown().close()
    path = the_file(tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[:-1] + b"!")
    older, (fault,) = reopened()
    assert "the last 34 bytes are skipped" in fault
    assert len(games_of(older)) == 5


def test_a_missing_file_is_named(tmp_path, grown, reopened):
    grown(segment_bytes=2 * HEADER_BYTES).close()
    middle = sorted(tmp_path.rglob("*.games"))[1]
    middle.unlink()
    older, (fault,) = reopened()
    assert fault.endswith("its end is missing; lost are games 2 to 3")
    assert games_of(older) == [b"game 0", b"game 1", b"", b"", b"game 4", b"game 5"]


@pytest.mark.parametrize("facts", [b"", b"[]", b'{"format": 1}', b"\xff"])
def test_a_spool_whose_facts_are_damaged_is_named_and_left(tmp_path, facts, grown):
    grown().close()
    (path,) = tmp_path.rglob("spool.json")
    path.write_bytes(facts)
    spools, (fault,) = older_spools(tmp_path, RUN)
    assert spools == []
    assert fault.startswith(f"{path} is damaged: ")
    assert the_file(tmp_path).exists()


def test_a_spool_of_a_later_format_is_named_and_left(tmp_path, grown):
    grown().close()
    (path,) = tmp_path.rglob("spool.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 2}))
    spools, (fault,) = older_spools(tmp_path, RUN)
    assert (spools, fault) == (
        [],
        f"{path}: format 2; this build reads 1; it is left as it is",
    )


SPOOLER = """
import sys
from pathlib import Path
from zerofleet.bus import Sender
from zerofleet.selfplay.spool import GrowingSpool

spool = GrowingSpool(Path(sys.argv[1]), "3f8a-run", Sender("box", 7), 1 << 16, 1000)
number = 0
while True:
    spool.append([(b"game %d " % (number + i) + bytes(500), 10) for i in range(3)])
    number += 3
    print(number, flush=True)
"""


def test_a_killed_process_loses_no_game_that_was_appended(tmp_path, reopened):
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", SPOOLER, tmp_path], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout.readline() == "3\n"
        time.sleep(0.1)
        process.send_signal(signal.SIGKILL)
        output, _ = process.communicate()
        num_appended = int(output[: output.rindex("\n")].split()[-1])
        older, faults = reopened()
        assert faults == []
        assert older.end >= num_appended >= 3
        for number, game in enumerate(games_of(older)):
            assert game == b"game %d " % number + bytes(500)
        older.confirm(older.end)
        older.close()
