"""Decides which roles a cluster runs, on which nodes, and with which command lines.

A replica is one process of a role, such as worker-3. From the cluster's nodes and its current
replicas follows which replicas to start and which to end. This module does not use Ray.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count, islice
from pathlib import PurePosixPath

from zerofleet import games
from zerofleet.config.cluster import ROLE_KINDS, ClusterConfig, RoleConfig

ID_OPTIONS = {"inference": "--server-id", "worker": "--worker-id", "rater": "--rater-id"}
NODE = "{node}"
"""Placeholder for the address of a role's node in its command line."""


@dataclass(frozen=True)
class Node:
    """A node of the cluster."""

    id: str
    address: str
    resources: Mapping[str, float]
    """Total resources, by Ray's names."""
    is_leaving: bool = False
    """Whether it is being drained; it gets no new replicas."""


@dataclass(frozen=True)
class Replica:
    """One process of a role."""

    kind: str
    index: int
    node: str = ""
    """Id of the node that it must run on; empty: any node."""

    @property
    def name(self) -> str:
        """Also the role's id in the fleet."""
        return self.kind if self.kind == "trainer" else f"{self.kind}-{self.index}"

    @property
    def order(self) -> tuple[int, int]:
        return ROLE_KINDS.index(self.kind), self.index


@dataclass(frozen=True)
class Held:
    """A replica that was started and has not ended."""

    replica: Replica
    node: str
    """Id of the node where it runs; empty while it waits for resources."""
    is_ending: bool = False


# ---- what to start and what to end


def changes(
    roles: Mapping[str, RoleConfig], nodes: Sequence[Node], held: Sequence[Held]
) -> tuple[list[Replica], list[Replica]]:
    """The replicas to start, in order, and those to end.

    A replica on a leaving node is ended, and starts elsewhere once it has ended. New replicas get
    the lowest free indices, so that the set of ids is small and known in advance, for ACL users.
    """
    starts: list[Replica] = []
    ends: list[Replica] = []
    staying = [node for node in nodes if not node.is_leaving]
    for kind in filter(roles.__contains__, ROLE_KINDS):
        of_kind = [each for each in held if each.replica.kind == kind]
        decide = counted if roles[kind].per_node is None else on_each_node
        new, kept = decide(kind, roles[kind], staying, of_kind)
        starts += new
        ends += [each.replica for each in of_kind if not each.is_ending and each not in kept]
    return starts, ends


def counted(
    kind: str, role: RoleConfig, nodes: Sequence[Node], held: Sequence[Held]
) -> tuple[list[Replica], list[Held]]:
    """For a role with a total number: the replicas to start and those to keep."""
    taken = {each.replica.index for each in held}
    new = [Replica(kind, index) for index in range(role.total) if index not in taken]
    usable = {"", *(node.id for node in nodes)}
    return new, [each for each in held if each.replica.index < role.total and each.node in usable]


def on_each_node(
    kind: str, role: RoleConfig, nodes: Sequence[Node], held: Sequence[Held]
) -> tuple[list[Replica], list[Held]]:
    """For a role with a number per node: the replicas to start and those to keep."""
    taken = {each.replica.index for each in held}
    free = (index for index in count() if index not in taken)
    new: list[Replica] = []
    kept: list[Held] = []
    for node in nodes:
        if fits(role, node):
            here = [each for each in held if each.replica.node == node.id and not each.is_ending]
            kept += here[: role.per_node]
            missing = max(0, (role.per_node or 0) - len(here))
            new += [Replica(kind, index, node.id) for index in islice(free, missing)]
    return new, kept


def next_to_end(held: Sequence[Held]) -> list[Replica]:
    """The replicas to end next when the whole run ends: kinds in reverse order of starting, one
    after another, so that the trainer logs the workers' last games."""
    kinds = {each.replica.kind for each in held}
    last = next((kind for kind in reversed(ROLE_KINDS) if kind in kinds), None)
    return [each.replica for each in held if each.replica.kind == last and not each.is_ending]


def fits(role: RoleConfig, node: Node) -> bool:
    """Whether an empty node has the resources of a role."""
    demands = {"CPU": role.num_cpus, "GPU": role.num_gpus, **role.resources}
    return all(node.resources.get(name, 0) >= amount for name, amount in demands.items())


# ---- how a role is started


def arguments_of(cluster: ClusterConfig, replica: Replica) -> list[str]:
    """The command line of a replica, without the program. Options for threads, processes and GPUs
    follow from its resources."""
    role = cluster.roles[replica.kind]
    common = ["--run", cluster.run, *(["--redis", cluster.redis] if cluster.redis else [])]
    if replica.kind == "trainer":
        common = [cluster.game, *common, "--preset", cluster.preset, *settings_of(cluster)]
    else:
        common += [ID_OPTIONS[replica.kind], replica.name]
        if games.is_source(cluster.game):
            common += ["--game", cluster.game]
    return [replica.kind, *common, *sizes_of(replica.kind, role), *role.options]


def settings_of(cluster: ClusterConfig) -> list[str]:
    named = [(".".join(each.place), each.value) for each in cluster.overrides(cluster.run)]
    return [word for name, value in named for word in ("--set", f"{name}={json.dumps(value)}")]


def sizes_of(kind: str, role: RoleConfig) -> list[str]:
    """The options that make a role use the resources it reserves, and listen on its node."""
    num_gpus = math.ceil(role.num_gpus)
    if kind == "trainer":
        devices = ",".join(f"cuda:{number}" for number in range(num_gpus))
        several = ["--training-devices", devices] if num_gpus > 1 else []
        return ["--threads", str(role.num_cpus), *several]
    if kind == "worker":
        processes = num_gpus or max(1, role.num_cpus)
        threads = max(1, role.num_cpus // processes)
        return ["--processes", str(processes), "--threads", str(threads)]
    return ["--host", NODE] if kind == "inference" else []


def environment_of(cluster: ClusterConfig, replica: Replica) -> dict[str, str]:
    """Environment variables of a replica beyond those of its node. They hold no secrets, only the
    paths of password files."""
    environment = dict(cluster.environment)
    if cluster.passwords:
        name = replica.kind if replica.kind == "trainer" else f"{replica.kind}-{replica.name}"
        user = f"zf-{cluster.run}-{name}"
        environment["REDIS_USER"] = user
        environment["REDIS_PASSWORD_FILE"] = str(PurePosixPath(cluster.passwords) / user)
    return environment
