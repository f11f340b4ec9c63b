"""The doors: Host, Origin, token, sizes, rates, headers."""

import asyncio
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path

import httpx
import pytest
from web_client import wait_until_up
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.http11 import Response

from zerofleet.errors import BadText, Inconsistent
from zerofleet.web import safety
from zerofleet.web.safety import COOKIE, MAX_BODY_BYTES, Doors, Rate, RateLimits
from zerofleet.web.server import Server, listen

PLAY = {"game": "connect4", "seats": [{"player": "human"}, {"player": "human"}]}


@contextmanager
def serving(server: Server) -> Iterator[httpx.Client]:
    server.start()
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{server.port}") as client:
            wait_until_up(client)
            yield client
    finally:
        server.stop()


# ---- Host and Origin


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", ""]
)
def test_a_wrong_host_is_refused_whatever_it_asks(api: httpx.Client, host: str) -> None:
    answer = api.get("/runs", headers={"host": host})
    assert answer.status_code in (400, 421)
    if host:
        assert answer.json()["code"] == "wrong_host"


def test_a_tunnel_from_another_local_port_is_let_in(api: httpx.Client) -> None:
    for host in ("localhost:9000", "127.0.0.1:9000", "[::1]:9000", "localhost"):
        assert api.get("/runs", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_a_strangers_page_cannot_change_anything(
    api: httpx.Client, headers: dict[str, str]
) -> None:
    answer = api.post("/plays", json=PLAY, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (403, "foreign_origin")


def test_the_servers_own_page_may(api: httpx.Client, server: Server) -> None:
    origin = f"http://127.0.0.1:{server.port}"
    headers = {"origin": origin, "sec-fetch-site": "same-origin"}
    assert api.post("/plays", json=PLAY, headers=headers).status_code == 201


def refusal(server: Server, **headers: str) -> Response:
    async def attempt() -> Response:
        url = f"ws://127.0.0.1:{server.port}/api/v1/live?run=ttt"
        with pytest.raises(InvalidStatus) as refused:
            async with connect(url, additional_headers=headers):
                pass
        return refused.value.response

    return asyncio.run(attempt())


def test_a_strangers_page_cannot_listen(server: Server, api: httpx.Client) -> None:
    assert refusal(server, Origin="http://evil.example").status_code == 403


# ---- the token


def test_another_address_than_loopback_demands_a_token_given_once(runs: Path) -> None:
    server = Server(host="0.0.0.0", port=0)
    assert server.doors.token is not None
    assert any(server.doors.token in line for line in server.lines())
    server.start()
    base = f"http://127.0.0.1:{server.port}"
    try:
        with httpx.Client(base_url=base) as client:
            wait_until_up(client)
            for path in ("/", "/runs", "/api/v1/runs", "/api/v1/openapi.json"):
                assert client.get(path).status_code == 401
            assert client.get("/?token=wrong").status_code == 401
            assert refusal(server).status_code == 403
            taken = client.get(f"/runs/ttt?ply=3&token={server.doors.token}")
            assert taken.status_code == 303
            assert taken.headers["location"] == "/runs/ttt?ply=3"  # the token is not kept in it
            cookie = taken.headers["set-cookie"]
            assert "HttpOnly" in cookie
            assert "SameSite=Strict" in cookie
            assert client.get("/api/v1/runs").status_code == 200
            stale = {"cookie": f"{COOKIE}=x"}
            assert httpx.get(f"{base}/api/v1/runs", headers=stale).status_code == 401
    finally:
        server.stop()


def test_a_token_never_redirects_to_another_server(runs: Path) -> None:
    server = Server(host="0.0.0.0", port=0)
    server.start()
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{server.port}") as client:
            wait_until_up(client)
        asking = HTTPConnection("127.0.0.1", server.port)
        with closing(asking):
            asking.request("GET", f"//evil.example/?token={server.doors.token}")
            assert asking.getresponse().headers["location"] == "/evil.example/"
    finally:
        server.stop()


def test_a_token_comes_from_the_environment_or_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, runs: Path
) -> None:
    path = tmp_path / "token"
    path.write_text("from-a-file-0123456789\n")
    monkeypatch.setenv("ZEROFLEET_DASH_TOKEN_FILE", str(path))
    server = Server(host="0.0.0.0", port=0)
    assert server.doors.token == "from-a-file-0123456789"
    assert not any("from-a-file" in line for line in server.lines())
    server.stop()
    monkeypatch.setenv("ZEROFLEET_DASH_TOKEN", "short")
    with pytest.raises(BadText, match="at least 16 characters"):
        Server(host="0.0.0.0", port=0)


def test_doors_know_their_names() -> None:
    doors = Doors.on("192.0.2.7", 8080)
    assert doors.token
    assert doors.allows_host("192.0.2.7:8080")
    assert not doors.allows_host("192.0.2.7:81")
    assert not doors.allows_host("evil.example:8080")
    assert Doors.on("127.0.0.1", 8080).token is None
    assert Doors.on("::1", 8080).token is None


# ---- how much, how often


def test_a_large_body_is_refused_with_and_without_its_length(api: httpx.Client) -> None:
    big = b" " * (MAX_BODY_BYTES + 1)

    def pieces() -> Iterator[bytes]:
        yield big

    for content in (big, pieces()):
        answer = api.post("/plays", content=content)
        assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert api.get("/players", params={"game": "x" * 9000}).status_code == 414


def test_requests_are_bounded_per_client() -> None:
    limits = RateLimits()
    rate = Rate(burst=5, per_s=1000)
    assert [limits.allow("a", rate) for _ in range(6)][:5] == [True] * 5
    slow = Rate(burst=3, per_s=0.001)
    assert [limits.allow("a", slow) for _ in range(4)] == [True, True, True, False]
    assert limits.allow("b", slow)


def test_too_many_searches_of_one_client_get_429(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(safety, "SEARCHES", Rate(burst=3, per_s=0.001))
    with serving(Server(port=0)) as client:
        asked = {"game": "connect4", "position": "x"}
        answers = [client.post("/api/v1/analysis", json=asked) for _ in range(4)]
        assert [each.status_code for each in answers] == [400, 400, 400, 429]
        assert answers[-1].json()["code"] == "too_often"
        assert client.get("/api/v1/runs").status_code == 200  # reading goes on


def test_every_answer_has_a_strict_policy(server: Server, api: httpx.Client) -> None:
    base = f"http://127.0.0.1:{server.port}"
    for path in ("/api/v1/runs", "/runs", "/nope.js", "/dashboard"):
        answer = httpx.get(f"{base}{path}")
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy.replace("'wasm-unsafe-eval'", "")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"


def test_no_path_leaves_the_assets(server: Server, api: httpx.Client) -> None:
    base = f"http://127.0.0.1:{server.port}"
    for path in (
        "/../server.py",
        "/static/../../server.py",
        "/%2e%2e/server.py",
        "/..%2fserver.py",
    ):
        assert httpx.get(f"{base}{path}").status_code == 404


# ---- ports


def test_a_taken_port_gives_the_next_one_and_says_so(runs: Path) -> None:
    with listen("127.0.0.1", 0, 1) as taken:
        port = taken.getsockname()[1]
        server = Server(port=port)
        try:
            assert server.port > port
            assert f"(port {port} is taken)" in server.lines()[0]
        finally:
            server.stop()
        with pytest.raises(Inconsistent, match=f"port {port} is taken"):
            listen("127.0.0.1", port, 1)


def test_the_dashboard_leads_to_its_run(server: Server, api: httpx.Client) -> None:
    for path in ("/", "/dashboard"):
        answer = httpx.get(f"http://127.0.0.1:{server.port}{path}")
        assert (answer.status_code, answer.headers["location"]) == (307, "/runs/ttt")
