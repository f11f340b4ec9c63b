"""The machines: for each role its permissions, its launch template and its group.

A role may do what its machine calls and nothing else (`tests/cloud/test_machines.py` compares).
Disks are encrypted and go with their machine; the metadata service demands a token and does not
answer beyond the machine itself.
"""

from typing import Any

from troposphere import GetAtt, If, Ref, Sub, Template
from troposphere.autoscaling import AutoScalingGroup, LaunchTemplateSpecification
from troposphere.autoscaling import Tag as GroupTag
from troposphere.ec2 import (
    EBSBlockDevice,
    IamInstanceProfile,
    InstanceMarketOptions,
    LaunchTemplate,
    LaunchTemplateBlockDeviceMapping,
    LaunchTemplateData,
    MetadataOptions,
    NetworkInterfaces,
    Placement,
    PlacementGroup,
    SpotOptions,
    TagSpecifications,
)
from troposphere.iam import InstanceProfile, Policy
from troposphere.iam import Role as IamRole
from troposphere.ssm import Parameter as StoredText

from zerofleet.cloud.boot import PROGRAMS, text_parameter, user_data
from zerofleet.cloud.plan import Machines, Plan, Role
from zerofleet.cloud.prices import Instance, Prices
from zerofleet.cloud.stack_network import REDIS_PORT, add_fabric_rules
from zerofleet.cloud.stack_parts import allow, arn, name, policy, tag_list, tags, trust
from zerofleet.cloud.stack_redis import secrets_of

SSM_POLICY = "arn:${AWS::Partition}:iam::aws:policy/AmazonSSMManagedInstanceCore"
REPOSITORIES = "zerofleet"
"""Images are pulled from repositories of this account whose names begin so."""
SAVED_RUN = "runs/${RunName}"
"""Where the trainer saves the run in the bucket."""


def group_name(role: Role) -> Sub:
    return name(role)


def add_machines(template: Template, plan: Plan, prices: Prices) -> None:
    for file in PROGRAMS:
        template.add_resource(
            StoredText(
                _stored(file),
                Name=Sub(f"/zerofleet/${{RunName}}/{file}"),
                Type="String",
                Value=Ref(text_parameter(file)),
                Tags={"Project": "zerofleet", "Run": Ref("RunName"), "Role": "boot"},
            )
        )
    for role, machines in plan.machines().items():
        kind = prices.instance(machines.type)
        _add_role(template, plan, role)
        _add_launch_template(template, plan, role, machines, kind)
        _add_group(template, role, machines)


def _stored(file: str) -> str:
    return f"{file.partition('.')[0].capitalize()}Program"


# ---- permissions


def _add_role(template: Template, plan: Plan, role: Role) -> None:
    title = role.capitalize()
    statements = [
        allow(["logs:CreateLogStream", "logs:PutLogEvents"], GetAtt("Logs", "Arn")),
        allow(["ecr:GetAuthorizationToken"], "*"),
        allow(
            ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"],
            arn("ecr", f"repository/{REPOSITORIES}*"),
        ),
    ]
    if secrets := secrets_of(plan, role):
        statements.append(
            allow(["secretsmanager:GetSecretValue"], [Ref(each) for each in secrets.values()])
        )
    if role == "trainer":
        bucket = Sub("arn:${AWS::Partition}:s3:::${Bucket}", Bucket=bucket_name())
        statements += [
            allow(
                ["s3:AbortMultipartUpload", "s3:DeleteObject", "s3:GetObject", "s3:PutObject"],
                _objects("*"),
            ),
            allow(["s3:ListBucket"], bucket, StringLike={"s3:prefix": Sub(f"{SAVED_RUN}/*")}),
            # It knows no condition on prefixes.
            allow(["s3:ListBucketMultipartUploads"], bucket),
            allow(["lambda:InvokeFunction"], GetAtt("Shutdown", "Arn")),
        ]
    elif plan.weights_from == "s3":
        statements.append(allow(["s3:GetObject"], _objects("weights/*")))
    template.add_resource(
        IamRole(
            f"{title}Role",
            AssumeRolePolicyDocument=trust("ec2"),
            ManagedPolicyArns=[Sub(SSM_POLICY)],
            Policies=[Policy(PolicyName=role, PolicyDocument=policy(*statements))],
            Tags=tags(role),
        )
    )
    template.add_resource(InstanceProfile(f"{title}Profile", Roles=[Ref(f"{title}Role")]))


def _objects(below: str) -> Sub:
    """Objects of this run in the bucket."""
    return Sub(
        f"arn:${{AWS::Partition}}:s3:::${{Bucket}}/{SAVED_RUN}/{below}", Bucket=bucket_name()
    )


def bucket_name() -> Any:
    """The bucket of this stack, or the one that an earlier stack kept."""
    return If("NewBucket", Ref("Bucket"), Ref("ExistingBucket"))


# ---- launch templates and groups


