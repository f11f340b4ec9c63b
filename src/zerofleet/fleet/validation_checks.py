"""The checks of a validation: each judges what runs left behind, and gives its figures.

    found = same_weights(first, second, 60, Record("…"), "Linux x86_64, …")
    found.passed, found.figures

A check knows nothing of how its runs were made, so a spoiled run is enough to see it fail.
"""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from zerofleet import metrics
from zerofleet.arena.compare_games import compare
from zerofleet.arena.match_result import Match
from zerofleet.arena.two_samples import Values, mean_estimate, smallest_p
from zerofleet.config import read
from zerofleet.fleet.throughput import Throughput
from zerofleet.fleet.validation_records import Record, short
from zerofleet.infer.load import load
from zerofleet.replay import EpisodeLog
from zerofleet.replay.replay import derive_rows
from zerofleet.runs import LoggedGame, LoggedGames
from zerofleet.runs.folder import Run
from zerofleet.search import Evaluate
from zerofleet.weights import WeightsStore, encoded_tensors

if TYPE_CHECKING:
    from zerofleet.fleet.validation_fleet import QuietFleet
    from zerofleet.fleet.validation_runs import EmbeddedRun

ALARM = 0.001
"""p-value, corrected for the number of measures, below which two kinds of worker differ: a false
alarm in a thousand validations."""
MARGIN = 0.3
"""Of what the embedded run has learnt, by which the fleet may have learnt more or less. Runs with
one seed differ too, as games and steps interleave differently each time: with tic-tac-toe by 4 %
(standard deviation of four runs at each scale)."""
MIN_THROUGHPUT = 0.7
"""Of the recorded games/s. A busy machine is a little slower, a wrong build much slower."""
NEVER_QUIET = "the fleet was never seen with all its workers paused; log.txt has its lines"
POLICY_UNIT = 4095
"""Policy targets are stored in fractions of this."""


Curve = Mapping[int, float]
"""A loss by step."""


@dataclass(frozen=True)
class Finding:
    """What a check found."""

    passed: bool
    figures: list[str]
    curves: Mapping[str, Curve] = field(default_factory=dict)
    """To draw."""


# ---- weights and checkpoints


def weights_hash(run: Run, step: int) -> str:
    """SHA-256 of the weights of a step, which are read and encoded again."""
    return encoded_tensors(WeightsStore(run.weights).load(step).tensors)[1]


def same_weights(first: Run, second: Run, step: int, record: Record, platform: str) -> Finding:
    """Two runs end with the same weights, and with those recorded for the platform."""
    ours, again = weights_hash(first, step), weights_hash(second, step)
    if ours == again:
        figures = [f"weights of step {step}: sha256 {short(ours)} twice"]
    else:
        figures = [f"weights of step {step}: sha256 {short(ours)}, then {short(again)}"]
    recorded = record.weights.get(platform)
    if recorded is None:
        figures.append(f"none is recorded for these settings on {platform}; --record adds it")
    else:
        verb = "equals" if recorded == ours else "differs from"
        figures.append(f"{verb} {short(recorded)}, which is recorded for {platform}")
    return Finding(ours == again and recorded in (None, ours), figures)


def same_after_reload(run: Run, resumed: Run, step: int, copy: Path) -> Finding:
    """The newest checkpoint, restored and saved again in the folder `copy`, has the same bytes; a
    run that was resumed from one ends like the run that was never stopped."""
    # Imported here: they load torch.
    from zerofleet import nets
    from zerofleet.fleet.trainer_parts import restored_trainer
    from zerofleet.training import Checkpoint, CheckpointStore

    config, faults = read(run.config_path), list[str]()
    network = nets.build(run.game(), config.network.preset, **config.network.options)
    store = CheckpointStore(run.checkpoints, config.train.keep_checkpoints)
    trainer, rest = restored_trainer(
        config, network, "cpu", WeightsStore(run.weights), store, faults.append
    )
    if faults:
        return Finding(False, faults)
    tensors, _ = trainer.state()
    CheckpointStore(copy, keep=1).save(Checkpoint(trainer.step_count, tensors, rest))
    name = f"{trainer.step_count:09d}.safetensors"
    saved, again = (
        hashlib.sha256((folder / name).read_bytes()).hexdigest() for folder in (store.folder, copy)
    )
    undisturbed, after_stop = weights_hash(run, step), weights_hash(resumed, step)
    return Finding(
        saved == again and undisturbed == after_stop,
        [
            f"checkpoint of step {trainer.step_count}: sha256 {short(saved)}, restored and saved "
            f"again {short(again)}",
            f"weights of step {step}: {short(undisturbed)}, and {short(after_stop)} of a run that "
            "was stopped half-way and resumed",
        ],
    )


