"""Prometheus, Alertmanager and systemd accept the files in infra/ and work with health ports."""

import json
import os
import re
import shutil
import socket
import socketserver
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_line import ZEROFLEET
from outside_tools import needs_monitoring
from redis_server import RedisServer, needs_redis
from tiny_runs import TINY_RUN

from zerofleet.bus import MemoryBus, RoleEntry
from zerofleet.fleet.health import HealthServer
from zerofleet.fleet.local_redis import free_port
from zerofleet.fleet.role_metrics import METRICS

INFRA = Path(__file__).parents[2] / "infra"
PATIENCE_S = 120

pytestmark = [pytest.mark.long, needs_monitoring, needs_redis]


def run(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


# ---- the files alone


def test_promtool_accepts_the_rules_and_their_tests() -> None:
    assert "SUCCESS" in run("promtool", "check", "config", INFRA / "prometheus" / "prometheus.yml")
    assert "SUCCESS" in run("promtool", "test", "rules", INFRA / "prometheus" / "rules_test.yml")


def test_amtool_accepts_the_alertmanager_example() -> None:
    assert "SUCCESS" in run("amtool", "check-config", INFRA / "alertmanager" / "alertmanager.yml")


def test_systemd_accepts_the_units_and_finds_them_confined(tmp_path: Path) -> None:
    units = tmp_path / "units"
    shutil.copytree(INFRA / "systemd", units)
    for unit in units.glob("*.service"):
        unit.write_text(unit.read_text().replace("/opt/zerofleet/bin/zerofleet", sys.executable))
    # Unknown to systemd before 254, which warns and continues.
    newer = re.compile(r".*Unknown key '(RestartSteps|RestartMaxDelaySec)' .*\n")
    for role in ("trainer", "worker", "rater", "inference"):
        said = run("systemd-analyze", "verify", units / f"zerofleet-{role}@c4.service")
        assert newer.sub("", said) == ""
        template = units / f"zerofleet-{role}@.service"
        said = run("systemd-analyze", "security", "--offline=true", "--threshold=30", template)
        assert "OK" in said


# ---- receivers of alerts


class Webhook(HTTPServer):
    """Keeps what is posted to it."""

    def __init__(self) -> None:
        received: list[Any] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.received = received


class MailServer(socketserver.ThreadingTCPServer):
    """Takes mail by SMTP (RFC 5321), as far as a client that only delivers needs it."""

    daemon_threads = True

    def __init__(self) -> None:
        received: list[str] = []

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                self.wfile.write(b"220 mail\r\n")
                while command := self.rfile.readline().upper():
                    if command.startswith(b"DATA"):
                        self.wfile.write(b"354 go on\r\n")
                        received.append(b"".join(iter(self.rfile.readline, b".\r\n")).decode())
                    self.wfile.write(
                        b"221 bye\r\n" if command.startswith(b"QUIT") else b"250 ok\r\n"
                    )

        super().__init__(("127.0.0.1", 0), Handler)
        self.received = received


# ---- processes


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def serve_forever(server: socketserver.BaseServer, stack: ExitStack) -> None:
    stack.callback(server.server_close)
    stack.callback(server.shutdown)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def start(
    stack: ExitStack, log: Path, *command: str, environment: dict[str, str] | None = None
) -> None:
    """Starts a program that ends with the test."""
    output = stack.enter_context(log.open("wb"))
    process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment)
    stack.callback(process.wait)
    stack.callback(process.terminate)


def eventually(read: Callable[[], Any], log: Path) -> Any:
    """What is read once it is not empty; the log says why it stayed empty."""
    deadline_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline_s:
        if found := read():
            return found
        time.sleep(0.1)
    pytest.fail(f"nothing within {PATIENCE_S} s: {log.read_text()[-3000:]}")


def asked(port: int, query: str) -> dict[str, float]:
    """What Prometheus answers, by role id; empty while it does not answer."""
    url = f"http://127.0.0.1:{port}/api/v1/query?query={query}"
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            result = json.load(answer)["data"]["result"]
    except OSError:
        return {}
    return {each["metric"]["id"]: float(each["value"][1]) for each in result}


