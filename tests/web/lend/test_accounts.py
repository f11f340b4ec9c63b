"""Accounts: tokens that are told once, deletion that leaves nothing, the operator's actions."""

import asyncio
import hashlib
import os
import sqlite3
import subprocess
from pathlib import Path

import httpx
import pytest
from command_line import ZEROFLEET
from lending_client import connected, sign_up
from lent_run import LentServer
from redis_server import needs_redis

from zerofleet.web.lend import messages
from zerofleet.web.lend.accounts import CONSENT
from zerofleet.web.lend.lending import FILE, lend_folder

pytestmark = needs_redis


def everything_stored() -> bytes:
    database = sqlite3.connect(lend_folder() / FILE)
    tables = [
        row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type='table'")
    ]
    rows = [row for table in tables for row in database.execute(f"SELECT * FROM {table}")]
    database.close()
    return repr(rows).encode()


def test_a_token_is_stored_as_its_hash_alone(lent: LentServer) -> None:
    lender = sign_up(lent.url, "ann")
    stored = everything_stored()
    assert lender.token.encode() not in stored
    assert repr(hashlib.sha256(lender.token.encode()).digest()).encode() in stored
    assert b"127.0.0.1" not in stored


def test_a_name_is_given_once(lent: LentServer) -> None:
    sign_up(lent.url, "bob")
    for name, status in (("BOB", 409), ("x", 422), ("<script>", 422), ("a" * 41, 422)):
        asked = {"name": name, "consent": CONSENT.version}
        answer = httpx.post(f"{lent.url}/api/v1/lend/accounts", json=asked)
        assert answer.status_code == status, name


def test_deleting_an_account_leaves_nothing_that_names_it(lent: LentServer) -> None:
    lender = sign_up(lent.url, "somebody who leaves")
    headers = {"Authorization": f"Bearer {lender.token}"}

    async def lend() -> int:
        async with connected(lent.url, lender, lent.game) as client:
            await client.lend(1)
            answer = await asyncio.to_thread(
                httpx.delete, f"{lent.url}/api/v1/lend/me", headers=headers
            )
            refused = await client.next(messages.Refused)
            assert refused.code == "deleted"
            return answer.status_code

    assert asyncio.run(lend()) == 204
    stored = everything_stored()
    assert b"somebody who leaves" not in stored
    assert repr(hashlib.sha256(lender.token.encode()).digest()).encode() not in stored
    assert httpx.get(f"{lent.url}/api/v1/lend/me", headers=headers).status_code == 401
    games = lent.lending.ledger.totals("run-1")[0]
    assert games >= 4  # nobody's


@pytest.mark.parametrize(("action", "state"), [("pause", "paused"), ("revoke", "revoked")])
def test_an_operator_pauses_and_revokes(lent: LentServer, action: str, state: str) -> None:
    lender = sign_up(lent.url, f"to {action}")
    headers = {"Authorization": f"Bearer {lender.token}"}

    async def lend() -> str:
        async with connected(lent.url, lender, lent.game) as client:
            await client.next(messages.PlayGames)
            with lent.operator() as operator:
                answer = await asyncio.to_thread(operator.post, f"/accounts/{lender.id}/{action}")
                assert answer.json()["account"]["state"] == state
            return (await client.next(messages.Refused)).code

    assert asyncio.run(lend()) == state
    version = lent.lending.status().lent.version  # type: ignore[union-attr]
    path = f"{lent.url}/lend/v1/weights/{version}.onnx"
    assert httpx.get(path, headers=headers).status_code == 403
    with lent.operator() as operator:
        resumed = operator.post(f"/accounts/{lender.id}/resume").status_code
        assert resumed == (200 if action == "pause" else 409)
        assert operator.post("/accounts/999999/pause").status_code == 404


def test_the_command_says_what_lending_needs(tmp_path: Path) -> None:
    for words, fault in (
        (["--lend"], "--lend needs the run"),
        (["--public-url", "https://lend.example.org"], "--public-url is for --lend"),
        (["--lend", "--run", "c4", "--public-url", "lend.example.org"], "must be like https://"),
    ):
        environment = {
            **os.environ,
            "ZEROFLEET_LEND": str(tmp_path),
            "REDIS_URL": "redis://127.0.0.1:1",
        }
        said = subprocess.run(
            [ZEROFLEET, "dash", *words],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert said.returncode != 0
        assert fault in said.stderr
