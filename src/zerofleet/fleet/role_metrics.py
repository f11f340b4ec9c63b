"""What a role reports to Prometheus: the table of all metrics, their text, and which roles to ask.

A role reports values by name, the same names as in the status record and in the registry. METRICS
declares each once; a value that is not declared is refused. In Prometheus `games`, a counter, is
`zerofleet_games_total`, and `waiting_to_play_s` is `zerofleet_waiting_to_play_seconds_total`.
Counters only grow, but may start again from a role's new value, as after a restart. CPU time and
resident memory come from the Prometheus client, under the names that it uses everywhere.
"""

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from zerofleet.bus import Bus, RoleEntry
from zerofleet.errors import Unsupported
from zerofleet.infer.latencies import Latencies

Labelled = Mapping[str, float] | Mapping[tuple[str, ...], float]
Values = Mapping[str, float | Labelled | None]
"""By name; a metric with labels has a number for each combination of them. None is left out."""

PREFIX = "zerofleet_"


@dataclass(frozen=True)
class RoleMetric:
    """One metric: its name among a role's values, and what it means."""

    name: str
    kind: Literal["counter", "gauge"]
    help: str
    labels: tuple[str, ...] = ()

    @property
    def prometheus_name(self) -> str:
        base = PREFIX + re.sub("_s$", "_seconds", self.name)
        return f"{base}_total" if self.kind == "counter" else base


def counter(name: str, text: str, *labels: str) -> RoleMetric:
    return RoleMetric(name, "counter", text, labels)


def gauge(name: str, text: str, *labels: str) -> RoleMetric:
    return RoleMetric(name, "gauge", text, labels)


