"""Takes a run's machines down, and proves by tags that nothing that costs is left.

The bucket stays, with the run's checkpoints and games; so do buckets of earlier stacks of the run.
Everything else that carries the run's tags is asked for, service by service, after the stack is
gone: what is found is named with its price, and `down` fails.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from zerofleet.cloud.account import Account, CloudFailed
from zerofleet.cloud.prices import HOURS_PER_MONTH, Prices
from zerofleet.cloud.stacks import POLL_S, Say, Stacks, stack_name


@dataclass(frozen=True)
class Found:
    """Something of the run that exists, and what it costs each month if it stays."""

    kind: str
    identity: str
    usd_per_month: float
    note: str = ""

    def __str__(self) -> str:
        note = f" ({self.note})" if self.note else ""
        return f"{self.kind} {self.identity}{note}: ${self.usd_per_month:,.2f} a month"


@dataclass(frozen=True)
class TakenDown:
    """What `down` found after the stack was gone."""

    was_there: bool
    """Whether there was a stack."""
    kept: tuple[Found, ...]
    left: tuple[Found, ...]
    """What still costs and should not be there."""


def down(account: Account, run: str, prices: Prices, say: Say, poll_s: float = POLL_S) -> TakenDown:
    """Deletes the run's stack, waits until it is gone, and looks for what is left."""
    stacks = Stacks(account, poll_s)
    name = stack_name(run)
    stack = stacks.find(name)
    if stack is not None:
        say(f"deleting {name}; machines drain first")
        stacks.delete(name, say)
    return TakenDown(
        stack is not None,
        tuple(_buckets(account, run, prices)),
        tuple(leftovers(account, run, prices)),
    )


def leftovers(account: Account, run: str, prices: Prices) -> Iterator[Found]:
    """Everything of a run that costs, except its buckets."""
    yield from _machines(account, run, prices)
    yield from _disks(account, run, prices)
    yield from _network(account, run, prices)
    yield from _redis(account, run, prices)
    yield from _small_things(account, run, prices)


def _machines(account: Account, run: str, prices: Prices) -> Iterator[Found]:
    ec2 = account.client("ec2")
    alive = [
        *_by_tag(run),
        {"Name": "instance-state-name", "Values": ["pending", "running", "stopping", "stopped"]},
    ]
    for page in ec2.get_paginator("describe_instances").paginate(Filters=alive):
        for reservation in page["Reservations"]:
            for machine in reservation["Instances"]:
                kind = prices.instances.get(machine["InstanceType"])
                hourly = kind.usd_per_hour if kind else 0.0
                note = machine["InstanceType"] + ("" if kind else ", price unknown")
                yield Found("machine", machine["InstanceId"], hourly * HOURS_PER_MONTH, note)
    groups = account.client("autoscaling").get_paginator("describe_auto_scaling_groups")
    for page in groups.paginate(Filters=[{"Name": "tag:Run", "Values": [run]}]):
        for group in page["AutoScalingGroups"]:
            yield Found("group", group["AutoScalingGroupName"], 0.0, "starts machines")


def _disks(account: Account, run: str, prices: Prices) -> Iterator[Found]:
    ec2, per_gb = account.client("ec2"), prices.other.disk_usd_per_gb_month
    for page in ec2.get_paginator("describe_volumes").paginate(Filters=_by_tag(run)):
        for disk in page["Volumes"]:
            note = f"{disk['Size']} GiB, {disk['State']}"
            yield Found("disk", disk["VolumeId"], disk["Size"] * per_gb, note)
    snapshots = ec2.get_paginator("describe_snapshots")
    for page in snapshots.paginate(OwnerIds=["self"], Filters=_by_tag(run)):
        for each in page["Snapshots"]:
            yield Found("snapshot", each["SnapshotId"], each["VolumeSize"] * per_gb)


def _network(account: Account, run: str, prices: Prices) -> Iterator[Found]:
    ec2, other = account.client("ec2"), prices.other
    for page in ec2.get_paginator("describe_nat_gateways").paginate(Filter=_by_tag(run)):
        for gateway in page["NatGateways"]:
            if gateway["State"] not in ("deleting", "deleted"):
                monthly = other.nat_usd_per_hour * HOURS_PER_MONTH
                yield Found("gateway", gateway["NatGatewayId"], monthly)
    for address in ec2.describe_addresses(Filters=_by_tag(run))["Addresses"]:
        monthly = other.address_usd_per_hour * HOURS_PER_MONTH
        yield Found("address", address["AllocationId"], monthly)


