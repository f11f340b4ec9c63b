"""Launches a plan, and shows what runs.

`up` reports each step by name before the next begins. It may be killed after any of them and run
again: it finds what is there and ends in the same one stack. Until the question has been answered
nothing is created. Machines start last, when everything that they need is there.
"""

import datetime
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from zerofleet.cloud import quotas as account_quotas
from zerofleet.cloud.account import Account, code_of
from zerofleet.cloud.boot import PROGRAMS, program, text_parameter
from zerofleet.cloud.checks import faults
from zerofleet.cloud.plan import Plan, PricedPlan
from zerofleet.cloud.prices import Prices
from zerofleet.cloud.stack import template
from zerofleet.cloud.stack_machines import REPOSITORIES
from zerofleet.cloud.stacks import POLL_S, Say, Stack, Stacks, stack_name
from zerofleet.cloud.teardown import kept_bucket
from zerofleet.errors import BadText, Inconsistent

STEPS = (
    "budget",
    "account",
    "template",
    "quotas",
    "images",
    "zones",
    "bucket",
    "confirmed",
    "settled",
    "requested",
    "prepared",
    "worker key",
    "server key",
    "started",
    "running",
)
"""The steps of `up`, in order; each is reported when it is done."""
DRAIN_MINUTES = 15
"""Between the end of the machines and that of Redis and the gateway."""
TIME = "%Y-%m-%dT%H:%M:%S"

Confirm = Callable[[PricedPlan], bool]
MakeKeys = Callable[[], tuple[str, str]]


@dataclass(frozen=True)
class Launched:
    """A stack that runs."""

    stack: Stack
    is_new: bool


class Declined(BadText):
    """The question was not answered with yes. Nothing was launched."""


def up(
    plan: Plan,
    prices: Prices,
    account: Account,
    confirm: Confirm,
    make_keys: MakeKeys,
    say: Say,
    report: Callable[[str], None] = lambda step: None,
    poll_s: float = POLL_S,
) -> Launched:
    """Launches the plan, or finishes what an earlier call began.

    `confirm` is asked once, with the price, before anything is created. `make_keys` makes the keys
    of inference servers and of the workers that ask them.
    """
    priced = plan.priced(prices)
    budget = priced.refuse_over_budget()
    if not plan.notify:
        raise BadText("--notify ADDRESS is missing: who gets the budget's alarm?")
    report("budget")
    number = account.identity()
    report("account")
    made = template(plan, prices)
    if wrong := faults(made):
        raise Inconsistent(f"the template is not safe: {'; '.join(wrong)}")
    report("template")
    found = account_quotas.read_quotas(
        plan, prices, account.client("service-quotas"), account.client("ec2")
    )
    account_quotas.refuse_missing(found)
    report("quotas")
    images = find_images(plan, f"{number}.dkr.ecr.{plan.region}.amazonaws.com", account)
    report("images")
    zones = choose_zones(plan, account.client("ec2"))
    report("zones")
    bucket = kept_bucket(account, plan.run)
    report("bucket")
    if not confirm(priced):
        raise Declined(f"{plan.run} was not launched")
    report("confirmed")

    name = stack_name(plan.run)
    stacks = Stacks(account, poll_s)
    stack = stacks.settled(name, say)
    _refuse_ended(stack)
    report("settled")
    values = _values(plan, priced, budget, images, zones, bucket, stack)
    tags = {"Project": "zerofleet", "Run": plan.run, "Role": "stack"}
    is_new = stack is None
    waits_for_keys = plan.inference is not None and not _has_keys(account, stack)
    running = machine_counts(plan)
    none_yet = dict.fromkeys(running, "0")
    first = values | (none_yet if waits_for_keys else running)
    if is_new:
        say(f"creating {name}; Redis takes some minutes")
        stacks.create(name, made, first, tags)
    else:
        stacks.update(name, made, first, tags)
    report("requested")
    stack = stacks.wait_complete(name, say)
    report("prepared")
    if waits_for_keys:
        server_key, worker_key = make_keys()
        # The server's key is last: while it is missing, both are made anew.
        for step, key in (("worker key", worker_key), ("server key", server_key)):
            title = "WorkerKey" if step == "worker key" else "ServerKey"
            account.client("secretsmanager").put_secret_value(
                SecretId=stack.outputs[title], SecretString=key
            )
            report(step)
        stacks.update(name, made, values | running, tags)
        report("started")
        stack = stacks.wait_complete(name, say)
    report("running")
    return Launched(stack, is_new)


