"""Time and money of a target number of games or steps, from prices and measured rates.

    rate = Rates.read().rate("beastybar/published_run")
    estimate(plan, prices, rate, Work.of(rate, steps=2000)).usd

Three stages work at the same time: search on cores, evaluation on GPUs, training on the trainer's
GPUs. The slowest decides, except that one GPU that does both evaluation and training needs the sum.
A rate was measured on one device; other GPUs count by their speed against it, measured or stated,
as the prices say. Machines that start, and an imperfect overlap, come on top: see STARTUP_HOURS.
"""

import math
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from zerofleet.cloud.plan import Machines, Plan
from zerofleet.cloud.prices import HOURS_PER_MONTH, Instance, Prices
from zerofleet.errors import BadText, Unsupported, first_fault

STARTUP_HOURS = 0.25
"""From `up` until machines work: Redis is created, images are pulled."""
CORES = "cores"


class Rate(BaseModel):
    """How fast one device plays and trains a preset of a game."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    device: str
    """A GPU, or `cores`: then all rates are those of one core that plays and trains."""
    batch_size: int = Field(ge=1)
    games_per_step: float = Field(gt=0)
    """How many games a training step used, as settings and measurement had it."""
    sources: list[str]
    """Files of bench/results."""
    simulations_per_game: float = 0.0
    inferences_per_game: float = 0.0
    simulations_per_s: float = 0.0
    """Of one core."""
    inferences_per_s: float = 0.0
    samples_per_s: float = 0.0
    games_per_s: float = 0.0
    """Of one core, with device `cores`."""
    steps_per_s: float = 0.0


@dataclass(frozen=True)
class Rates:
    """Rates by game and preset."""

    of: dict[str, Rate]

    @staticmethod
    def read(path: Path | None = None) -> "Rates":
        source = path if path is not None else Path(str(files("zerofleet.cloud") / "rates.yaml"))
        try:
            listed = yaml.safe_load(source.read_text())
            return Rates({name: Rate.model_validate(rate) for name, rate in listed.items()})
        except ValidationError as error:
            raise BadText(f"{source}: {first_fault(error)}") from None

    def rate(self, name: str) -> Rate:
        if name not in self.of:
            raise Unsupported(
                f"no rate was measured for {name}; measured: {', '.join(sorted(self.of))}"
            )
        return self.of[name]


@dataclass(frozen=True)
class Work:
    """What is to be done."""

    games: float
    steps: float

    @staticmethod
    def of(rate: Rate, games: float | None = None, steps: float | None = None) -> "Work":
        """Games, steps or both; the other follows from how many games a step uses."""
        if games is None and steps is None:
            raise BadText("name the work: --games N, --steps N or both")
        if games is None:
            games = (steps or 0) * rate.games_per_step
        if steps is None:
            steps = games / rate.games_per_step
        return Work(positive("games", games), positive("steps", steps))


def positive(what: str, value: float) -> float:
    """The value; BadText unless it is a number above 0."""
    if not 0 < value < math.inf:
        raise BadText(f"{what} must be a number above 0, got {value:g}")
    return value


@dataclass(frozen=True)
class Estimate:
    """Hours of each stage, and the price of the whole."""

    search_hours: float
    inference_hours: float
    training_hours: float
    work_hours: float
    usd: float
    basis: str
    """Whether the GPUs' speeds are measured or stated; none if the rates are those of cores."""

    @property
    def hours(self) -> float:
        return self.work_hours + STARTUP_HOURS

    @property
    def bottleneck(self) -> str:
        stages = {
            "search": self.search_hours,
            "inference": self.inference_hours,
            "training": self.training_hours,
        }
        return max(stages, key=lambda stage: stages[stage])


def estimate(plan: Plan, prices: Prices, rate: Rate, work: Work) -> Estimate:
    """How long the work takes on the plan's machines, and what they cost meanwhile."""
    if rate.device == CORES:
        stages = _on_cores(plan, prices, rate, work)
        basis = "none"
        work_hours = max(stages)
    else:
        stages = _on_gpus(plan, prices, rate, work)
        evaluates = plan.inference or plan.trainer
        shares = plan.inference is None
        bases = {prices.gpu(prices.instance(m.type).gpu).basis for m in (evaluates, plan.trainer)}
        basis = "stated" if "stated" in bases else "measured"
        search, inference, training = stages
        work_hours = max(search, inference + training if shares else max(inference, training))
    hours = work_hours + STARTUP_HOURS
    usd = cost_of_hours(plan, prices, hours)
    return Estimate(*stages, work_hours, usd, basis)


