"""The network: private subnets, one way out, no way in, and who may talk to whom.

Machines have no public address. They reach the provider's services through one NAT gateway and the
bucket through a gateway endpoint that costs nothing. A security group lets in only what other
groups of the stack send; nobody listens for SSH: people come through SSM.
"""

from troposphere import GetAtt, Ref, Sub, Template
from troposphere.ec2 import (
    EIP,
    VPC,
    InternetGateway,
    NatGateway,
    Route,
    RouteTable,
    SecurityGroup,
    SecurityGroupIngress,
    Subnet,
    SubnetRouteTableAssociation,
    VPCEndpoint,
    VPCGatewayAttachment,
)

from zerofleet.cloud.plan import Plan
from zerofleet.cloud.stack_parts import tag_list, tags

NETWORK = "10.20.0.0/16"
PUBLIC, FIRST, SECOND = "10.20.0.0/24", "10.20.16.0/20", "10.20.32.0/20"
REDIS_PORT = 6379
INFERENCE_PORTS = (7000, 7063)


def add_network(template: Template, plan: Plan) -> None:
    add = template.add_resource
    network = tags("network")
    add(
        VPC(
            "Vpc",
            CidrBlock=NETWORK,
            EnableDnsSupport=True,
            EnableDnsHostnames=True,
            Tags=network,
        )
    )
    add(InternetGateway("InternetGateway", Tags=network))
    add(
        VPCGatewayAttachment(
            "GatewayAttachment", VpcId=Ref("Vpc"), InternetGatewayId=Ref("InternetGateway")
        )
    )
    for title, block, zone in (
        ("PublicSubnet", PUBLIC, "FirstZone"),
        ("FirstSubnet", FIRST, "FirstZone"),
        ("SecondSubnet", SECOND, "SecondZone"),
    ):
        add(
            Subnet(
                title,
                VpcId=Ref("Vpc"),
                CidrBlock=block,
                AvailabilityZone=Ref(zone),
                MapPublicIpOnLaunch=False,
                Tags=network,
            )
        )
        table = "PublicRoutes" if title == "PublicSubnet" else "PrivateRoutes"
        add(
            SubnetRouteTableAssociation(
                f"{title}Routes", SubnetId=Ref(title), RouteTableId=Ref(table)
            )
        )
    for title in ("PublicRoutes", "PrivateRoutes"):
        add(RouteTable(title, VpcId=Ref("Vpc"), Tags=network))
    add(EIP("NatAddress", Domain="vpc", DependsOn="GatewayAttachment", Tags=network))
    add(
        NatGateway(
            "NatGateway",
            AllocationId=GetAtt("NatAddress", "AllocationId"),
            SubnetId=Ref("PublicSubnet"),
            Tags=network,
        )
    )
    anywhere = "0.0.0.0/0"
    add(
        Route(
            "PublicRoute",
            RouteTableId=Ref("PublicRoutes"),
            DestinationCidrBlock=anywhere,
            GatewayId=Ref("InternetGateway"),
            DependsOn="GatewayAttachment",
        )
    )
    add(
        Route(
            "PrivateRoute",
            RouteTableId=Ref("PrivateRoutes"),
            DestinationCidrBlock=anywhere,
            NatGatewayId=Ref("NatGateway"),
        )
    )
    add(
        VPCEndpoint(
            "BucketEndpoint",
            VpcId=Ref("Vpc"),
            ServiceName=Sub("com.amazonaws.${AWS::Region}.s3"),
            VpcEndpointType="Gateway",
            RouteTableIds=[Ref("PrivateRoutes")],
            Tags=network,
        )
    )
    _add_security_groups(template, plan)


def _add_security_groups(template: Template, plan: Plan) -> None:
    add = template.add_resource
    to_services = [
        {
            "IpProtocol": "tcp",
            "FromPort": 443,
            "ToPort": 443,
            "CidrIp": "0.0.0.0/0",
            "Description": "services of the provider, images",
        },
        {
            "IpProtocol": "-1",
            "CidrIp": NETWORK,
            "Description": "the other machines of the run",
        },
    ]
    for role in plan.machines():
        add(
            SecurityGroup(
                f"{role.capitalize()}Door",
                GroupDescription=f"zerofleet {role} machines",
                VpcId=Ref("Vpc"),
                SecurityGroupEgress=to_services,
                Tags=tag_list(role),
            )
        )
    if plan.redis:
        add(
            SecurityGroup(
                "RedisDoor",
                GroupDescription="zerofleet Redis",
                VpcId=Ref("Vpc"),
                SecurityGroupEgress=[
                    {"IpProtocol": "-1", "CidrIp": NETWORK, "Description": "answers"}
                ],
                Tags=tag_list("redis"),
            )
        )
        for role in plan.machines():
            _let_in(template, "redis", role, REDIS_PORT, REDIS_PORT)
    if plan.inference:
        _let_in(template, "inference", "worker", *INFERENCE_PORTS)


def _let_in(template: Template, to: str, sender: str, first_port: int, last_port: int) -> None:
    template.add_resource(
        SecurityGroupIngress(
            f"{to.capitalize()}From{sender.capitalize()}Port{first_port}",
            GroupId=GetAtt(f"{to.capitalize()}Door", "GroupId"),
            SourceSecurityGroupId=GetAtt(f"{sender.capitalize()}Door", "GroupId"),
            IpProtocol="tcp",
            FromPort=first_port,
            ToPort=last_port,
            Description=f"{sender} to {to}",
        )
    )


def add_fabric_rules(template: Template, role: str) -> None:
    """An Elastic Fabric Adapter needs all traffic among the machines of its own group."""
    own = GetAtt(f"{role.capitalize()}Door", "GroupId")
    template.add_resource(
        SecurityGroupIngress(
            f"{role.capitalize()}Fabric",
            GroupId=own,
            SourceSecurityGroupId=own,
            IpProtocol="-1",
            Description="fabric adapter",
        )
    )
