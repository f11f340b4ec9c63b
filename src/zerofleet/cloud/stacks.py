"""One stack per run: found, settled, created, updated, deleted.

The provider keeps all state. Whoever finds a stack that somebody left in the middle of something
waits for it, removes what failed, and continues; so a killed `up` or `down` is simply run again.
"""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from zerofleet.cloud.account import Account, CloudFailed, code_of

MAX_TEMPLATE_BYTES = 51_200
FAILED = {
    "CREATE_FAILED",
    "ROLLBACK_COMPLETE",
    "ROLLBACK_FAILED",
    "DELETE_FAILED",
    "REVIEW_IN_PROGRESS",
}
"""States of a stack that was never whole, or is not any more: it can only be deleted."""
POLL_S = 5.0
PATIENCE_S = 45 * 60
"""Redis takes the longest: usually 5 to 15 minutes."""

Say = Callable[[str], None]


def stack_name(run: str) -> str:
    return f"zerofleet-{run}"


@dataclass(frozen=True)
class Stack:
    """A stack as the provider describes it."""

    name: str
    status: str
    parameters: Mapping[str, str]
    outputs: Mapping[str, str]

    @property
    def is_changing(self) -> bool:
        return self.status.endswith("_IN_PROGRESS") and self.status != "REVIEW_IN_PROGRESS"


class Stacks:
    """The stacks of an account; `poll_s` between two questions about one that is changing."""

    def __init__(self, account: Account, poll_s: float = POLL_S) -> None:
        self._client = account.client("cloudformation")
        self._poll_s = poll_s

    def find(self, name: str) -> Stack | None:
        try:
            (found,) = self._client.describe_stacks(StackName=name)["Stacks"]
        except ClientError as error:
            if code_of(error) == "ValidationError":
                return None
            raise
        if found["StackStatus"] == "DELETE_COMPLETE":
            return None
        return Stack(
            name,
            found["StackStatus"],
            {each["ParameterKey"]: each["ParameterValue"] for each in found.get("Parameters", [])},
            {each["OutputKey"]: each["OutputValue"] for each in found.get("Outputs", [])},
        )

    def settled(self, name: str, say: Say) -> Stack | None:
        """The stack once nothing changes it any more; one that failed is removed first."""
        stack = self._still(name, say)
        if stack and stack.status in FAILED:
            say(f"{name} is {stack.status}: removing what is there of it")
            self.delete(name, say)
            return None
        return stack

    def create(
        self,
        name: str,
        template: dict[str, Any],
        values: Mapping[str, str],
        tags: Mapping[str, str],
    ) -> None:
        self._client.create_stack(
            StackName=name,
            TemplateBody=_body(template),
            Parameters=_parameters(template, values),
            Tags=[{"Key": key, "Value": value} for key, value in tags.items()],
            Capabilities=["CAPABILITY_IAM"],
        )

    def update(
        self,
        name: str,
        template: dict[str, Any],
        values: Mapping[str, str],
        tags: Mapping[str, str],
    ) -> bool:
        """Whether there was something to change."""
        try:
            self._client.update_stack(
                StackName=name,
                TemplateBody=_body(template),
                Parameters=_parameters(template, values),
                Tags=[{"Key": key, "Value": value} for key, value in tags.items()],
                Capabilities=["CAPABILITY_IAM"],
            )
        except ClientError as error:
            if "No updates are to be performed" in str(error):
                return False
            raise
        return True

    def wait_complete(self, name: str, say: Say) -> Stack:
        """The stack once it is whole; raises CloudFailed with the reason if it is not."""
        stack = self._still(name, say)
        if stack is None or stack.status not in (
            "CREATE_COMPLETE",
            "UPDATE_COMPLETE",
        ):
            status = stack.status if stack else "gone"
            raise CloudFailed(f"{name} is {status}: {self.reason(name) or 'no reason is given'}")
        return stack

    def delete(self, name: str, say: Say) -> None:
        """Deletes a stack and waits until it is gone; raises CloudFailed if something stays."""
        stack = self.find(name)
        if stack and stack.is_changing and stack.status.startswith("UPDATE"):
            self._still(name, say)  # an update in progress cannot be deleted
        self._client.delete_stack(StackName=name)
        stack = self._still(name, say)
        if stack is not None:
            raise CloudFailed(
                f"{name} is {stack.status}: {self.reason(name)}; run down again, and look at what "
                "it names"
            )

    def reason(self, name: str) -> str:
        """What the newest failure says."""
        try:
            events = self._client.describe_stack_events(StackName=name)["StackEvents"]
        except ClientError:
            return ""
        for event in events:
            if event.get("ResourceStatus", "").endswith("_FAILED"):
                return f"{event['LogicalResourceId']}: {event.get('ResourceStatusReason', '')}"
        return ""

    def _still(self, name: str, say: Say) -> Stack | None:
        deadline_s = time.monotonic() + PATIENCE_S
        said = ""
        while True:
            stack = self.find(name)
            if stack is None or not stack.is_changing:
                return stack
            if stack.status != said:
                say(f"{name}: {stack.status}")
                said = stack.status
            if time.monotonic() > deadline_s:
                raise CloudFailed(
                    f"{name} is still {stack.status} after {PATIENCE_S // 60} minutes; run the "
                    "same command again to wait on"
                )
            time.sleep(self._poll_s)


def _body(template: dict[str, Any]) -> str:
    text = json.dumps(template, separators=(",", ":"), sort_keys=True)
    if len(text.encode()) > MAX_TEMPLATE_BYTES:
        raise CloudFailed(f"the template has {len(text)} bytes; {MAX_TEMPLATE_BYTES} are accepted")
    return text


def _parameters(template: dict[str, Any], values: Mapping[str, str]) -> list[dict[str, str]]:
    return [
        {"ParameterKey": name, "ParameterValue": values[name]}
        for name in template["Parameters"]
        if name in values
    ]


__all__ = ["FAILED", "MAX_TEMPLATE_BYTES", "Say", "Stack", "Stacks", "stack_name"]
