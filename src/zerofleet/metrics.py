"""Metrics of a run: metrics.jsonl, one JSON record per line, is the source of truth.

    with MetricsLog(run.folder, sinks) as log:
        log.append("train", step, {"loss": 1.93})

A record holds its time, its training step, its kind and the measured values. Sinks such as
TensorBoard get each record after it is written, so the file can rebuild them. While the disk is
full, both wait for space. Readers skip invalid lines and warn with DamagedRecords.
"""

import importlib
import json
import math
import os
import socket
import threading
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Annotated, Any, Literal, Protocol, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from zerofleet.errors import BadBytes, Unsupported, ZerofleetError, first_fault
from zerofleet.storage import Disk, GrowingFile, write_whole

Value = bool | int | float | str | None | list[int] | list[float] | list[str]
Scalar = bool | int | float | str | None
Count = Annotated[int, Field(ge=0, lt=2**63)]
Record = dict[str, Any]
"""time, step, kind, and Values by name."""

Tracker = Literal["tensorboard", "wandb"]

PARTS_OF_POLICY_LOSS = {"target_entropy": "target entropy", "policy_kl": "KL to target"}
"""Policy loss (cross-entropy) = target entropy + KL, by metric name. The first rises when targets
become less sharp, the second when the network misses them."""

FILE_NAME = "metrics.jsonl"
TAIL_BYTES = 1 << 20
"""How far `latest` looks back."""


class RecordHead(BaseModel):
    """The fields of every record; the values of its kind follow."""

    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False)

    time: float
    step: Count
    kind: str
    elapsed_s: float = 0


class CheckedRecord(RecordHead):
    """The schema that readers rely on. Extra fields are allowed."""

    __pydantic_extra__: dict[str, Scalar | list[Scalar]]


class CheckedTrain(RecordHead):
    """Means over steps; a non-finite mean is null."""

    __pydantic_extra__: dict[str, float | None]


class CheckedStatus(CheckedRecord):
    elapsed_s: float
    games: Count
    rows: Count
    inference_s: float
    search_s: float
    waiting_to_play_s: float
    training_s: float
    intake_s: float
    waiting_to_train_s: float


class CheckedGpuStatus(CheckedStatus):
    gpu_busy: float
    gpu_watts: float
    gpu_memory_bytes: Count
    gpu_memory_total_bytes: Annotated[Count, Field(gt=0)]


class CheckedRating(CheckedRecord):
    opponent: str
    games: Count
    score: float
    low: float
    high: float
    points: float
    pairs: Annotated[list[Count], Field(min_length=5, max_length=5)]


CHECKS: dict[str, type[RecordHead]] = {
    "train": CheckedTrain,
    "status": CheckedStatus,
    "rating": CheckedRating,
}
"""Schemas by kind; other kinds need only the common fields."""


class DamagedRecords(ZerofleetError, UserWarning):
    """Invalid lines of a metrics file were skipped."""


class Sink(Protocol):
    """Receives records as they are written."""

    def write(self, record: Record) -> None: ...

    def rewind(self, step: int) -> None:
        """Discards records of later steps: a resumed run repeats these steps."""

    def close(self) -> None: ...


class MetricsLog:
    """Appends the records of a run. One process opens it; any of its threads may append.

    A line is complete when `append` returns. Opening the log truncates a last line that a crash
    left incomplete.
    """

    def __init__(self, folder: Path, sinks: Sequence[Sink] = (), disk: Disk | None = None) -> None:
        self._sinks = sinks
        self._disk = disk or Disk()
        self._lock = threading.Lock()
        self._path = folder / FILE_NAME
        self._file = GrowingFile(self._path)
        self._file.truncate(sum(map(len, whole_lines(self._path))))

    def append(self, kind: str, step: int, values: Mapping[str, Value]) -> None:
        """Writes a record at once. Non-finite numbers become null."""
        record: Record = {"time": round(time.time(), 3), "step": step, "kind": kind}
        record |= {name: finite(value) for name, value in values.items()}
        with self._lock:
            line = (json.dumps(record, allow_nan=False) + "\n").encode()
            self._disk.write(lambda: self._file.write(line))
            for sink in self._sinks:
                self._disk.write(partial(sink.write, record))

    def rewind(self, step: int) -> None:
        """Removes the records of later steps: a resumed run repeats them."""
        with self._lock:
            kept = b"".join(
                line
                for line, record in lines_and_records(self._path)
                if record is None or record["step"] <= step
            )
            self._disk.write(lambda: write_whole(self._path, kept))
            self._file.close()
            self._file = GrowingFile(self._path)
            for sink in self._sinks:
                self._disk.write(partial(sink.rewind, step))

    def close(self) -> None:
        with self._lock:
            self._file.close()
            for sink in self._sinks:
                sink.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()


def read(folder: Path) -> Iterator[Record]:
    """The records in order, without a last line that is still being written."""
    for _, record in lines_and_records(folder / FILE_NAME):
        if record is not None:
            yield record