METRICS_BY_GROUP: dict[str, tuple[RoleMetric, ...]] = {
    "Every role": (
        gauge("healthy", "1 while the role's loop makes progress, else 0."),
        gauge("silent_s", "Seconds since the role's loop last made progress."),
        counter("bad_requests", "Requests to the health port that were not answered with 200."),
        gauge("redis_reachable", "1 while Redis answers this role, else 0."),
        gauge("version", "Weights version: published by the trainer, loaded by the others."),
        gauge("disk_free_bytes", "Free space where the role keeps games, weights and logs."),
        gauge("disk_total_bytes", "Size of that file system."),
        gauge("gpu_busy", "Mean utilisation of the role's GPUs, from 0 to 1."),
        gauge("gpu_watts", "Power draw of the role's GPUs."),
        gauge("gpu_memory_bytes", "Memory in use on the role's GPUs, by all programs."),
        gauge("gpu_memory_total_bytes", "Memory of the role's GPUs."),
    ),
    "Games": (
        counter("games", "Games: finished by a worker, logged by the trainer."),
        counter("positions", "Positions of the games that the trainer logged."),
        counter("rows", "Rows of the games above: what each observer sees of a position."),
        counter("simulations", "Simulations of self-play."),
        counter("inferences", "Leaves that a network evaluated."),
        counter("batches", "Batches that a network evaluated."),
        counter("rows_computed", "Rows of those batches, padding included."),
        counter("truncated", "Games that were truncated at max_plies."),
    ),
    "Training": (
        counter("steps", "Training steps of the run."),
        counter("samples", "Samples trained on."),
        gauge("buffer_rows", "Rows in the replay buffer."),
        gauge("loss", "Total loss, mean over the last report."),
        gauge("losses", "Parts of the loss and of its report.", "part"),
    ),
    "Waiting": (
        counter("inference_s", "Seconds in which a worker's thread fed the evaluator."),
        counter("device_busy_s", "Seconds in which the device of inference had work."),
        counter("device_queue_s", "Seconds in which batches waited on that device."),
        counter("search_s", "Seconds in which the evaluator waited for search."),
        counter("waiting_to_play_s", "Seconds in which self-play waited for the trainer."),
        counter("training_s", "Seconds in training steps."),
        counter("intake_s", "Seconds in which the trainer took in games."),
        counter("waiting_to_train_s", "Seconds in which the trainer waited for games."),
        gauge("rows_allowed", "Rows up to which the rate limiter lets workers play."),
        gauge("held", "1 while an operator holds this worker, else 0."),
        gauge("trainer_away", "1 while this role hears nothing from a trainer, else 0."),
    ),
    "Inference servers": (
        counter("requests", "Requests that an inference server answered with evaluations."),
        counter("requests_refused", "Requests that it refused, with a status and a sentence."),
        counter("batches_merged", "Batches of more than one request."),
        gauge("batch_fill", "Mean rows of a batch, divided by max_batch_rows."),
        gauge("queued_rows", "Rows that wait for a batch."),
        gauge("latency_s", "Seconds from a request to its answer, recently.", "percentile"),
        counter("remote_requests", "Requests of a worker to inference servers."),
        counter("remote_retries", "Requests that a worker sent again, or evaluated itself."),
        counter("remote_refused", "Answers that a worker refused: they reached no search."),
        counter("fallback_rows", "Rows that a worker evaluated because no server answered."),
        gauge("inference_servers", "Inference servers that a worker may ask."),
        gauge("round_trip_s", "Seconds until a worker read an answer, recently.", "percentile"),
    ),
    "Weights": (
        counter("weights_published", "Weights that the trainer published in this session."),
        gauge("weights_in_run", "Weights in the run folder: of checkpoints, and rated ones."),
        counter("weights_loaded", "Weights that a worker or rater loaded."),
        counter("weights_refused", "Published weights that were refused as damaged or unfit."),
        gauge("refused_version", "Newest weights version that was refused."),
        gauge("versions_behind", "Published versions that are newer than the one loaded."),
        gauge("weights_behind_s", "Seconds since newer weights than the loaded were published."),
        gauge("weights_latency_s", "Seconds from publication to use, of the version loaded."),
    ),
    "Queue and spool": (
        gauge("backlog_episodes", "Games in Redis' streams: the trainer has yet to log them."),
        gauge("backlog_bytes", "What they occupy in Redis."),
        gauge("backlog_oldest_s", "Age of the oldest."),
        gauge("max_backlog_bytes", "fleet.max_backlog_bytes."),
        counter("sent", "Games that a worker sent, repetitions included."),
        counter("resent", "Games that a worker sent again."),
        counter("confirmed", "Games of a worker that the trainer has confirmed."),
        counter("duplicates", "Games that the trainer dropped because it had them."),
        counter("refused", "Games that the trainer refused and kept in refused/."),
        gauge("spool_bytes", "Games on a worker's disk that the trainer has not confirmed."),
        gauge("max_spool_bytes", "fleet.max_spool_bytes."),
        gauge("unconfirmed_rows", "Rows of those games; bounded while the trainer is away."),
    ),
    "Redis, as the trainer sees it": (
        gauge("redis_memory_bytes", "used_memory."),
        gauge("redis_max_memory_bytes", "maxmemory; 0 where there is no limit."),
    ),
    "Ratings": (
        counter("blocks", "Blocks of rating games that a rater finished."),
        counter("blocks_returned", "Blocks that a rater could not play."),
        gauge("rating_step", "Training step whose weights were rated last."),
        gauge("rating_score", "Last score against each opponent, from 0 to 1.", "opponent"),
    ),
    "The registry, from the trainer": (
        gauge("registered", "1 for each role in the registry.", "kind", "member", "member_host"),
        counter("worker_games", "Games of each worker.", "worker"),
        counter("worker_rows", "Rows of each worker.", "worker"),
        gauge("worker_version", "Weights version of each worker.", "worker"),
        gauge("worker_spool_bytes", "Spool of each worker.", "worker"),
    ),
}
METRICS = {metric.name: metric for group in METRICS_BY_GROUP.values() for metric in group}

OF_PROCESS = ("process_cpu_seconds_total", "process_resident_memory_bytes")
"""Reported for every role on Linux, by the Prometheus client."""


# ---- values


def disk_values(folder: Path) -> dict[str, float]:
    """Space on the file system of a folder."""
    usage = shutil.disk_usage(folder)
    return {"disk_free_bytes": usage.free, "disk_total_bytes": usage.total}


def bus_values(bus: Bus) -> dict[str, float]:
    """What every role knows of the bus without waiting for it."""
    pace = bus.pace()
    values = {"redis_reachable": float(bus.reachable), "trainer_away": float(pace is None)}
    return values if pace is None else values | {"rows_allowed": pace.rows_allowed}


