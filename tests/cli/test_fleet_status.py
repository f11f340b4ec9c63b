"""zerofleet fleet status, and verbs that find a local fleet's Redis, on a real one."""

import json
from contextlib import closing
from pathlib import Path

import pytest
from command_line import Ran
from redis_server import RedisServer, needs_redis, redis_server

from zerofleet.bus import RoleEntry
from zerofleet.bus.redis import RedisBus

pytestmark = needs_redis
__all__ = ["redis_server"]


def test_the_status_of_a_run_without_roles_says_so(
    redis_server: RedisServer, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"redis://127.0.0.1:{redis_server.port}"
    ran = Ran(capsys, "fleet", "status", "--run", "c4", "--redis", url)
    assert ran.status == 0
    assert "no role is registered" in ran.output


def test_a_script_reads_roles_and_their_heartbeats_as_json(
    redis_server: RedisServer, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(RedisBus(redis_server.address(), "c4")) as bus:
        bus.register(RoleEntry("box", "worker", "host", "cpu", counters={"games": 7}))
    url = f"redis://127.0.0.1:{redis_server.port}"
    ran = Ran(capsys, "fleet", "status", "--run", "c4", "--redis", url, "--json")
    status = json.loads(ran.output)
    assert status["roles"][0]["counters"] == {"games": 7}
    assert 0 <= status["heartbeats"]["box"] < 30


def test_the_queue_of_a_local_fleet_needs_no_address(
    redis_server: RedisServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("REDIS_URL", raising=False)
    monkeypatch.setenv("ZEROFLEET_RUNS", str(tmp_path))
    (tmp_path / "c4" / "redis").mkdir(parents=True)
    (tmp_path / "c4" / "redis" / "url").write_text(f"redis://127.0.0.1:{redis_server.port}\n")
    ran = Ran(capsys, "queue", "--run", "c4")
    assert ran.status == 2
    assert f"redis://127.0.0.1:{redis_server.port} has no run c4" in ran.errors
