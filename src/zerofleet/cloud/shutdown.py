"""Ends what a stack pays by the hour. Runs as a function in the cloud, with boto3 alone.

Phase `groups` sets every group of machines to zero: roles get SIGTERM and drain. Phase `rest`
deletes Redis and the NAT gateway, when machines have had time to drain. A message of the budget
alarm means `groups`. Doing a phase twice is harmless; `zerofleet cloud down` removes the remains.
"""

import os
from typing import Any

import boto3
from botocore.exceptions import ClientError

GONE = {
    "NatGatewayNotFound",
    "ReplicationGroupNotFoundFault",
    "InvalidReplicationGroupState",
    "ValidationError",
}
"""Answers that mean it has been deleted, or is about to be."""


def handler(event: dict[str, Any], context: object = None) -> list[str]:
    phase = event.get("phase", "groups")
    done = []
    if phase == "groups":
        groups = boto3.client("autoscaling")
        for name in filter(None, os.environ["GROUPS"].split(",")):
            zero = {"MinSize": 0, "MaxSize": 0, "DesiredCapacity": 0}
            done += attempt(groups.update_auto_scaling_group, AutoScalingGroupName=name, **zero)
    if phase == "rest":
        if redis := os.environ.get("REDIS"):
            delete = boto3.client("elasticache").delete_replication_group
            done += attempt(delete, ReplicationGroupId=redis)
        delete = boto3.client("ec2").delete_nat_gateway
        done += attempt(delete, NatGatewayId=os.environ["NAT"])
    print(f"{phase}: {', '.join(done) or 'nothing left to do'}")
    return done


def attempt(call: Any, **arguments: Any) -> list[str]:
    """Calls it; names what was changed, or nothing if that is gone already."""
    try:
        call(**arguments)
    except ClientError as error:
        if error.response["Error"]["Code"] not in GONE:
            raise
        return []
    return [str(next(iter(arguments.values())))]
