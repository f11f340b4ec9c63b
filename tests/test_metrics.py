"""The metrics log and its sinks."""

import json
import math
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from zerofleet import metrics
from zerofleet.errors import DiskFull, Unsupported
from zerofleet.metrics import DamagedRecords, MetricsLog, Record
from zerofleet.storage import Disk


class Kept:
    """A sink that remembers its calls."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def write(self, record: Record) -> None:
        self.calls.append(record)

    def rewind(self, step: int) -> None:
        self.calls.append(("rewind", step))

    def close(self) -> None:
        self.calls.append("close")


def lines(folder: Path) -> list[str]:
    return (folder / "metrics.jsonl").read_text().splitlines()


# ---- the file


def test_a_record_is_one_line_of_json_and_is_there_at_once(tmp_path: Path) -> None:
    with MetricsLog(tmp_path) as log:
        log.append("note", 7, {"loss": 0.5, "side": "search", "bins": [1, 2]})
        (line,) = lines(tmp_path)
    found = json.loads(line)
    assert list(found)[:3] == ["time", "step", "kind"]
    del found["time"]
    assert found == {
        "step": 7,
        "kind": "note",
        "loss": 0.5,
        "side": "search",
        "bins": [1, 2],
    }


def test_records_are_read_back_in_order_over_several_sessions(tmp_path: Path) -> None:
    for step in range(3):
        with MetricsLog(tmp_path) as log:
            log.append("train", step, {})
    assert [record["step"] for record in metrics.read(tmp_path)] == [0, 1, 2]


def test_a_number_that_is_not_finite_becomes_null(tmp_path: Path) -> None:
    with MetricsLog(tmp_path) as log:
        log.append("note", 1, {"loss": math.nan, "bins": [1.0, math.inf]})
    (record,) = metrics.read(tmp_path)
    assert record["loss"] is None
    assert record["bins"] == [1.0, None]


def test_a_torn_last_line_is_left_out_when_read_and_cut_when_opened(tmp_path: Path) -> None:
    with MetricsLog(tmp_path) as log:
        log.append("train", 1, {})
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"time": 1, "ste')
    assert len(list(metrics.read(tmp_path))) == 1
    assert list(metrics.latest(tmp_path)) == ["train"]
    with MetricsLog(tmp_path) as log:
        log.append("train", 2, {})
    assert [record["step"] for record in metrics.read(tmp_path)] == [1, 2]


@pytest.mark.parametrize(
    ("bad", "fault"),
    [
        (b"rubbish", "not JSON"),
        (b"\xff\x00", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"", "not JSON"),
        (b"[]", "Input should be "),
        (b'{"time": 1, "step": "1", "kind": "a"}', "step: "),
        (b'{"time": 1, "step": -1, "kind": "a"}', "step: "),
        (b'{"time": 1, "step": 1, "kind": 7}', "kind: "),
        (b'{"tame": 1, "step": 1, "kind": "a"}', "time: Field required"),
        (b'{"time": 1e999, "step": 1, "kind": "a"}', "time: "),
        (b'{"time": 1, "step": 1, "kind": "a", "x": {"deep": 1}}', "x"),
        (b'{"time": 1, "step": 1, "kind": "train", "loss": "1.9"}', "loss: "),
        (b'{"time": 1, "step": 1, "kind": "status", "elapsed_s": 1}', "games: Field required"),
        (b'{"time": 1, "step": 1, "kind": "rating", "opponent": 7}', "opponent: "),
    ],
)
def test_a_line_that_is_no_record_is_skipped_and_reported(
    tmp_path: Path, bad: bytes, fault: str
) -> None:
    path = tmp_path / "metrics.jsonl"
    first, last = (b'{"time": 5, "step": %d, "kind": "a"}\n' % step for step in (1, 2))
    path.write_bytes(first + bad + b"\n" + last)
    said = rf"metrics\.jsonl: one invalid line skipped \({fault}.*\)$"
    with pytest.warns(DamagedRecords, match=said):
        assert [record["step"] for record in metrics.read(tmp_path)] == [1, 2]
    with pytest.warns(DamagedRecords, match=said):
        assert metrics.latest(tmp_path)["a"]["step"] == 2
    with MetricsLog(tmp_path) as log, pytest.warns(DamagedRecords, match=said):
        log.rewind(1)
    assert path.read_bytes() == first + bad + b"\n"


def test_the_newest_records_are_found_from_the_middle_of_a_line_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with MetricsLog(tmp_path) as log:
        for step in range(3):
            log.append("train", step, {})
    for tail_bytes in range(1, 200):
        monkeypatch.setattr(metrics, "TAIL_BYTES", tail_bytes)
        assert metrics.latest(tmp_path).get("train", {"step": 2})["step"] == 2


def test_where_a_line_has_no_room_nothing_of_it_is_left(tmp_path: Path) -> None:
    sink = Kept()
    with MetricsLog(tmp_path, [sink], Disk(is_stopping=lambda: True)) as log:
        log.append("train", 1, {})
        before = (tmp_path / "metrics.jsonl").read_bytes()
        with no_file_longer_than(len(before) + 5), pytest.raises(DiskFull, match="too large"):
            log.append("train", 2, {})
        assert (tmp_path / "metrics.jsonl").read_bytes() == before
        assert len(sink.calls) == 1
        log.append("train", 2, {})
    assert [record["step"] for record in metrics.read(tmp_path)] == [1, 2]


@contextmanager
def no_file_longer_than(num_bytes: int) -> Iterator[None]:
    """As a full disk does, the system takes the first bytes and refuses the others."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_threads_do_not_mix_their_lines(tmp_path: Path) -> None:
    with MetricsLog(tmp_path) as log:
        threads = [
            threading.Thread(
                target=lambda: [log.append("a", step, {"text": "x" * 500}) for step in range(200)]
            )
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(list(metrics.read(tmp_path))) == 800


def test_rewinding_forgets_later_steps_for_good(tmp_path: Path) -> None:
    sink = Kept()
    with MetricsLog(tmp_path, [sink]) as log:
        for step in (1, 2, 2, 3, 4):
            log.append("train", step, {})
        log.rewind(2)
        log.append("train", 3, {"again": 1})
    steps = [(record["step"], "again" in record) for record in metrics.read(tmp_path)]
    assert steps == [(1, False), (2, False), (2, False), (3, True)]
    assert sink.calls[5] == ("rewind", 2)


def test_a_rating_that_came_late_of_a_step_that_stays_is_not_forgotten(tmp_path: Path) -> None:
    with MetricsLog(tmp_path) as log:
        for kind, step in [("a", 200), ("a", 250), ("late", 200), ("a", 260)]:
            log.append(kind, step, {})
        log.rewind(200)
        log.append("a", 210, {})
    found = [(record["kind"], record["step"]) for record in metrics.read(tmp_path)]
    assert found == [("a", 200), ("late", 200), ("a", 210)]


def test_latest_gives_the_last_record_of_each_kind_however_long_the_file(tmp_path: Path) -> None:
    assert metrics.latest(tmp_path) == {}
    with MetricsLog(tmp_path) as log:
        log.append("early", 0, {})
        for step in range(3):
            log.append("long", step, {"text": "x" * metrics.TAIL_BYTES})
            log.append("short", step, {"games": 10 * step})
        log.append("long", 3, {})
    found = metrics.latest(tmp_path)
    assert {kind: record["step"] for kind, record in found.items()} == {"long": 3, "short": 2}


# ---- sinks


def test_sinks_get_each_record_after_it_is_written_and_are_closed(tmp_path: Path) -> None:
    sink = Kept()
    with MetricsLog(tmp_path, [sink]) as log:
        log.append("train", 1, {"loss": 2.0})
    record, last = sink.calls
    assert record["loss"] == 2.0
    assert last == "close"


@pytest.mark.filterwarnings("ignore")  # of tensorboard's reader
def test_tensorboard_shows_numbers_and_only_the_last_try_of_a_step(tmp_path: Path) -> None:
    for session, steps in enumerate([(1, 2, 3), (3, 4)]):
        sinks = metrics.open_sinks(["tensorboard"], tmp_path, "c4", "id", {})
        with MetricsLog(tmp_path, sinks) as log:
            if session:
                log.rewind(2)
            for step in steps:
                log.append("train", step, {"loss": step + session / 2, "side": "search"})
    assert len(list((tmp_path / "tensorboard").iterdir())) == 2

    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    shown = EventAccumulator(str(tmp_path / "tensorboard"))
    shown.Reload()
    assert shown.Tags()["scalars"] == ["train/loss"]
    assert [(each.step, each.value) for each in shown.Scalars("train/loss")] == [
        (1, 1.0),
        (2, 2.0),
        (3, 3.5),
        (4, 4.5),
    ]


def test_tensorboard_is_written_without_torch(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from zerofleet import metrics\n"
        "metrics.open_sinks(['tensorboard'], Path(sys.argv[1]), 'c4', 'id', {})[0].close()\n"
        "print('torch' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "False\n"


class FakeWandb:
    """As much of the package as is used."""

    class Error(Exception):
        pass

    def __init__(self, has_key: bool = True) -> None:
        self.has_key = has_key
        self.calls: list[Any] = []

    def init(self, **arguments: Any) -> SimpleNamespace:
        if not self.has_key:
            raise self.Error("No API key configured.")
        self.calls.append(arguments)
        return SimpleNamespace(
            define_metric=lambda name, step_metric: None,
            log=self.calls.append,
            finish=lambda: self.calls.append("finish"),
        )


def test_wandb_gets_the_run_by_its_id_and_numbers_over_the_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wandb = FakeWandb()
    monkeypatch.setitem(sys.modules, "wandb", wandb)  # type: ignore[arg-type]
    sinks = metrics.open_sinks(["wandb", "wandb"], tmp_path, "c4", "id7", {"a": 1})
    with MetricsLog(tmp_path, sinks) as log:
        log.append("train", 5, {"loss": 1.0, "side": "search"})
    assert wandb.calls == [
        {
            "project": "zerofleet",
            "name": "c4",
            "id": "id7",
            "dir": tmp_path,
            "config": {"a": 1},
            "resume": "allow",
        },
        {"train/loss": 1.0, "step": 5},
        "finish",
    ]


def test_wandb_without_a_key_says_what_can_be_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "wandb", FakeWandb(has_key=False))  # type: ignore[arg-type]
    with pytest.raises(Unsupported, match=r"--track wandb: No API key.*WANDB_MODE=offline"):
        metrics.open_sinks(["wandb"], tmp_path, "c4", "id", {})


def test_a_missing_package_is_named_with_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(Unsupported, match=r"wandb.*; pip install 'wandb'"):
        metrics.open_sinks(["wandb"], tmp_path, "c4", "id", {})
