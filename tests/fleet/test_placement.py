"""Which roles a cluster runs and how they are started, decided without Ray."""

from pathlib import Path

import pytest
import typer

from zerofleet.bus.acl import RoleIds, user_names
from zerofleet.cli import app
from zerofleet.config.cluster import ClusterConfig, RoleConfig, read_cluster
from zerofleet.fleet.placement import (
    Held,
    Node,
    Replica,
    arguments_of,
    changes,
    environment_of,
    next_to_end,
)

PROJECT = Path(__file__).parents[2]
VERBS = typer.main.get_command(app).commands  # type: ignore[attr-defined]
A, B = (Node(name, "10.0.0.1", {"CPU": 8.0}) for name in "ab")
LEAVING = Node("a", "10.0.0.1", {"CPU": 8.0}, is_leaving=True)
SMALL = Node("small", "10.0.0.2", {"CPU": 2.0})
PER_NODE = {"worker": RoleConfig(per_node=1, num_cpus=4)}


def of_nodes(*nodes: str) -> list[Held]:
    """A worker on each of these nodes."""
    return [Held(Replica("worker", index, node), node) for index, node in enumerate(nodes)]


def anywhere(*nodes: str) -> list[Held]:
    """Workers that Ray has placed on these nodes."""
    return [Held(Replica("worker", index), node) for index, node in enumerate(nodes)]


def test_roles_start_in_the_order_in_which_they_need_one_another() -> None:
    roles = {"rater": RoleConfig(), "worker": RoleConfig(count=2), "trainer": RoleConfig()}
    starts, ends = changes(roles, [A], [])
    assert [replica.name for replica in starts] == ["trainer", "worker-0", "worker-1", "rater-0"]
    assert ends == []


def test_each_node_that_has_the_resources_gets_its_worker() -> None:
    starts, _ = changes(PER_NODE, [A, SMALL, B], [])
    assert starts == [Replica("worker", 0, "a"), Replica("worker", 1, "b")]


def test_a_node_that_joins_gets_a_worker_and_the_others_keep_theirs() -> None:
    assert changes(PER_NODE, [A, B], of_nodes("a")) == ([Replica("worker", 1, "b")], [])


def test_the_id_of_a_worker_whose_node_is_gone_is_used_again() -> None:
    held = [Held(Replica("worker", 1, "b"), "b")]
    assert changes(PER_NODE, [A, B], held) == ([Replica("worker", 0, "a")], [])


def test_a_node_that_leaves_is_drained_and_gets_nothing() -> None:
    assert changes(PER_NODE, [LEAVING, B], of_nodes("a", "b")) == ([], [Replica("worker", 0, "a")])
    ending = [Held(Replica("worker", 0, "a"), "a", is_ending=True)]
    assert changes(PER_NODE, [LEAVING], ending) == ([], [])


def test_a_counted_role_on_a_node_that_leaves_ends_first_and_then_starts_elsewhere() -> None:
    roles = {"worker": RoleConfig(count=2)}
    held = anywhere("a", "b")
    assert changes(roles, [LEAVING, B], held) == ([], [Replica("worker", 0)])
    assert changes(roles, [LEAVING, B], held[1:]) == ([Replica("worker", 0)], [])


def test_fewer_are_wanted_so_the_last_end_and_nothing_ends_twice() -> None:
    roles = {"worker": RoleConfig(count=3).scaled(1)}
    assert changes(roles, [A], anywhere("a", "a", "")) == (
        [],
        [Replica("worker", 1), Replica("worker", 2)],
    )
    two = {"worker": RoleConfig(per_node=2).scaled(1)}
    held = [Held(Replica("worker", index, "a"), "a") for index in (0, 1)]
    assert changes(two, [A], held) == ([], [Replica("worker", 1, "a")])


def test_all_end_in_the_reverse_order_so_that_the_trainer_takes_the_last_games() -> None:
    trainer, server = Held(Replica("trainer", 0), "a"), Held(Replica("inference", 0), "a")
    held = [trainer, *anywhere("a", "b"), server]
    assert [replica.name for replica in next_to_end(held)] == ["worker-0", "worker-1"]
    ending = [Held(Replica("worker", 0), "a", is_ending=True)]
    assert next_to_end([trainer, *ending]) == []
    assert next_to_end([trainer, server]) == [server.replica]
    assert next_to_end([trainer]) == [trainer.replica]
    assert next_to_end([]) == []


# ---- command lines


def cluster_of(**roles: RoleConfig) -> ClusterConfig:
    return ClusterConfig(
        run="r",
        game="connect4",
        preset="fast",
        settings={"search": {"num_simulations": 7}, "network": {"options": {"channels": 8}}},
        redis="redis://box:6379",
        passwords="/etc/zf",
        environment={"ZEROFLEET_RUNS": "/data"},
        roles={"trainer": RoleConfig(num_cpus=4, num_gpus=2), **roles},
    )


def test_the_trainer_gets_game_settings_threads_and_gpus() -> None:
    assert arguments_of(cluster_of(), Replica("trainer", 0)) == [
        *("trainer", "connect4", "--run", "r", "--redis", "redis://box:6379", "--preset", "fast"),
        *("--set", "search.num_simulations=7", "--set", "network.options.channels=8"),
        *("--threads", "4", "--training-devices", "cuda:0,cuda:1"),
    ]


@pytest.mark.parametrize(
    ("role", "sizes"),
    [
        (RoleConfig(num_cpus=6), ["--processes", "6", "--threads", "1"]),
        (RoleConfig(num_cpus=6, num_gpus=2), ["--processes", "2", "--threads", "3"]),
        (RoleConfig(num_cpus=0, options=["--drain-seconds", "5"]), ["--processes", "1"]),
    ],
)
def test_a_worker_is_as_large_as_what_it_reserves(role: RoleConfig, sizes: list[str]) -> None:
    arguments = arguments_of(cluster_of(worker=role), Replica("worker", 3))
    start = ["worker", "--run", "r", "--redis", "redis://box:6379", "--worker-id", "worker-3"]
    assert arguments[: len(start) + len(sizes)] == start + sizes
    assert arguments[len(arguments) - len(role.options) :] == role.options


def test_each_role_logs_in_as_the_user_that_fleet_acl_names() -> None:
    cluster = cluster_of(worker=RoleConfig(), rater=RoleConfig())
    replicas = [Replica("trainer", 0), Replica("worker", 2), Replica("rater", 0)]
    users = user_names("r", RoleIds(["worker-2"], ["rater-0"]))[:-1]
    assert [environment_of(cluster, replica) for replica in replicas] == [
        {"ZEROFLEET_RUNS": "/data", "REDIS_USER": user, "REDIS_PASSWORD_FILE": f"/etc/zf/{user}"}
        for user in users
    ]


@pytest.mark.parametrize("name", ["cluster.yaml", "cluster_small.yaml"])
def test_every_role_of_a_shipped_cluster_has_a_command_line_that_its_verb_takes(name: str) -> None:
    cluster = read_cluster(PROJECT / "configs" / name)
    for kind in cluster.roles:
        verb, *arguments = arguments_of(cluster, Replica(kind, 0))
        VERBS[verb].make_context(verb, arguments)
