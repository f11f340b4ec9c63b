"""`up` ends in one stack however often it is killed; `down` leaves nothing that costs."""

import multiprocessing
import signal
from collections import Counter
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from cloud_accounts import POLL_S, Server, launch, launch_and_die, plan_of

from zerofleet.cloud import shutdown
from zerofleet.cloud.account import Account, CloudFailed
from zerofleet.cloud.launch import STEPS, Declined, choose_zones, read_status, up
from zerofleet.cloud.prices import Prices
from zerofleet.cloud.stacks import Stacks
from zerofleet.cloud.teardown import TakenDown, delete_bucket, down, leftovers
from zerofleet.errors import BadText, Inconsistent

PRICES = Prices.read()
IN_EVERY_RUN = {"worker key"}
"""The other points take a while together."""

processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["cloud_accounts"])


def take_down(run: str = "c4") -> TakenDown:
    return down(Account("us-east-1"), run, PRICES, lambda text: None, POLL_S)


def stack_names() -> list[str]:
    stacks = boto3.client("cloudformation").describe_stacks()["Stacks"]
    return [stack["StackName"] for stack in stacks]


def machines() -> list[str]:
    """Of all that run in the account, tagged or not: the role of each."""
    alive = [{"Name": "instance-state-name", "Values": ["pending", "running"]}]
    found = boto3.client("ec2").describe_instances(Filters=alive)["Reservations"]
    each = [machine for reservation in found for machine in reservation["Instances"]]
    return [next(t["Value"] for t in m["Tags"] if t["Key"] == "Role") for m in each]


def what_costs() -> dict[str, int]:
    """By service, without looking at tags."""
    ec2 = boto3.client("ec2")
    gateways = ec2.describe_nat_gateways()["NatGateways"]
    groups = boto3.client("autoscaling").describe_auto_scaling_groups()
    redis = boto3.client("elasticache").describe_replication_groups()["ReplicationGroups"]
    users = boto3.client("elasticache").describe_users()["Users"]
    return {
        "machines": len(machines()),
        "disks": len(ec2.describe_volumes()["Volumes"]),
        "gateways": sum(each["State"] != "deleted" for each in gateways),
        "addresses": len(ec2.describe_addresses()["Addresses"]),
        "groups": len(groups["AutoScalingGroups"]),
        "redis": sum(each["Status"] != "deleting" for each in redis),
        "users": sum(each["UserId"] != "default" for each in users),  # AWS' own
        "secrets": len(boto3.client("secretsmanager").list_secrets()["SecretList"]),
        "logs": len(boto3.client("logs").describe_log_groups()["logGroups"]),
        "dashboards": len(boto3.client("cloudwatch").list_dashboards()["DashboardEntries"]),
    }


def key_values() -> list[str]:
    client = boto3.client("secretsmanager")
    names = [each["Name"] for each in client.list_secrets()["SecretList"]]
    keys = [name for name in names if "Key" in name]
    return sorted(client.get_secret_value(SecretId=name)["SecretString"] for name in keys)


def kill_up_after(step: str, server: Server) -> None:
    child = processes.Process(
        target=launch_and_die, args=(server.environment(), "test", step), daemon=True
    )
    child.start()
    child.join(120)
    assert child.exitcode == -signal.SIGKILL


at_every_step = pytest.mark.parametrize(
    "step",
    [
        step if step in IN_EVERY_RUN else pytest.param(step, marks=pytest.mark.long)
        for step in STEPS
    ],
)


@at_every_step
def test_up_killed_after_a_step_and_run_again_ends_in_one_stack(server: Server, step: str) -> None:
    kill_up_after(step, server)
    if STEPS.index(step) <= STEPS.index("settled"):
        assert not any(what_costs().values())  # nothing before the question was answered
    if STEPS.index(step) < STEPS.index("started"):
        assert machines() == []  # machines are last

    launched = launch(plan_of())
    assert launched.stack.status.endswith("_COMPLETE")
    assert stack_names() == ["zerofleet-c4"]
    assert sorted(machines()) == ["inference", "trainer", "worker"]
    server_key, worker_key = key_values()
    assert server_key.split()[-1] == worker_key.split()[-1]  # of one pair

    gone = take_down()
    assert gone.was_there
    assert gone.left == ()
    assert len(gone.kept) == 1  # one bucket, not one per attempt
    assert stack_names() == []
    assert not any(what_costs().values())


