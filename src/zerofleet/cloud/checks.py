"""Faults of a template, found before anything is launched.

    for fault in faults(template): …

A door that is open to the world, a machine in a public subnet, a bucket that others can read, a
disk or a wire without encryption, a permission that is wider than a role's work, a missing tag, a
missing budget or a missing end. `up` refuses a template with a fault, and the tests break a good
one in each way. A type of resource that is not known here is a fault too: nobody has thought about
it yet.
"""

import ipaddress
from collections.abc import Iterator
from typing import Any

from zerofleet.cloud.stack_network import NETWORK

REQUIRED_TAGS = {"Project", "Role", "Run"}
UNTAGGED = {
    "AWS::EC2::Route",
    "AWS::EC2::SecurityGroupIngress",
    "AWS::EC2::SubnetRouteTableAssociation",
    "AWS::EC2::VPCGatewayAttachment",
    "AWS::IAM::InstanceProfile",
    "AWS::Lambda::Permission",
    "AWS::S3::BucketPolicy",
    "AWS::SNS::Subscription",
    "AWS::SNS::TopicPolicy",
    "AWS::Scheduler::Schedule",
}
"""Parts of another resource, or without tags in CloudFormation; none is paid by the hour."""
TAGGED = {
    "AWS::AutoScaling::AutoScalingGroup",
    "AWS::Budgets::Budget",
    "AWS::CloudWatch::Dashboard",
    "AWS::EC2::EIP",
    "AWS::EC2::InternetGateway",
    "AWS::EC2::LaunchTemplate",
    "AWS::EC2::NatGateway",
    "AWS::EC2::PlacementGroup",
    "AWS::EC2::RouteTable",
    "AWS::EC2::SecurityGroup",
    "AWS::EC2::Subnet",
    "AWS::EC2::VPC",
    "AWS::EC2::VPCEndpoint",
    "AWS::ElastiCache::ParameterGroup",
    "AWS::ElastiCache::ReplicationGroup",
    "AWS::ElastiCache::SubnetGroup",
    "AWS::ElastiCache::User",
    "AWS::ElastiCache::UserGroup",
    "AWS::IAM::Role",
    "AWS::Lambda::Function",
    "AWS::Logs::LogGroup",
    "AWS::S3::Bucket",
    "AWS::SNS::Topic",
    "AWS::SSM::Parameter",
    "AWS::SecretsManager::Secret",
}
LAUNCHED = ("instance", "volume", "network-interface")
"""What a launch template must tag: these appear when a machine starts."""
FOR_ALL = {"ecr:GetAuthorizationToken"}
"""Actions that the provider allows only for all resources."""


def faults(template: dict[str, Any]) -> list[str]:
    """What is wrong with a template, each as `Resource: sentence`."""
    resources: dict[str, Any] = template["Resources"]
    found = []
    for title, resource in resources.items():
        kind, properties = resource["Type"], resource.get("Properties", {})
        found += [f"{title}: {fault}" for fault in _faults_of(kind, properties, resource)]
    found += _public_machines(resources)
    found += _missing_guards(resources)
    return found


def _faults_of(kind: str, properties: dict[str, Any], resource: dict[str, Any]) -> Iterator[str]:
    if kind not in UNTAGGED | TAGGED:
        yield f"{kind} is a type that the checks do not know"
    if kind in TAGGED:
        yield from _tag_faults(kind, properties)
    if kind in ("AWS::EC2::SecurityGroup", "AWS::EC2::SecurityGroupIngress"):
        yield from _door_faults(kind, properties)
    if kind == "AWS::EC2::Subnet" and properties.get("MapPublicIpOnLaunch") is not False:
        yield "machines in this subnet get public addresses"
    if kind == "AWS::S3::Bucket":
        yield from _bucket_faults(properties, resource)
    if kind in ("AWS::S3::BucketPolicy", "AWS::SNS::TopicPolicy"):
        yield from _policy_faults(properties["PolicyDocument"])
    if kind == "AWS::ElastiCache::ReplicationGroup":
        yield from _redis_faults(properties)
    if kind == "AWS::ElastiCache::User":
        yield from _redis_user_faults(properties)
    if kind == "AWS::EC2::LaunchTemplate":
        yield from _machine_faults(properties["LaunchTemplateData"])
    if kind == "AWS::IAM::Role":
        for policy in properties.get("Policies", []):
            yield from _policy_faults(policy["PolicyDocument"])
        for managed in properties.get("ManagedPolicyArns", []):
            if "AmazonSSMManagedInstanceCore" not in str(managed):
                yield f"has the managed policy {managed}"


