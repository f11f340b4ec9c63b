"""Hosts on one machine: network namespaces on a switch, which reach one another and nothing else.

    with Network(["redis", "trainer", "box-1"]) as network:
        process = network.start("box-1", command, environment, output)
        network.addresses["redis"]      # 198.18.0.1

Needs root. Where namespaces cannot be made the test is skipped.
"""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import pytest


class Network:
    """A bridge in a namespace of its own, and a cable from it to each host."""

    def __init__(self, hosts: Sequence[str]) -> None:
        # 198.18.0.0/15 is for tests of networks.
        self.addresses = {host: f"198.18.0.{number}" for number, host in enumerate(hosts, 1)}
        self._switch = f"zf{os.getpid()}switch"

    def namespace(self, host: str) -> str:
        return f"zf{os.getpid()}{host}"

    def __enter__(self) -> Self:
        try:
            self._open()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *fault: object) -> None:
        for name in (*map(self.namespace, self.addresses), self._switch):
            succeeds("ip", "netns", "del", name)

    def _open(self) -> None:
        switch = self._switch
        add_namespace(switch)
        ip("-n", switch, "link", "add", "bridge", "type", "bridge")
        ip("-n", switch, "link", "set", "bridge", "up")
        for host, address in self.addresses.items():
            name, port = self.namespace(host), f"to-{host}"
            add_namespace(name)
            ip("-n", switch, "link", "add", port, "type", "veth", "peer", "eth0", "netns", name)
            ip("-n", switch, "link", "set", port, "master", "bridge", "up")
            ip("-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
            for link in ("lo", "eth0"):
                ip("-n", name, "link", "set", link, "up")

    def start(
        self,
        host: str,
        command: Sequence[str],
        environment: Mapping[str, str],
        output: Path,
        **more: Any,
    ) -> "subprocess.Popen[bytes]":
        """Starts a command on a host. What it prints goes to a file, unless `more` says else."""
        with output.open("ab") as file:
            streams = {"stdin": subprocess.DEVNULL, "stdout": file, "stderr": file} | more
            return subprocess.Popen(
                ["ip", "netns", "exec", self.namespace(host), *command],
                env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
                **streams,
            )


def add_namespace(name: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make network namespaces")
    if not succeeds("ip", "netns", "add", name):
        pytest.skip("network namespaces cannot be made here")


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


def succeeds(*command: str) -> bool:
    return subprocess.run(command, capture_output=True).returncode == 0
