"""A real fleet on a Ray cluster of several nodes on this machine, from `fleet up` to `fleet down`.

Each node is a raylet of its own, so a role's node is the raylet that its process descends from.
"""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import pytest
import yaml
from fleet_history import GameId, SpoolWatch, check_each_once, logged
from fleet_processes import RUN, SETTINGS
from redis_server import RedisServer, needs_redis

pytestmark = [
    pytest.mark.long,
    needs_redis,
    pytest.mark.skipif(
        find_spec("ray") is None and not os.environ.get("ZEROFLEET_REQUIRE_TOOLS"),
        reason="Ray is missing; pip install -c constraints.txt ray",
    ),
    pytest.mark.filterwarnings("ignore"),  # Ray's own
]

PATIENCE_S = 180.0
PASSWORD = "correct-horse"
NODE = {
    "node_ip_address": "127.0.0.1",
    "object_store_memory": 80 << 20,
    "include_dashboard": False,
}
ROLES = {
    "trainer": {"num_cpus": 1, "resources": {"training": 1}, "options": ["--device", "cpu"]},
    "inference": {
        "num_cpus": 1,
        "resources": {"training": 1},
        "options": ["--host", "127.0.0.1", "--device", "cpu"],
    },
    "worker": {
        "per_node": 1,
        "num_cpus": 1,
        "resources": {"selfplay": 1},
        "options": ["--evaluator", "remote"],
    },
    "rater": {"num_cpus": 1, "resources": {"training": 1}},
}

LARGE_FILES = "replay.segment_bytes=1048576"
"""No spool file is deleted before the watch has seen it."""

Found = TypeVar("Found")


def wait_for(look: Callable[[], Found], what: str) -> Found:
    end_s = time.monotonic() + PATIENCE_S
    while not (found := look()):
        assert time.monotonic() < end_s, f"waited in vain for {what}"
        time.sleep(0.2)
    return found


def processes_of(runs: Path) -> dict[int, list[str]]:
    """The command lines of zerofleet, and of its guards, whose runs are in this folder."""
    wanted = f"ZEROFLEET_RUNS={runs}".encode()
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if "zerofleet" in words and wanted in (path / "environ").read_bytes().split(b"\0"):
                found[int(path.name)] = words
        except OSError:
            continue
    return found


def ancestors(pid: int) -> Iterator[int]:
    while pid > 1:
        yield pid
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return


class RayFleet:
    """The nodes of Ray, and what a person would see and do."""

    def __init__(self, folder: Path) -> None:
        # Imported here: Ray is not needed to collect the tests.
        from ray.cluster_utils import Cluster

        self.runs = folder / "runs"
        self.watch = SpoolWatch(folder / "spool")
        self.folder = folder
        self.cluster = Cluster(
            initialize_head=True,
            head_node_args={**NODE, "num_cpus": 3, "resources": {"training": 3}},
        )

    def add_node(self) -> Any:
        """A node for two workers."""
        return self.cluster.add_node(**NODE, num_cpus=2, resources={"selfplay": 2})

    def ran(self, *arguments: str) -> str:
        """What a command of zerofleet or Ray prints."""
        ran = subprocess.run(
            [sys.executable, "-m", *arguments],
            env={**os.environ, "RAY_ADDRESS": self.cluster.address},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=2 * PATIENCE_S,
        )
        print(f"$ {shlex.join(arguments)}\n{ran.stdout}")
        assert ran.returncode == 0, ran.stdout
        return ran.stdout

    def up(self, *settings: str) -> None:
        """Starts the run, or resumes it, with these settings over those of all tests."""
        file = self.folder / "cluster.yaml"
        file.write_text(yaml.safe_dump(cluster_file([*SETTINGS, LARGE_FILES, *settings])))
        self.ran("zerofleet", "fleet", "up", str(file))

    def fleet(self, verb: str, *arguments: str) -> str:
        return self.ran("zerofleet", "fleet", verb, "--run", RUN, *arguments)

    def status(self) -> dict[str, str]:
        """The kinds of the roles that `fleet status` lists, by their ids."""
        listed = json.loads(self.fleet("status", "--json"))["roles"]
        return {each["id"]: each["kind"] for each in listed}

    def roles(self) -> dict[str, int]:
        """The process of each role, by its id."""
        found = {}
        for pid, words in processes_of(self.runs).items():
            if not any(word.endswith("guard.py") for word in words):
                ids = [words[words.index(each) + 1] for each in words if each.endswith("er-id")]
                found[ids[0] if ids else "trainer"] = pid
        return found

    def on(self, node: Any) -> list[str]:
        """The ids of the roles on a node."""
        raylet = raylet_of(node)
        return sorted(name for name, pid in self.roles().items() if raylet in ancestors(pid))

    def wait_for_games(self, more: int = 100) -> None:
        wanted = self.num_games() + more
        wait_for(lambda: self.num_games() >= wanted, f"{more} more games in the log")

    def num_games(self) -> int:
        return len(logged(self.runs / RUN))


