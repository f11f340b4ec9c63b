"""The status record of a run, written every few seconds."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from zerofleet.bus import RoleEntry
from zerofleet.games import Game
from zerofleet.replay import Replay
from zerofleet.selfplay.worker import Worker

if TYPE_CHECKING:
    from zerofleet.infer.devices import GpuGauge
    from zerofleet.training import TrainingLoop


@dataclass(frozen=True)
class SelfPlayTotals:
    """What the workers of a run have done in this session, all together. Seconds are sums over
    their threads."""

    simulations: float = 0
    inferences: float = 0
    batches: float = 0
    rows_computed: float = 0
    device_busy_s: float = 0
    device_queue_s: float = 0
    inference_s: float = 0
    search_s: float = 0
    waiting_to_play_s: float = 0


def totals_of_threads(workers: Sequence[Worker]) -> SelfPlayTotals:
    return SelfPlayTotals(
        simulations=sum(worker.counts().num_simulations for worker in workers),
        inferences=sum(worker.times.num_inferences for worker in workers),
        batches=sum(worker.pipeline.counts.num_batches for worker in workers),
        rows_computed=sum(worker.pipeline.counts.num_computed for worker in workers),
        device_busy_s=sum(worker.pipeline.counts.busy_s for worker in workers),
        device_queue_s=sum(worker.pipeline.counts.queued_s for worker in workers),
        inference_s=sum(worker.times.inference_s for worker in workers),
        search_s=sum(worker.times.waiting_for_search_s for worker in workers),
        waiting_to_play_s=sum(worker.times.waiting_for_trainer_s for worker in workers),
    )


NAMES = [field.name for field in fields(SelfPlayTotals)]
"""Of the counters of a worker that its trainer adds up."""


class RegistryTotals:
    """Totals of workers that come and go, from what they write into the registry.

    A worker's counters begin at 0 with each of its starts; what it has done before it left stays
    counted.
    """

    def __init__(self) -> None:
        self._sums = dict.fromkeys(NAMES, 0.0)
        self._last: dict[tuple[str, float], Mapping[str, float]] = {}

    def update(self, roles: Sequence[RoleEntry]) -> SelfPlayTotals:
        for role in roles:
            if role.kind == "worker":
                before = self._last.get((role.id, role.started), {})
                for name in NAMES:
                    self._sums[name] += max(0, role.counters.get(name, 0) - before.get(name, 0))
                self._last[role.id, role.started] = role.counters
        return SelfPlayTotals(**self._sums)


class RefusedWeights:
    """Weights that roles refused, from what they write into the registry."""

    def __init__(self) -> None:
        self._reported: set[tuple[str, float, float]] = set()

    def new_in(self, roles: Sequence[RoleEntry]) -> list[str]:
        """A sentence for each role that refused weights since the last look; the role itself has
        written why."""
        said = []
        for role in roles:
            refused = role.counters.get("refused_version")
            if refused is None or (key := (role.id, role.started, refused)) in self._reported:
                continue
            self._reported.add(key)
            still = role.counters.get("version")
            serving = f"; still serving {still:.0f}" if still is not None else ""
            said.append(
                f"{role.kind} {role.id} on {role.host} refused weights {refused:.0f}{serving}; "
                "its output says why"
            )
        return said


def status_values(
    elapsed_s: float, loop: "TrainingLoop", played: SelfPlayTotals, max_plies: int
) -> dict[str, Any]:
    """Games, rows and samples count over the whole run, everything else over this session. Seconds
    are sums over the threads of a role."""
    position, limiter = loop.replay.log.position, loop.replay.limiter
    reanalysed = loop.replay.reanalysed
    return {
        "elapsed_s": round(elapsed_s, 1),
        "games": position.num_episodes,
        "rows": position.num_rows,
        "buffer_rows": len(loop.replay.buffer),
        "samples": limiter.state.num_samples,
        "loss": loop.last_losses.get("loss"),
        **asdict(played),
        "training_s": loop.times.training_s,
        "intake_s": loop.times.intake_s,
        "waiting_to_train_s": loop.times.waiting_for_games_s,
        "waiting": limiter.waiting,
        "truncated": loop.replay.num_truncated,
        "stall": stall_text(loop.replay, max_plies),
        "reanalysed_games": reanalysed.num_games,
        "reanalysed_rows": reanalysed.num_rows,
        "reanalysis_s": reanalysed.search_s,
    }


def num_positions(num_rows: int, game: Game) -> int:
    """Of which there are so many rows: one for each observer, and two observe where hands are
    hidden."""
    return num_rows // (2 if game.hidden else 1)


def stall_text(replay: Replay, max_plies: int) -> str:
    """Why training waits; empty if it does not."""
    limiter, position, num_truncated = replay.limiter, replay.log.position, replay.num_truncated
    if limiter.waiting != "trainer":
        return ""
    if num_truncated and num_truncated == position.num_episodes:
        return (
            f"{num_truncated:,} games, all truncated at max_plies {max_plies:,}: nothing to train "
            "on"
        )
    why = ""
    if position.num_episodes == 0:
        why = "; no game has finished yet"
    elif 2 * num_truncated > position.num_episodes:
        share = f"{num_truncated:,} of {position.num_episodes:,} games"
        why = f"; {share} were truncated at max_plies {max_plies:,}"
    return f"training waits for {limiter.rows_missing:,} more rows{why}"


def gpu_values(gauges: Sequence["GpuGauge"]) -> dict[str, Any]:
    """Totals over all GPUs, with their mean utilisation; empty if no driver reports any."""
    figures = [each for gauge in gauges if (each := gauge.read())]
    if not figures:
        return {}
    return {
        "gpu_busy": sum(each.busy_share for each in figures) / len(figures),
        "gpu_watts": sum(each.watts for each in figures),
        "gpu_memory_bytes": sum(each.used_bytes for each in figures),
        "gpu_memory_total_bytes": sum(each.total_bytes for each in figures),
    }