def start_prometheus(stack: ExitStack, folder: Path, sd: str, alertmanager: str) -> int:
    """The example with these addresses and a shorter interval; returns its port."""
    shutil.copytree(INFRA / "prometheus", folder)
    config = yaml.safe_load((folder / "prometheus.yml").read_text())
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    config["alerting"]["alertmanagers"][0]["static_configs"][0]["targets"] = [alertmanager]
    (discovery,) = config["scrape_configs"][0]["http_sd_configs"]
    discovery |= {"url": f"http://{sd}/sd", "refresh_interval": "1s"}
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    port = free_port()
    start(
        stack,
        folder / "log",
        "prometheus",
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    )
    return port


def start_alertmanager(stack: ExitStack, folder: Path, webhook: str, mail: str) -> str:
    """The example with these receivers and no waiting; returns its address."""
    config = yaml.safe_load((INFRA / "alertmanager" / "alertmanager.yml").read_text())
    config["global"] |= {"smtp_smarthost": mail, "smtp_require_tls": False}
    config["route"] |= {"group_wait": "0s", "group_interval": "1s"}
    by_name = {each["name"]: each for each in config["receivers"]}
    by_name["webhook"]["webhook_configs"][0]["url"] = f"http://{webhook}/"
    folder.mkdir()
    (folder / "alertmanager.yml").write_text(yaml.safe_dump(config))
    address = f"127.0.0.1:{free_port()}"
    start(
        stack,
        folder / "log",
        "prometheus-alertmanager",
        f"--config.file={folder / 'alertmanager.yml'}",
        f"--storage.path={folder / 'data'}",
        f"--web.listen-address={address}",
        "--cluster.listen-address=",
    )
    return address


# ---- a fleet


def test_prometheus_scrapes_every_role_of_a_fleet_and_all_metrics_that_are_declared(
    stack: ExitStack, tmp_path: Path
) -> None:
    redis = RedisServer(tmp_path)
    stack.callback(redis.close)
    redis.client().config_set("maxmemory", "1gb")
    environment = os.environ | {
        "REDIS_URL": f"redis://127.0.0.1:{redis.port}",
        "ZEROFLEET_RUNS": str(tmp_path / "runs"),
        "ZEROFLEET_SPOOL": str(tmp_path / "spool"),
    }
    health = free_port()
    changed = [*TINY_RUN, "train.publish_every_steps=5", "replay.capacity_rows=100000"]
    changed += ["rating.interval_minutes=0.05", "rating.games=2", "rating.opponents=[random]"]
    settings = [part for each in changed for part in ("--set", each)]
    one = ["--processes", "1"]
    commands = {
        "t": ["trainer", "tictactoe", "--preset", "fast", "--health-port", str(health), *settings],
        "i": ["inference", "--server-id", "i"],
        "w": ["worker", "--worker-id", "w", *one],
        "r": ["worker", "--worker-id", "r", "--evaluator", "remote", *one],
        "rater": ["rater"],
    }
    for name, (role, *options) in commands.items():
        command = [str(ZEROFLEET), role, "--run", "ttt", *options]
        start(stack, tmp_path / f"{name}.log", *command, environment=environment)
    port = start_prometheus(stack, tmp_path / "p", f"127.0.0.1:{health}", "127.0.0.1:1")

    # Those of GPUs, and the version of weights that were refused: none is.
    absent = {name for name in METRICS if name.startswith("gpu_")} | {"refused_version"}
    declared = {METRICS[name].prometheus_name for name in METRICS.keys() - absent}
    url = f"http://127.0.0.1:{port}/api/v1/label/__name__/values"

    def all_reported() -> bool:
        """Some come with the first game, the first step or the first new weights."""
        if len(asked(port, "up")) < len(commands):
            return False
        with urllib.request.urlopen(url, timeout=5) as answer:
            missing = declared - set(json.load(answer)["data"])
        print(f"missing: {sorted(missing)}")
        return not missing

    eventually(all_reported, tmp_path / "t.log")
    up = asked(port, "up")
    assert len(up) == len(commands)
    assert {"trainer", "i", "w", "r"} < up.keys()
    assert set(up.values()) == {1}
    assert asked(port, "zerofleet_worker_games_total")["trainer"] > 0
    eventually(lambda: not unanswered_panels(port, "ttt"), tmp_path / "t.log")