def latest(folder: Path) -> dict[str, Record]:
    """The last record of each kind within the last TAIL_BYTES; empty without a file."""
    path = folder / FILE_NAME
    if not path.exists():
        return {}
    start = max(0, path.stat().st_size - TAIL_BYTES)
    records = (record for _, record in lines_and_records(path, start) if record is not None)
    return {record["kind"]: record for record in records}


def lines_and_records(path: Path, start: int = 0) -> Iterator[tuple[bytes, Record | None]]:
    """The complete lines that begin after a byte, each with its record or None if it is invalid.
    Invalid lines are reported at the end."""
    faults: list[BadBytes] = []
    for line in whole_lines(path, start):
        try:
            yield line, parsed(line)
        except BadBytes as fault:
            faults.append(fault)
            yield line, None
    if faults:
        lines = f"{len(faults)} invalid lines" if len(faults) > 1 else "one invalid line"
        warnings.warn(DamagedRecords(f"{path}: {lines} skipped ({faults[0]})"), stacklevel=2)


def whole_lines(path: Path, start: int = 0) -> Iterator[bytes]:
    """The lines that begin after a byte, without an incomplete last one."""
    with path.open("rb") as file:
        if start:
            file.seek(start)
            file.readline()
        for line in file:
            if line.endswith(b"\n"):
                yield line


def parsed(line: bytes) -> Record:
    """The record of a line; BadBytes says why the line is invalid."""
    try:
        record: Record = json.loads(line)
        check = CHECKS.get(RecordHead.model_validate(record).kind, CheckedRecord)
        if check is CheckedStatus and "gpu_busy" in record:
            check = CheckedGpuStatus
        check.model_validate(record)
    except ValidationError as error:
        raise BadBytes(first_fault(error)) from None
    except (ValueError, RecursionError):
        raise BadBytes("not JSON") from None
    return record


def finite(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


# ---- sinks


def open_sinks(
    trackers: Iterable[Tracker], folder: Path, name: str, run_id: str, config: dict[str, Any]
) -> list[Sink]:
    """One sink per tracker, for the run in a folder."""
    sinks: list[Sink] = []
    for tracker in dict.fromkeys(trackers):
        if tracker == "tensorboard":
            sinks.append(TensorBoard(folder / "tensorboard"))
        else:
            sinks.append(WeightsAndBiases(folder, name, run_id, config))
    return sinks


class TensorBoard:
    """Writes scalars tagged KIND/NAME, in a new event file for each session of a run."""

    def __init__(self, folder: Path) -> None:
        records = needed("tensorboard.summary.writer.record_writer", "zerofleet[train]")
        self._event_pb2 = needed("tensorboard.compat.proto.event_pb2", "zerofleet[train]")
        folder.mkdir(parents=True, exist_ok=True)
        name = f"events.out.tfevents.{time.time():.6f}.{socket.gethostname()}.{os.getpid()}"
        self._writer = records.RecordWriter(GrowingFile(folder / name))
        self._put(file_version="brain.Event:2")

    def write(self, record: Record) -> None:
        values = [
            {"tag": tag, "simple_value": value} for tag, value in numbers_by_tag(record).items()
        ]
        self._put(wall_time=record["time"], step=record["step"], summary={"value": values})

    def rewind(self, step: int) -> None:
        self._put(step=step + 1, session_log={"status": "START"})

    def close(self) -> None:
        self._writer.close()

    def _put(self, **fields: Any) -> None:
        event = self._event_pb2.Event(**({"wall_time": time.time()} | fields))
        self._writer.write(event.SerializeToString())


class WeightsAndBiases:
    """Logs scalars named KIND/NAME over the step; offline with WANDB_MODE=offline.

    The API key comes from the environment or from `wandb login`.
    """

    def __init__(self, folder: Path, name: str, run_id: str, config: dict[str, Any]) -> None:
        wandb = needed("wandb", "wandb")
        try:
            self._run = wandb.init(
                project="zerofleet", name=name, id=run_id, dir=folder, config=config, resume="allow"
            )
        except wandb.Error as error:
            raise Unsupported(
                f"--track wandb: {error} (set WANDB_API_KEY, or WANDB_MODE=offline)"
            ) from None
        self._run.define_metric("*", step_metric="step")

    def write(self, record: Record) -> None:
        self._run.log(numbers_by_tag(record) | {"step": record["step"]})

    def rewind(self, step: int) -> None:
        """Logged records stay, so repeated steps appear twice."""

    def close(self) -> None:
        self._run.finish()


def numbers_by_tag(record: Record) -> dict[str, float]:
    """The scalars of a record, by tag."""
    return {
        f"{record['kind']}/{name}": float(value)
        for name, value in record.items()
        if name not in ("time", "step", "kind") and isinstance(value, int | float)
    }


def needed(module: str, package: str) -> ModuleType:
    """Imports a module of an optional package, or raises with how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise Unsupported(f"{error}; pip install '{package}'") from None