def machine_counts(plan: Plan) -> dict[str, str]:
    """The parameters that say how many machines run."""
    return {
        f"{role.capitalize()}Machines": str(machines.count)
        for role, machines in plan.machines().items()
    }


def _refuse_ended(stack: Stack | None) -> None:
    if stack and stack.outputs.get("StackEndTime", "9999") <= _now().strftime(TIME):
        raise Inconsistent(
            f"{stack.name} ended at {stack.outputs['StackEndTime']} UTC; take it down first, the "
            "next `up` takes over its bucket"
        )


def _values(
    plan: Plan,
    priced: PricedPlan,
    budget: float,
    images: dict[str, str],
    zones: tuple[str, str],
    bucket: str,
    stack: Stack | None,
) -> dict[str, str]:
    """The stack's parameters. One that exists keeps its start, its zones and its bucket."""
    was = stack.parameters if stack else {}
    start = datetime.datetime.strptime(was.get("StartTime", _now().strftime(TIME)), TIME)
    end = start + datetime.timedelta(hours=plan.hours)
    rest = end + datetime.timedelta(minutes=DRAIN_MINUTES)
    own_bucket = was.get("ExistingBucket", bucket)
    return {
        "RunName": plan.run,
        "Game": plan.game,
        "Preset": plan.preset,
        **{f"{role.capitalize()}Image": image for role, image in images.items()},
        "FirstZone": was.get("FirstZone", zones[0]),
        "SecondZone": was.get("SecondZone", zones[1]),
        "ExistingBucket": own_bucket,
        "BudgetUsd": f"{budget:.2f}",
        "UsdPerHour": f"{priced.usd_per_hour:.4f}",
        "NotifyAddress": plan.notify,
        "StartTime": start.strftime(TIME),
        "EndTime": end.strftime(TIME),
        "RestTime": rest.strftime(TIME),
        **{text_parameter(name): program(name) for name in PROGRAMS},
    }


def _has_keys(account: Account, stack: Stack | None) -> bool:
    """Whether both keys were written: the server's is the last."""
    if stack is None or "ServerKey" not in stack.outputs:
        return False
    try:
        account.client("secretsmanager").get_secret_value(SecretId=stack.outputs["ServerKey"])
    except ClientError as error:
        if code_of(error) == "ResourceNotFoundException":
            return False
        raise
    return True


def find_images(plan: Plan, registry: str, account: Account) -> dict[str, str]:
    """The images of the plan's roles, as machines pull them. Those of the account's own registry
    are looked up: a machine that cannot pull its image does nothing, and costs as much."""
    found, missing = {}, []
    for role in (*plan.machines(), "dash"):
        image: str = getattr(plan.images, role)
        if not re.match(r"[^/]*[.:][^/]*/", image):
            image = f"{registry}/{image}"
        found[role] = image
        name = image.removeprefix(f"{registry}/")
        if name != image and not _has_image(account.client("ecr"), name):
            missing.append(image)
    if missing:
        raise Inconsistent(
            f"nothing was launched: there is no image {', '.join(missing)}; build and push it, or "
            "name another in a size of your own"
        )
    return found


def _has_image(ecr: Any, name: str) -> bool:
    repository, _, tag = name.partition(":")
    if not repository.startswith(REPOSITORIES):
        raise BadText(
            f"machines may pull images of repositories that begin with {REPOSITORIES}; got {name}"
        )
    try:
        ecr.describe_images(repositoryName=repository, imageIds=[{"imageTag": tag or "latest"}])
    except ClientError as error:
        if code_of(error) in ("RepositoryNotFoundException", "ImageNotFoundException"):
            return False
        raise
    return True