# ---- tags


def _tag_faults(kind: str, properties: dict[str, Any]) -> Iterator[str]:
    if kind == "AWS::EC2::LaunchTemplate":
        places = properties.get("TagSpecifications", [])
        launched = properties["LaunchTemplateData"].get("TagSpecifications", [])
        for what in ("launch-template", *LAUNCHED):
            tagged = [each for each in [*places, *launched] if each["ResourceType"] == what]
            if not tagged:
                yield f"the {what} has no tags"
            for each in tagged:
                yield from _missing_tags(each["Tags"], f"the {what} ")
        return
    given = properties.get("ResourceTags" if kind == "AWS::Budgets::Budget" else "Tags", [])
    if isinstance(given, dict):
        given = [{"Key": key} for key in given]
    yield from _missing_tags(given)
    if kind == "AWS::AutoScaling::AutoScalingGroup" and not all(
        tag.get("PropagateAtLaunch") for tag in given
    ):
        yield "its tags do not go to machines"


def _missing_tags(given: list[dict[str, Any]], what: str = "") -> Iterator[str]:
    for name in sorted(REQUIRED_TAGS - {tag["Key"] for tag in given}):
        yield f"{what}has no tag {name}"


# ---- doors


def _door_faults(kind: str, properties: dict[str, Any]) -> Iterator[str]:
    rules = [properties] if kind.endswith("Ingress") else properties.get("SecurityGroupIngress", [])
    for rule in rules:
        for block in filter(None, (rule.get("CidrIp"), rule.get("CidrIpv6"))):
            if not _is_internal(block):
                yield f"lets in {block}, which is not the network of the stack"
        if "SourcePrefixListId" in rule:
            yield "lets in a list of addresses"
        first, last = int(rule.get("FromPort", 0)), int(rule.get("ToPort", 65535))
        if rule["IpProtocol"] == "-1":
            own = rule.get("SourceSecurityGroupId") == rule.get("GroupId")
            if not (own and "SourceSecurityGroupId" in rule):
                yield "lets in all ports from others than itself"
        elif first <= 22 <= last:
            yield "lets in SSH; people come through SSM"


def _public_machines(resources: dict[str, Any]) -> Iterator[str]:
    """A subnet whose routes lead to the internet's gateway is public: machines and Redis are in
    none."""

    def of(kind: str) -> dict[str, dict[str, Any]]:
        found = {title: each for title, each in resources.items() if each["Type"] == kind}
        return {title: each["Properties"] for title, each in found.items()}

    public_tables = {
        route["RouteTableId"]["Ref"]
        for route in of("AWS::EC2::Route").values()
        if "GatewayId" in route
    }
    tables = {
        each["SubnetId"]["Ref"]: each["RouteTableId"]["Ref"]
        for each in of("AWS::EC2::SubnetRouteTableAssociation").values()
    }
    groups = of("AWS::AutoScaling::AutoScalingGroup")
    used = {title: group["VPCZoneIdentifier"] for title, group in groups.items()}
    for title, each in of("AWS::ElastiCache::SubnetGroup").items():
        used[title] = each["SubnetIds"]
    for title, subnets in used.items():
        for name in (subnet["Ref"] for subnet in subnets):
            if tables.get(name) in public_tables:
                yield f"{title}: is in {name}, which the internet's gateway serves"


def _is_internal(block: str) -> bool:
    try:
        return ipaddress.IPv4Network(block).subnet_of(ipaddress.IPv4Network(NETWORK))
    except ValueError:  # not of this kind, such as IPv6
        return False


# ---- what holds data