@at_every_step
def test_down_after_an_up_that_was_killed_leaves_nothing(server: Server, step: str) -> None:
    kill_up_after(step, server)
    gone = take_down()
    was_requested = STEPS.index(step) >= STEPS.index("requested")
    assert gone.was_there == was_requested
    assert (len(gone.kept), gone.left) == (int(was_requested), ())
    assert stack_names() == []
    assert not any(what_costs().values())


def test_up_twice_changes_nothing_and_a_new_stack_takes_over_the_bucket(server: Server) -> None:
    first = launch(plan_of())
    steps: list[str] = []
    again = launch(plan_of(), steps.append)
    assert (first.is_new, again.is_new) == (True, False)
    assert again.stack.outputs == first.stack.outputs  # the end does not move either
    assert Counter(machines()) == {"inference": 1, "trainer": 1, "worker": 1}
    assert "server key" not in steps  # running machines know the keys that are there

    bucket = first.stack.outputs["BucketName"]
    s3 = boto3.client("s3")
    upload = {"Bucket": bucket, "Key": "runs/c4/x", "Body": b"0" * 1000}
    with pytest.raises(ClientError, match="Forbidden"):
        s3.put_object(**upload)  # the test's connection has no TLS
    s3.delete_bucket_policy(Bucket=bucket)
    s3.put_object(**upload)
    (kept,) = take_down().kept
    assert (kept.identity, kept.note) == (bucket, "1 objects, 0.00 GB")
    assert launch(plan_of()).stack.outputs["BucketName"] == bucket


def test_a_kept_bucket_is_deleted_with_all_versions_and_half_uploads(server: Server) -> None:
    bucket = launch(plan_of("single")).stack.outputs["BucketName"]
    account = Account("us-east-1")
    s3 = account.client("s3")
    s3.delete_bucket_policy(Bucket=bucket)  # the test's connection has no TLS
    # moto leaves out what the template says of versions.
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    for key in ("x", "x", "y"):
        s3.put_object(Bucket=bucket, Key=key, Body=b"0")
    s3.delete_object(Bucket=bucket, Key="x")  # a marker, above two versions
    half = s3.create_multipart_upload(Bucket=bucket, Key="half")["UploadId"]
    listed = s3.list_object_versions(Bucket=bucket)
    versions = {
        (each["Key"], each["VersionId"]) for each in listed["Versions"] + listed["DeleteMarkers"]
    }
    assert len(versions) == 4
    (kept,) = take_down().kept

    asked: list[object] = []

    def record(params: dict[str, Any], **_: object) -> None:
        doomed = params.get("Delete", {}).get("Objects", [])
        asked.extend((each["Key"], each["VersionId"]) for each in doomed)
        asked.extend([params["UploadId"]] if "UploadId" in params else [])

    s3.meta.events.register("before-parameter-build.s3", record)
    delete_bucket(account, kept.identity)
    assert set(asked) == {*versions, half}
    assert s3.list_buckets()["Buckets"] == []
    assert take_down().kept == ()


def test_a_missing_quota_is_named_and_spends_nothing(server: Server) -> None:
    server.quotas.write_text(server.quotas.read_text().replace("2000", "4"))
    with pytest.raises(
        Inconsistent, match=r"nothing was launched: on-demand g machines .* 8 vCPUs"
    ):
        launch(plan_of())
    assert stack_names() == []
    assert not any(what_costs().values())


OWN = "123456789012.dkr.ecr.us-east-1.amazonaws.com"