def finite_publications(embedded: "EmbeddedRun", wanted: int) -> Finding:
    """Every step had a finite loss and was followed by a publication."""
    losses = embedded.losses
    finite = [loss for loss in losses if math.isfinite(loss)]
    return Finding(
        len(finite) == len(losses) == len(embedded.published) == wanted,
        [
            f"{len(embedded.published):,} publications of {wanted:,}, {len(finite):,} finite losses"
            f" of {len(losses):,}",
            f"loss from {losses[0]:.3f} to {losses[-1]:.3f}",
        ],
    )


# ---- counts


def same_counts(run: Run) -> Finding:
    """Log, checkpoint, replay buffer and metrics of a finished run in one process agree."""
    log, status = LogCounts.of(run), metrics.latest(run.folder)["status"]
    saved = saved_counts(run)
    told = (status["games"], status["rows"])
    in_buffer = min(log.num_rows, read(run.config_path).replay.capacity_rows)
    return Finding(
        (log.num_games, log.num_rows) == saved == told
        and log.num_ids == log.num_games
        and status["buffer_rows"] == in_buffer
        and not log.faults,
        [
            *log.texts,
            f"checkpoint {counted(*saved)}",
            f"metrics {counted(*told)}",
            f"replay buffer {status['buffer_rows']:,} rows; it must have {in_buffer:,}",
        ],
    )


def same_fleet_counts(run: Run, quiet: "QuietFleet | None") -> Finding:
    """What workers played is what the trainer logged: while the fleet was paused, and at its end,
    where games may come in after the last step. By then each worker has played."""
    if quiet is None:
        return Finding(False, [NEVER_QUIET])
    log, saved = LogCounts.of(run), saved_counts(run)
    status = metrics.latest(run.folder)["status"]
    with closing(EpisodeLog(run.episodes, run.game(), read(run.config_path).replay)) as opened:
        confirmed = Counter[str]()
        for sender, number in opened.marks().items():
            confirmed[sender.worker] += number
    num_played, num_confirmed = sum(quiet.played.values()), confirmed.total()
    return Finding(
        num_played == quiet.logged
        and quiet.waiting == 0
        and all(confirmed[worker] > 0 for worker in quiet.played)
        and log.num_games == log.num_ids == num_confirmed
        and saved[0] == status["games"] <= log.num_games
        and saved[1] == status["rows"] <= log.num_rows
        and not log.faults,
        [
            f"paused: {num_played:,} games played ({by_worker(quiet.played)}), {quiet.logged:,} "
            f"logged, {quiet.waiting:,} waiting",
            *log.texts,
            f"confirmed to workers {num_confirmed:,} games ({by_worker(confirmed)})",
            f"checkpoint {counted(*saved)}, {log.num_games - saved[0]:,} games came in after it",
            f"metrics {counted(status['games'], status['rows'])}",
        ],
    )


@dataclass(frozen=True)
class LogCounts:
    """What a log has, counted by decoding and replaying each game. The logs of a validation are
    too small to be trimmed."""

    num_games: int
    num_rows: int
    num_ids: int
    faults: list[str]

    @staticmethod
    def of(run: Run) -> "LogCounts":
        log = LoggedGames(run.episodes, run.game(), run.name)
        logged = list(log)
        rows = derive_rows(
            log.game, [each.episode for each in logged], read(run.config_path).replay
        )
        return LogCounts(
            len(logged),
            int(rows.num_rows.sum()),
            len({each.id for each in logged}),
            list(log.faults.values()),
        )

    @property
    def texts(self) -> list[str]:
        ids = f"{self.num_ids:,} ids"
        return [f"log {counted(self.num_games, self.num_rows)}, {ids}", *self.faults]


