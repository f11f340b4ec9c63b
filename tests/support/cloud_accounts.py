"""Plans, and an account at a moto server, for tests of the cloud."""

import json
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3

from zerofleet.cloud.account import Account
from zerofleet.cloud.launch import Launched, up
from zerofleet.cloud.plan import Plan, read_plan
from zerofleet.cloud.prices import Prices
from zerofleet.cloud.quotas import CODES

AMPLE = dict.fromkeys(CODES.values(), 2000)
POLL_S = 0.05


@dataclass(frozen=True)
class Server:
    """Where the provider's services answer."""

    url: str
    quotas: Path

    def environment(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_DEFAULT_REGION": "us-east-1",
        }


def plan_of(size: str = "test", **given: Any) -> Plan:
    wanted: dict[str, Any] = {"run": "c4", "budget_usd": 5000.0, "notify": "a@example.org"}
    return read_plan(size, **(wanted | given))


def push_image(name: str) -> None:
    """An image with nothing in it, in the account's registry."""
    repository, _, tag = name.partition(":")
    ecr = boto3.client("ecr")
    ecr.create_repository(repositoryName=repository)
    kind = "application/vnd.docker.distribution.manifest.v2+json"
    manifest = {"schemaVersion": 2, "mediaType": kind, "config": {"digest": name}, "layers": []}
    ecr.put_image(repositoryName=repository, imageManifest=json.dumps(manifest), imageTag=tag)


def launch(
    plan: Plan,
    report: Callable[[str], None] = lambda step: None,
    agrees: bool = True,
) -> Launched:
    """`up` at the server that the environment names."""
    return up(
        plan,
        Prices.read(),
        Account(plan.region),
        lambda priced: agrees,
        lambda: (f"server key of {os.getpid()}", f"worker key of {os.getpid()}"),
        lambda text: None,
        report,
        POLL_S,
    )


def launch_and_die(environment: dict[str, str], size: str, last_step: str) -> None:
    """`up` in a process that kills itself with SIGKILL right after a step."""
    os.environ.update(environment)

    def report(step: str) -> None:
        if step == last_step:
            os.kill(os.getpid(), signal.SIGKILL)

    launch(plan_of(size), report)
