"""The check to run before renting machines: which checks there are, and how they are run.

    with runs_in(folder):
        results = list(Validation(ValidationRuns("tictactoe", QUICK), folder).results(NAMES))

A check passes, fails, or is skipped with the reason; what cannot run here is never passed. Where a
run cannot be made, the checks that need it fail; the first shows the error.
"""

import os
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from zerofleet.arena.match import match
from zerofleet.arena.match_result import Match
from zerofleet.config import Config, game_text, unknown_name
from zerofleet.cores import processor_name
from zerofleet.errors import Unsupported, ZerofleetError
from zerofleet.fleet.machine import this_machine
from zerofleet.fleet.validation_checks import (
    Finding,
    expected_score,
    finite_publications,
    recorded_throughput,
    same_after_reload,
    same_counts,
    same_fleet_counts,
    same_learning,
    same_loaded_weights,
    same_play,
    same_throughput,
    same_weights,
    weights_hash,
)
from zerofleet.fleet.validation_kinds import KINDS, games_by
from zerofleet.fleet.validation_records import (
    RECORDS,
    Record,
    prediction_interval,
    read_records,
    record_of,
    write_record,
)
from zerofleet.fleet.validation_runs import SEED, ValidationRuns
from zerofleet.infer.load import has_torch
from zerofleet.report.validation import CheckResult, Verdict
from zerofleet.runs import LoggedGame
from zerofleet.runs.folder import Run

if TYPE_CHECKING:
    from zerofleet.fleet.validation_fleet import FleetRun

OPPONENT = "random"
"""The fixed opponent. It meets the network's policy without search: search alone beats it too."""
RECORDED_SEEDS = range(SEED, SEED + 6)
"""Runs whose scores give the recorded interval."""


class Skipped(Exception):
    """Why a check cannot run here."""


@dataclass
class Validation:
    """The checks over one set of runs."""

    runs: ValidationRuns
    folder: Path
    """For what the checks write."""
    benchmarks: Path | None = None
    """Recorded benchmarks; None where there is no checkout."""
    records: Path = RECORDS
    _failed_first: dict[Exception, str] = field(default_factory=dict)
    """The check that an error ended first."""

    # ---- checks

    def deterministic(self) -> Finding:
        runs = self.runs
        return same_weights(
            runs.first, runs.second, runs.scale.deterministic_steps, self.record, self.platform
        )

    def checkpoint(self) -> Finding:
        runs, steps = self.runs, self.runs.scale.deterministic_steps
        return same_after_reload(runs.first, runs.resumed, steps, self.folder / "saved-again")

    def publications(self) -> Finding:
        return finite_publications(self.runs.embedded, self.runs.scale.publications)

    def counts(self) -> Finding:
        return same_counts(self.runs.embedded.run)

    def kinds(self) -> Finding:
        return same_play(
            {name: self.games_of_kind(name, SEED + number) for number, name in enumerate(KINDS)}
        )

    def match(self) -> Finding:
        return expected_score(self.played_match(self.runs.first), self.record)

    def fleet_weights(self) -> Finding:
        return same_loaded_weights(self.fleet.quiet)

    def fleet_counts(self) -> Finding:
        return same_fleet_counts(self.fleet.run, self.fleet.quiet)

    def fleet_curve(self) -> Finding:
        runs, num_games = self.runs, self.runs.scale.held_out_games
        return same_learning(runs.embedded.run, self.fleet.run, runs.points, num_games)

    def throughput(self) -> Finding:
        runs = self.runs
        if self.benchmarks is None:
            raise Skipped("recorded benchmarks are part of a checkout, and this is none")
        processor, gpu = processor_name(), this_machine(runs.device).gpu_name
        recorded = recorded_throughput(self.benchmarks, runs.game, processor, os.cpu_count(), gpu)
        if recorded is None:
            where = f"{processor}, {os.cpu_count()} cores{f', {gpu}' if gpu else ''}"
            raise Skipped(
                f"no record of {runs.game} on {where}; `zerofleet bench train --games "
                f"{runs.game}` makes one"
            )
        return same_throughput(runs.timed(), *recorded)

    # ---- what they share

    @property
    def fleet(self) -> "FleetRun":
        # Imported here: it loads redis.
        from zerofleet.fleet.local_redis import SERVERS, server_program

        if server_program() is None:
            raise Skipped(f"no Redis server is installed ({' or '.join(SERVERS)})")
        return self.runs.fleet

    @cached_property
    def config(self) -> Config:
        return self.runs.deterministic_config(self.runs.scale.deterministic_steps)

    @cached_property
    def platform(self) -> str:
        """What the last digits of its numbers depend on."""
        if not has_torch():
            return f"{processor_name()}, without torch"
        # Imported here: it loads torch.
        from zerofleet.infer.devices import platform_text

        return platform_text(self.runs.device)

    @cached_property
    def record(self) -> Record:
        return record_of(read_records(self.records), self.name, self.config)

    @property
    def name(self) -> str:
        """Of its record."""
        return f"{game_text(self.runs.game, dict(self.runs.options))}, {self.runs.scale.name}"

    def played_match(self, run: Run) -> Match:
        scale = self.runs.scale
        return match(
            run.game(),
            f"run:{run.name}@{scale.deterministic_steps},sims=0",
            OPPONENT,
            scale.match_games,
            SEED,
            on_progress=lambda num_done, num_all: self.runs.show("match", num_done, num_all),
        )

    def games_of_kind(self, name: str, seed: int) -> list[LoggedGame]:
        runs, num_games = self.runs, self.runs.scale.compared_games

        def show(num_done: int) -> None:
            runs.show(f"games of a worker with {name}", num_done, num_games)

        run = runs.embedded.run
        try:
            return games_by(KINDS[name], run, runs.device, num_games, seed, show, runs.say)
        except Unsupported as why:
            raise Skipped(f"no worker with {name} here: {why}") from None

    # ---- running them

    def results(self, names: Sequence[str]) -> Iterator[CheckResult]:
        """The checks of these names, in the order of CHECKS."""
        for check in CHECKS:
            if check.name in names:
                yield self.result_of(check)

    def result_of(self, check: "Check") -> CheckResult:
        start_s = time.perf_counter()
        result = CheckResult(check.name, check.promise, "fail", [], 0.0)
        try:
            found = check.judge(self)
            verdict: Verdict = "pass" if found.passed else "fail"
            result = replace(result, verdict=verdict, figures=found.figures, curves=found.curves)
        except Skipped as why:
            result = replace(result, verdict="skipped", figures=[str(why)])
        except ModuleNotFoundError as missing:
            reason = f"{missing}; pip install 'zerofleet[train]'"
            result = replace(result, verdict="skipped", figures=[reason])
        except Exception as fault:
            result = replace(result, figures=[self.text_of(fault, check)])
        return replace(result, seconds=time.perf_counter() - start_s)

    def text_of(self, fault: Exception, check: "Check") -> str:
        """Of an error that ended a check. One of a run that several need is shown once."""
        first = self._failed_first.setdefault(fault, check.name)
        if first != check.name:
            return f"needs the run that failed in the check {first}"
        if isinstance(fault, ZerofleetError | OSError):
            return str(fault)
        self.runs.say("".join(traceback.format_exception(fault)))
        return f"{type(fault).__name__}: {fault}"

    def add_record(self) -> Record:
        """Records the weights hash of this platform, and where the score lies with other seeds."""
        runs, steps = self.runs, self.runs.scale.deterministic_steps
        made = {seed: runs.deterministic(f"seed-{seed}", seed) for seed in RECORDED_SEEDS}
        score = prediction_interval(
            np.array([self.played_match(run).score for run in made.values()])
        )
        weights = {**self.record.weights, self.platform: weights_hash(made[SEED], steps)}
        record = replace(
            self.record, weights=weights, score=(round(score.low, 4), round(score.high, 4))
        )
        write_record(self.name, record, self.records)
        return record


