"""Hosts in network namespaces that lose and regain their connection."""

import os
import time
from functools import partial

import pytest
from fleet_processes import Fleet
from fleet_spoils import enter_network
from network_hosts import add_namespace, ip, succeeds
from redis_server import RedisServer, needs_redis

pytestmark = needs_redis


class Host:
    """A network namespace with a cable to this one, that can be unplugged."""

    def __init__(self, number):
        # 198.18.0.0/15 is for tests of networks; the process id keeps two test runs apart.
        block = os.getpid() % 16384 * 4 + number
        self.gateway, self.address = (
            f"198.18.{block // 64 % 256}.{block % 64 * 4 + i}" for i in (1, 2)
        )
        self.name = f"zf{os.getpid()}h{number}"
        self._cable = f"{self.name}c"

    def open(self):
        add_namespace(self.name)
        ip("link", "add", self._cable, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        ip("addr", "add", f"{self.gateway}/30", "dev", self._cable)
        ip("-n", self.name, "addr", "add", f"{self.address}/30", "dev", "eth0")
        for link in ("lo", "eth0"):
            ip("-n", self.name, "link", "set", link, "up")
        self.plug_in()

    def close(self):
        succeeds("ip", "link", "del", self._cable)
        succeeds("ip", "netns", "del", self.name)

    def unplug(self):
        ip("link", "set", self._cable, "down")

    def plug_in(self):
        ip("link", "set", self._cable, "up")


@pytest.fixture
def hosts():
    hosts = [Host(0), Host(1)]
    try:
        for host in hosts:
            host.open()
        yield hosts
    finally:
        for host in hosts:
            host.close()


@pytest.fixture
def fleet(tmp_path, hosts):
    folder = tmp_path / "redis"
    folder.mkdir()
    addresses = ["127.0.0.1", *(host.gateway for host in hosts)]
    with (
        RedisServer(folder, "--bind", *addresses, "--protected-mode", "no") as server,
        Fleet(tmp_path, server) as fleet,
    ):
        yield fleet


def on(host, fleet):
    """How a role starts on a host."""
    url = f"redis://{host.gateway}:{fleet.server.port}"
    return {"spoil": partial(enter_network, host.name), "url": url}


def test_a_worker_disconnected_from_redis_keeps_playing_and_catches_up(fleet, hosts):
    fleet.trainer(**on(hosts[1], fleet))
    worker = fleet.worker(**on(hosts[0], fleet))
    fleet.wait_for_games()
    hosts[0].unplug()
    in_flight = fleet.wait_for_flight(50)
    fleet.wait_for(lambda: "games stay on this disk" in worker.output, "a worker that notices")
    hosts[0].plug_in()
    fleet.wait_for_games(in_flight)
    fleet.wait_for(lambda: "games are sent again" in worker.output, "its word that it sends again")
    print(f"in flight {in_flight}, games {fleet.finish()}")


@pytest.mark.long
@pytest.mark.parametrize("cut", ["worker", "trainer", "both"])
def test_hosts_apart_for_a_minute_lose_nothing(fleet, hosts, cut):
    trainer = fleet.trainer(**on(hosts[1], fleet))
    fleet.worker(**on(hosts[0], fleet))
    fleet.wait_for_games()
    apart = {"worker": hosts[:1], "trainer": hosts[1:], "both": hosts}[cut]
    for host in apart:
        host.unplug()
    in_flight = fleet.wait_for_flight(50)
    time.sleep(60)
    in_flight = max(in_flight, len(fleet.in_flight()))
    for host in apart:
        host.plug_in()
    fleet.wait_for_games(in_flight)
    assert ("Redis is back" in trainer.output) == (cut != "worker")
    print(f"in flight {in_flight}, games {fleet.finish()}")
