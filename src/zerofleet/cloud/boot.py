"""What a machine runs when it starts: its user data, as CloudFormation puts it together.

Settings come first, as shell variables whose values may refer to parameters and resources of the
stack. Then the machine fetches the programs that all roles share and runs `start.sh`. Their texts
are parameters of the stack, since a template that holds them is larger than the provider accepts.
Nothing secret is among them: user data can be read by whoever may describe the machine.
"""

import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from troposphere import Base64, Join

from zerofleet.errors import Inconsistent

MAX_BYTES = 16_384
"""What a machine accepts."""
MAX_STORED_BYTES = 4_096
"""What a stored parameter may have without a charge."""
VARIABLES = (
    "REGION",
    "RUN",
    "GAME",
    "PRESET",
    "ROLE",
    "ROLE_OPTIONS",
    "IMAGE",
    "DASH_IMAGE",
    "NUM_ROLES",
    "NUM_GPUS",
    "INTERRUPTIBLE",
    "LOG_GROUP",
    "REDIS_URL",
    "REDIS_SECRET",
    "VIEWER_SECRET",
    "CURVE_SECRET",
    "SHUTDOWN_FUNCTION",
    "PROGRAMS",
)
"""All of them are set on every machine; empty where a role has no use for it."""
PROGRAMS = {
    "start.sh": "boot/start.sh",
    "role.sh": "boot/role.sh",
    "interruption.py": "interruption.py",
}
"""What a machine fetches, and where it is in this room."""
FETCH = f"""\
source /etc/zerofleet.conf
install -d -m 0755 /opt/zerofleet
cd /opt/zerofleet
for name in {" ".join(PROGRAMS)}; do
  until aws ssm get-parameter --region "$REGION" --name "$PROGRAMS/$name" \\
    --query Parameter.Value --output text > "$name"; do sleep 5; done
  chmod 0755 "$name"
done
bash start.sh
"""


def user_data(values: Mapping[str, Any]) -> Base64:
    """The user data of a machine with these variables."""
    unknown = sorted(set(values) - set(VARIABLES))
    if unknown:
        raise Inconsistent(f"boot scripts know no variable {unknown[0]}")
    parts: list[Any] = ["#!/bin/bash\ncat > /etc/zerofleet.conf <<'END'\n"]
    for name in VARIABLES:
        parts += [f"{name}='", values.get(name, ""), "'\n"]
    parts.append(f"END\n{FETCH}")
    size = sum(len(part.encode()) if isinstance(part, str) else 256 for part in parts)
    if size > MAX_BYTES:
        raise Inconsistent(f"user data has {size} bytes; a machine accepts {MAX_BYTES}")
    return Base64(Join("", parts))


def program(name: str) -> str:
    """A program as it is stored: without comments and empty lines."""
    lines = script(PROGRAMS[name]).splitlines()
    kept = [line for line in lines if line.strip() and not re.match(r"\s*#(?!!)", line)]
    text = "\n".join(kept) + "\n"
    if len(text.encode()) > MAX_STORED_BYTES:
        raise Inconsistent(f"{name} has {len(text)} bytes; {MAX_STORED_BYTES} can be stored")
    return text


def text_parameter(name: str) -> str:
    """The parameter of the stack that has the text of a program."""
    return f"{name.partition('.')[0].capitalize()}Text"


def script(name: str) -> str:
    """The text of a file in this room."""
    return Path(str(files("zerofleet.cloud"))).joinpath(name).read_text()


__all__ = ["MAX_BYTES", "PROGRAMS", "VARIABLES", "program", "script", "text_parameter", "user_data"]
