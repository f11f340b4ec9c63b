"""A fleet on a Ray cluster: Ray places the roles of a run and restarts them when they die.

    with connected(address=None):
        supervisor = start(cluster)
        print(report_of(supervisor))

Each role is an ordinary zerofleet process, the child of a Ray actor that reserves its resources.
Roles communicate through Redis; no game passes through Ray. A supervisor actor on the head node
keeps the number of replicas that the cluster file asks for: it restarts replicas that end, with
exponential backoff, starts replicas on nodes that join, and drains nodes that leave. If the
supervisor itself dies, Ray ends its replicas and restarts it, and it starts them again.

Ray stores the command lines and resource numbers of roles, never a secret.
"""

import math
import threading
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from zerofleet.config import unknown_name
from zerofleet.config.cluster import ROLE_KINDS, ClusterConfig
from zerofleet.errors import EngineFailed, Inconsistent, Unsupported
from zerofleet.fleet.placement import (
    NODE,
    Held,
    Node,
    Replica,
    arguments_of,
    changes,
    environment_of,
    next_to_end,
)
from zerofleet.fleet.processes import Process, end, guarded, own_command

NAMESPACE = "zerofleet"
HEAD = {"node:__internal_head__": 0.001}
"""A resource that only the head node has."""
POLL_S = 1.0
RUNNING = "running"
PATIENCE_S = {"trainer": 300.0}
"""Time for a role to end after SIGTERM; a trainer writes a checkpoint first."""
OTHER_PATIENCE_S = 90.0
GRACE_S = 30.0
"""Further time for the actor to report the end, before the actor is killed."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0
STEADY_S = 120.0
"""Backoff starts over for a replica that ran this long."""


# ---- one role


class RoleProcess:
    """The actor of one replica. When the actor dies, in whatever way, the process ends too."""

    def __init__(self, name: str, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        self._last_line = ""
        context = ray.get_runtime_context()
        self._node: str = context.get_node_id()
        gpus = ",".join(context.get_accelerator_ids().get("GPU", []))
        own = {**environment, "CUDA_VISIBLE_DEVICES": gpus}
        address = ray.util.get_node_ip_address()
        words = [word.replace(NODE, address) for word in arguments]
        # Ray kills the children of an actor that it ends: the outer guard, but not the inner one.
        self._process = Process(name, guarded(own_command(*words)), self._on_line, own)

    def node(self) -> str:
        """Id of its node."""
        return self._node

    def wait(self) -> tuple[int, str]:
        """Waits for the process to end; returns its exit status and last line."""
        while (status := self._process.wait(POLL_S)) is None:
            pass
        return status, self._last_line

    def stop(self, patience_s: float) -> None:
        """Sends SIGTERM, so that the role drains; SIGKILL after `patience_s`."""
        end([self._process], patience_s)

    def _on_line(self, name: str, line: str) -> None:
        """Standard output of an actor goes to Ray's logs."""
        self._last_line = line
        print(f"{name} {line}", flush=True)


@dataclass
class Running:
    """A replica that the supervisor has started."""

    replica: Replica
    actor: Any
    node_known: Any
    """Future of `RoleProcess.node`."""
    has_ended: Any
    """Future of `RoleProcess.wait`."""
    started_s: float
    node: str
    is_placed: bool = False
    kill_at_s: float = math.inf
    """Finite once it was asked to end."""

    @property
    def held(self) -> Held:
        return Held(self.replica, self.node, self.is_ending)

    @property
    def is_ending(self) -> bool:
        return self.kill_at_s < math.inf


@dataclass
class Failures:
    """How often a replica has ended unasked, the last reason, and when it restarts."""

    number: int = 0
    in_a_row: int = 0
    what: str = ""
    again_at_s: float = 0.0


@dataclass(frozen=True)
class RoleReport:
    """State of one replica."""

    name: str
    node: str
    """Address of its node; empty while it has none."""
    doing: str
    num_failures: int
    last_failure: str


@dataclass(frozen=True)
class Report:
    """State of a run on the cluster."""

    roles: Sequence[RoleReport]
    wanted: Mapping[str, str]
    """Requested number of each kind of role: 1, or 2 per node."""
    ending: str
    """Why the run is ending or has ended; empty otherwise."""
    fault: str
    """The error that stopped the supervisor's last round; empty if there was none."""


# ---- all roles


