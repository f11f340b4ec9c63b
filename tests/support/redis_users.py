"""The roles of a run, each logged in to Redis as the user that `zerofleet fleet acl` gives it."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from redis_server import RedisServer

from zerofleet.bus import (
    Block,
    BlockResult,
    Delivery,
    InferenceOffer,
    Pace,
    Receipt,
    RoleEntry,
    Sender,
)
from zerofleet.bus.acl import RoleIds, acl_users, user_names
from zerofleet.bus.redis import RedisBus
from zerofleet.fleet.local_redis import free_port

ROLES = RoleIds(["box-1", "box-2", "worker-1"], ["judge"], ["gpu"], ["browsers"])
PASSWORDS = {name: f"secret of {name}" for name in user_names("run", ROLES)}


def server_with_users(folder: Path) -> RedisServer:
    """It is a Redis Cluster of one node, so that it refuses what a larger one would."""
    lines = ["user default on nopass ~* &* +@all", *acl_users("run", ROLES, PASSWORDS)]
    (folder / "users.acl").write_text("\n".join(lines) + "\n")
    options = ["--cluster-enabled", "yes", "--cluster-port", str(free_port())]
    server = RedisServer(folder, "--aclfile", str(folder / "users.acl"), *options)
    client = server.client()
    client.execute_command("CLUSTER ADDSLOTSRANGE", 0, 16383)
    wait_until(lambda: client.execute_command("CLUSTER INFO")["cluster_state"] == "ok")
    client.close()
    return server


def bus_of(server: RedisServer, user: str) -> RedisBus:
    name = f"zf-run-{user}"
    return RedisBus(server.address(name, PASSWORDS[name]), "run")


class BusOfUsers:
    """A bus on which every call is made with the credentials of the role that makes it.

    What the trainer announces is read by the worker before the call returns.
    """

    def __init__(self, server: RedisServer) -> None:
        self.trainer = bus_of(server, "trainer")
        self.worker, self.other = bus_of(server, "worker-box-1"), bus_of(server, "worker-box-2")
        self.rater, self.viewer = bus_of(server, "rater-judge"), bus_of(server, "viewer")
        self.inference = bus_of(server, "inference-gpu")
        self._registering = bus_of(server, "worker-worker-1")
        self.trainer.lead("this host", timeout_s=15)

    def close(self) -> None:
        buses = (self.worker, self.other, self.rater, self.viewer, self.inference)
        buses += (self._registering, self.trainer)
        with ThreadPoolExecutor(len(buses)) as threads:
            list(threads.map(RedisBus.close, buses))

    def __getattr__(self, name: str) -> Any:
        """What has no method below is the worker's to read, or else the trainer's to do."""
        is_read = name in (
            "graph held other_weights pace reachable run_facts stop stopping wait_for_news "
            "wait_to_play weights weights_version recent_versions inference_offers"
        )
        return getattr(self.worker if is_read else self.trainer, name)

    def _of(self, sender: Sender) -> RedisBus:
        return self.worker if sender.worker == "box-1" else self.other

    def send_episodes(self, deliveries: Sequence[Delivery]) -> None:
        for each in deliveries:
            self._of(each.sender).send_episodes([each])

    def mark(self, sender: Sender) -> int:
        return self._of(sender).mark(sender)

    def backlog(self) -> Any:
        return self.viewer.backlog()

    def receipt(self, sender: Sender) -> Receipt:
        return self._of(sender).receipt(sender)

    def backlog_by_worker(self) -> Any:
        return self.viewer.backlog_by_worker()

    def peek_episodes(self, max_count: int) -> list[Delivery]:
        return self.viewer.peek_episodes(max_count)

    def roles(self) -> list[RoleEntry]:
        return self.viewer.roles()

    def heartbeats(self) -> dict[str, float]:
        return self.viewer.heartbeats()

    def weights_facts(self) -> Any:
        return self.viewer.weights_facts()

    def server_figures(self) -> Any:
        return self.viewer.server_figures()

    def register(self, entry: RoleEntry) -> None:
        (self.trainer if entry.kind == "trainer" else self._registering).register(entry)

    def offer_inference(self, offer: InferenceOffer) -> None:
        self.inference.offer_inference(offer)

    def end_offer(self, server_id: str) -> None:
        self.inference.end_offer(server_id)

    def lease_block(self, *arguments: Any, **named: Any) -> Block | None:
        return self.worker.lease_block(*arguments, **named)  # while it is idle

    def return_block(self, block: Block, reason: str) -> None:
        self.rater.return_block(block, reason)

    def finish_block(self, result: BlockResult) -> bool:
        return self.rater.finish_block(result)

    def publish_weights(self, *arguments: Any, **named: Any) -> int:
        version = self.trainer.publish_weights(*arguments, **named)
        wait_until(lambda: self.worker.weights_version() == version)
        return version

    def set_pace(self, pace: Pace) -> None:
        self.trainer.set_pace(pace)
        wait_until(lambda: self.worker.pace() == pace)

    def hold(self, worker: str, reason: str) -> None:
        self.trainer.hold(worker, reason)
        wait_until(lambda: self.worker.held(worker) == self.trainer.held(worker))

    def end_run(self) -> None:
        self.trainer.end_run()
        wait_until(lambda: self.worker.stopping)


def wait_until(holds: Any, timeout_s: float = 20) -> None:
    """Waits for what another thread brings about."""
    end_s = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < end_s, "waited in vain"
        time.sleep(0.005)