def saved_counts(run: Run) -> tuple[int, int]:
    """Games and rows as the newest checkpoint has them."""
    newest = max(path for path in run.checkpoints.glob("*.json") if path.stem.isdecimal())
    log = json.loads(newest.read_bytes())["rest"]["replay"]["log"]
    return log["num_episodes"], log["num_rows"]


def by_worker(num_games: Mapping[str, int]) -> str:
    return ", ".join(f"{worker} {num_games[worker]:,}" for worker in sorted(num_games))


def counted(num_games: int, num_rows: int) -> str:
    return f"{num_games:,} games, {num_rows:,} rows"


# ---- workers


def same_loaded_weights(quiet: "QuietFleet | None") -> Finding:
    """Each worker of a fleet, or the inference server that it asks, has loaded what the trainer
    published."""
    if quiet is None:
        return Finding(False, [NEVER_QUIET])
    loaded = [f"{name} {short(sha256)}" for name, sha256 in quiet.loaded.items()]
    return Finding(
        bool(loaded) and set(quiet.loaded.values()) == {quiet.published},
        [f"published {short(quiet.published)}; loaded: {', '.join(loaded) or 'none'}"],
    )


def same_play(games_of_kinds: Mapping[str, Sequence[LoggedGame]]) -> Finding:
    """With the same weights, the games of each kind of worker are distributed as those of the
    first kind."""
    (first, games), *others = games_of_kinds.items()
    found = [contrasted(first, games, kind, their_games) for kind, their_games in others]
    return Finding(
        bool(found) and all(each.passed for each in found),
        [text for each in found for text in each.figures],
    )


def contrasted(
    first: str, games: Sequence[LoggedGame], second: str, their_games: Sequence[LoggedGame]
) -> Finding:
    """Two kinds, measure by measure."""
    title = f"{first} {len(games):,} games, {second} {len(their_games):,} games"
    measured = [
        (each.p_corrected, each.measure, each.first.mean, each.second.mean)
        for each in compare(games, their_games).contrasts
        if each.p_corrected is not None and each.first and each.second
    ]
    if len(measured) * smallest_p(len(games), len(their_games)) >= ALARM:
        return Finding(False, [title, "too few games: no difference could be told from chance"])
    differing = [each for each in sorted(measured) if each[0] < ALARM]
    shown = differing or [min(measured)]
    texts = [f"{name} {ours:.3f} and {theirs:.3f}, p {p:.2g}" for p, name, ours, theirs in shown]
    kind = "they differ" if differing else f"least alike of {len(measured)} measures"
    return Finding(not differing, [title, f"{kind}: {'; '.join(texts)} (alarm below {ALARM})"])


# ---- strength


def expected_score(played: Match, record: Record) -> Finding:
    """The weights are better than their fixed opponent, and score as other seeds did."""
    low, high = played.interval
    text = f"{played.score:.1%} of {played.num_games:,} games against {played.second}"
    figures = [f"{text} (95 % interval {low:.1%} to {high:.1%}); 50 % must lie below it"]
    if record.score is None:
        figures.append("no interval is recorded for these settings; --record adds it")
        return Finding(low > 0.5, figures)
    least, most = record.score
    figures.append(f"recorded: {least:.1%} to {most:.1%} with other seeds")
    return Finding(low > 0.5 and least <= played.score <= most, figures)