def _add_launch_template(
    template: Template, plan: Plan, role: Role, machines: Machines, kind: Instance
) -> None:
    title = role.capitalize()
    variables: dict[str, Any] = {
        "REGION": Ref("AWS::Region"),
        "RUN": Ref("RunName"),
        "GAME": Ref("Game"),
        "PRESET": Ref("Preset"),
        "ROLE": "single" if plan.is_single else role,
        "ROLE_OPTIONS": _options(plan, role),
        "IMAGE": Ref(f"{title}Image"),
        "DASH_IMAGE": Ref("DashImage") if role == "trainer" else "",
        "NUM_ROLES": str(kind.gpus if role == "inference" else 1),
        "NUM_GPUS": str(kind.gpus),
        "INTERRUPTIBLE": "1" if machines.interruptible else "",
        "LOG_GROUP": Ref("Logs"),
        "PROGRAMS": Sub("/zerofleet/${RunName}"),
        "SHUTDOWN_FUNCTION": Ref("Shutdown") if role == "trainer" else "",
    }
    if plan.redis:
        address = GetAtt("Redis", "PrimaryEndPoint.Address")
        variables["REDIS_URL"] = Sub(f"rediss://${{Address}}:{REDIS_PORT}", Address=address)
    variables |= {name: Ref(title) for name, title in secrets_of(plan, role).items()}
    disk = EBSBlockDevice(
        VolumeSize=machines.disk_gib, VolumeType="gp3", Encrypted=True, DeleteOnTermination=True
    )
    data = LaunchTemplateData(
        ImageId=Ref("GpuMachineImage" if kind.gpus else "CpuMachineImage"),
        InstanceType=machines.type,
        IamInstanceProfile=IamInstanceProfile(Arn=GetAtt(f"{title}Profile", "Arn")),
        InstanceInitiatedShutdownBehavior="terminate",
        MetadataOptions=MetadataOptions(
            HttpTokens="required", HttpPutResponseHopLimit=1, HttpEndpoint="enabled"
        ),
        BlockDeviceMappings=[LaunchTemplateBlockDeviceMapping(DeviceName="/dev/xvda", Ebs=disk)],
        NetworkInterfaces=_interfaces(role, kind),
        TagSpecifications=[
            TagSpecifications(ResourceType=what, Tags=tags(role))
            for what in ("instance", "volume", "network-interface")
        ],
        UserData=user_data(variables),
    )
    if machines.interruptible:
        data.InstanceMarketOptions = InstanceMarketOptions(
            MarketType="spot", SpotOptions=SpotOptions(SpotInstanceType="one-time")
        )
    if _has_fabric(role, kind):
        template.add_resource(
            PlacementGroup(f"{title}Placement", Strategy="cluster", Tags=tags(role))
        )
        data.Placement = Placement(GroupName=Ref(f"{title}Placement"))
        add_fabric_rules(template, role)
    template.add_resource(
        LaunchTemplate(
            f"{title}Template",
            LaunchTemplateData=data,
            TagSpecifications=[TagSpecifications(ResourceType="launch-template", Tags=tags(role))],
        )
    )


def _options(plan: Plan, role: Role) -> Any:
    if role == "trainer":
        folder = SAVED_RUN.rpartition("/")[0]
        more = " --set fleet.weights_from=s3" if plan.weights_from == "s3" else ""
        return Sub(f"--s3 s3://${{Bucket}}/{folder}{more}", Bucket=bucket_name())
    if role == "worker":
        return "--evaluator remote" if plan.inference else "--evaluator onnx"
    return ""


def _has_fabric(role: Role, kind: Instance) -> bool:
    return role == "trainer" and kind.efa_cards > 0


def _interfaces(role: Role, kind: Instance) -> list[NetworkInterfaces]:
    """One interface; with a fabric adapter, one on each network card."""
    common: dict[str, Any] = {
        "Groups": [GetAtt(f"{role.capitalize()}Door", "GroupId")],
        "DeleteOnTermination": True,
    }
    # A machine with several interfaces takes no setting for public addresses; its subnet has none.
    if not _has_fabric(role, kind):
        return [NetworkInterfaces(DeviceIndex=0, AssociatePublicIpAddress=False, **common)]
    return [
        NetworkInterfaces(
            DeviceIndex=min(card, 1), NetworkCardIndex=card, InterfaceType="efa", **common
        )
        for card in range(kind.efa_cards)
    ]


def _add_group(template: Template, role: Role, machines: Machines) -> None:
    title = role.capitalize()
    subnets = ["FirstSubnet", "SecondSubnet"] if role == "worker" else ["FirstSubnet"]
    template.add_resource(
        AutoScalingGroup(
            f"{title}Group",
            AutoScalingGroupName=group_name(role),
            LaunchTemplate=LaunchTemplateSpecification(
                LaunchTemplateId=Ref(f"{title}Template"),
                Version=GetAtt(f"{title}Template", "LatestVersionNumber"),
            ),
            MinSize="0",
            MaxSize=str(machines.count),
            DesiredCapacity=Ref(f"{title}Machines"),
            VPCZoneIdentifier=[Ref(subnet) for subnet in subnets],
            CapacityRebalance=machines.interruptible,
            Tags=[GroupTag(each["Key"], each["Value"], True) for each in tag_list(role)],
            # What a machine needs when it starts.
            DependsOn=["PrivateRoute", *map(_stored, PROGRAMS)],
        )
    )
