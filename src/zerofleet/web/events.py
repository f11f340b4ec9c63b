"""What happened to a run, read from the files that its roles write anyway."""

import json
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from zerofleet.runs.folder import Run
from zerofleet.web.records import RunRecords
from zerofleet.web.schema import RunEvent

MAX_REASON = 300
"""Characters of a reason that a page shows."""


def events_of(run: Run, records: RunRecords, limit: int) -> list[RunEvent]:
    """Newest first, at most `limit`."""
    found = [
        *created(run),
        *starts(records),
        *ratings(records),
        *faults(records),
        *checkpoints(run.checkpoints),
        *published(run.weights),
        *refused(run.refused),
    ]
    return sorted(found, key=lambda event: -event.time)[:limit]


def created(run: Run) -> Iterator[RunEvent]:
    yield RunEvent(
        time=run.facts.created.timestamp(), step=0, kind="created", text=f"{run.name} was created"
    )


def starts(records: RunRecords) -> Iterator[RunEvent]:
    for number, record in enumerate(records.starts, start=1):
        text = "training started" if number == 1 else f"training resumed, session {number}"
        at = record["time"] - record["elapsed_s"]
        yield RunEvent(time=at, step=record["step"], kind="start", text=text)


def ratings(records: RunRecords) -> Iterator[RunEvent]:
    for record in records.rating:
        score = f"{100 * record['score']:.1f} %"
        text = f"{score} against {record['opponent']} in {record['games']:,} games"
        yield RunEvent(time=record["time"], step=record["step"], kind="rating", text=text)


def faults(records: RunRecords) -> Iterator[RunEvent]:
    """What ended a session, and weights that a role refused."""
    for record in records.events:
        text = str(record.get("text", ""))[:MAX_REASON]
        yield RunEvent(
            time=record["time"],
            step=record["step"],
            kind="fault" if record["kind"] == "fault" else "refused",
            text=text,
        )


def checkpoints(folder: Path) -> Iterator[RunEvent]:
    for path in folder.glob("*.json"):
        with suppress(OSError, ValueError):
            step = int(path.stem)
            text = f"checkpoint of step {step:,}"
            yield RunEvent(time=path.stat().st_mtime, step=step, kind="checkpoint", text=text)


def published(folder: Path) -> Iterator[RunEvent]:
    """Weights with their manifest; a file that differs from it is a fault."""
    for path in folder.glob("[0-9]*.json"):
        with suppress(OSError, ValueError, KeyError, TypeError):
            if not path.stem.isdecimal():
                continue
            at, step = path.stat(), int(path.stem)
            tensors = path.with_suffix(".safetensors")
            size = tensors.stat().st_size if tensors.exists() else 0
            wanted = manifest_bytes(path, at.st_mtime_ns)
            if size == wanted:
                text = f"weights of step {step:,} were published"
                yield RunEvent(time=at.st_mtime, step=step, kind="weights", text=text)
            else:
                text = (
                    f"weights {step} cannot be used: {size:,} bytes, their manifest says {wanted:,}"
                )
                yield RunEvent(time=at.st_mtime, step=step, kind="fault", text=text)


@lru_cache(maxsize=10_000)
def manifest_bytes(path: Path, changed_ns: int) -> int:
    """The size that a manifest names; read once for each time of change."""
    return int(json.loads(path.read_bytes())["num_bytes"])


def refused(folder: Path) -> Iterator[RunEvent]:
    for path in folder.glob("[0-9]*.txt"):
        with suppress(OSError):
            reason = path.read_text(errors="replace").partition("\n")[0][:MAX_REASON]
            text = f"an episode was refused: {reason}"
            yield RunEvent(time=path.stat().st_mtime, step=None, kind="refused", text=text)
