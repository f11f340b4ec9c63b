"""The CloudFormation template of a plan.

    text = to_json(template(plan, prices))

One description for all sizes: a single machine has no Redis, no self-play and no inference. What
differs from one launch to the next (images, zones, times, budget) is a parameter; what a plan
decides (types and numbers of machines, fabric adapters) is written into the template.
"""

import json
from typing import Any

from troposphere import Equals, Output, Ref, Sub, Template
from troposphere.s3 import (
    AbortIncompleteMultipartUpload,
    Bucket,
    BucketEncryption,
    BucketPolicy,
    LifecycleConfiguration,
    LifecycleRule,
    NoncurrentVersionExpiration,
    OwnershipControls,
    OwnershipControlsRule,
    PublicAccessBlockConfiguration,
    ServerSideEncryptionByDefault,
    ServerSideEncryptionRule,
    VersioningConfiguration,
)

from zerofleet.cloud.plan import Plan
from zerofleet.cloud.prices import Prices
from zerofleet.cloud.stack_guards import add_guards
from zerofleet.cloud.stack_machines import add_machines, bucket_name
from zerofleet.cloud.stack_network import add_network
from zerofleet.cloud.stack_parts import add_parameters, policy, tags
from zerofleet.cloud.stack_redis import add_redis


def template(plan: Plan, prices: Prices) -> dict[str, Any]:
    """The template of a plan, as the provider takes it."""
    what = "one machine" if plan.is_single else "a fleet"
    built = Template(Description=f"zerofleet: {what} that trains by self-play")
    built.set_version()
    add_parameters(built)
    built.add_condition("NewBucket", Equals(Ref("ExistingBucket"), ""))
    add_network(built, plan)
    _add_bucket(built)
    if plan.redis:
        add_redis(built, plan)
    add_guards(built, plan)
    add_machines(built, plan, prices)
    built.add_output(Output("BucketName", Value=bucket_name()))
    built.add_output(Output("LogGroup", Value=Ref("Logs")))
    for title in ("StartTime", "EndTime", "BudgetUsd", "UsdPerHour"):
        built.add_output(Output(f"Stack{title}", Value=Ref(title)))
    if plan.inference:
        built.add_output(Output("ServerKey", Value=Ref("ServerKey")))
        built.add_output(Output("WorkerKey", Value=Ref("WorkerKey")))
    made: dict[str, Any] = json.loads(built.to_json())
    # A single machine has no use for the images of other roles.
    text = json.dumps([made["Resources"], made["Outputs"], made["Conditions"]])
    made["Parameters"] = {
        title: parameter
        for title, parameter in made["Parameters"].items()
        if f'"Ref": "{title}"' in text or f"${{{title}}}" in text
    }
    return made


def to_json(made: dict[str, Any]) -> str:
    """Its text: indented for a reader; `up` sends it without spaces."""
    return json.dumps(made, indent=1, sort_keys=True) + "\n"


def _add_bucket(built: Template) -> None:
    """What the run keeps: no deletion of the stack removes it."""
    built.add_resource(
        Bucket(
            "Bucket",
            Condition="NewBucket",
            DeletionPolicy="Retain",
            UpdateReplacePolicy="Retain",
            BucketEncryption=BucketEncryption(
                ServerSideEncryptionConfiguration=[
                    ServerSideEncryptionRule(
                        ServerSideEncryptionByDefault=ServerSideEncryptionByDefault(
                            SSEAlgorithm="AES256"
                        )
                    )
                ]
            ),
            VersioningConfiguration=VersioningConfiguration(Status="Enabled"),
            PublicAccessBlockConfiguration=PublicAccessBlockConfiguration(
                BlockPublicAcls=True,
                BlockPublicPolicy=True,
                IgnorePublicAcls=True,
                RestrictPublicBuckets=True,
            ),
            OwnershipControls=OwnershipControls(
                Rules=[OwnershipControlsRule(ObjectOwnership="BucketOwnerEnforced")]
            ),
            LifecycleConfiguration=LifecycleConfiguration(
                Rules=[
                    LifecycleRule(
                        Id="remains",
                        Status="Enabled",
                        NoncurrentVersionExpiration=NoncurrentVersionExpiration(NoncurrentDays=30),
                        AbortIncompleteMultipartUpload=AbortIncompleteMultipartUpload(
                            DaysAfterInitiation=3
                        ),
                    )
                ]
            ),
            Tags=tags("storage"),
        )
    )
    everything = [
        Sub("arn:${AWS::Partition}:s3:::${Bucket}"),
        Sub("arn:${AWS::Partition}:s3:::${Bucket}/*"),
    ]
    built.add_resource(
        BucketPolicy(
            "BucketPolicy",
            Condition="NewBucket",
            DeletionPolicy="Retain",
            UpdateReplacePolicy="Retain",
            Bucket=Ref("Bucket"),
            PolicyDocument=policy(
                {
                    "Sid": "OnlyEncrypted",
                    "Effect": "Deny",
                    "Principal": "*",
                    "Action": "s3:*",
                    "Resource": everything,
                    "Condition": {"Bool": {"aws:SecureTransport": "false"}},
                }
            ),
        )
    )


__all__ = ["template", "to_json"]
