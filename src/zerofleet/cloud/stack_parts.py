"""What all parts of the stack share: parameters, tags, policies."""

from collections.abc import Sequence
from typing import Any

from troposphere import Parameter, Ref, Sub, Tags, Template

CPU_IMAGE = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64"
GPU_IMAGE = (
    "/aws/service/deeplearning/ami/x86_64/"
    "base-oss-nvidia-driver-gpu-amazon-linux-2023/latest/ami-id"
)
"""Names under which the provider publishes the newest machine images: Amazon Linux 2023, and the
same with NVIDIA's driver, container toolkit and EFA."""
IMAGE_ID = "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>"

PARAMETERS: dict[str, tuple[str, str, str | None]] = {
    "RunName": ("String", "Name of the run; part of names and tags.", None),
    "Game": ("String", "Game that is trained.", None),
    "Preset": ("String", "Preset of its settings.", None),
    "WorkerImage": ("String", "Container image of workers.", None),
    "InferenceImage": ("String", "Container image of inference servers.", None),
    "TrainerImage": ("String", "Container image of the trainer.", None),
    "DashImage": ("String", "Container image of the dashboard.", None),
    "CpuMachineImage": (IMAGE_ID, "Machine image of machines without a GPU.", CPU_IMAGE),
    "GpuMachineImage": (IMAGE_ID, "Machine image of machines with a GPU.", GPU_IMAGE),
    "StartText": ("String", "start.sh, which prepares a machine.", None),
    "RoleText": ("String", "role.sh, which runs a role.", None),
    "InterruptionText": ("String", "interruption.py, which watches for interruptions.", None),
    "FirstZone": ("AWS::EC2::AvailabilityZone::Name", "Zone of Redis, trainer, inference.", None),
    "SecondZone": ("AWS::EC2::AvailabilityZone::Name", "One more zone for self-play.", None),
    "ExistingBucket": ("String", "Bucket that an earlier stack kept; empty: a new one.", ""),
    "WorkerMachines": ("Number", "Self-play machines that run.", None),
    "InferenceMachines": ("Number", "Inference machines that run.", None),
    "TrainerMachines": ("Number", "1: the trainer runs.", None),
    "UsdPerHour": ("Number", "What the plan costs per hour, for the status.", None),
    "BudgetUsd": ("Number", "The most that the run may cost.", None),
    "NotifyAddress": ("String", "Mail address for the budget alarm.", None),
    "StartTime": ("String", "When the stack was asked for, as YYYY-MM-DDTHH:MM:SS in UTC.", None),
    "EndTime": ("String", "When the machines end, in the same form.", None),
    "RestTime": ("String", "When Redis and the gateway end, after machines have drained.", None),
}
"""Type, description and default of each parameter."""


def tags(role: str) -> Tags:
    """On everything: what it belongs to, so that what is left can be found."""
    return Tags(Project="zerofleet", Run=Ref("RunName"), Role=role)


def tag_list(role: str) -> list[dict[str, Any]]:
    """The same, where a list is wanted."""
    listed: list[dict[str, Any]] = tags(role).tags
    return listed


def name(suffix: str) -> Sub:
    """zerofleet-RUN-suffix"""
    return Sub(f"zerofleet-${{RunName}}-{suffix}")


def arn(service: str, rest: str) -> Sub:
    """In this account and region."""
    return Sub(f"arn:${{AWS::Partition}}:{service}:${{AWS::Region}}:${{AWS::AccountId}}:{rest}")


def allow(actions: Sequence[str], resources: Any, **condition: Any) -> dict[str, Any]:
    """A statement of a policy."""
    found: dict[str, Any] = {"Effect": "Allow", "Action": list(actions), "Resource": resources}
    return found | ({"Condition": condition} if condition else {})


def policy(*statements: dict[str, Any]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": list(statements)}


def trust(service: str, **condition: Any) -> dict[str, Any]:
    """Who may take a role: one service of the provider."""
    statement: dict[str, Any] = {
        "Effect": "Allow",
        "Action": "sts:AssumeRole",
        "Principal": {"Service": f"{service}.amazonaws.com"},
    }
    return policy(statement | ({"Condition": condition} if condition else {}))


def add_parameters(template: Template) -> None:
    for title, (kind, description, default) in PARAMETERS.items():
        given = {} if default is None else {"Default": default}
        template.add_parameter(Parameter(title, Type=kind, Description=description, **given))