def cost_of_hours(plan: Plan, prices: Prices, hours: float) -> float:
    """What the plan costs in so many hours, traffic included."""
    priced = plan.priced(prices)
    return priced.usd_per_hour * hours + sum(line.usd_once for line in priced.lines)


def _on_gpus(plan: Plan, prices: Prices, rate: Rate, work: Work) -> tuple[float, float, float]:
    searching = plan.selfplay or plan.trainer
    evaluating = plan.inference or plan.trainer
    cores = searching.count * prices.instance(searching.type).vcpus
    search_s = work.games * rate.simulations_per_game / (rate.simulations_per_s * cores)
    inference_s = work.games * rate.inferences_per_game
    inference_s /= rate.inferences_per_s * _speed(evaluating, prices, rate)
    training_s = work.steps * rate.batch_size
    training_s /= rate.samples_per_s * _speed(plan.trainer, prices, rate)
    return search_s / 3600, inference_s / 3600, training_s / 3600


def _on_cores(plan: Plan, prices: Prices, rate: Rate, work: Work) -> tuple[float, float, float]:
    """One core plays and trains at once; workers only play."""
    playing = sum(
        machines.count * prices.instance(machines.type).vcpus
        for machines in (plan.selfplay, plan.trainer)
        if machines
    )
    training = prices.instance(plan.trainer.type).vcpus
    search_s = work.games / (rate.games_per_s * playing)
    training_s = work.steps / (rate.steps_per_s * training)
    return search_s / 3600, 0.0, training_s / 3600


def _speed(machines: Machines, prices: Prices, rate: Rate) -> float:
    """Of all GPUs of these machines, against the one on which the rate was measured."""
    kind = prices.instance(machines.type)
    if not kind.gpus:
        raise Unsupported(
            f"{machines.type} has no GPU, and this rate was measured on one {rate.device}"
        )
    return machines.count * kind.gpus * prices.gpu(kind.gpu).speed / prices.gpu(rate.device).speed


# ---- GPUs compared


@dataclass(frozen=True)
class GpuOffer:
    """One machine with GPUs, and what the same work takes on it alone."""

    type: str
    kind: Instance
    estimate: Estimate


def compare_gpus(prices: Prices, rate: Rate, work: Work) -> list[GpuOffer]:
    """Every machine with a GPU as a single machine, cheapest first."""
    offers = []
    for name, kind in prices.instances.items():
        if not kind.gpus or kind.gpu not in prices.gpus:
            continue
        only = {"run": "offer", "region": prices.region, "trainer": {"type": name}}
        plan = Plan.model_validate(only)
        offers.append(GpuOffer(name, kind, estimate(plan, prices, rate, work)))
    return sorted(offers, key=lambda offer: offer.estimate.usd)


# ---- what costs without a run


def around_the_clock_usd(prices: Prices, *hosted: str) -> float:
    """Hosted machines for a month without a pause; a laptop of one's own plays for nothing."""
    hourly = sum(prices.hosted_machine(name).usd_per_hour for name in hosted)
    return hourly * HOURS_PER_MONTH


def orphaned_disks_usd_per_month(prices: Prices, size_gib: float) -> float:
    """Disks that outlive their machines."""
    return positive("GiB of disks", size_gib) * prices.other.disk_usd_per_gb_month


def egress_usd(prices: Prices, size_gb: float) -> float:
    """What leaves the provider's network in a month, beyond what is free."""
    paid_gb = max(0.0, positive("GB of egress", size_gb) - prices.other.egress_free_gb_per_month)
    return paid_gb * prices.other.egress_usd_per_gb


__all__ = [
    "CORES",
    "STARTUP_HOURS",
    "Estimate",
    "GpuOffer",
    "Rate",
    "Rates",
    "Work",
    "around_the_clock_usd",
    "compare_gpus",
    "cost_of_hours",
    "egress_usd",
    "estimate",
    "orphaned_disks_usd_per_month",
]
