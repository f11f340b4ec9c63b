"""An account of the provider: clients of its services, and errors in one sentence.

Credentials come from where boto3 finds them (`aws configure`, the environment, a role); nothing
here reads, stores or prints them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from zerofleet.errors import Unsupported, ZerofleetError

RETRIES = Config(retries={"mode": "standard", "max_attempts": 8})


class CloudFailed(ZerofleetError, RuntimeError):
    """The provider refused or failed; what exists can be found with `cloud status`."""


class Account:
    """The account of this machine's credentials, in one region."""

    def __init__(self, region: str) -> None:
        self.region = region
        self._session = boto3.Session(region_name=region)
        self._clients: dict[str, Any] = {}

    def client(self, service: str) -> Any:
        if service not in self._clients:
            self._clients[service] = self._session.client(service, config=RETRIES)
        return self._clients[service]

    def identity(self) -> str:
        """The account's number; the first call that needs credentials."""
        if self._session.get_credentials() is None:
            raise Unsupported(
                "no credentials: run `aws configure sso` or `aws configure`, or set AWS_PROFILE"
            )
        number: str = self.client("sts").get_caller_identity()["Account"]
        return number


@contextmanager
def readable_errors() -> Iterator[None]:
    """The provider's errors as CloudFailed."""
    try:
        yield
    except ClientError as error:
        details = error.response.get("Error", {})
        code, text = details.get("Code", "?"), details.get("Message", str(error))
        raise CloudFailed(f"{error.operation_name}: {code}: {text}") from error
    except BotoCoreError as error:
        raise CloudFailed(str(error)) from error


def code_of(error: ClientError) -> str:
    code: str = error.response.get("Error", {}).get("Code", "")
    return code


__all__ = ["Account", "CloudFailed", "code_of", "readable_errors"]