def registry_counters(values: Values) -> dict[str, float]:
    """A role's values as its registry entry has them: one with a label is `losses/policy`."""
    counters: dict[str, float] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            for labels, number in value.items():
                label = labels if isinstance(labels, str) else ",".join(labels)
                counters[f"{name}/{label}"] = float(number)
        elif value is not None:
            counters[name] = float(value)
    return counters


def percentile_values(name: str, latencies: Latencies) -> dict[str, dict[str, float]]:
    """The gauge NAME_s with its percentiles; nothing before the first measurement."""
    found = latencies.percentiles()
    return {f"{name}_s": found} if found else {}


class QueueWatch:
    """What the trainer reports of the queue and of the bus's server."""

    def __init__(self, bus: Bus, max_backlog_bytes: int) -> None:
        self._bus = bus
        self._max_backlog_bytes = max_backlog_bytes
        self._values: dict[str, float] = {}

    def update(self) -> None:
        """Asks the bus, and so may wait for its server."""
        backlog, server = self._bus.backlog(), self._bus.server_figures()
        values: dict[str, float] = {
            "backlog_episodes": backlog.num_episodes,
            "backlog_bytes": backlog.num_bytes,
            "backlog_oldest_s": backlog.oldest_s,
            "max_backlog_bytes": self._max_backlog_bytes,
        }
        if server is not None:
            values |= {
                "redis_memory_bytes": server.memory_bytes,
                "redis_max_memory_bytes": server.max_memory_bytes,
            }
        self._values = values

    def values(self) -> dict[str, float]:
        """As of the last update."""
        return self._values


def registry_values(roles: Sequence[RoleEntry]) -> dict[str, Labelled]:
    """What the registry says of all roles, for a Prometheus that reaches the trainer alone."""
    workers = [each for each in roles if each.kind == "worker"]
    registered: dict[tuple[str, ...], float] = {
        (each.kind, each.id, each.host): 1 for each in roles
    }
    values: dict[str, Labelled] = {"registered": registered}
    for name in ("games", "rows", "version", "spool_bytes"):
        values[f"worker_{name}"] = {
            each.id: each.counters[name] for each in workers if name in each.counters
        }
    return values


# ---- Prometheus


def metrics_text(values: Values) -> bytes:
    """The values and those of this process in Prometheus' text format."""
    if unknown := values.keys() - METRICS.keys():
        raise Unsupported(
            f"metrics {', '.join(sorted(unknown))} are not declared in {__name__}.METRICS"
        )
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    registry.register(_Families(values))
    return generate_latest(registry)


class _Families(Collector):
    """Values as the Prometheus client collects them."""

    def __init__(self, values: Values) -> None:
        self._values = values

    def collect(self) -> Iterator[Metric]:
        for name, value in self._values.items():
            if value is None:
                continue
            metric = METRICS[name]
            kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
            family = kind(metric.prometheus_name, metric.help, labels=metric.labels)
            samples = value if isinstance(value, Mapping) else {(): value}
            for labels, number in samples.items():
                family.add_metric([labels] if isinstance(labels, str) else labels, number)
            yield family

    def describe(self) -> list[Metric]:
        return []


TARGET = re.compile(r"([\w.-]+|\[[0-9a-fA-F:.]+\]):\d{1,5}", re.ASCII)
LOOPBACK = re.compile(r"(127\..*|localhost|\[::1\]):\d+")


def discovered_targets(
    roles: Sequence[RoleEntry], run: str, host: str
) -> list[dict[str, list[str] | dict[str, str]]]:
    """The roles in the format of Prometheus' HTTP service discovery, as asked on a host.

    Roles that serve no metrics are left out, and those that serve them only on the loopback of
    another host: the registry's metrics cover them.
    """
    return [
        {
            "targets": [each.address],
            "labels": {"role": each.kind, "id": each.id, "run": run, "host": each.host},
        }
        for each in roles
        if TARGET.fullmatch(each.address)
        and (each.host == host or not LOOPBACK.fullmatch(each.address))
    ]
