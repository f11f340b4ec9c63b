"""What is to run in the cloud: machines per role, for how long, for how much.

    plan = read_plan("test", run="c4", game="connect4", hours=4, budget_usd=10)
    plan.priced(Prices.read()).total_usd

A size (`test`, `single`, `cluster`, or a YAML file of the same form) says which machines; the rest
says what they do. A plan is checked when it is built, and prices it by the hour and in total, so
that nothing is launched whose cost was not shown.
"""

import math
import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from zerofleet.cloud.prices import HOURS_PER_MONTH, Prices
from zerofleet.errors import BadText, Inconsistent, Unsupported, first_fault

Role = Literal["worker", "inference", "trainer"]
MAX_HOURS = 24 * 31
DEFAULT_REGION = "us-east-1"
RUN_NAME = re.compile(r"[a-z][a-z0-9-]{0,29}")
"""It becomes part of the names of resources, of which Redis allows the shortest."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Machines(_Part):
    """The machines of one role."""

    type: str
    count: int = Field(1, ge=1, le=1000)
    interruptible: bool = False
    """Cheaper, but the provider may take the machine back with two minutes of notice."""
    disk_gib: int = Field(60, ge=20, le=16_000)


class SelfplayMachines(Machines):
    """Workers lose only unfinished games, so they are interruptible unless told otherwise."""

    interruptible: bool = True


class RedisNode(_Part):
    """The managed Redis (Valkey) of the fleet."""

    type: str


class Images(_Part):
    """Container images, one per role. A name without a registry is a repository of the account's
    own registry in the region; machines may pull those that begin with zerofleet."""

    worker: str = "zerofleet-worker:latest"
    inference: str = "zerofleet-inference:latest"
    trainer: str = "zerofleet-trainer:latest"
    dash: str = "zerofleet-dashboard:latest"


class Plan(_Part):
    """A fleet in the cloud, or one machine if it has only a trainer."""

    run: str
    game: str = "connect4"
    preset: str = "standard"
    region: str = DEFAULT_REGION
    hours: float = Field(4.0, gt=0, le=MAX_HOURS)
    """After this long the machines end by themselves."""
    budget_usd: float | None = Field(None, gt=0)
    """The most that it may cost; nothing is launched without it."""
    notify: str = ""
    """Mail address for the budget alarm."""
    weights_from: Literal["redis", "s3"] = "redis"
    """Where workers and inference servers fetch new weights (fleet.weights_from). s3: from the
    bucket, where Redis' network is the bottleneck."""
    storage_gb: float = Field(20.0, ge=0)
    """What the run is expected to keep in the bucket."""
    egress_gb: float = Field(2.0, ge=0)
    """What is expected to leave the provider's network."""
    images: Images = Images()
    selfplay: SelfplayMachines | None = None
    inference: Machines | None = None
    trainer: Machines
    redis: RedisNode | None = None

    @field_validator("run")
    @classmethod
    def _run_is_a_name(cls, run: str) -> str:
        if not RUN_NAME.fullmatch(run) or run.endswith("-") or "--" in run:
            raise ValueError(
                f"{run!r} must be up to 30 lower-case letters, digits and single hyphens, "
                "beginning with a letter"
            )
        return run

    @field_validator("notify")
    @classmethod
    def _notify_is_an_address(cls, address: str) -> str:
        if address and not re.fullmatch(r"[^@\s]+@[^@\s]+", address):
            raise ValueError(f"{address!r} is not a mail address")
        return address

    @model_validator(mode="after")
    def _roles_fit(self) -> "Plan":
        if self.trainer.count != 1:
            raise ValueError(f"trainer.count is {self.trainer.count}; a run has one trainer")
        if self.selfplay and not self.redis:
            raise ValueError("selfplay machines need redis, where the roles meet")
        if self.redis and not self.selfplay:
            raise ValueError("redis without selfplay machines; leave it out for a single machine")
        if self.inference and not self.selfplay:
            raise ValueError("inference machines without selfplay machines have nobody to serve")
        if self.weights_from == "s3" and not self.selfplay:
            raise ValueError("weights_from: s3 without selfplay machines; nobody would fetch them")
        return self

    @property
    def is_single(self) -> bool:
        """One machine that plays and trains by itself."""
        return self.selfplay is None

    def machines(self) -> dict[Role, Machines]:
        """By role, in the order in which they are shown."""
        found: dict[Role, Machines | None] = {
            "worker": self.selfplay,
            "inference": self.inference,
            "trainer": self.trainer,
        }
        return {role: machines for role, machines in found.items() if machines}

    def num_secrets(self) -> int:
        """Passwords of Redis for each role and the dashboard, and two keys of inference."""
        if self.redis is None:
            return 0
        return len(self.machines()) + 1 + (2 if self.inference else 0)

    def priced(self, prices: Prices) -> "PricedPlan":
        """Refuses prices of another region."""
        if prices.region != self.region:
            raise Inconsistent(
                f"the prices are those of {prices.region}, and the plan is in {self.region}; name "
                "prices of that region with --prices"
            )
        return PricedPlan(self, tuple(_lines(self, prices)))


