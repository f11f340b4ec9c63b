"""The metrics of a run, read as they grow: only new lines are read and parsed.

A run that resumes rewrites its file without the steps that it repeats; then everything is read
again.
"""

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from zerofleet.errors import BadBytes
from zerofleet.metrics import FILE_NAME, Record, parsed
from zerofleet.report.data import Progress, at_their_steps
from zerofleet.web.schema import Metrics

MAX_READ_BYTES = 8 << 20
"""Read at once; a longer file is read piece by piece."""

COMMON = ("time", "trained_s", "step", "run_games")
"""In every table; the last of a thinned group counts. `run_games` is shown as games."""
COUNTERS = {
    "games": "games_per_s",
    "rows": "rows_per_s",
    "samples": "samples_per_s",
    "simulations": "simulations_per_s",
    "inferences": "inferences_per_s",
}
"""Counters of a status record, with the column of their rates."""
SHARES = {
    "waiting_to_play_s": ("selfplay_waiting_share", ("inference_s", "search_s")),
    "waiting_to_train_s": ("training_waiting_share", ("training_s", "intake_s")),
}
"""Seconds of waiting, with the column of their share of all seconds of that role."""


@dataclass
class RunRecords:
    """The records of one run by kind, oldest first, each with trained_s and run_games."""

    folder: Path
    train: list[Record] = field(default_factory=list)
    status: list[Record] = field(default_factory=list)
    rating: list[Record] = field(default_factory=list)
    events: list[Record] = field(default_factory=list)
    """Faults, and weights that were refused."""
    starts: list[Record] = field(default_factory=list)
    """The first record of each session."""
    num_changes: int = 0
    """Grows with every new record and when the file was rewritten."""

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._at: tuple[int, int] = 0, 0
        """Inode and byte up to which it was read."""
        self._progress = Progress()
        self._elapsed_s = float("inf")

    def refresh(self) -> "RunRecords":
        """Reads what is new."""
        with self._lock:
            self._refresh()
        return self

    @property
    def newest(self) -> Record | None:
        last = [kind[-1] for kind in (self.train, self.status, self.rating) if kind]
        return max(last, key=lambda record: record["time"], default=None)

    def ratings(self) -> list[Record]:
        """With the progress of the weights that were rated."""
        return at_their_steps(self.rating, self.status)

    def _refresh(self) -> None:
        try:
            with (self.folder / FILE_NAME).open("rb") as file:
                file.seek(0, 2)
                inode, size = os.fstat(file.fileno()).st_ino, file.tell()
                if inode != self._at[0] or size < self._at[1]:
                    self._forget()
                start = self._at[1]
                file.seek(start)
                while start < size:
                    piece = file.read(min(MAX_READ_BYTES, size - start))
                    end = piece.rfind(b"\n") + 1
                    if end == 0:
                        break
                    for line in piece[:end].splitlines():
                        self._add(line)
                    start += end
                    file.seek(start)
                self._at = inode, start
        except FileNotFoundError:
            self._forget()

    def _forget(self) -> None:
        for kind in (self.train, self.status, self.rating, self.events, self.starts):
            kind.clear()
        self._at = 0, 0
        self._progress = Progress()
        self._elapsed_s = float("inf")
        self.num_changes += 1

    def _add(self, line: bytes) -> None:
        try:
            record = parsed(line)
        except BadBytes:  # reported by `zerofleet report`
            return
        record = self._progress.add_to(record)
        kinds = {"train": self.train, "status": self.status, "rating": self.rating}
        if "elapsed_s" in record:
            if record["elapsed_s"] < self._elapsed_s:
                self.starts.append(record)
            self._elapsed_s = record["elapsed_s"]
        if record["kind"] in kinds:
            kinds[record["kind"]].append(record)
        elif record["kind"] in ("weights_refused", "fault"):
            self.events.append(record)
        self.num_changes += 1


# ---- tables


def table(records: Sequence[Record], kind: str, after_step: int, max_points: int) -> Metrics:
    """The records of a kind after a step, thinned."""
    first = next((at for at, each in enumerate(records) if each["step"] > after_step), len(records))
    chosen = records[first:]
    groups = grouped(chosen, max_points)
    lasts = [group[-1] for group in groups]
    columns: dict[str, list[float | None]] = {
        "games" if name == "run_games" else name: [number(last.get(name)) for last in lasts]
        for name in COMMON
    }
    names = dict.fromkeys(name for record in chosen for name in record)
    skipped = {*COMMON, "kind", "games"}
    for name in names:
        if name in skipped or not any(is_number(record.get(name)) for record in chosen):
            continue
        is_counter = kind == "status" and (name in COUNTERS or name.endswith("_s"))
        columns[name] = [
            number(group[-1].get(name)) if is_counter else mean(group, name) for group in groups
        ]
    if kind == "status":
        columns |= rates(records[first - 1] if first else None, lasts)
    return Metrics.model_validate({"kind": kind, "columns": columns, "num_records": len(chosen)})


def grouped(records: Sequence[Record], max_points: int) -> list[Sequence[Record]]:
    """Neighbouring records in at most so many groups of nearly equal size."""
    num_groups = min(max_points, len(records))
    edges = [len(records) * at // num_groups for at in range(num_groups + 1)] if records else [0]
    return [records[start:end] for start, end in pairwise(edges)]


def rates(earlier: Record | None, statuses: Sequence[Record]) -> dict[str, list[float | None]]:
    """Rates and shares between neighbouring status records, the first after an earlier one; None at
    the start of a session."""
    columns: dict[str, list[float | None]] = {}
    pairs = list(zip([earlier, *statuses], statuses, strict=False))
    for counter, name in COUNTERS.items():
        columns[name] = [per_second(before, after, counter) for before, after in pairs]
    for waiting, (name, _) in SHARES.items():
        columns[name] = [waiting_share(before, after, waiting) for before, after in pairs]
    return columns


def per_second(
    before: Mapping[str, float] | None, after: Mapping[str, float], counter: str
) -> float | None:
    """Growth of a counter between two statuses of one session."""
    if before is None or counter not in before or counter not in after:
        return None
    elapsed_s = after["elapsed_s"] - before["elapsed_s"]
    growth = after[counter] - before[counter]
    return round(growth / elapsed_s, 3) if elapsed_s > 0 and growth >= 0 else None


def waiting_share(
    before: Mapping[str, float] | None, after: Mapping[str, float], waiting: str
) -> float | None:
    """The share of its time that a role waited between two statuses of one session."""
    if before is None or after["elapsed_s"] <= before["elapsed_s"]:
        return None
    waited_s = after.get(waiting, 0) - before.get(waiting, 0)
    others = SHARES[waiting][1]
    worked_s = sum(after.get(name, 0) - before.get(name, 0) for name in others)
    whole_s = waited_s + worked_s
    return round(min(1.0, max(0.0, waited_s / whole_s)), 4) if whole_s > 0 else None


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def number(value: object) -> float | None:
    return value if is_number(value) else None  # type: ignore[return-value]


def mean(group: Sequence[Record], name: str) -> float | None:
    values = [record[name] for record in group if is_number(record.get(name))]
    return sum(values) / len(values) if values else None
