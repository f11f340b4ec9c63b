"""A moto server of this test process; only images are there at the start of each test."""

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from cloud_accounts import AMPLE, Server, push_image

from zerofleet.cloud.plan import Images
from zerofleet.fleet.local_redis import free_port

SCRIPT = Path(__file__).parents[1] / "support" / "cloud_server.py"
PATIENCE_S = 120


@pytest.fixture(scope="session")
def server_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("cloud")
    port, quotas = free_port(), folder / "quotas.json"
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, SCRIPT, str(port), quotas],
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
        )
    server = Server(f"http://127.0.0.1:{port}", quotas)
    deadline_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            urllib.request.urlopen(f"{server.url}/moto-api/", timeout=5).close()
            break
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline_s:
                pytest.fail((folder / "log").read_text()[-3000:])
            time.sleep(0.1)
    yield server
    process.kill()
    process.wait()


@pytest.fixture
def server(server_process: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    request = urllib.request.Request(f"{server_process.url}/moto-api/reset", method="POST")
    urllib.request.urlopen(request, timeout=PATIENCE_S).close()
    server_process.quotas.write_text(json.dumps(AMPLE))
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in server_process.environment().items():
        monkeypatch.setenv(name, value)
    for role in Images.model_fields:
        push_image(getattr(Images(), role))
    return server_process