@dataclass(frozen=True)
class Check:
    name: str
    promise: str
    judge: Callable[[Validation], Finding]


CHECKS = (
    Check(
        "deterministic",
        "The same seed gives the same weights, bit for bit, and those recorded for this platform.",
        Validation.deterministic,
    ),
    Check(
        "checkpoint",
        "A checkpoint comes back as it was saved, and a resumed run ends like one never stopped.",
        Validation.checkpoint,
    ),
    Check(
        "match",
        f"The trained policy beats the player {OPPONENT}, by as much as it did with other seeds.",
        Validation.match,
    ),
    Check(
        "publications",
        "Weights are published after every step, and no loss is ever infinite or NaN.",
        Validation.publications,
    ),
    Check(
        "counts",
        "Games and rows add up: log, checkpoint, replay buffer, metrics.",
        Validation.counts,
    ),
    Check(
        "kinds",
        "Workers with ONNX Runtime, with torch and with an inference server play alike: one "
        "distribution of games.",
        Validation.kinds,
    ),
    Check(
        "fleet-weights",
        "Every worker and inference server of a fleet has the weights that its trainer published.",
        Validation.fleet_weights,
    ),
    Check(
        "fleet-counts",
        "Every game that a fleet's workers play is logged once.",
        Validation.fleet_counts,
    ),
    Check(
        "fleet-curve",
        "A fleet learns from its games as much as one process does from as many.",
        Validation.fleet_curve,
    ),
    Check(
        "throughput",
        "This machine plays as fast as a recorded benchmark on such a machine.",
        Validation.throughput,
    ),
)
NAMES = tuple(check.name for check in CHECKS)


def refuse_unknown(names: Sequence[str]) -> None:
    """Unsupported for a name that no check has."""
    for name in names:
        if name not in NAMES:
            raise Unsupported(unknown_name("check", name, NAMES))