def cluster_file(given: Sequence[str]) -> dict[str, Any]:
    settings: dict[str, dict[str, Any]] = {}
    for each in given:
        name, value = each.split("=")
        section, setting = name.split(".")
        settings.setdefault(section, {})[setting] = yaml.safe_load(value)
    return {"run": RUN, "game": "tictactoe", "preset": "fast", "settings": settings, "roles": ROLES}


@dataclass
class Observed:
    """What a fleet did on its cluster, from outside."""

    at_start: dict[str, list[str]] = field(default_factory=dict)
    """The roles on each node."""
    status: dict[str, str] = field(default_factory=dict)
    """The roles that `fleet status` lists then, and their kinds."""
    password_seen: bool = True
    killed: tuple[int, int] = (0, 0)
    """A worker's process, and the one that took its place."""
    after_kill: str = ""
    joined: list[str] = field(default_factory=list)
    scaled: list[str] = field(default_factory=list)
    scaled_back: list[str] = field(default_factory=list)
    drained: str = ""
    anew: tuple[dict[str, int], dict[str, int]] = ({}, {})
    """All processes before the supervisor was killed, and after."""
    ended: str = ""
    left: dict[int, list[str]] = field(default_factory=dict)
    left_in_ray: list[Any] = field(default_factory=list)
    at_stop: str = ""
    spooled: set[GameId] = field(default_factory=set)
    """Every game that a worker has finished until `down`."""
    logged: list[GameId] = field(default_factory=list)
    folder: Path = Path()


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Observed]:
    folder = tmp_path_factory.mktemp("ray")
    (folder / "redis").mkdir()
    (folder / "password").write_text(PASSWORD)
    with (
        RedisServer(folder / "redis", password=PASSWORD) as server,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name, value in {
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
            "ZEROFLEET_RUNS": str(folder / "runs"),
            "ZEROFLEET_SPOOL": str(folder / "spool"),
            "REDIS_URL": f"redis://127.0.0.1:{server.port}",
            "REDIS_PASSWORD_FILE": str(folder / "password"),
        }.items():
            patch.setenv(name, value)
        fleet = RayFleet(folder)
        try:
            yield story(fleet)
        finally:
            fleet.cluster.shutdown()
            fleet.watch.close()


def story(fleet: RayFleet) -> Observed:
    seen = Observed(folder=fleet.runs / RUN)
    head, first = fleet.cluster.head_node, fleet.add_node()
    fleet.up()
    fleet.wait_for_games()
    seen.at_start = {"head": fleet.on(head), "first": fleet.on(first)}
    seen.status = wait_for(
        lambda: len(found := fleet.status()) > 3 and found, "all in the registry"
    )
    seen.password_seen = any(PASSWORD in line for line in command_lines())

    before = fleet.roles()["worker-0"]
    os.kill(before, signal.SIGKILL)
    after = wait_for(
        lambda: (pid := fleet.roles().get("worker-0", before)) != before and pid,
        "a worker in place of the one that was killed",
    )
    seen.killed = (before, int(after))
    seen.after_kill = fleet.fleet("scale")

    second = fleet.add_node()
    seen.joined = wait_for(lambda: fleet.on(second), "a worker on the node that joined")
    fleet.cluster.remove_node(first, allow_graceful=False)
    wait_for(lambda: "worker-0" not in fleet.roles(), "the end of what was on the lost node")
    fleet.wait_for_games()

    fleet.fleet("scale", "worker=2")
    seen.scaled = wait_for(lambda: len(fleet.on(second)) == 2 and fleet.on(second), "two workers")
    fleet.fleet("scale", "worker=1")
    wait_for(lambda: len(fleet.on(second)) == 1, "one worker")
    seen.scaled_back = fleet.on(second)

    third = fleet.add_node()
    wait_for(lambda: fleet.on(third), "a worker on another node")
    call_back(fleet, second)
    wait_for(lambda: not fleet.on(second), "the drained node to be empty")
    fleet.wait_for_games()
    seen.drained = fleet.fleet("scale")

    roles = fleet.roles()
    os.kill(supervisor_on(head), signal.SIGKILL)
    wait_for(
        lambda: (
            (now := fleet.roles()).keys() == roles.keys()
            and not set(now.values()) & set(roles.values())
        ),
        "all roles anew",
    )
    seen.anew = (roles, fleet.roles())
    fleet.wait_for_games()

    seen.ended = fleet.fleet("down")
    seen.left = processes_of(fleet.runs)
    seen.left_in_ray = named_actors(fleet)
    seen.spooled, seen.logged = fleet.watch.spooled(), logged(seen.folder)

    before_stop = fleet.num_games()
    fleet.up(f"stop.games={before_stop + 200}")
    wait_for(lambda: fleet.num_games() >= before_stop + 200, "the games of the run")
    wait_for(lambda: not fleet.roles(), "the end of all roles")
    seen.at_stop = fleet.fleet("scale")
    fleet.fleet("down")
    return seen


def supervisor_on(head: Any) -> int:
    (found,) = (
        int(path.parent.name)
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if text_of(path).startswith("ray::Supervisor")
        and raylet_of(head) in ancestors(int(path.parent.name))
    )
    return found


def raylet_of(node: Any) -> int:
    pid: int = node.all_processes["raylet"][0].process.pid
    return pid


def call_back(fleet: RayFleet, node: Any) -> None:
    """What the owner of an interruptible machine does before it goes."""
    reason = ["--reason", "DRAIN_NODE_REASON_PREEMPTION", "--reason-message", "called back"]
    options = ["--deadline-remaining-seconds", "120", "--node-id", node.node_id]
    fleet.ran("ray.scripts.scripts", "drain-node", *reason, *options)


def named_actors(fleet: RayFleet) -> list[Any]:
    script = (
        "import ray; ray.init('auto', logging_level='ERROR'); "
        "print(ray.util.list_named_actors(all_namespaces=True))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "RAY_ADDRESS": fleet.cluster.address},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return list(yaml.safe_load(ran.stdout.splitlines()[-1]))


def command_lines() -> list[str]:
    """Of all processes but Redis, which the test starts with its password."""
    lines = map(text_of, Path("/proc").glob("[0-9]*/cmdline"))
    return [line for line in lines if "redis-server" not in line]


def text_of(path: Path) -> str:
    try:
        return path.read_bytes().decode(errors="replace")
    except OSError:
        return ""


def test_roles_are_placed_by_the_resources_of_nodes(observed: Observed) -> None:
    on_head = ["inference-0", "rater-0", "trainer"]
    assert observed.at_start == {"head": on_head, "first": ["worker-0"]}


def test_status_lists_the_roles_that_ray_has_placed(observed: Observed) -> None:
    placed = ("trainer", "inference-0", "worker-0", "rater-0")
    assert observed.status == {name: name.split("-")[0] for name in placed}


def test_a_password_is_on_no_command_line(observed: Observed) -> None:
    assert not observed.password_seen


def test_a_role_that_is_killed_is_started_again_and_its_end_is_reported(
    observed: Observed,
) -> None:
    before, after = observed.killed
    assert before != after
    (line,) = (line for line in observed.after_kill.splitlines() if line.startswith("worker-0"))
    assert "running" in line
    assert "ended with status" in line


def test_a_node_that_joins_gets_a_worker(observed: Observed) -> None:
    assert observed.joined == ["worker-1"]


def test_scaling_up_and_down_starts_and_drains_workers(observed: Observed) -> None:
    assert (len(observed.scaled), len(observed.scaled_back)) == (2, 1)
    assert set(observed.scaled_back) < set(observed.scaled)


def test_a_node_that_is_called_back_is_drained_and_its_worker_is_not_missed(
    observed: Observed,
) -> None:
    workers = [line for line in observed.drained.splitlines() if line.startswith("worker-")]
    assert len(workers) == 1


def test_when_the_supervisor_dies_its_roles_end_and_are_started_anew(observed: Observed) -> None:
    before, after = observed.anew
    assert before.keys() == after.keys()
    assert not set(before.values()) & set(after.values())


def test_every_game_is_logged_once_though_roles_and_nodes_died(observed: Observed) -> None:
    assert len(observed.logged) > 400
    check_each_once(observed.spooled, observed.logged)


def test_down_leaves_no_process(observed: Observed) -> None:
    assert "run r has ended" in observed.ended
    assert observed.left == {}
    assert observed.left_in_ray == []
    assert list((observed.folder / "checkpoints").glob("*.json"))


def test_a_run_that_is_resumed_ends_all_its_roles_at_its_stop(observed: Observed) -> None:
    assert "ending: the trainer has ended: the run has reached its stop" in observed.at_stop


def test_the_files_on_the_page_are_such_as_ray_takes() -> None:
    from ray.autoscaler._private.util import prepare_config, validate_config

    page = (Path(__file__).parents[2] / "docs" / "fleet-ray.md").read_text()
    blocks = re.findall(r"\n\n((?:    .*\n)+)", page)
    (of_ray_up,) = (yaml.safe_load(each) for each in blocks if "cluster_name:" in each)
    validate_config(prepare_config(of_ray_up))
    (of_kuberay,) = (yaml.safe_load(each) for each in blocks if "kind: RayCluster" in each)
    for group in (of_kuberay["spec"]["headGroupSpec"], *of_kuberay["spec"]["workerGroupSpecs"]):
        quoted = group["rayStartParams"]["resources"]
        assert json.loads(json.loads(quoted))