class Supervisor:
    """The actor that manages the replicas of a run. A background thread compares the cluster with
    the requested numbers every second."""

    def __init__(self, cluster: Mapping[str, Any]) -> None:
        self._cluster = ClusterConfig.model_validate(cluster)
        given = self._cluster.roles
        self._roles = {kind: given[kind] for kind in ROLE_KINDS if kind in given}
        self._running: dict[str, Running] = {}
        self._failures: dict[str, Failures] = {}
        self._delayed: list[Replica] = []
        """Replicas that wait for their restart."""
        self._addresses: dict[str, str] = {}
        self._ending = ""
        self._fault = ""
        self._lock = threading.Lock()
        threading.Thread(target=self._control, name="supervisor", daemon=True).start()

    # ---- requests

    def report(self) -> Report:
        with self._lock:
            replicas = [*(each.replica for each in self._running.values()), *self._delayed]
            replicas.sort(key=lambda replica: replica.order)
            roles = [self._report_of(replica.name) for replica in replicas]
            wanted = {
                kind: str(role.total) if role.per_node is None else f"{role.per_node} per node"
                for kind, role in self._roles.items()
            }
            return Report(roles, wanted, self._ending, self._fault)

    def scale(self, numbers: Mapping[str, int]) -> None:
        """Sets the number of replicas of each kind, in total or per node as in the file."""
        with self._lock:
            for kind, number in numbers.items():
                self._roles[kind] = self._roles[kind].scaled(number)

    def end(self, why: str) -> None:
        """Ends all replicas, one kind after another; none is started any more."""
        with self._lock:
            self._ending = self._ending or why

    # ---- the control loop

    def _control(self) -> None:
        while True:
            try:
                with self._lock:
                    self._reconcile()
                self._fault = ""
            except Exception as error:  # the next round tries again
                self._fault = f"{type(error).__name__}: {first_line(error)}"
                traceback.print_exc()  # to Ray's logs
            time.sleep(POLL_S)

    def _reconcile(self) -> None:
        nodes = nodes_of_cluster()
        self._addresses = {node.id: node.address for node in nodes}
        self._update_running()
        held = [each.held for each in self._running.values()]
        starts, ends = changes(self._roles, nodes, held)
        if self._ending:
            starts, ends = [], next_to_end(held)
        for replica in ends:
            self._end(self._running[replica.name])
        self._delayed = [replica for replica in starts if self._pause_s(replica.name) > 0]
        for replica in starts:
            if replica not in self._delayed:
                self._start(replica)

    def _update_running(self) -> None:
        """Records where replicas were placed and which have ended; kills overdue ones."""
        all_running = list(self._running.values())
        futures = [each for role in all_running for each in (role.node_known, role.has_ended)]
        ready = set(ray.wait(futures, num_returns=len(futures), timeout=0)[0] if futures else [])
        for running in all_running:
            try:
                if not running.is_placed and running.node_known in ready:
                    running.node, running.is_placed = ray.get(running.node_known), True
                if running.has_ended in ready:
                    status, line = ray.get(running.has_ended)
                    self._forget(running, status, f"ended with status {status}: {line}")
                elif time.monotonic() >= running.kill_at_s:
                    ray.kill(running.actor)
            except RayError as error:
                self._forget(running, None, f"lost: {first_line(error)}")

    def _forget(self, running: Running, status: int | None, what: str) -> None:
        name = running.replica.name
        del self._running[name]
        ray.kill(running.actor)  # frees its resources
        print(f"{name} {what}", flush=True)
        if running.is_ending:
            self._failures.pop(name, None)
        elif running.replica.kind == "trainer" and status == 0:
            self._ending = "the trainer has ended: the run has reached its stop"
        else:
            failures = self._failures.setdefault(name, Failures())
            if time.monotonic() - running.started_s >= STEADY_S:
                failures.in_a_row = 0
            failures.again_at_s = time.monotonic() + pause_after(failures.in_a_row)
            failures.number += 1
            failures.in_a_row += 1
            failures.what = what

    def _start(self, replica: Replica) -> None:
        role = self._roles[replica.kind]
        on_node = NodeAffinitySchedulingStrategy(replica.node, soft=False) if replica.node else None
        reserving = ray.remote(RoleProcess).options(
            num_cpus=role.num_cpus,
            num_gpus=role.num_gpus,
            resources=role.resources,
            scheduling_strategy=on_node or "SPREAD",
            max_concurrency=4,
        )
        arguments = arguments_of(self._cluster, replica)
        actor = reserving.remote(replica.name, arguments, environment_of(self._cluster, replica))
        self._running[replica.name] = Running(
            replica,
            actor,
            node_known=actor.node.remote(),
            has_ended=actor.wait.remote(),
            started_s=time.monotonic(),
            node=replica.node,
        )

    def _end(self, running: Running) -> None:
        patience_s = PATIENCE_S.get(running.replica.kind, OTHER_PATIENCE_S)
        if running.is_placed:
            running.actor.stop.remote(patience_s)
            running.kill_at_s = time.monotonic() + patience_s + GRACE_S
        else:  # it waits for resources and has no process
            running.kill_at_s = time.monotonic()

    def _report_of(self, name: str) -> RoleReport:
        running, failures = self._running.get(name), self._failures.get(name, Failures())
        if running is None:
            doing = f"restarts in {self._pause_s(name):.0f} s"
        elif running.is_ending:
            doing = "ending"
        else:
            doing = RUNNING if running.is_placed else "waiting for resources"
        address = self._addresses.get(running.node, "") if running else ""
        return RoleReport(name, address, doing, failures.number, failures.what)

    def _pause_s(self, name: str) -> float:
        """Seconds until a replica that ended may start again."""
        failures = self._failures.get(name)
        return max(0.0, failures.again_at_s - time.monotonic()) if failures else 0.0