def losses_per_game(evaluate: Evaluate, games: Sequence[LoggedGame]) -> Values:
    """Cross-entropy of policy and outcome on each game, as a mean over its rows, in nats."""
    losses = []
    for played in games:
        rows = played.episode.rows(played.game)
        if len(rows.observations) == 0:  # truncated
            continue
        logits_RA, outcomes_RO = evaluate(rows.observations)
        legal_RA = np.where(rows.legal > 0, logits_RA.astype(np.float64), -np.inf)
        has_policy_R = rows.policy.any(axis=1)
        legal_RA = legal_RA[has_policy_R]
        top_R1 = legal_RA.max(axis=1, keepdims=True, initial=-np.inf)
        log_total_R1 = top_R1 + np.log(np.exp(legal_RA - top_R1).sum(axis=1, keepdims=True))
        target_RA = rows.policy[has_policy_R] / POLICY_UNIT
        log_policy_RA = np.where(target_RA > 0, legal_RA - log_total_R1, 0.0)
        policy_loss = -float((target_RA * log_policy_RA).sum()) / max(1, has_policy_R.sum())
        of_outcome_R = outcomes_RO[np.arange(len(outcomes_RO)), rows.outcome]
        losses.append(policy_loss - float(np.log(np.maximum(of_outcome_R, 1e-9)).mean()))
    return np.array(losses)


def same_learning(embedded: Run, fleet: Run, points: Sequence[int], num_games: int) -> Finding:
    """At equal steps, and so at about as many games, the fleet has learnt as much as one process:
    losses of both on the same games, the newest of both runs. The fleet may have trained on."""
    held_out = [
        played
        for run in (embedded, fleet)
        for played in LoggedGames(run.episodes, run.game(), run.name).newest(num_games)
    ]
    losses = {
        run.name: {step: losses_per_game(load(run.name, step), held_out) for step in (0, *points)}
        for run in (embedded, fleet)
    }
    last = points[-1]
    of_embedded, of_fleet = losses[embedded.name], losses[fleet.name]
    learnt = mean_estimate(of_embedded[0] - of_embedded[last])
    gap = mean_estimate(of_fleet[last] - of_embedded[last])
    allowed = MARGIN * learnt.mean
    ends = [metrics.latest(run.folder)["status"] for run in (embedded, fleet)]
    curves = {
        name: {step: float(each.mean()) for step, each in by_step.items()}
        for name, by_step in losses.items()
    }
    return Finding(
        learnt.low > 0 and gap.low <= allowed and gap.high >= -allowed,
        [
            f"up to step {last:,}; {embedded.name} made {ends[0]['step']:,} with "
            f"{ends[0]['games']:,} games, {fleet.name} {ends[1]['step']:,} "
            f"with {ends[1]['games']:,}",
            *(
                f"loss on {len(held_out):,} games, {name}: {curve_text(curve)}"
                for name, curve in curves.items()
            ),
            f"{fleet.name} minus {embedded.name} {gap.mean:+.3f} ({gap.low:+.3f} to "
            f"{gap.high:+.3f}); up to {allowed:.3f} is allowed, {MARGIN:.0%} of what was learnt",
        ],
        curves,
    )


def curve_text(curve: Curve) -> str:
    return " → ".join(f"{loss:.3f}" for loss in curve.values())


# ---- throughput


def recorded_throughput(
    results: Path, game: str, processor: str, num_cores: int | None, gpu: str
) -> tuple[float, str] | None:
    """Games/s that `zerofleet bench train` recorded last for the game on such a machine, and the
    name of the record. `gpu` is empty on a CPU."""
    for path in sorted(results.glob("train-*.json"), reverse=True):
        record = json.loads(path.read_bytes())
        machine = (record["processor"], record["cores"], record.get("gpu", "").split(",")[0])
        if machine != (processor, num_cores, gpu):
            continue
        for found in record["found"]:
            if found["game"] == game:
                return found["games_per_s"], path.name
    return None


def same_throughput(run: Run, recorded: float, name: str) -> Finding:
    """A run plays about as many games/s as the benchmark recorded, from its first step on."""
    statuses = [each for each in metrics.read(run.folder) if each["kind"] == "status"]
    trained = [each for each in statuses if each["step"] > 0]
    throughput = Throughput.between([trained[0], trained[-1]]) if len(trained) > 1 else None
    if throughput is None:
        return Finding(False, ["training did not begin in time to be measured"])
    share = throughput.games_per_s / recorded
    return Finding(
        share >= MIN_THROUGHPUT,
        [
            f"{throughput.games_per_s:.1f} games/s, {share:.2f} of the {recorded:.1f} in {name}; "
            f"{MIN_THROUGHPUT} must be reached"
        ],
    )