def _bucket_faults(properties: dict[str, Any], resource: dict[str, Any]) -> Iterator[str]:
    block = properties.get("PublicAccessBlockConfiguration", {})
    for setting in (
        "BlockPublicAcls",
        "BlockPublicPolicy",
        "IgnorePublicAcls",
        "RestrictPublicBuckets",
    ):
        if block.get(setting) not in (True, "true"):
            yield f"may become public: {setting} is not set"
    if "AccessControl" in properties:
        yield f"has the access list {properties['AccessControl']}"
    if "BucketEncryption" not in properties:
        yield "is not encrypted"
    if properties.get("VersioningConfiguration", {}).get("Status") != "Enabled":
        yield "has no versions"
    if resource.get("DeletionPolicy") != "Retain":
        yield "would be deleted with the stack, and the run with it"


def _redis_faults(properties: dict[str, Any]) -> Iterator[str]:
    for setting in ("TransitEncryptionEnabled", "AtRestEncryptionEnabled"):
        if properties.get(setting) not in (True, "true"):
            yield f"{setting} is not set"
    if not properties.get("UserGroupIds"):
        yield "has no users: whoever reaches it may do everything"


def _redis_user_faults(properties: dict[str, Any]) -> Iterator[str]:
    passwords = properties.get("AuthenticationMode", {}).get("Passwords", [])
    if not passwords or not all("{{resolve:secretsmanager:" in str(each) for each in passwords):
        yield "its password does not come from Secrets Manager"
    rules = str(properties.get("AccessString")).split()
    for rule in ("~*", "%R~*", "%W~*", "%RW~*", "allkeys", "&*", "allchannels"):
        if rule in rules:
            yield f"may use keys or channels of other runs: {rule}"
    for rule in ("+@all", "allcommands"):
        if rule in rules:
            yield f"may do everything: {rule}"


def _machine_faults(data: dict[str, Any]) -> Iterator[str]:
    if data.get("MetadataOptions", {}).get("HttpTokens") != "required":
        yield "its metadata service answers without a token"
    if "KeyName" in data:
        yield "has an SSH key; people come through SSM"
    for disk in data.get("BlockDeviceMappings", []):
        for setting in ("Encrypted", "DeleteOnTermination"):
            if disk["Ebs"].get(setting) not in (True, "true"):
                yield f"disk {disk['DeviceName']}: {setting} is not set"
    for interface in data.get("NetworkInterfaces", []):
        if interface.get("AssociatePublicIpAddress") in (True, "true"):
            yield "has a public address"
        if interface.get("DeleteOnTermination") not in (True, "true"):
            yield "leaves a network interface behind"


# ---- permissions


def _policy_faults(document: dict[str, Any]) -> Iterator[str]:
    for statement in document["Statement"]:
        if statement["Effect"] != "Allow":
            continue
        actions = statement["Action"]
        actions = [actions] if isinstance(actions, str) else actions
        for action in actions:
            if "*" in action:
                yield f"may do {action}"
        if statement.get("Principal") in ("*", {"AWS": "*"}):
            yield "lets everyone in"
        if statement.get("Resource") in ("*", ["*"]) and set(actions) - FOR_ALL:
            yield f"may do {', '.join(actions)} on everything"


# ---- what watches over the stack


def _missing_guards(resources: dict[str, Any]) -> list[str]:
    kinds: dict[str, list[dict[str, Any]]] = {}
    for resource in resources.values():
        kinds.setdefault(resource["Type"], []).append(resource.get("Properties", {}))
    found = []
    budgets = kinds.get("AWS::Budgets::Budget", [])
    if not budgets:
        found.append("the stack has no budget")
    for budget in budgets:
        if "BudgetLimit" not in budget.get("Budget", {}):
            found.append("the budget has no limit")
        if not budget.get("NotificationsWithSubscribers"):
            found.append("the budget alarms nobody")
    phases = "".join(
        str(schedule["Target"].get("Input"))
        for schedule in kinds.get("AWS::Scheduler::Schedule", [])
    )
    for phase in ("groups", "rest"):
        if phase not in phases:
            found.append(f"the stack never ends by itself: no schedule for phase {phase}")
    if not kinds.get("AWS::Logs::LogGroup"):
        found.append("the stack has no logs")
    return found


__all__ = ["LAUNCHED", "REQUIRED_TAGS", "TAGGED", "UNTAGGED", "faults"]