def test_an_image_that_is_not_in_the_accounts_registry_is_named_and_spends_nothing(
    server: Server,
) -> None:
    boto3.client("ecr").delete_repository(repositoryName="zerofleet-worker", force=True)
    with pytest.raises(Inconsistent, match=rf"there is no image {OWN}/zerofleet-worker:latest;"):
        launch(plan_of())
    no_tag = {"worker": "zerofleet-dashboard:2", "inference": f"{OWN}/zerofleet-inference:2"}
    with pytest.raises(Inconsistent, match=r"dashboard:2, \S+/zerofleet-inference:2; build"):
        launch(plan_of(images=no_tag))
    with pytest.raises(BadText, match="repositories that begin with zerofleet; got mine:1"):
        launch(plan_of(images={"worker": "mine:1"}))
    assert stack_names() == []
    assert not any(what_costs().values())


def test_machines_get_the_images_of_the_account_or_those_of_another_registry(
    server: Server,
) -> None:
    other = "registry.example.org/team/worker:1.5"
    given = launch(plan_of(images={"worker": other})).stack.parameters
    assert given["WorkerImage"] == other
    for role, name in (("Inference", "inference"), ("Trainer", "trainer"), ("Dash", "dashboard")):
        assert given[f"{role}Image"] == f"{OWN}/zerofleet-{name}:latest"


def test_machines_that_run_already_count_against_a_quota_but_not_the_run_itself(
    server: Server,
) -> None:
    server.quotas.write_text(server.quotas.read_text().replace("2000", "8"))
    launch(plan_of())
    launch(plan_of())
    with pytest.raises(Inconsistent, match="8 vCPUs needed, 8 in use, limit 8"):
        launch(plan_of(run="second"))
    assert stack_names() == ["zerofleet-c4"]


class NoCalls(Account):
    """An account that must not be asked anything."""

    def client(self, service: str) -> object:
        raise AssertionError(f"{service} was asked")


def test_without_a_budget_or_above_it_nothing_is_asked_of_the_provider() -> None:
    def attempt(**given: object) -> None:
        plan = plan_of(**given)
        up(plan, PRICES, NoCalls("us-east-1"), lambda _: True, lambda: ("", ""), print)

    with pytest.raises(BadText, match="has no budget"):
        attempt(budget_usd=None)
    with pytest.raises(BadText, match=r"more than its budget of \$4\.00"):
        attempt(budget_usd=4.0)
    with pytest.raises(BadText, match="--notify"):
        attempt(notify="")
    with pytest.raises(Inconsistent, match="prices are those of us-east-1"):
        attempt(region="eu-west-1")


def test_who_answers_no_launches_nothing(server: Server) -> None:
    with pytest.raises(Declined):
        launch(plan_of(), agrees=False)
    assert stack_names() == []


class Offerings:
    """Which types of machines each zone has."""

    def __init__(self, **types: list[str]) -> None:
        self._offers = [
            {"InstanceType": each.replace("_", "."), "Location": zone}
            for each, zones in types.items()
            for zone in zones
        ]

    def get_paginator(self, operation: str) -> "Offerings":
        return self

    def paginate(self, **asked: object) -> list[dict[str, object]]:
        return [{"InstanceTypeOfferings": self._offers}]


def test_a_zone_that_has_all_machines_is_chosen_or_the_lack_is_named() -> None:
    plan = plan_of()
    assert choose_zones(plan, Offerings(c7i_large=["a", "b", "c"], g4dn_xlarge=["c"])) == ("c", "a")
    with pytest.raises(Inconsistent, match=r"no zone .* has all machines .* c7i\.large in a; g4dn"):
        choose_zones(plan, Offerings(c7i_large=["a"], g4dn_xlarge=["b", "c"]))


def test_a_disk_that_outlives_its_machine_is_left_and_priced(server: Server) -> None:
    launch(plan_of("single"))
    tags = [{"Key": "Run", "Value": "c4"}, {"Key": "Project", "Value": "zerofleet"}]
    disk = boto3.client("ec2").create_volume(
        AvailabilityZone="us-east-1a",
        Size=500,
        TagSpecifications=[{"ResourceType": "volume", "Tags": tags}],
    )
    gone = take_down()
    (left,) = gone.left
    assert (left.identity, left.usd_per_month) == (disk["VolumeId"], 40.0)


