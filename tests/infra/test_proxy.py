"""The example of a proxy with TLS: a real nginx on loopback in front of a server that lends."""

import asyncio
import os
import shutil
import ssl
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from lending_client import Client, Lender, ready
from lent_run import PATIENCE_S, LentServer, lent_server
from redis_server import RedisServer, make_certificates, needs_redis
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from zerofleet.fleet.local_redis import free_port
from zerofleet.web.lend import messages
from zerofleet.web.lend.accounts import CONSENT

EXAMPLE = Path(__file__).parents[2] / "infra" / "nginx" / "lend.conf"
PROGRAM = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
pytestmark = [
    pytest.mark.long,
    needs_redis,
    pytest.mark.skipif(
        PROGRAM is None and not os.environ.get("ZEROFLEET_REQUIRE_TOOLS"),
        reason="nginx is missing; scripts/install-debian-packages proxy",
    ),
]
NAME = "lend.example.org"


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def lent(tmp_path_factory: pytest.TempPathFactory, port: int) -> Iterator[LentServer]:
    folder = tmp_path_factory.mktemp("lent")
    url = f"https://{NAME}:{port}"
    with RedisServer(folder) as redis, lent_server(folder, redis, public_url=url) as made:
        yield made


@pytest.fixture(scope="module")
def proxy(
    lent: LentServer, port: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ssl.SSLContext]:
    """Trusts the proxy's certificate."""
    folder = tmp_path_factory.mktemp("nginx")
    make_certificates(folder)
    text = EXAMPLE.read_text()
    for old, new in (
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("127.0.0.1:8080", f"127.0.0.1:{lent.server.port}"),
        ("/etc/ssl/lend.crt", str(folder / "server.crt")),
        ("/etc/ssl/lend.key", str(folder / "server.key")),
        ("Host $host", f"Host $host:{port}"),  # the port of the test is not 443
    ):
        assert old in text
        text = text.replace(old, new)
    (folder / "lend.conf").write_text(text)
    (folder / "nginx.conf").write_text(
        f"pid {folder}/pid; error_log {folder}/error.log; daemon off; worker_processes 1; "
        f"events {{}} http {{ client_body_temp_path {folder}; proxy_temp_path {folder}; "
        f"fastcgi_temp_path {folder}; uwsgi_temp_path {folder}; scgi_temp_path {folder}; "
        f"include {folder}/lend.conf; }}"
    )
    command = [str(PROGRAM), "-p", str(folder), "-c", str(folder / "nginx.conf")]
    subprocess.run([*command, "-t"], check=True, capture_output=True)
    process = subprocess.Popen(command)
    context = ssl.create_default_context(cafile=str(folder / "ca.crt"))
    context.check_hostname = False
    end_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            httpx.get(f"https://127.0.0.1:{port}/", verify=context)
            break
        except httpx.TransportError:
            assert process.poll() is None, (folder / "error.log").read_text()
            assert time.monotonic() < end_s
            time.sleep(0.05)
    yield context
    process.terminate()
    process.wait()


def get(proxy: ssl.SSLContext, port: int, path: str) -> httpx.Response:
    headers = {"Host": f"{NAME}:{port}"}
    return httpx.get(f"https://127.0.0.1:{port}{path}", headers=headers, verify=proxy)


def test_only_lending_can_be_reached_through_the_proxy(proxy: ssl.SSLContext, port: int) -> None:
    assert get(proxy, port, "/api/v1/lend").json()["is_on"]
    assert get(proxy, port, "/lend").status_code in (200, 503)  # pages may not be built
    assert "strict-transport-security" in get(proxy, port, "/lend").headers
    for path in ("/runs", "/api/v1/runs", "/api/v1/lend/operator/accounts", "/api/v1/openapi.json"):
        assert get(proxy, port, path).status_code in (401, 404), path


def test_games_come_in_over_wss(lent: LentServer, proxy: ssl.SSLContext, port: int) -> None:
    headers = {"Host": f"{NAME}:{port}", "Origin": f"https://{NAME}:{port}"}
    base = f"https://127.0.0.1:{port}"
    asked = {"name": "far away", "consent": CONSENT.version}
    made = httpx.post(f"{base}/api/v1/lend/accounts", json=asked, headers=headers, verify=proxy)
    lender = Lender(**made.json())

    async def lend() -> int:
        url = f"wss://{NAME}:{port}{messages.SOCKET_PATH}"
        async with connect(
            url, host="127.0.0.1", port=port, ssl=proxy, origin=f"https://{NAME}:{port}",
            compression=None, max_size=None,
        ) as socket:  # fmt: skip
            client = Client(lent.url, lender, socket)  # weights come without the proxy
            await client.send(ready(lender.token, lent.game))
            return await client.lend(4)

    assert asyncio.run(lend()) == 4
    lent.wait_for(lambda: len(lent.trainer.taken) >= 4, "the games")


def test_a_foreign_page_is_refused_through_the_proxy(proxy: ssl.SSLContext, port: int) -> None:
    async def attempt() -> int:
        url = f"wss://{NAME}:{port}{messages.SOCKET_PATH}"
        with pytest.raises(InvalidStatus) as refused:
            async with connect(
                url, host="127.0.0.1", port=port, ssl=proxy, origin="https://evil.example"
            ):
                pass
        return refused.value.response.status_code

    assert asyncio.run(attempt()) == 403
