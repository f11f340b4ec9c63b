"""Dated prices, from a file that users can edit.

    prices = Prices.read()                # or Prices.read(Path("mine.yaml"))
    prices.instance("g5.xlarge").usd_per_hour

A machine that is not in the file is refused: a plan is never priced with a guess.
"""

import datetime
from importlib.resources import files
from pathlib import Path
from typing import Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from zerofleet.errors import BadText, Unsupported, first_fault

T = TypeVar("T")

HOURS_PER_MONTH = 720
"""Thirty days, as the published plans count."""
STALE_DAYS = 90
"""Prices older than this are reported with their age."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Instance(_Part):
    """A type of machine."""

    usd_per_hour: float = Field(ge=0)
    vcpus: int = Field(0, ge=0)
    memory_gib: float = Field(0, ge=0)
    family: Literal["standard", "g", "p"] = "standard"
    """Which quota counts its vCPUs."""
    gpu: str = ""
    gpus: int = Field(0, ge=0)
    interruptible: float = Field(1.0, gt=0, le=1)
    """What an interruptible machine usually costs, as a share of the list price."""
    efa_cards: int = Field(0, ge=0)
    """Network cards with an Elastic Fabric Adapter."""


class Gpu(_Part):
    """How fast one GPU is."""

    speed: float = Field(gt=0)
    """Against the one on which the rates were measured."""
    basis: Literal["measured", "stated"]


class Hosted(_Part):
    """A machine of any provider, by the hour."""

    usd_per_hour: float = Field(ge=0)


class Other(_Part):
    """What is paid beside machines."""

    nat_usd_per_hour: float = 0.0
    nat_usd_per_gb: float = 0.0
    address_usd_per_hour: float = 0.0
    disk_usd_per_gb_month: float = 0.0
    storage_usd_per_gb_month: float = 0.0
    storage_usd_per_hour: float = 0.0
    """For plans that state storage by the hour."""
    egress_usd_per_gb: float = 0.0
    egress_free_gb_per_month: float = 0.0
    logs_usd_per_gb: float = 0.0
    metrics_usd_per_hour: float = 0.0
    secret_usd_per_month: float = 0.0
    dashboard_usd_per_month: float = 0.0


class Prices(_Part):
    """All prices of one region on one day."""

    as_of: datetime.date
    region: str
    source: str = ""
    instances: dict[str, Instance]
    gpus: dict[str, Gpu] = {}
    caches: dict[str, float] = {}
    hosted: dict[str, Hosted] = {}
    other: Other = Other()

    @staticmethod
    def read(path: Path | None = None) -> "Prices":
        """The prices in a file; by default those that come with zerofleet."""
        source = path if path is not None else Path(str(files("zerofleet.cloud") / "prices.yaml"))
        try:
            return Prices.model_validate(yaml.safe_load(source.read_text()))
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise BadText(f"{source}: not YAML: {error}") from None
        except ValidationError as error:
            raise BadText(f"{source}: {first_fault(error)}") from None

    def instance(self, name: str) -> Instance:
        return self._known(self.instances, name, "machine type")

    def cache(self, name: str) -> float:
        return self._known(self.caches, name, "type of Redis node")

    def gpu(self, name: str) -> Gpu:
        return self._known(self.gpus, name, "GPU")

    def hosted_machine(self, name: str) -> Hosted:
        return self._known(self.hosted, name, "hosted machine")

    def _known(self, prices: dict[str, T], name: str, what: str) -> T:
        if name not in prices:
            known = ", ".join(sorted(prices)) or "none"
            raise Unsupported(
                f"the prices of {self.as_of} have no {what} {name}; add it to a copy and name that "
                f"with --prices; known: {known}"
            )
        return prices[name]

    def age_note(self, today: datetime.date | None = None) -> str:
        """Of which day the prices are, and how old they are if that matters."""
        days = ((today or datetime.date.today()) - self.as_of).days
        old = f", {days} days old: check them and pass --prices" if days > STALE_DAYS else ""
        return f"prices of {self.as_of} in {self.region}{old}"


__all__ = ["HOURS_PER_MONTH", "STALE_DAYS", "Gpu", "Hosted", "Instance", "Other", "Prices"]