def test_status_counts_machines_and_money(server: Server) -> None:
    assert read_status(Account("us-east-1"), "c4") is None
    launch(plan_of())
    status = read_status(Account("us-east-1"), "c4")
    assert status is not None
    assert [(g.role, g.wanted, g.running) for g in status.groups] == [
        ("inference", 1, 1),
        ("trainer", 1, 1),
        ("worker", 1, 1),
    ]
    assert status.dashboard_machine.startswith("i-")
    assert 0 < status.spent_usd < 1


# ---- the end by itself


def test_the_shutdown_function_ends_machines_then_the_rest_and_may_be_repeated(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch(plan_of())
    function = boto3.client("lambda").get_function(FunctionName="zerofleet-c4-shutdown")
    for name, value in function["Configuration"]["Environment"]["Variables"].items():
        monkeypatch.setenv(name, value)
    assert len(shutdown.handler({"Records": ["the budget is spent"]})) == 3
    assert machines() == []
    shutdown.handler({"phase": "groups"})
    costs = what_costs()
    assert (costs["redis"], costs["gateways"]) == (1, 1)
    shutdown.handler({"phase": "rest"})
    shutdown.handler({"phase": "rest"})
    costs = what_costs()
    assert (costs["redis"], costs["gateways"], costs["disks"]) == (0, 0, 0)

    kinds = {found.kind for found in leftovers(Account("us-east-1"), "c4", PRICES)}
    assert kinds == {"group", "secret", "logs", "dashboard"}  # cents, until `down`
    assert take_down().left == ()


def test_a_stack_that_has_ended_is_not_launched_again(server: Server) -> None:
    launch(plan_of("single", hours=1e-9))
    with pytest.raises(Inconsistent, match="take it down first"):
        launch(plan_of("single", hours=1e-9))


# ---- stacks that somebody left in the middle of something


class LeftStack:
    """CloudFormation with one stack, whose states follow a script."""

    def __init__(self, *states: str) -> None:
        self.states = list(states)
        self.calls: list[str] = []

    def describe_stacks(self, StackName: str) -> dict[str, object]:
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        if not state:
            raise ClientError({"Error": {"Code": "ValidationError"}}, "DescribeStacks")
        return {"Stacks": [{"StackName": StackName, "StackStatus": state}]}

    def describe_stack_events(self, StackName: str) -> dict[str, object]:
        failed = {
            "LogicalResourceId": "Redis",
            "ResourceStatus": "CREATE_FAILED",
            "ResourceStatusReason": "no capacity",
        }
        return {"StackEvents": [failed]}

    def delete_stack(self, StackName: str) -> None:
        self.calls.append("delete")


class AccountOf(Account):
    def __init__(self, client: LeftStack) -> None:
        self._fake = client

    def client(self, service: str) -> LeftStack:
        return self._fake


def test_a_stack_in_progress_is_waited_for_and_a_failed_one_removed() -> None:
    client = LeftStack("CREATE_IN_PROGRESS", "CREATE_IN_PROGRESS", "CREATE_COMPLETE")
    found = Stacks(AccountOf(client), 0.001).settled("s", lambda text: None)
    assert found is not None
    assert found.status == "CREATE_COMPLETE"
    client = LeftStack("ROLLBACK_IN_PROGRESS", "ROLLBACK_COMPLETE", "ROLLBACK_COMPLETE", "")
    assert Stacks(AccountOf(client), 0.001).settled("s", lambda text: None) is None
    assert client.calls == ["delete"]
    client = LeftStack("CREATE_IN_PROGRESS", "ROLLBACK_COMPLETE")
    with pytest.raises(CloudFailed, match="ROLLBACK_COMPLETE: Redis: no capacity"):
        Stacks(AccountOf(client), 0.001).wait_complete("s", lambda text: None)
    client = LeftStack("UPDATE_IN_PROGRESS", "UPDATE_COMPLETE", "DELETE_IN_PROGRESS", "")
    Stacks(AccountOf(client), 0.001).delete("s", lambda text: None)
    assert client.calls == ["delete"]
