"""A run whose workers ask an inference server: found through Redis, with keys and users."""

from pathlib import Path

import pytest
from command_line import TRAIN_ONLY, ran_in
from fleet_processes import RUN, Fleet
from redis_server import RedisServer, needs_redis

import zerofleet as zf
from zerofleet.bus.acl import RoleIds, acl_users, user_names
from zerofleet.errors import Inconsistent
from zerofleet.games import Episode

pytestmark = needs_redis

ROLES = RoleIds(workers=["a", "b"], inference=["i"])
PASSWORDS = {name: f"secret-of-{name}" for name in user_names(RUN, ROLES)}
NO_TORCH = f"import sys\nfor name in {TRAIN_ONLY!r}: sys.modules[name] = None\n"


@pytest.fixture
def server(tmp_path: Path):
    users = ["user default on nopass ~* &* +@all", *acl_users(RUN, ROLES, PASSWORDS)]
    (tmp_path / "users.acl").write_text("\n".join(users) + "\n")
    with RedisServer(tmp_path, "--aclfile", str(tmp_path / "users.acl")) as server:
        yield server


def as_user(name: str, key: Path | None = None) -> dict[str, str]:
    user = f"zf-{RUN}-{name}"
    keys = {} if key is None else {"ZEROFLEET_CURVE_KEY_FILE": str(key)}
    return {"REDIS_USER": user, "REDIS_PASSWORD": PASSWORDS[user], **keys}


def test_workers_without_torch_play_through_a_server_each_with_its_own_user_and_key(
    server, tmp_path
):
    ids = ["--worker", "a", "--worker", "b", "--inference", "i"]
    made = ran_in(tmp_path, "fleet", "acl", "--run", RUN, *ids, "--passwords", "keys")
    assert made.returncode == 0
    servers, workers = tmp_path / "keys" / "curve-servers", tmp_path / "keys" / "curve-workers"
    with Fleet(tmp_path, server) as fleet:
        fleet.trainer(environment=as_user("trainer"))
        serving = fleet.inference(environment=as_user("inference-i", servers))
        blocked = tmp_path / "blocked"
        blocked.mkdir()
        (blocked / "sitecustomize.py").write_text(NO_TORCH)
        for worker in ("a", "b"):
            environment = as_user(f"worker-{worker}", workers) | {"PYTHONPATH": str(blocked)}
            fleet.remote_worker(worker, environment=environment, executes=True)
        fleet.wait_for_games()
        fleet.wait_for(lambda: fleet.counter("i", "weights_loaded") > 0, "new weights")
        fleet.wait_for(lambda: fleet.counter("i", "batches_merged") > 0, "merged batches")
        newest = int(fleet.counter("i", "version"))
        fleet.wait_for(lambda: fleet.counter("a", "version") >= newest, "answers with them")
        entry = fleet.roles()["i"]
        assert entry.kind == "inference"
        assert entry.doing.startswith("evaluates at tcp://127.0.0.1:")
        assert fleet.counter("a", "remote_refused") == 0
        fleet.finish()
        assert "requests answered" in serving.output
        decoded = [Episode.decode(data) for data in fleet.watch.records().values()]
        assert min(event.version for each in decoded for event in each.events) >= 1


def test_an_address_that_others_reach_is_refused_without_a_key(tmp_path):
    ran = ran_in(tmp_path, "inference", "--run", RUN, "--host", "0.0.0.0")
    assert ran.returncode == 2
    assert ran.stderr.startswith(
        "zerofleet: without a key an inference server listens on loopback only, not on 0.0.0.0"
    )


def test_a_run_in_one_process_refuses_a_remote_evaluator(tmp_path, monkeypatch):
    monkeypatch.setenv("ZEROFLEET_RUNS", str(tmp_path))
    with pytest.raises(Inconsistent, match="evaluator=remote is for the workers of a fleet"):
        zf.train("connect4", preset="fast", run="r", settings=["run.evaluator=remote"])
    assert list(tmp_path.iterdir()) == []
