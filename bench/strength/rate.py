"""Measures the strength of a run: its newest weights, and with --curve all kept ones.

    .venv/bin/python bench/strength/rate.py RUN [--curve | --only-curve] \\
      [--games playout-5000=200] [--out FILE]

Writes each measurement to bench/results/strength-VARIANT-DATE.json as soon as it ends; started
again, it resumes the file of the same run and step. plan.py lists the measurements. Matches are
paired, intervals are 95 %.
"""

import argparse
import json
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

from history import History
from perfect_moves import perfect_moves
from plan import PLANS, SELF, curve_measurements, last_measurements, self_step
from series import commit_of

import zerofleet as zf
from zerofleet.arena.judge import judge
from zerofleet.cli.progress import games_progress
from zerofleet.errors import BadText, Inconsistent, ZerofleetError
from zerofleet.infer.load import load_network
from zerofleet.runs.folder import find
from zerofleet.storage import write_whole

sys.path.insert(0, str(Path(__file__).parents[1]))
from recording import facts, result_path

RESULTS = Path(__file__).parents[1] / "results"
WITHOUT_SEARCH = {"sims=0": "policy", "greedy": "greedy"}
"""Names for --games of matches without search against half time."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run")
    parser.add_argument("--simulations", type=int, help="of the searching player; else by game")
    parser.add_argument(
        "--games",
        action="append",
        default=[],
        metavar="[OPPONENT=]N",
        help="games of every match, or against one opponent (random, self, …); half=N: against "
        "half time; policy=N, greedy=N: the same by policy alone or greedy play; judge=N: "
        "decisions; 0 skips it. Repeatable; the last match wins",
    )
    steps = parser.add_mutually_exclusive_group()
    steps.add_argument("--curve", action="store_true", help="measure all kept weights too")
    steps.add_argument("--only-curve", action="store_true", help="all kept weights but the newest")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="the result file; an existing one is resumed")
    given = parser.parse_args()
    try:
        rate(given)
    except ZerofleetError as error:
        sys.exit(f"rate.py: {error}")


def rate(given):
    run = find(given.run)
    game = run.game()
    variant = f"{game.name}-{game.options['size']}" if game.name == "gomoku" else game.name
    if variant not in PLANS:
        raise BadText(f"{variant} has no plan; variants with one: {', '.join(PLANS)}")
    plan, history = PLANS[variant], History(run)
    simulations = given.simulations or plan.simulations
    wanted = []
    if not given.only_curve:
        wanted += last_measurements(plan, history.steps[-1], half_time(history), simulations)
    if given.curve or given.only_curve:
        wanted += curve_measurements(plan, history.steps[:-1], simulations)
    counted = [with_count(each, given.games) for each in wanted]
    wanted = [each for each in counted if each.count or each.kind == "perfect"]
    result = Result(given.out, run, variant, history)
    for number, measurement in enumerate(wanted, start=1):
        said = f"[{number}/{len(wanted)}] {measurement.title}"
        if result.has(measurement, given.seed):
            print(f"{said}: already measured")
            continue
        start = time.perf_counter()
        found = measure(run, game, measurement, given.seed)
        spent = {"seconds": round(time.perf_counter() - start, 1)}
        result.add(
            asdict(measurement)
            | {"seed": given.seed}
            | history.place(measurement.step)
            | found
            | spent
        )
        print(f"{said}: {result_text(found)}", flush=True)
    print(f"recorded in {result.path}")


def half_time(history):
    """The step of half time; None, with a message, if no weights are near it."""
    half = history.half_time_step()
    if half is None:
        print(
            "half time is skipped: no weights between a third and two thirds of the time; "
            "train with train.keep_all_weights=true and train.checkpoint_every_minutes=1"
        )
    return half


def with_count(measurement, texts):
    """The measurement with the number of games or decisions from --games."""
    name = name_of(measurement)
    for text in texts:
        whose, equals, count = text.rpartition("=")
        if not count.isdecimal():
            raise BadText(f"--games must be N or OPPONENT=N, got {text}")
        if measurement.kind != "perfect" and (not equals or whose == name):
            measurement = replace(measurement, count=int(count))
    return measurement


def name_of(measurement):
    """Its name in --games."""
    if measurement.kind == "judge":
        return "judge"
    if measurement.how in WITHOUT_SEARCH:
        return WITHOUT_SEARCH[measurement.how]
    if self_step(measurement.opponent) not in (None, 0, measurement.step):
        return "half"
    return measurement.opponent.partition("@")[0]


class Result:
    """A file of measurements, rewritten after each."""

    def __init__(self, path, run, variant, history):
        network, step = load_network(run.name)
        self.path = path or earlier_result(run, variant, step) or result_path(f"strength-{variant}")
        about = {
            "name": run.name,
            "id": run.facts.id,
            "step": step,
            **history.place(step),
            "network": network.spec.network_text,
            "parameters": network.num_parameters,
        }
        self._content = facts(sys.argv) | {"variant": variant, "run": about, "measured": []}
        self._commit = self._content["commit"]
        if self.path.exists():
            self._content = json.loads(self.path.read_text())
            if weights_of(self._content) != (run.facts.id, step):
                raise Inconsistent(f"{self.path} is of another run or step; use another --out")

    def has(self, measurement, seed):
        """Whether this commit measured it; a tracked result file makes the checkout dirty."""
        wanted = asdict(measurement) | {"seed": seed}
        return any(
            commit_of(record, self._content).removesuffix("-dirty")
            == self._commit.removesuffix("-dirty")
            and all(record.get(name) == value for name, value in wanted.items())
            for record in self._content["measured"]
        )

    def add(self, record):
        self._content["measured"].append(record | {"commit": self._commit})
        write_whole(self.path, (json.dumps(self._content, indent=1) + "\n").encode())


def earlier_result(run, variant, step):
    """The newest result of the same run and step."""
    for path in sorted(RESULTS.glob(f"strength-{variant}-*.json"), reverse=True):
        if weights_of(json.loads(path.read_text())) == (run.facts.id, step):
            return path
    return None


def weights_of(content):
    """The run and step of a result. Its description of the network may be outdated."""
    about = content.get("run", {})
    return about.get("id"), about.get("step")


# ---- measuring


def measure(run, game, wanted, seed):
    """Makes one measurement; the result is ready for JSON."""
    player = f"run:{run.name}@{wanted.step},{wanted.how}"
    with games_progress() as show:
        if wanted.kind == "match":
            opponent = wanted.opponent.replace(f"{SELF}@", f"run:{run.name}@")
            return match_values(
                zf.arena.match(
                    *(game, player, opponent, wanted.count, seed),
                    on_progress=lambda done, of: show(wanted.title, done, of),
                )
            )
        with zf.arena.player(game, player) as made:
            if wanted.kind == "perfect":
                return {"perfect": perfect_moves(made, seed)}
            error = judge(made, wanted.count, seed=seed, on_progress=show).error
            return {"error": error.mean, "low": error.low, "high": error.high}


def match_values(match):
    low, high = match.interval
    points = match.points
    return {
        "score": match.score,
        "low": low,
        "high": high,
        "points": points.mean,
        "points_low": points.low,
        "points_high": points.high,
        "won_drawn_lost": [match.wins, match.draws, match.losses],
        "pairs": match.pair_counts,
    }


def result_text(found):
    """A result in a line."""
    if "perfect" in found:
        return ", ".join(f"{kind} {each['score']:.1%}" for kind, each in found["perfect"].items())
    if "error" in found:
        return f"error {found['error']:.2f} ({found['low']:.2f} to {found['high']:.2f})"
    return f"{found['score']:.1%} ({found['low']:.1%} to {found['high']:.1%})"


if __name__ == "__main__":
    main()
