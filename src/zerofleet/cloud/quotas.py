"""Whether the account may run a plan: its quotas, less what already runs.

A question that costs nothing, asked before anything that does. Quotas count vCPUs per family of
machines, apart for interruptible ones.
"""

from dataclasses import dataclass
from typing import Any

from zerofleet.cloud.plan import Plan
from zerofleet.cloud.prices import Prices
from zerofleet.errors import Inconsistent

CODES = {
    ("standard", False): "L-1216C47A",
    ("standard", True): "L-34B43A08",
    ("g", False): "L-DB2E81BA",
    ("g", True): "L-3819A6DF",
    ("p", False): "L-417A185B",
    ("p", True): "L-7212CCBC",
}
"""The provider's codes of its quotas for vCPUs, by family and whether interruptible."""
FAMILIES = {
    "standard": ("a", "c", "d", "h", "i", "m", "r", "t", "z"),
    "g": ("g", "vt"),
    "p": ("p",),
}
"""First letters of the types that a quota counts."""


@dataclass(frozen=True)
class Quota:
    """One quota that the plan needs."""

    name: str
    code: str
    limit: int
    used: int
    needed: int

    @property
    def suffices(self) -> bool:
        return self.used + self.needed <= self.limit

    def __str__(self) -> str:
        return (
            f"{self.name} ({self.code}): {self.needed} vCPUs needed, {self.used} in use, "
            f"limit {self.limit}"
        )


def needed_vcpus(plan: Plan, prices: Prices) -> dict[tuple[str, bool], int]:
    """By family and whether interruptible."""
    needed: dict[tuple[str, bool], int] = {}
    for machines in plan.machines().values():
        kind = prices.instance(machines.type)
        key = (kind.family, machines.interruptible)
        needed[key] = needed.get(key, 0) + machines.count * kind.vcpus
    return needed


def read_quotas(plan: Plan, prices: Prices, quotas: Any, ec2: Any) -> list[Quota]:
    """The quotas that the plan needs; `quotas` and `ec2` are clients of the provider."""
    used = _used_vcpus(plan.run, prices, ec2)
    found = []
    for (family, interruptible), needed in needed_vcpus(plan, prices).items():
        code = CODES[family, interruptible]
        answer = quotas.get_service_quota(ServiceCode="ec2", QuotaCode=code)
        name = f"{'interruptible' if interruptible else 'on-demand'} {family} machines"
        limit = int(answer["Quota"]["Value"])
        found.append(Quota(name, code, limit, used.get((family, interruptible), 0), needed))
    return found


def refuse_missing(quotas: list[Quota]) -> None:
    """Raises Inconsistent with every quota that does not suffice, and what to ask for."""
    short = [quota for quota in quotas if not quota.suffices]
    if short:
        listed = "; ".join(map(str, short))
        raise Inconsistent(
            f"the account's quotas do not suffice, and nothing was launched: {listed}. Ask for "
            "more under Service Quotas, Amazon EC2 (hours to days), or plan smaller machines"
        )


def _used_vcpus(run: str, prices: Prices, ec2: Any) -> dict[tuple[str, bool], int]:
    """Of all machines but this run's own, which the plan counts already."""
    used: dict[tuple[str, bool], int] = {}
    running = [{"Name": "instance-state-name", "Values": ["pending", "running"]}]
    for page in ec2.get_paginator("describe_instances").paginate(Filters=running):
        for reservation in page["Reservations"]:
            for machine in reservation["Instances"]:
                tags = {tag["Key"]: tag["Value"] for tag in machine.get("Tags", [])}
                if tags.get("Run") == run and tags.get("Project") == "zerofleet":
                    continue
                key = (_family(machine["InstanceType"]), "InstanceLifecycle" in machine)
                used[key] = used.get(key, 0) + _vcpus(machine, prices)
    return used


def _family(type_name: str) -> str:
    for family, letters in FAMILIES.items():
        if type_name.startswith(letters):
            return family
    return ""


def _vcpus(machine: dict[str, Any], prices: Prices) -> int:
    known = prices.instances.get(machine["InstanceType"])
    options = machine.get("CpuOptions", {})
    counted = int(options.get("CoreCount", 0)) * int(options.get("ThreadsPerCore", 1))
    return known.vcpus if known else counted


__all__ = ["CODES", "Quota", "needed_vcpus", "read_quotas", "refuse_missing"]
