"""Redis' address and secrets, and which servers are safe for a run."""

from pathlib import Path

import pytest

from zerofleet.bus.connect import (
    LONGEST_PAUSE_S,
    RedisAddress,
    check_server,
    pause_before,
    read_address,
    untried,
)
from zerofleet.errors import BadText, Unsupported

BOX = RedisAddress("box")


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("redis://box", RedisAddress("box")),
        ("redis://box:7000/2", RedisAddress("box", 7000, 2)),
        ("rediss://me@box:6380", RedisAddress("box", 6380, tls=True, user="me")),
        ("redis://[::1]:7000", RedisAddress("::1", 7000)),
    ],
)
def test_a_url_names_the_server_the_user_and_the_database(url: str, address: RedisAddress) -> None:
    assert read_address(url, {}) == address
    assert read_address(str(address), {}) == address


def test_secrets_come_from_the_environment_or_from_files(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("p%40ss\n")
    expected = RedisAddress("box", user="me", password="p%40ss")
    assert read_address("redis://me@box", {"REDIS_PASSWORD": "p%40ss"}) == expected
    from_file = {"REDIS_USER": "me", "REDIS_PASSWORD_FILE": str(secret)}
    assert read_address("redis://box", from_file) == expected
    url = tmp_path / "url"
    url.write_text("redis://me:p%2540ss@box\n")
    assert read_address(None, {"REDIS_URL": "redis://me:p%2540ss@box"}) == expected
    assert read_address(None, {"REDIS_URL_FILE": str(url)}) == expected
    assert "p%40ss" not in f"{expected} {expected!r}"


@pytest.mark.parametrize(
    ("option", "environment", "fault"),
    [
        (None, {}, "no Redis is given: use --redis redis://HOST:6379, or set REDIS_URL"),
        ("redis://me:secret@box", {}, "--redis must not hold a password.* REDIS_PASSWORD_FILE"),
        ("redis://:secret@box", {}, "--redis must not hold a password"),
        ("box:6379", {}, "--redis begins with 'box'; it must be redis://HOST:6379"),
        ("http://box", {}, "--redis begins with 'http'"),
        ("redis://", {}, "--redis names no host"),
        ("redis://box:port", {}, "--redis is not a URL"),
        ("redis://box/zero", {}, "--redis must end in the number of a database"),
        ("redis://box?db=1", {}, "--redis must end in the number of a database"),
        (None, {"REDIS_URL": "redis://a:secret@box:x"}, "REDIS_URL is not a URL"),
        (None, {"REDIS_URL_FILE": "/no/such"}, "REDIS_URL_FILE: /no/such cannot be read"),
        (
            "redis://box",
            {"REDIS_PASSWORD": "a", "REDIS_PASSWORD_FILE": "b"},
            "REDIS_PASSWORD and REDIS_PASSWORD_FILE are both set; keep one",
        ),
        ("rediss://box", {"REDIS_CA_FILE": "/no/such"}, "REDIS_CA_FILE: there is no file /no/such"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_without_its_secret(
    option: str | None, environment: dict[str, str], fault: str
) -> None:
    with pytest.raises(BadText, match=fault) as refused:
        read_address(option, environment)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("info", "server"),
    [
        ({"redis_version": "7.0.15", "maxmemory_policy": "noeviction"}, "Redis 7.0.15"),
        ({"redis_version": "10.1.0"}, "Redis 10.1.0"),
        (
            {"redis_version": "7.2.4", "server_name": "valkey", "valkey_version": "8.1.0"},
            "Valkey 8.1.0",
        ),
    ],
)
def test_redis_from_7_and_valkey_are_accepted(info: dict[str, str], server: str) -> None:
    assert check_server(info, BOX) == server


@pytest.mark.parametrize(
    ("info", "fault"),
    [
        (
            {"redis_version": "6.2.14"},
            "redis://box:6379 is Redis 6.2.14; zerofleet needs Redis 7.0",
        ),
        ({}, "zerofleet needs Redis 7.0"),
        (
            {"redis_version": "7.2.0", "maxmemory_policy": "volatile-ttl"},
            r"maxmemory-policy volatile-ttl.*CONFIG SET maxmemory-policy noeviction",
        ),
    ],
)
def test_a_server_on_which_games_could_be_lost_is_refused(info: dict[str, str], fault: str) -> None:
    with pytest.raises(Unsupported, match=fault):
        check_server(info, BOX)


def test_untested_versions_are_reported() -> None:
    assert untried("Redis 7.0.15") == untried("Valkey 9.1.2") == ""
    assert untried("Valkey 8.1.0").startswith("Valkey 8.1.0 is untested")


def returned_after(outage_s: float, num_others: int) -> float:
    """When a worker that lost its server at 0 first finds it again."""
    at_s = 0.0
    for attempt in range(1000):
        at_s += pause_before(attempt, num_others)
        if at_s > outage_s:
            return at_s
    raise AssertionError("it never returned")


@pytest.mark.parametrize("outage_s", [0.0, 0.3, 1.0, 5.0, 30.0])
def test_a_thousand_workers_do_not_reconnect_together(outage_s: float) -> None:
    times = sorted(returned_after(outage_s, num_others=1000) for _ in range(1000))
    assert times[0] < outage_s + 0.5
    assert LONGEST_PAUSE_S - 2 < times[-1] - outage_s <= LONGEST_PAUSE_S
    in_a_second = [sum(first <= each < first + 1 for each in times) for first in times]
    mean = len(times) / (times[-1] - times[0])
    assert max(in_a_second) <= 3 * mean


def test_a_few_workers_reconnect_immediately() -> None:
    assert max(pause_before(attempt=0, num_others=5) for _ in range(100)) <= 1
    assert max(pause_before(attempt=9, num_others=5) for _ in range(1000)) <= LONGEST_PAUSE_S
