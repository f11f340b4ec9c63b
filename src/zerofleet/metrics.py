"""What a run measures: one JSON record per line in metrics.jsonl, which is the truth.

    with MetricsLog(run.folder, sinks) as log:
        log.append("train", step, {"loss": 1.93})

A record has its time, the training step it belongs to, its kind, and what was measured. Sinks such
as TensorBoard get each record after it is written; what they show can be made again from the file.
While the disk is full both wait for room. A line that is no record, or has not what its kind has,
is skipped and reported: DamagedRecords warns of it.
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
"""What the policy loss is the sum of, by name in the metrics: it rises with the first where targets
become less sharp, with the second where the network misses them."""

FILE_NAME = "metrics.jsonl"
TAIL_BYTES = 1 << 20
"""As far as `latest` looks back."""


class RecordHead(BaseModel):
    """What every record has; the values of each kind follow."""

    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False)

    time: float
    step: Count
    kind: str
    elapsed_s: float = 0


class CheckedRecord(RecordHead):
    """What must hold of a record for others to read it; it may have more."""

    __pydantic_extra__: dict[str, Scalar | list[Scalar]]


class CheckedTrain(RecordHead):
    """Means over steps. One that is not finite is null."""

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
"""By kind; others need only what every record has."""


class DamagedRecords(ZerofleetError, UserWarning):
    """Lines of a file of metrics are no records, and were skipped."""


class Sink(Protocol):
    """Something that shows records as they come."""

    def write(self, record: Record) -> None: ...

    def rewind(self, step: int) -> None:
        """What was written of later steps no longer holds: they are done again."""

    def close(self) -> None: ...


class MetricsLog:
    """The records of a run, for one process to append to, from any of its threads.

    A line is there whole when `append` returns. What a crash left of a last line is cut when the
    log is opened.
    """

    def __init__(self, folder: Path, sinks: Sequence[Sink] = (), disk: Disk | None = None) -> None:
        self._sinks = sinks
        self._disk = disk or Disk()
        self._lock = threading.Lock()
        self._path = folder / FILE_NAME
        self._file = GrowingFile(self._path)
        self._file.truncate(sum(map(len, whole_lines(self._path))))

    def append(self, kind: str, step: int, values: Mapping[str, Value]) -> None:
        """Writes a record now. A number that is not finite becomes null."""
        record: Record = {"time": round(time.time(), 3), "step": step, "kind": kind}
        record |= {name: finite(value) for name, value in values.items()}
        with self._lock:
            line = (json.dumps(record, allow_nan=False) + "\n").encode()
            self._disk.write(lambda: self._file.write(line))
            for sink in self._sinks:
                self._disk.write(partial(sink.write, record))

    def rewind(self, step: int) -> None:
        """Removes the records of later steps: a run that resumes repeats them."""
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
    """The records in order. A last line that is still being written is left out."""
    for _, record in lines_and_records(folder / FILE_NAME):
        if record is not None:
            yield record


def latest(folder: Path) -> dict[str, Record]:
    """The last record of each kind, as far as the newest records hold one; none without a file."""
    path = folder / FILE_NAME
    if not path.exists():
        return {}
    start = max(0, path.stat().st_size - TAIL_BYTES)
    records = (record for _, record in lines_and_records(path, start) if record is not None)
    return {record["kind"]: record for record in records}


def lines_and_records(path: Path, start: int = 0) -> Iterator[tuple[bytes, Record | None]]:
    """The whole lines that begin after a byte, each with its record. A line that is none is
    reported at the end."""
    faults: list[BadBytes] = []
    for line in whole_lines(path, start):
        try:
            yield line, parsed(line)
        except BadBytes as fault:
            faults.append(fault)
            yield line, None
    if faults:
        lines = f"{len(faults)} lines are no records" if len(faults) > 1 else "a line is no record"
        warnings.warn(
            DamagedRecords(f"{path}: {lines} of metrics ({faults[0]}); skipped"), stacklevel=2
        )


def whole_lines(path: Path, start: int = 0) -> Iterator[bytes]:
    """The lines that begin after a byte, without a last one that has no end."""
    with path.open("rb") as file:
        if start:
            file.seek(start)
            file.readline()
        for line in file:
            if line.endswith(b"\n"):
                yield line


def parsed(line: bytes) -> Record:
    """The record of a line; BadBytes says why it is none."""
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
    """The sinks of those names for the run in a folder, each once."""
    sinks: list[Sink] = []
    for tracker in dict.fromkeys(trackers):
        if tracker == "tensorboard":
            sinks.append(TensorBoard(folder / "tensorboard"))
        else:
            sinks.append(WeightsAndBiases(folder, name, run_id, config))
    return sinks


class TensorBoard:
    """Numbers as curves named KIND/NAME, in a new event file for each session of a run."""

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
    """Numbers as curves named KIND/NAME over the step; without a network with WANDB_MODE=offline.

    The key comes from the environment or from `wandb login`.
    """

    def __init__(self, folder: Path, name: str, run_id: str, config: dict[str, Any]) -> None:
        wandb = needed("wandb", "wandb")
        try:
            self._run = wandb.init(
                project="zerofleet", name=name, id=run_id, dir=folder, config=config, resume="allow"
            )
        except wandb.Error as error:
            raise Unsupported(
                f"--track wandb: {error} (WANDB_API_KEY may be set, or WANDB_MODE=offline)"
            ) from None
        self._run.define_metric("*", step_metric="step")

    def write(self, record: Record) -> None:
        self._run.log(numbers_by_tag(record) | {"step": record["step"]})

    def rewind(self, step: int) -> None:
        """What was logged there stays: steps that are done again are drawn twice."""

    def close(self) -> None:
        self._run.finish()


def numbers_by_tag(record: Record) -> dict[str, float]:
    """What can be drawn of a record, by its name in the drawing."""
    return {
        f"{record['kind']}/{name}": float(value)
        for name, value in record.items()
        if name not in ("time", "step", "kind") and isinstance(value, int | float)
    }


def needed(module: str, package: str) -> ModuleType:
    """A module of a package that not everyone has."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise Unsupported(f"{error}; pip install '{package}'") from None
