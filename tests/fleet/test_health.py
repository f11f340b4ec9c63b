"""A role's health port: what it answers, and that no client harms it."""

import json
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress

import pytest
from prometheus_client.parser import text_string_to_metric_families

from zerofleet.bus import BusRefused, BusUnreachable, Delivery, MemoryBus, Pace, RoleEntry, Sender
from zerofleet.errors import Unsupported
from zerofleet.fleet import health
from zerofleet.fleet.health import MAX_CONNECTIONS, MAX_REQUEST_BYTES, HealthServer
from zerofleet.fleet.role import HealthPort, RolePresence
from zerofleet.fleet.role_metrics import (
    QueueWatch,
    Values,
    bus_values,
    discovered_targets,
    registry_counters,
)

HERE = socket.gethostname()


def worker(role_id: str, address: str, host: str = HERE, **counters: float) -> RoleEntry:
    return RoleEntry(role_id, "worker", host, "cpu", address=address, counters=counters)


class WithoutTrainer(MemoryBus):
    def pace(self) -> None:
        return None


Serve = Callable[..., HealthServer]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts servers that end with the test."""
    with ExitStack() as stack:

        def start(
            read_values: Callable[[], Values] = dict,
            read_roles: Callable[[], Sequence[RoleEntry]] | None = None,
            **settings: float,
        ) -> HealthServer:
            server = HealthServer("trainer", "t1", "mine", read_values, read_roles, **settings)
            return stack.enter_context(server)

        yield start


def fetch(server: HealthServer | RolePresence, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://{server.address}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def samples(server: HealthServer | RolePresence) -> dict[tuple[str, ...], float]:
    """Of /metrics, by name and label values."""
    status, text = fetch(server, "/metrics")
    assert status == 200, text
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def connect(server: HealthServer) -> socket.socket:
    host, _, port = server.address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=10)


def exchange(server: HealthServer, request: bytes) -> bytes:
    """All that the server answers before it closes the connection."""
    received = b""
    with connect(server) as connection, suppress(ConnectionError):
        connection.sendall(request)
        while part := connection.recv(65536):
            received += part
    return received


# ---- health


def test_a_role_is_healthy_while_its_loop_beats_and_says_what_it_does(serve: Serve) -> None:
    server = serve()
    server.beat("waiting for games")
    status, text = fetch(server, "/healthz")
    answer = json.loads(text)
    assert status == 200
    assert answer["status"] == "ok"
    assert answer["doing"] == "waiting for games"
    assert (answer["role"], answer["id"], answer["run"]) == ("trainer", "t1", "mine")


def test_a_loop_that_is_silent_for_its_timeout_is_unhealthy_until_it_beats_again(
    serve: Serve,
) -> None:
    server = serve(timeout_s=0.05)
    time.sleep(0.1)
    status, text = fetch(server, "/healthz")
    assert status == 503
    assert "no progress for" in json.loads(text)["status"]
    assert samples(server)["zerofleet_healthy",] == 0
    server.beat("training")
    assert server.is_healthy


def test_the_port_is_on_loopback_and_free_unless_chosen(serve: Serve) -> None:
    first = serve()
    host, _, port = first.address.rpartition(":")
    assert host == "127.0.0.1"
    with pytest.raises(Unsupported, match=f"health port {port} on 127.0.0.1 cannot be opened"):
        serve(port=int(port))


def test_a_closed_server_frees_its_port(serve: Serve) -> None:
    server = serve()
    server.close()
    server.close()
    with pytest.raises(ConnectionRefusedError):
        connect(server)


# ---- metrics


def test_values_become_metrics_under_their_declared_names(serve: Serve) -> None:
    server = serve(
        lambda: {
            "games": 7,
            "waiting_to_play_s": 1.5,
            "loss": float("nan"),
            "losses": {"policy": 1.25, "outcome": 0.5},
            "backlog_bytes": None,
        }
    )
    found = samples(server)
    assert found["zerofleet_games_total",] == 7
    assert found["zerofleet_waiting_to_play_seconds_total",] == 1.5
    assert found["zerofleet_losses", "policy"] == 1.25
    assert str(found["zerofleet_loss",]) == "nan"
    assert ("zerofleet_backlog_bytes",) not in found
    assert found["zerofleet_healthy",] == 1
    assert found["process_resident_memory_bytes",] > 1e6


def test_a_value_that_is_not_declared_is_refused_by_name(serve: Serve) -> None:
    status, text = fetch(serve(lambda: {"game": 1}), "/metrics")
    assert status == 500
    assert "metrics game are not declared" in text


def test_the_trainer_reports_every_worker_of_the_registry(serve: Serve) -> None:
    roles = [worker("w1", "", games=5, rows=50, other=1), worker("w2", "", games=6)]
    found = samples(serve(read_roles=lambda: roles))
    assert found["zerofleet_worker_games_total", "w1"] == 5
    assert found["zerofleet_worker_games_total", "w2"] == 6
    assert found["zerofleet_worker_rows_total", "w1"] == 50
    assert found["zerofleet_registered", "worker", "w2", HERE] == 1


def test_the_bus_says_whether_a_trainer_is_there_and_what_waits_for_it(serve: Serve) -> None:
    assert samples(serve(lambda: bus_values(WithoutTrainer())))["zerofleet_trainer_away",] == 1
    bus = MemoryBus()
    bus.set_pace(Pace(rows_inserted=10, rows_allowed=500))
    bus.send_episodes([Delivery(Sender("w1", 7), 0, b"episode")])
    watch = QueueWatch(bus, 1000)
    watch.update()
    found = samples(serve(lambda: bus_values(bus) | watch.values()))
    assert found["zerofleet_trainer_away",] == 0
    assert found["zerofleet_redis_reachable",] == 1
    assert found["zerofleet_rows_allowed",] == 500
    assert found["zerofleet_backlog_episodes",] == 1
    assert found["zerofleet_max_backlog_bytes",] == 1000


def test_a_role_registers_its_health_port_which_reports_its_values_and_the_bus() -> None:
    bus = MemoryBus()
    with RolePresence("worker", "w1", bus, "mine", "cpu", lambda: {"games": 3}, HealthPort()) as w1:
        found = samples(w1)
        assert (found["zerofleet_games_total",], found["zerofleet_redis_reachable",]) == (3, 1)
        while not (entries := bus.roles()):
            time.sleep(0.01)
        assert [(each.id, each.address) for each in entries] == [("w1", w1.address)]
    assert bus.roles() == []


def test_the_registry_has_a_value_per_label_and_none_that_is_unknown() -> None:
    values: Values = {"loss": None, "losses": {"policy": 1.5}, "steps": 7, "held": True}
    registered = {"registered": {("worker", "w1", "box"): 1}}
    assert registry_counters({**values, **registered}) == {
        "losses/policy": 1.5,
        "steps": 7,
        "held": 1,
        "registered/worker,w1,box": 1,
    }


def test_what_ends_the_heartbeat_ends_the_role() -> None:
    def refused() -> None:
        raise BusRefused("NOPERM")

    presence = RolePresence(
        "worker", "w1", MemoryBus(), "mine", "cpu", dict, HealthPort(), on_heartbeat=refused
    )

    def play() -> None:
        for _ in range(1000):
            presence.beat("playing")
            time.sleep(0.01)

    with presence, pytest.raises(BusRefused, match="NOPERM"):
        play()


def test_metrics_are_served_while_the_registry_cannot_be_reached(serve: Serve) -> None:
    def read_roles() -> list[RoleEntry]:
        raise BusUnreachable("Redis at localhost:6379 cannot be reached")

    server = serve(lambda: {"redis_reachable": 0}, read_roles)
    assert samples(server)["zerofleet_redis_reachable",] == 0
    assert fetch(server, "/sd") == (503, "Redis at localhost:6379 cannot be reached\n")


# ---- service discovery


def test_service_discovery_lists_each_role_that_can_be_asked(serve: Serve) -> None:
    roles = [
        worker("near", "127.0.0.1:9001"),
        worker("far", "10.0.0.7:9002", "elsewhere"),
        worker("hidden", "127.0.0.1:9003", "elsewhere"),
        worker("mute", ""),
        worker("odd", "10.0.0.8:80/path"),
    ]
    status, text = fetch(serve(read_roles=lambda: roles), "/sd")
    assert status == 200
    assert json.loads(text) == [
        {
            "targets": ["127.0.0.1:9001"],
            "labels": {"role": "worker", "id": "near", "run": "mine", "host": HERE},
        },
        {
            "targets": ["10.0.0.7:9002"],
            "labels": {"role": "worker", "id": "far", "run": "mine", "host": "elsewhere"},
        },
    ]


def test_service_discovery_takes_ipv6_addresses() -> None:
    roles = [worker("six", "[2001:db8::1]:9001", "a"), worker("loop", "[::1]:9001", "a")]
    (target,) = discovered_targets(roles, "mine", "b")
    assert target["targets"] == ["[2001:db8::1]:9001"]


def test_a_role_without_the_registry_discovers_nothing(serve: Serve) -> None:
    assert fetch(serve(), "/sd") == (404, "there is /healthz, /metrics\n")


# ---- strangers


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (bytes(range(256)) * 8 + b"\r\n\r\n", b"400"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"400"),
        (b"GET /healthz\r\n\r\n", b"400"),
        (b"POST /healthz HTTP/1.1\r\nContent-Length: 999999999\r\n\r\n", b"405"),
        (b"GET /../etc/passwd HTTP/1.1\r\n\r\n", b"404"),
        (b"GET /healthz HTTP/1.1\r\nX: " + b"x" * MAX_REQUEST_BYTES + b"\r\n\r\n", b"431"),
        (b"GET /healthz?x=1 HTTP/1.0\r\n\r\n", b"200"),
    ],
)
def test_a_request_is_answered_with_its_status(
    serve: Serve, request_bytes: bytes, status: bytes
) -> None:
    server = serve()
    assert exchange(server, request_bytes).startswith(b"HTTP/1.1 " + status)
    assert fetch(server, "/healthz")[0] == 200


def test_a_line_without_end_is_refused_before_it_fills_the_memory(serve: Serve) -> None:
    server = serve()
    num_sent, all_bytes = 0, 64 << 20
    with connect(server) as connection, suppress(ConnectionError):
        while num_sent < all_bytes:
            num_sent += connection.send(bytes(1 << 20))
    assert num_sent < all_bytes
    assert samples(server)["zerofleet_bad_requests_total",] == 1


def test_a_request_that_trickles_in_is_closed_at_its_time_limit(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "REQUEST_TIMEOUT_S", 0.2)
    server = serve()
    started_s = time.monotonic()
    with connect(server) as slow, suppress(ConnectionError):
        while time.monotonic() - started_s < 5:
            slow.sendall(b"G")
            time.sleep(0.02)
    assert time.monotonic() - started_s < 4


def test_idle_connections_do_not_keep_prometheus_out(serve: Serve) -> None:
    server = serve()
    with ExitStack() as stack:
        idle = [stack.enter_context(connect(server)) for _ in range(3 * MAX_CONNECTIONS)]
        assert fetch(server, "/healthz")[0] == 200
        assert idle[0].recv(1) == b""  # closed
        idle[-1].settimeout(0.01)
        with pytest.raises(TimeoutError):
            idle[-1].recv(1)


def test_values_that_take_too_long_hold_up_only_their_own_request(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "REQUEST_TIMEOUT_S", 0.2)

    def read_values() -> Values:
        time.sleep(0.5)
        return {}

    server = serve(read_values)
    assert exchange(server, b"GET /metrics HTTP/1.1\r\n\r\n") == b""
    assert fetch(server, "/healthz")[0] == 200
