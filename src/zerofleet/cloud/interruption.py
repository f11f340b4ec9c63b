"""Drains a role when the provider is about to take its machine back.

    python3 interruption.py COMMAND …

asks the machine's metadata service (IMDSv2) for an interruption notice, which comes about two
minutes ahead. When it has come, COMMAND runs once, such as `systemctl stop zerofleet@0`, and the
program ends with its exit status. A metadata service that does not answer is asked again.

The machine's image runs this file alone, with its own Python: nothing but the standard library of
Python 3.9 is used. ZEROFLEET_METADATA_URL names another service, for tests.
"""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from typing import Dict, Optional  # noqa: UP035

POLL_S = 5.0
TOKEN_S = 300
"""How long a token is valid; a new one is fetched at half of it."""


class Metadata:
    """The metadata service of this machine, with a session token."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        self._token = ""
        self._token_time_s = 0.0

    def get(self, path: str) -> Optional[str]:  # noqa: UP045
        """The text at a path; None where there is none."""
        if not self._token or time.monotonic() - self._token_time_s > TOKEN_S / 2:
            self._token = self._ask("PUT", "/latest/api/token", "ttl-seconds", str(TOKEN_S))
            self._token_time_s = time.monotonic()
        try:
            return self._ask("GET", path, "", self._token)
        except urllib.error.HTTPError as error:
            if error.code == 401:  # the token has expired
                self._token = ""
            if error.code in (401, 404):
                return None
            raise

    def _ask(self, method: str, path: str, header: str, value: str) -> str:
        name = "X-aws-ec2-metadata-token" + (f"-{header}" if header else "")
        request = urllib.request.Request(self._url + path, method=method, headers={name: value})
        with urllib.request.urlopen(request, timeout=2) as answer:
            body: bytes = answer.read()
            return body.decode()


def wait_for_notice(metadata: Metadata, poll_s: float = POLL_S) -> Dict[str, str]:  # noqa: UP006
    """Returns the notice, such as {"action": "terminate", "time": …}, once there is one."""
    while True:
        try:
            text = metadata.get("/latest/meta-data/spot/instance-action")
            if text is not None:
                notice: Dict[str, str] = json.loads(text)  # noqa: UP006
                return notice
        except (OSError, ValueError) as error:
            print(f"metadata service: {error}; asking again", flush=True)
        time.sleep(poll_s)


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit("usage: interruption.py COMMAND …")
    metadata = Metadata(os.environ.get("ZEROFLEET_METADATA_URL", "http://169.254.169.254"))
    notice = wait_for_notice(metadata, float(os.environ.get("ZEROFLEET_METADATA_POLL_S", POLL_S)))
    print(
        f"{notice.get('action', 'interruption')} at {notice.get('time', '?')}: draining", flush=True
    )
    sys.exit(subprocess.run(sys.argv[1:], check=False).returncode)


if __name__ == "__main__":
    main()