def _redis(account: Account, run: str, prices: Prices) -> Iterator[Found]:
    # By name: tags of Redis nodes can only be read one by one.
    pages = account.client("elasticache").get_paginator("describe_replication_groups").paginate()
    for page in pages:
        for group in page["ReplicationGroups"]:
            if group["ReplicationGroupId"] == stack_name(run) and group["Status"] != "deleting":
                hourly = prices.caches.get(group.get("CacheNodeType", ""), 0.0)
                yield Found("redis", group["ReplicationGroupId"], hourly * HOURS_PER_MONTH)


def _small_things(account: Account, run: str, prices: Prices) -> Iterator[Found]:
    secrets = account.client("secretsmanager").get_paginator("list_secrets")
    by_run = [{"Key": "tag-key", "Values": ["Run"]}, {"Key": "tag-value", "Values": [run]}]
    for page in secrets.paginate(Filters=by_run):
        for secret in page["SecretList"]:
            tags = {tag["Key"]: tag["Value"] for tag in secret.get("Tags", [])}
            if tags.get("Run") == run and "DeletedDate" not in secret:
                yield Found("secret", secret["Name"], prices.other.secret_usd_per_month)
    logs = account.client("logs").get_paginator("describe_log_groups")
    for prefix in (f"/zerofleet/{run}", f"/aws/lambda/zerofleet-{run}-shutdown"):
        for page in logs.paginate(logGroupNamePrefix=prefix):
            for group in page["logGroups"]:
                if group["logGroupName"] == prefix:
                    yield Found("logs", prefix, 0.0, "storage of what was logged")
    dashboards = account.client("cloudwatch").list_dashboards(
        DashboardNamePrefix=f"{stack_name(run)}-fleet"
    )
    for each in dashboards["DashboardEntries"]:
        if each["DashboardName"] == f"{stack_name(run)}-fleet":
            monthly = prices.other.dashboard_usd_per_month
            yield Found("dashboard", each["DashboardName"], monthly)


# ---- what is kept


def kept_bucket(account: Account, run: str) -> str:
    """The newest bucket that an earlier stack of the run kept; empty if there is none.

    One that belongs to a stack which exists is that stack's own.
    """
    if Stacks(account).find(stack_name(run)):
        return ""
    buckets = _run_buckets(account, run)
    return buckets[-1] if buckets else ""


def _run_buckets(account: Account, run: str) -> list[str]:
    """Oldest first."""
    tagged = account.client("resourcegroupstaggingapi").get_paginator("get_resources")
    filters = [{"Key": "Project", "Values": ["zerofleet"]}, {"Key": "Run", "Values": [run]}]
    names = set()
    for page in tagged.paginate(TagFilters=filters, ResourceTypeFilters=["s3"]):
        names |= {each["ResourceARN"].rpartition(":")[2] for each in page["ResourceTagMappingList"]}
    listed = account.client("s3").list_buckets()["Buckets"]
    ages = {each["Name"]: each["CreationDate"] for each in listed}
    return sorted(names & set(ages), key=lambda name: (ages[name], name))


def _buckets(account: Account, run: str, prices: Prices) -> Iterator[Found]:
    s3 = account.client("s3")
    for name in _run_buckets(account, run):
        num_objects = size_bytes = 0
        for page in s3.get_paginator("list_object_versions").paginate(Bucket=name):
            versions: list[dict[str, Any]] = page.get("Versions", [])
            num_objects += len(versions)
            size_bytes += sum(each["Size"] for each in versions)
        monthly = size_bytes / 1e9 * prices.other.storage_usd_per_gb_month
        yield Found("bucket", name, monthly, f"{num_objects:,} objects, {size_bytes / 1e9:.2f} GB")


def delete_bucket(account: Account, name: str) -> None:
    """Deletes a bucket with all versions of its objects; the run in it is gone."""
    s3 = account.client("s3")
    for page in s3.get_paginator("list_object_versions").paginate(Bucket=name):
        doomed = [
            {"Key": each["Key"], "VersionId": each["VersionId"]}
            for each in [*page.get("Versions", []), *page.get("DeleteMarkers", [])]
        ]
        if doomed:
            answer = s3.delete_objects(Bucket=name, Delete={"Objects": doomed, "Quiet": True})
            for fault in answer.get("Errors", []):
                raise CloudFailed(f"{name}/{fault['Key']} cannot be deleted: {fault['Code']}")
    for page in s3.get_paginator("list_multipart_uploads").paginate(Bucket=name):
        for upload in page.get("Uploads", []):
            s3.abort_multipart_upload(Bucket=name, Key=upload["Key"], UploadId=upload["UploadId"])
    s3.delete_bucket(Bucket=name)


def _by_tag(run: str) -> list[dict[str, Any]]:
    return [
        {"Name": "tag:Run", "Values": [run]},
        {"Name": "tag:Project", "Values": ["zerofleet"]},
    ]


__all__ = ["Found", "TakenDown", "delete_bucket", "down", "kept_bucket", "leftovers"]
