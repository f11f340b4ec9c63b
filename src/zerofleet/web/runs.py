"""Runs as the pages show them: the list, settings, stages, curves, ratings and events."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Generic, Literal, TypeVar

from zerofleet import games
from zerofleet.config import Config, differences, load, preset_names, read
from zerofleet.errors import ZerofleetError
from zerofleet.metrics import Record
from zerofleet.report.elo import elo_curve
from zerofleet.runs.folder import Run, find, run_names
from zerofleet.runs.lock import LOCK
from zerofleet.runs.summaries import RunSummary, list_runs
from zerofleet.web.episodes import outcomes_of
from zerofleet.web.events import events_of
from zerofleet.web.games import Games
from zerofleet.web.ladder import ladders_of
from zerofleet.web.machine import MachineGauge, is_locked
from zerofleet.web.records import RunRecords, table
from zerofleet.web.schema import (
    Difference,
    Ladder,
    Metrics,
    RatingPoint,
    RunDetail,
    RunEvent,
    RunLine,
    RunUpdate,
    Totals,
)
from zerofleet.web.stages import stages_of
from zerofleet.weights import WeightsStore

LIST_FOR_S = 3.0
"""How long a list of runs is shown again: the sizes of folders take time."""
FRESH_S = 30.0
"""A run with a newer record trains, where locks cannot be seen."""
STOP_SECTION = "stop"
"""When to end, which every session sets: no difference from the preset."""

Value = TypeVar("Value")


class Kept(Generic[Value]):
    """A value that is computed by one thread at a time and kept for some seconds."""

    def __init__(self, make: Callable[[], Value], for_s: float) -> None:
        self._make, self._for_s = make, for_s
        self._lock = threading.Lock()
        self._value: tuple[float, Value] | None = None

    def get(self) -> Value:
        with self._lock:
            now_s = time.monotonic()
            if self._value is None or now_s - self._value[0] > self._for_s:
                self._value = time.monotonic(), self._make()
            return self._value[1]


class Runs:
    """All runs of the runs folder."""

    def __init__(self, games: Games) -> None:
        self._games = games
        self._lock = threading.Lock()
        self._records: dict[str, RunRecords] = {}
        self._list = Kept(list_runs, LIST_FOR_S)
        self._gauge = MachineGauge()
        self._ratings: dict[str, tuple[int, list[RatingPoint]]] = {}
        self._presets: dict[str, tuple[int, tuple[str, list[Difference]]]] = {}

    # ---- lists

    def lines(self) -> list[RunLine]:
        """Newest first."""
        return sorted(map(line_of, self._list.get()), key=lambda line: line.age_s)

    def ladders(self, game: str | None, run: str | None) -> list[Ladder]:
        """Of all runs whose ratings can be read, or of one."""
        names = [find(run).name] if run is not None else run_names()
        found = []
        for name in names:
            try:
                found.append((find(name), self.records(name).rating))
            except ZerofleetError:
                if run is not None:
                    raise
        return ladders_of(found, game)

    # ---- one run

    def records(self, run: str) -> RunRecords:
        """Its metrics, up to date."""
        found = find(run)
        with self._lock:
            if found.facts.id not in self._records:
                self._records[found.facts.id] = RunRecords(found.folder)
            records = self._records[found.facts.id]
        return records.refresh()

    def detail(self, name: str) -> RunDetail:
        run = find(name)
        config = read(run.config_path)
        preset, differing = self._preset(run, config)
        update = self.update(name)
        game, fault = None, ""
        try:
            game = self._games.of_run(run)
        except ZerofleetError as error:  # a custom game that has moved or changed
            fault = str(error)
        facts = run.facts
        return RunDetail(
            name=run.name,
            game=facts.game,
            options={key: str(value) for key, value in facts.options.items()},
            outcomes=outcomes_of(game) if game else [],
            is_hidden=bool(game and game.hidden),
            created=facts.created.timestamp(),
            preset=preset,
            config=config.model_dump(mode="json"),
            differs_from_preset=differing,
            num_versions=len(WeightsStore(run.weights).versions()),
            fault=fault,
            **{field: getattr(update, field) for field in RunUpdate.model_fields},
        )

    def _preset(self, run: Run, config: Config) -> tuple[str, list[Difference]]:
        """The nearest preset, found again when the settings have changed."""
        changed = run.config_path.stat().st_mtime_ns
        kept = self._presets.get(run.facts.id)
        if kept is None or kept[0] != changed:
            kept = self._presets[run.facts.id] = changed, nearest_preset(config)
        return kept[1]

    def update(self, name: str) -> RunUpdate:
        """What changes while a run trains."""
        run = find(name)
        records = self.records(name)
        status = records.status[-1] if records.status else {}
        versions = WeightsStore(run.weights).versions()
        newest = records.newest
        return RunUpdate(
            stages=stages_of(records),
            totals=totals_of(records, status),
            version=versions[-1] if versions else None,
            machine=self._gauge.look(status),
            is_training=is_training(run, newest),
            last_record_s=None if newest is None else round(time.time() - newest["time"], 1),
        )

    def metrics(
        self, name: str, kind: Literal["train", "status"], after_step: int, max_points: int
    ) -> Metrics:
        records = self.records(name)
        return table(getattr(records, kind), kind, after_step, max_points)

    def ratings(self, name: str) -> list[RatingPoint]:
        records = self.records(name)
        key = find(name).facts.id
        kept = self._ratings.get(key)
        if kept is None or kept[0] != len(records.rating):
            kept = len(records.rating), rating_points(records.ratings())
            self._ratings[key] = kept
        return kept[1]

    def events(self, name: str, limit: int) -> list[RunEvent]:
        return events_of(find(name), self.records(name), limit)


def line_of(summary: RunSummary) -> RunLine:
    fields: dict[str, Any] = {"game": summary.game, "options": {}, "is_training": False}
    if not summary.fault:
        run = find(summary.name)
        fields["game"] = run.facts.game
        fields["options"] = {key: str(value) for key, value in run.facts.options.items()}
        fields["is_training"] = is_training(run, None)
    return RunLine(
        name=summary.name,
        num_steps=summary.num_steps,
        num_games=summary.num_games,
        age_s=round(summary.age_s, 1),
        size_bytes=summary.size_bytes,
        fault=summary.fault,
        **fields,
    )


def is_training(run: Run, newest: Record | None) -> bool:
    held = is_locked(run.folder / LOCK)
    if held is None:
        return newest is not None and time.time() - newest["time"] < FRESH_S
    return held


def totals_of(records: RunRecords, status: Record) -> Totals:
    newest = records.newest or {}
    return Totals(
        games=status.get("games", 0),
        rows=status.get("rows", 0),
        samples=status.get("samples", 0),
        steps=newest.get("step", 0),
        trained_s=round(newest.get("trained_s", 0.0), 1),
        truncated=status.get("truncated", 0),
    )


def nearest_preset(config: Config) -> tuple[str, list[Difference]]:
    """The preset with the fewest differences, and these."""
    game, options = config.game.name, config.game.options
    found: list[tuple[str, dict[str, tuple[Any, Any]]]] = []
    try:
        presets = [(game, options, name) for name in preset_names(game)]
        for other in other_names(game, options):
            presets += [(other, {}, name) for name in preset_names(other)]
        for each, given, name in presets:
            found.append((name, differences(load(each, name, options=given), config)))
    except ZerofleetError:  # a custom game that is not there
        return "", []
    if not found:
        return "", []
    name, differing = min(found, key=lambda each: len(each[1]))
    return name, [
        Difference(name=setting, value=value, preset_value=preset_value)
        for setting, (preset_value, value) in differing.items()
        if setting.partition(".")[0] != STOP_SECTION
    ]


def other_names(game: str, options: Mapping[str, int | str]) -> list[str]:
    """The other names of a game: gomoku with size and line 3 is tictactoe."""
    if games.is_source(game):
        return []
    played = games.get(game, **options)
    return [name for name in games.names() if name != game and games.get(name) == played]


def rating_points(ratings: list[Record]) -> list[RatingPoint]:
    """With the Elo of each step, fitted over all ratings of the run."""
    curve = elo_curve(ratings)
    by_step = {each.step: each for each in curve.steps} if curve else {}
    points = []
    for record in ratings:
        rated = by_step.get(record["step"])
        points.append(
            RatingPoint(
                step=record["step"],
                version=record["step"],
                opponent=record["opponent"],
                score=record["score"],
                score_low=record["low"],
                score_high=record["high"],
                elo=rated.elo if rated else None,
                elo_low=rated.elo - rated.error if rated else None,
                elo_high=rated.elo + rated.error if rated else None,
                num_games=record["games"],
                trained_s=record["trained_s"],
                run_games=record["run_games"],
            )
        )
    return points