def choose_zones(plan: Plan, ec2: Any) -> tuple[str, str]:
    """A zone that has all types of machines but self-play's, and one more for self-play."""
    offered: dict[str, set[str]] = {}
    types = sorted({machines.type for machines in plan.machines().values()})
    for page in ec2.get_paginator("describe_instance_type_offerings").paginate(
        LocationType="availability-zone", Filters=[{"Name": "instance-type", "Values": types}]
    ):
        for offer in page["InstanceTypeOfferings"]:
            offered.setdefault(offer["InstanceType"], set()).add(offer["Location"])
    together = set.intersection(*(offered.get(each, set()) for each in types))
    if not together:
        listed = "; ".join(
            f"{each} in {', '.join(sorted(offered.get(each, set()))) or 'none'}" for each in types
        )
        raise Inconsistent(
            f"no zone of {plan.region} has all machines of the plan: {listed}; choose other types "
            "or another region"
        )
    first = min(together)
    others = set.union(*offered.values()) - {first}
    if not others:
        raise Inconsistent(f"{plan.region} offers these machines in {first} alone; two are needed")
    return first, min(others & offered[types[0]] or others)


# ---- status


@dataclass(frozen=True)
class GroupStatus:
    """The machines of one role."""

    role: str
    wanted: int
    running: int
    machine_type: str


@dataclass(frozen=True)
class CloudStatus:
    """What runs for a run, and what it has cost so far by the plan's prices."""

    stack: Stack
    groups: tuple[GroupStatus, ...]
    dashboard_machine: str
    """The trainer's machine; empty until it runs."""
    hours: float
    spent_usd: float


def read_status(account: Account, run: str) -> CloudStatus | None:
    stack = Stacks(account).find(stack_name(run))
    if stack is None:
        return None
    groups, trainer = [], ""
    client = account.client("autoscaling")
    by_run = [{"Name": "tag:Run", "Values": [run]}]
    for page in client.get_paginator("describe_auto_scaling_groups").paginate(Filters=by_run):
        for group in page["AutoScalingGroups"]:
            role = {tag["Key"]: tag["Value"] for tag in group["Tags"]}["Role"]
            machines = [m for m in group["Instances"] if m["LifecycleState"] == "InService"]
            types = sorted({m.get("InstanceType", "") for m in machines})
            groups.append(
                GroupStatus(role, group["DesiredCapacity"], len(machines), ", ".join(types))
            )
            if role == "trainer" and machines:
                trainer = machines[0]["InstanceId"]
    hours = spent = 0.0
    if "StackStartTime" in stack.outputs:
        start = datetime.datetime.strptime(stack.outputs["StackStartTime"], TIME)
        end = datetime.datetime.strptime(stack.outputs["StackEndTime"], TIME)
        hours = max(0.0, (min(_now(), end) - start).total_seconds() / 3600)
        spent = hours * float(stack.outputs["StackUsdPerHour"])
    return CloudStatus(
        stack, tuple(sorted(groups, key=lambda group: group.role)), trainer, hours, spent
    )


def tunnel_command(region: str, machine: str, port: int = 8080) -> str:
    """What brings the dashboard to this machine, without an open door in the cloud."""
    ports = f'{{"portNumber":["{port}"],"localPortNumber":["{port}"]}}'
    return (
        f"aws ssm start-session --region {region} --target {machine} "
        f"--document-name AWS-StartPortForwardingSession --parameters '{ports}'"
    )


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC).replace(tzinfo=None)


__all__ = [
    "STEPS",
    "CloudStatus",
    "Declined",
    "GroupStatus",
    "Launched",
    "choose_zones",
    "find_images",
    "machine_counts",
    "read_status",
    "tunnel_command",
    "up",
]