# ---- the dashboard


def dashboard_expressions() -> dict[str, str]:
    """The expressions of infra/grafana by panel and legend."""
    dashboard = json.loads((INFRA / "grafana" / "zerofleet.json").read_text())
    return {
        f"{panel['title']}: {target['legendFormat']}": target["expr"]
        for panel in dashboard["panels"]
        for target in panel.get("targets", [])
    }


def unanswered_panels(port: int, run: str, of_gpus: bool = False) -> list[str]:
    """The expressions that Prometheus answers with nothing: those of GPUs, or all others. It fails
    where one is refused."""
    unanswered = []
    for name, expression in dashboard_expressions().items():
        if ("_gpu_" in expression) != of_gpus:
            continue
        asked = expression.replace("$run", run).replace("$__rate_interval", "15s")
        query = urllib.parse.urlencode({"query": asked})
        url = f"http://127.0.0.1:{port}/api/v1/query?{query}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            found = json.load(answer)
        assert found["status"] == "success", (name, found)
        if not found["data"]["result"]:
            unanswered.append(name)
    print(f"unanswered: {unanswered}")
    return unanswered


# ---- alerts


def test_a_fired_alert_of_a_discovered_role_reaches_webhook_and_mail(
    stack: ExitStack, tmp_path: Path
) -> None:
    bus = MemoryBus()
    values: dict[str, Any] = {"games": 10, "loss": 1.9}
    values |= {"gpu_busy": 0.9, "gpu_watts": 600.0}
    values |= {"gpu_memory_bytes": 5e10, "gpu_memory_total_bytes": 15e10}
    trainer = stack.enter_context(HealthServer("trainer", "t", "c4", lambda: values, bus.roles))
    worker = stack.enter_context(HealthServer("worker", "w", "c4", lambda: {"games": 4}))
    host = socket.gethostname()
    bus.register(RoleEntry("t", "trainer", host, "cpu", address=trainer.address))
    bus.register(
        RoleEntry("w", "worker", host, "cpu", address=worker.address, counters={"games": 4})
    )
    webhook, mail = Webhook(), MailServer()
    serve_forever(webhook, stack)
    serve_forever(mail, stack)
    alertmanager = start_alertmanager(
        stack,
        tmp_path / "alertmanager",
        f"127.0.0.1:{webhook.server_port}",
        f"127.0.0.1:{mail.server_address[1]}",
    )
    prometheus = tmp_path / "prometheus"
    port = start_prometheus(stack, prometheus, trainer.address, alertmanager)

    def games() -> dict[str, float] | None:
        found = asked(port, "zerofleet_games_total")
        return found if len(found) == 2 else None

    assert eventually(games, prometheus / "log") == {"t": 10, "w": 4}
    assert asked(port, "zerofleet_worker_games_total") == {"t": 4}
    assert asked(port, "up") == {"t": 1, "w": 1}
    assert webhook.received == []
    # The fleet above has no GPU; here are values as roles with one report them.
    assert len([each for each in dashboard_expressions().values() if "_gpu_" in each]) == 3
    eventually(lambda: not unanswered_panels(port, "c4", of_gpus=True), prometheus / "log")

    values["loss"] = float("nan")
    log = tmp_path / "alertmanager" / "log"
    (posted,) = eventually(lambda: webhook.received, log)[:1]
    assert posted["status"] == "firing"
    assert posted["alerts"][0]["labels"]["alertname"] == "ZerofleetLossNotFinite"
    assert posted["alerts"][0]["annotations"]["summary"] == "run c4: the loss is not finite"
    letter = eventually(lambda: mail.received, log)[0]
    assert "To: you@example.org" in letter
    assert "ZerofleetLossNotFinite" in letter