def pause_after(failures_in_a_row: int) -> float:
    return min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(failures_in_a_row, 30))


def nodes_of_cluster() -> list[Node]:
    """The live nodes. Those that Ray's autoscaler or `ray drain-node` drains are leaving."""
    leaving = ray._private.state.state.get_draining_nodes()
    return [
        Node(
            each["NodeID"],
            each["NodeManagerAddress"],
            each["Resources"],
            each["NodeID"] in leaving,
        )
        for each in ray.nodes()
        if each["Alive"]
    ]


def first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


# ---- from outside


@contextmanager
def connected(address: str | None) -> Iterator[None]:
    """Connects to the Ray cluster at this address or RAY_ADDRESS, else to this machine's."""
    try:
        ray.init(address or "auto", namespace=NAMESPACE, log_to_driver=False, logging_level="ERROR")
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise EngineFailed(
            f"no Ray cluster can be reached; start one with `ray start --head`, or name it by "
            f"--address or RAY_ADDRESS ({first_line(error)})"
        ) from None
    try:
        yield
    except RayError as error:
        raise EngineFailed(f"the Ray cluster did not answer: {first_line(error)}") from error
    finally:
        ray.shutdown()


def start(cluster: ClusterConfig) -> Any:
    """Starts the supervisor of a run, which starts the roles. It outlives the caller."""
    if find(cluster.run) is not None:
        raise Inconsistent(
            f"run {cluster.run} is up on this Ray cluster already; change it with `zerofleet fleet "
            f"scale --run {cluster.run}`, or end it with `zerofleet fleet down --run {cluster.run}`"
        )
    options = {"name": cluster.run, "lifetime": "detached", "max_restarts": -1}
    supervisor = ray.remote(Supervisor).options(num_cpus=0, resources=HEAD, **options)
    return supervisor.remote(cluster.model_dump())


def supervisor_of(run: str) -> Any:
    """The supervisor of a run; Unsupported if the Ray cluster has none."""
    supervisor = find(run)
    if supervisor is None:
        raise Unsupported(
            f"no run {run} is up on this Ray cluster; `zerofleet fleet up FILE` starts one"
        )
    return supervisor


def find(run: str) -> Any:
    try:
        return ray.get_actor(run)
    except ValueError:
        return None


def report_of(supervisor: Any) -> Report:
    report: Report = ray.get(supervisor.report.remote())
    return report


def scale(supervisor: Any, numbers: Mapping[str, int]) -> None:
    """Sets the number of replicas of each kind."""
    scalable = [kind for kind in report_of(supervisor).wanted if kind != "trainer"]
    for kind in numbers:
        if kind not in scalable:
            raise Unsupported(unknown_name("role to scale", kind, scalable))
    ray.get(supervisor.scale.remote(numbers))


def end_all(supervisor: Any) -> Iterator[Report]:
    """Ends all replicas, then the supervisor; yields the state every second until then."""
    while True:
        # Repeated in case Ray has restarted the supervisor.
        ray.get(supervisor.end.remote("by `fleet down`"))
        report = report_of(supervisor)
        if not report.roles:
            break
        yield report
        time.sleep(POLL_S)
    ray.kill(supervisor)