# ---- prices


@dataclass(frozen=True)
class PriceLine:
    """One thing that is paid."""

    what: str
    usd_per_hour: float = 0.0
    usd_once: float = 0.0
    """Independent of the hours, such as traffic."""
    note: str = ""


@dataclass(frozen=True)
class PricedPlan:
    """A plan and what each part of it costs."""

    plan: Plan
    lines: tuple[PriceLine, ...]

    @property
    def usd_per_hour(self) -> float:
        return sum(line.usd_per_hour for line in self.lines)

    @property
    def total_usd(self) -> float:
        """For all its hours, rounded up to cents."""
        total = self.usd_per_hour * self.plan.hours + sum(line.usd_once for line in self.lines)
        return math.ceil(round(total * 100, 6)) / 100

    def refuse_over_budget(self) -> float:
        """The budget; raises BadText without one, or if the plan costs more."""
        budget = self.plan.budget_usd
        if budget is None:
            raise BadText(
                f"{self.plan.run} would cost ${self.total_usd:,.2f} and has no budget; name the "
                "most that it may cost with --budget USD"
            )
        if self.total_usd > budget:
            raise BadText(
                f"{self.plan.run} would cost ${self.total_usd:,.2f} in {self.plan.hours:g} h, more "
                f"than its budget of ${budget:,.2f}; plan fewer hours or smaller machines, or "
                "raise --budget"
            )
        return budget


def _lines(plan: Plan, prices: Prices) -> list[PriceLine]:
    other = prices.other
    lines = []
    disk_gib = 0
    for role, machines in plan.machines().items():
        kind = prices.instance(machines.type)
        each = kind.usd_per_hour * (kind.interruptible if machines.interruptible else 1)
        note = "interruptible, usual price" if machines.interruptible else ""
        what = f"{role}: {machines.count} x {machines.type}"
        lines.append(PriceLine(what, machines.count * each, note=note))
        disk_gib += machines.count * machines.disk_gib
    if plan.redis:
        lines.append(PriceLine(f"redis: {plan.redis.type}", prices.cache(plan.redis.type)))
    lines += [
        PriceLine(
            f"disks: {disk_gib} GiB", disk_gib * other.disk_usd_per_gb_month / HOURS_PER_MONTH
        ),
        PriceLine("network: NAT and address", other.nat_usd_per_hour + other.address_usd_per_hour),
        PriceLine(
            "logs, secrets, dashboard",
            other.metrics_usd_per_hour
            + (plan.num_secrets() * other.secret_usd_per_month + other.dashboard_usd_per_month)
            / HOURS_PER_MONTH,
        ),
        PriceLine(
            f"bucket: {plan.storage_gb:g} GB",
            other.storage_usd_per_hour
            + plan.storage_gb * other.storage_usd_per_gb_month / HOURS_PER_MONTH,
            note="kept by down",
        ),
        PriceLine(
            f"egress: {plan.egress_gb:g} GB",
            usd_once=plan.egress_gb * (other.egress_usd_per_gb + other.nat_usd_per_gb),
            note=f"the first {other.egress_free_gb_per_month:g} GB a month of an account are free",
        ),
    ]
    return [line for line in lines if line.usd_per_hour or line.usd_once]


# ---- files


def size_names() -> list[str]:
    """The sizes that come with zerofleet."""
    folder = Path(str(files("zerofleet.cloud") / "sizes"))
    return sorted(path.stem for path in folder.glob("*.yaml"))


def read_plan(size: str, **given: Any) -> Plan:
    """The plan of a size, or of a YAML file, with what is given on top; None is not given."""
    given = {name: value for name, value in given.items() if value is not None}
    if size in size_names():
        path = Path(str(files("zerofleet.cloud") / "sizes" / f"{size}.yaml"))
    elif size.endswith((".yaml", ".yml")):
        path = Path(size)
    else:
        raise Unsupported(
            f"no size {size}; use one of {', '.join(size_names())}, or a file that ends in .yaml"
        )
    try:
        settings = yaml.safe_load(path.read_text())
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadText(f"{path}: not YAML: {error}") from None
    if not isinstance(settings, dict):
        raise BadText(f"{path} must be settings of a plan, such as trainer: {{type: g6e.xlarge}}")
    try:
        return Plan.model_validate(settings | given)
    except ValidationError as error:
        place = error.errors()[0]["loc"]
        source = "" if place and place[0] in given else f"{size}: "
        raise BadText(f"{source}{first_fault(error)}") from None


__all__ = [
    "DEFAULT_REGION",
    "Images",
    "Machines",
    "Plan",
    "PriceLine",
    "PricedPlan",
    "RedisNode",
    "Role",
    "SelfplayMachines",
    "read_plan",
    "size_names",
]
