"""Summaries of all runs: progress and size."""

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from zerofleet import metrics
from zerofleet.config import game_text
from zerofleet.errors import ZerofleetError
from zerofleet.runs.folder import read_run, run_names, runs_folder


@dataclass(frozen=True)
class RunSummary:
    """One line in the list of runs."""

    name: str
    game: str
    num_steps: int
    num_games: int
    age_s: float
    size_bytes: int
    fault: str
    """What is wrong with its folder; empty if nothing is."""


def list_runs() -> list[RunSummary]:
    """All runs by name, with their progress. A damaged run is listed with its fault."""
    return [summary(runs_folder() / name) for name in run_names()]


def summary(folder: Path) -> RunSummary:
    size_bytes = folder_bytes(folder)
    try:
        run = read_run(folder)
        newest = metrics.latest(folder)
    except ZerofleetError as error:
        return RunSummary(folder.name, "?", 0, 0, 0, size_bytes, str(error))
    return RunSummary(
        name=run.name,
        game=game_text(run.facts.game, run.facts.options),
        num_steps=max((record["step"] for record in newest.values()), default=0),
        # From the status: the `games` of a rating are those of its match.
        num_games=newest.get("status", {}).get("games", 0),
        age_s=time.time() - run.facts.created.timestamp(),
        size_bytes=size_bytes,
        fault="",
    )


def folder_bytes(folder: Path) -> int:
    size_bytes = 0
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):  # training removes files
            size_bytes += path.lstat().st_size if path.is_file() else 0
    return size_bytes
