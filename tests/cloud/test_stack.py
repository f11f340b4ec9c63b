"""The template of each size: accepted by cfn-lint, created whole, safe; and each fault is found."""

import base64
import copy
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest
from cloud_accounts import Server, launch, plan_of

from zerofleet.cloud.boot import MAX_BYTES, PROGRAMS, program
from zerofleet.cloud.checks import TAGGED, faults
from zerofleet.cloud.plan import size_names
from zerofleet.cloud.prices import Prices
from zerofleet.cloud.stack import template
from zerofleet.cloud.stacks import MAX_TEMPLATE_BYTES

INFRA = Path(__file__).parents[2] / "infra" / "cloud"
PRICES = Prices.read()
TEMPLATES = {size: template(plan_of(size), PRICES) for size in size_names()}
Broken = dict[str, Any]


def test_cfn_lint_accepts_the_written_templates() -> None:
    linter = Path(sys.executable).parent / "cfn-lint"
    paths = [str(INFRA / f"{size}.json") for size in size_names()]
    done = subprocess.run(
        [linter, "--regions", "us-east-1", "-t", *paths], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("size", size_names())
def test_our_checks_find_nothing_and_the_provider_accepts_the_size(size: str) -> None:
    assert faults(TEMPLATES[size]) == []
    assert len(json.dumps(TEMPLATES[size], separators=(",", ":"))) < MAX_TEMPLATE_BYTES


@pytest.mark.parametrize(
    "size",
    ["single", *(pytest.param(each, marks=pytest.mark.long) for each in ("test", "cluster"))],
)
def test_the_whole_stack_is_created_updated_and_deleted(server: Server, size: str) -> None:
    launch(plan_of(size))
    client = boto3.client("cloudformation")
    listed = client.get_paginator("list_stack_resources").paginate(StackName="zerofleet-c4")
    made = {each["LogicalResourceId"] for page in listed for each in page["StackResourceSummaries"]}
    assert made == set(TEMPLATES[size]["Resources"])
    events = json.dumps(client.describe_stack_events(StackName="zerofleet-c4"), default=str)
    seen = events + json.dumps(client.get_template(StackName="zerofleet-c4")["TemplateBody"])
    for secret in boto3.client("secretsmanager").list_secrets()["SecretList"]:
        value = boto3.client("secretsmanager").get_secret_value(SecretId=secret["ARN"])
        assert value["SecretString"] not in seen

    bigger = {"type": plan_of(size).trainer.type, "disk_gib": 77}
    launch(plan_of(size, trainer=bigger))
    changed = client.describe_stack_resource(
        StackName="zerofleet-c4", LogicalResourceId="TrainerTemplate"
    )["StackResourceDetail"]["PhysicalResourceId"]
    newest = boto3.client("ec2").describe_launch_template_versions(
        Versions=["$Latest"], LaunchTemplateId=changed
    )["LaunchTemplateVersions"][0]["LaunchTemplateData"]
    assert newest["BlockDeviceMappings"][0]["Ebs"]["VolumeSize"] == 77

    client.delete_stack(StackName="zerofleet-c4")
    assert client.describe_stacks()["Stacks"] == []
    assert len(boto3.client("s3").list_buckets()["Buckets"]) == 1  # kept


def test_fabric_adapters_and_placement_are_where_the_trainer_has_them() -> None:
    def trainer(size: str) -> dict[str, Any]:
        found: dict[str, Any] = TEMPLATES[size]["Resources"]["TrainerTemplate"]["Properties"]
        return found["LaunchTemplateData"]

    cards = [each["NetworkCardIndex"] for each in trainer("cluster")["NetworkInterfaces"]]
    assert cards == list(range(32))
    assert {each["InterfaceType"] for each in trainer("cluster")["NetworkInterfaces"]} == {"efa"}
    assert "Placement" in trainer("cluster")
    assert (
        TEMPLATES["cluster"]["Resources"]["TrainerPlacement"]["Properties"]["Strategy"] == "cluster"
    )
    assert "Placement" not in trainer("test")


def test_workers_are_interruptible_unless_told_otherwise_and_the_trainer_is_not() -> None:
    def market(size: str, role: str, **given: Any) -> Any:
        made = template(plan_of(size, **given), PRICES)["Resources"][f"{role}Template"]
        return made["Properties"]["LaunchTemplateData"].get("InstanceMarketOptions", {})

    assert market("test", "Worker")["MarketType"] == "spot"
    assert market("test", "Trainer") == {}
    steady = {"type": "c7i.large", "interruptible": False}
    assert market("test", "Worker", selfplay=steady) == {}


def test_the_only_doors_are_those_to_redis_and_to_inference_servers() -> None:
    def doors(size: str) -> set[tuple[str, int, int]]:
        rules = [
            each["Properties"]
            for each in TEMPLATES[size]["Resources"].values()
            if each["Type"] == "AWS::EC2::SecurityGroupIngress"
        ]
        return {
            (rule["Description"], rule["FromPort"], rule["ToPort"])
            for rule in rules
            if rule["IpProtocol"] == "tcp"
        }

    to_redis = {(f"{role} to redis", 6379, 6379) for role in ("worker", "inference", "trainer")}
    assert doors("test") == doors("cluster") == to_redis | {("worker to inference", 7000, 7063)}
    assert doors("single") == set()


def test_user_data_fits_and_has_no_secret(server: Server) -> None:
    launch(plan_of())
    store = boto3.client("secretsmanager")
    listed = [each["ARN"] for each in store.list_secrets()["SecretList"]]
    values = [store.get_secret_value(SecretId=each)["SecretString"] for each in listed]
    assert len(values) == len(set(values)) == 6
    for group in boto3.client("ec2").describe_launch_templates()["LaunchTemplates"]:
        (version,) = boto3.client("ec2").describe_launch_template_versions(
            LaunchTemplateId=group["LaunchTemplateId"], Versions=["$Latest"]
        )["LaunchTemplateVersions"]
        text = base64.b64decode(version["LaunchTemplateData"]["UserData"]).decode()
        assert len(text) < MAX_BYTES
        assert "REDIS_URL='rediss://" in text
        assert not any(value in text for value in values)
    stored = boto3.client("ssm")
    for name in PROGRAMS:
        found = stored.get_parameter(Name=f"/zerofleet/c4/{name}")["Parameter"]["Value"]
        assert found == program(name)


# ---- each fault is found


def door(broken: Broken) -> dict[str, Any]:
    found: dict[str, Any] = broken["RedisFromWorkerPort6379"]["Properties"]
    return found


def open_to_the_world(broken: Broken) -> None:
    del door(broken)["SourceSecurityGroupId"]
    door(broken)["CidrIp"] = "0.0.0.0/0"


def open_to_the_world_by_ipv6(broken: Broken) -> None:
    del door(broken)["SourceSecurityGroupId"]
    door(broken)["CidrIpv6"] = "::/0"


def open_in_the_group_itself(broken: Broken) -> None:
    rule = {"IpProtocol": "tcp", "FromPort": 8080, "ToPort": 8080, "CidrIp": "198.51.100.0/24"}
    broken["TrainerDoor"]["Properties"]["SecurityGroupIngress"] = [rule]


def open_ssh(broken: Broken) -> None:
    door(broken).update(FromPort=22, ToPort=22)


def open_all_ports(broken: Broken) -> None:
    door(broken)["IpProtocol"] = "-1"


def public_subnet(broken: Broken) -> None:
    broken["FirstSubnet"]["Properties"]["MapPublicIpOnLaunch"] = True


def subnet_with_a_way_in(broken: Broken) -> None:
    broken["FirstSubnetRoutes"]["Properties"]["RouteTableId"] = {"Ref": "PublicRoutes"}


def machine_in_the_public_subnet(broken: Broken) -> None:
    broken["WorkerGroup"]["Properties"]["VPCZoneIdentifier"] = [{"Ref": "PublicSubnet"}]


def private_routes_to_the_gateway(broken: Broken) -> None:
    route = broken["PrivateRoute"]["Properties"]
    route["GatewayId"] = {"Ref": "InternetGateway"}
    del route["NatGatewayId"]


def public_bucket(broken: Broken) -> None:
    broken["Bucket"]["Properties"]["PublicAccessBlockConfiguration"]["BlockPublicPolicy"] = False


def bucket_without_block(broken: Broken) -> None:
    del broken["Bucket"]["Properties"]["PublicAccessBlockConfiguration"]


def bucket_for_everyone(broken: Broken) -> None:
    (statement,) = broken["BucketPolicy"]["Properties"]["PolicyDocument"]["Statement"]
    statement.update(Effect="Allow", Action=["s3:GetObject"])


def plain_bucket(broken: Broken) -> None:
    del broken["Bucket"]["Properties"]["BucketEncryption"]


def bucket_without_versions(broken: Broken) -> None:
    del broken["Bucket"]["Properties"]["VersioningConfiguration"]


def bucket_that_goes(broken: Broken) -> None:
    del broken["Bucket"]["DeletionPolicy"]


def redis_without_tls(broken: Broken) -> None:
    broken["Redis"]["Properties"]["TransitEncryptionEnabled"] = False


def redis_without_users(broken: Broken) -> None:
    del broken["Redis"]["Properties"]["UserGroupIds"]


def worker_user(broken: Broken) -> dict[str, Any]:
    found: dict[str, Any] = broken["WorkerUser"]["Properties"]
    return found


def user_with_a_written_password(broken: Broken) -> None:
    worker_user(broken)["AuthenticationMode"]["Passwords"] = ["x" * 20]


def user_without_a_password(broken: Broken) -> None:
    worker_user(broken)["AuthenticationMode"] = {"Type": "no-password-required"}


def user_of_all_keys(broken: Broken) -> None:
    worker_user(broken)["AccessString"] = "on ~* -@all +get"


def user_of_all_commands(broken: Broken) -> None:
    worker_user(broken)["AccessString"] = "on ~zf:{c4}:* +@all"


def machine_data(broken: Broken) -> dict[str, Any]:
    found: dict[str, Any] = broken["WorkerTemplate"]["Properties"]["LaunchTemplateData"]
    return found


def disk_that_stays(broken: Broken) -> None:
    machine_data(broken)["BlockDeviceMappings"][0]["Ebs"]["DeleteOnTermination"] = False


def plain_disk(broken: Broken) -> None:
    machine_data(broken)["BlockDeviceMappings"][0]["Ebs"]["Encrypted"] = False


def public_machine(broken: Broken) -> None:
    machine_data(broken)["NetworkInterfaces"][0]["AssociatePublicIpAddress"] = True


def ssh_key(broken: Broken) -> None:
    machine_data(broken)["KeyName"] = "mine"


def metadata_for_all(broken: Broken) -> None:
    machine_data(broken)["MetadataOptions"]["HttpTokens"] = "optional"


def untagged_disks(broken: Broken) -> None:
    machine_data(broken)["TagSpecifications"].pop(1)


def wide_permission(broken: Broken) -> None:
    policy = broken["TrainerRole"]["Properties"]["Policies"][0]["PolicyDocument"]
    policy["Statement"][0]["Action"] = ["s3:*"]


def permission_on_everything(broken: Broken) -> None:
    policy = broken["TrainerRole"]["Properties"]["Policies"][0]["PolicyDocument"]
    policy["Statement"][0]["Resource"] = "*"


def managed_policy(broken: Broken) -> None:
    arn = "arn:aws:iam::aws:policy/AdministratorAccess"
    broken["WorkerRole"]["Properties"]["ManagedPolicyArns"].append(arn)


def no_budget(broken: Broken) -> None:
    del broken["Budget"]


def budget_without_a_limit(broken: Broken) -> None:
    del broken["Budget"]["Properties"]["Budget"]["BudgetLimit"]


def budget_that_alarms_nobody(broken: Broken) -> None:
    del broken["Budget"]["Properties"]["NotificationsWithSubscribers"]


def no_end(broken: Broken) -> None:
    del broken["EndOfMachines"]


def unknown_type(broken: Broken) -> None:
    broken["Database"] = {"Type": "AWS::RDS::DBInstance", "Properties": {}}


@pytest.mark.parametrize(
    ("spoil", "fault"),
    [
        (open_to_the_world, "lets in 0.0.0.0/0"),
        (open_to_the_world_by_ipv6, "lets in ::/0"),
        (open_in_the_group_itself, "TrainerDoor: lets in 198.51.100.0/24"),
        (open_ssh, "lets in SSH"),
        (open_all_ports, "lets in all ports"),
        (public_subnet, "FirstSubnet: machines in this subnet get public addresses"),
        (subnet_with_a_way_in, "RedisSubnets: is in FirstSubnet, which the internet's gateway"),
        (machine_in_the_public_subnet, "WorkerGroup: is in PublicSubnet, which the internet's"),
        (private_routes_to_the_gateway, "TrainerGroup: is in FirstSubnet, which the internet's"),
        (public_bucket, "Bucket: may become public: BlockPublicPolicy"),
        (bucket_without_block, "Bucket: may become public: RestrictPublicBuckets"),
        (bucket_for_everyone, "BucketPolicy: lets everyone in"),
        (plain_bucket, "Bucket: is not encrypted"),
        (bucket_without_versions, "Bucket: has no versions"),
        (bucket_that_goes, "Bucket: would be deleted with the stack"),
        (redis_without_tls, "Redis: TransitEncryptionEnabled is not set"),
        (redis_without_users, "Redis: has no users"),
        (user_with_a_written_password, "WorkerUser: its password does not come from Secrets"),
        (user_without_a_password, "WorkerUser: its password does not come from Secrets"),
        (user_of_all_keys, "WorkerUser: may use keys or channels of other runs: ~*"),
        (user_of_all_commands, "WorkerUser: may do everything: +@all"),
        (disk_that_stays, "WorkerTemplate: disk /dev/xvda: DeleteOnTermination is not set"),
        (plain_disk, "WorkerTemplate: disk /dev/xvda: Encrypted is not set"),
        (public_machine, "WorkerTemplate: has a public address"),
        (ssh_key, "WorkerTemplate: has an SSH key"),
        (metadata_for_all, "WorkerTemplate: its metadata service answers without a token"),
        (untagged_disks, "WorkerTemplate: the volume has no tags"),
        (wide_permission, "TrainerRole: may do s3:*"),
        (
            permission_on_everything,
            "may do logs:CreateLogStream, logs:PutLogEvents on every",
        ),
        (managed_policy, "WorkerRole: has the managed policy"),
        (no_budget, "the stack has no budget"),
        (budget_without_a_limit, "the budget has no limit"),
        (budget_that_alarms_nobody, "the budget alarms nobody"),
        (no_end, "the stack never ends by itself: no schedule for phase groups"),
        (unknown_type, "Database: AWS::RDS::DBInstance is a type that the checks do not know"),
    ],
)
def test_a_template_that_is_broken_in_one_way_has_that_fault(
    spoil: Callable[[Broken], None], fault: str
) -> None:
    broken = copy.deepcopy(TEMPLATES["test"])
    spoil(broken["Resources"])
    found = faults(broken)
    assert any(fault in each for each in found), found


@pytest.mark.parametrize("tag", ["Project", "Role", "Run"])
def test_a_missing_tag_is_found_on_every_resource_that_can_have_one(tag: str) -> None:
    num_tagged = 0
    for title in TEMPLATES["cluster"]["Resources"]:
        broken = copy.deepcopy(TEMPLATES["cluster"])
        properties = broken["Resources"][title].get("Properties", {})
        tags = properties.get("Tags", properties.get("ResourceTags", []))
        if "TagSpecifications" in properties:
            tags = properties["TagSpecifications"][0]["Tags"]
        if isinstance(tags, dict):
            tags.pop(tag)
        elif tags:
            tags[:] = [each for each in tags if each["Key"] != tag]
        else:
            continue
        num_tagged += 1
        assert any(re.match(f"{title}: .*tag {tag}", each) for each in faults(broken)), title
    assert num_tagged == sum(
        each["Type"] in TAGGED for each in TEMPLATES["cluster"]["Resources"].values()
    )
