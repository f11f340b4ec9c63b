"""The users of the stack's Redis, on a real one: each role works, and may do nothing else.

ElastiCache itself cannot be had here. It takes the rules of ACL SETUSER without passwords; those of
the template are given to a Redis 7 unchanged.
"""

from pathlib import Path
from typing import Any

import pytest
import redis
from cloud_accounts import plan_of
from fleet_processes import RUN, Fleet
from redis_server import RedisServer, needs_redis

from zerofleet.cloud.prices import Prices
from zerofleet.cloud.stack import template

pytestmark = needs_redis

RESOURCES = template(plan_of("test"), Prices.read())["Resources"]
USERS = [
    each["Properties"] for each in RESOURCES.values() if each["Type"] == "AWS::ElastiCache::User"
]
ONE, OTHER = "i-0123456789", "i-9876543210"
REFUSED = {
    "worker": f"""
        SET zf:{{r}}:pace x | HSET zf:{{r}}:weights version 9 | SET zf:{{r}}:ended 1
        XREADGROUP GROUP trainer trainer STREAMS zf:{{r}}:episodes:{ONE} >
        XADD zf:{{r}}:episodes:trainer * a b | XTRIM zf:{{r}}:episodes:{ONE} MAXLEN 0
        SADD zf:{{r}}:servers {ONE} | SET zf:{{r}}:server:{ONE} x | GET zf:{{other}}:run | KEYS *
    """,
    "inference": f"""
        XADD zf:{{r}}:episodes:{ONE} * a b | XRANGE zf:{{r}}:episodes:{ONE} - +
        HGET zf:{{r}}:marks:{ONE} 8 | SET zf:{{r}}:pace x | ZRANGE zf:{{r}}:ratings 0 -1
    """,
    "viewer": f"""
        SET zf:{{r}}:pace x | XADD zf:{{r}}:episodes:{ONE} * a b | DEL zf:{{r}}:run | EVAL 1 0
        GET zf:{{other}}:run | ACL LIST
    """,
    "trainer": """
        GET zf:{other}:run | SET zf:{other}:pace x | FLUSHALL | KEYS * | ACL LIST | CONFIG GET *
    """,
}


def text(value: Any) -> str:
    """A property, with the run's name in it."""
    found = value if isinstance(value, str) else value["Fn::Sub"]
    return str(found).replace("${RunName}", RUN)


def password(name: str) -> str:
    return f"only-of-this-test-{name}"


def add_users(server: RedisServer) -> None:
    client = server.client()
    for user in USERS:
        name = text(user["UserName"])
        if name != "default":  # the tests themselves use it here
            rules = acl_words(text(user["AccessString"]))
            client.execute_command("ACL SETUSER", name, f">{password(name)}", *rules)
    client.close()


def acl_words(rules: str) -> list[str]:
    """The rules, with a selector as one of them."""
    words: list[str] = []
    for word in rules.split():
        if words and words[-1].startswith("(") and not words[-1].endswith(")"):
            words[-1] += f" {word}"
        else:
            words.append(word)
    return words


def test_there_is_a_user_for_each_role_and_none_without_a_name() -> None:
    names = {text(user["UserName"]): text(user["AccessString"]) for user in USERS}
    assert names.pop("default") == "off -@all"
    assert set(names) == {f"zf-{RUN}-{kind}" for kind in REFUSED}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_user_is_refused_what_is_not_its_roles(tmp_path: Path, kind: str) -> None:
    with RedisServer(tmp_path) as server:
        add_users(server)
        name = f"zf-{RUN}-{kind}"
        client = server.address(name, password(name)).client()
        assert client.ping()
        for command in REFUSED[kind].replace("\n", " | ").split("|"):
            if words := command.split():
                with pytest.raises(redis.exceptions.NoPermissionError):
                    client.execute_command(*words)
        client.close()


def test_workers_append_to_their_own_streams_alone_by_the_ids_of_machines(tmp_path: Path) -> None:
    with RedisServer(tmp_path) as server:
        add_users(server)
        name = f"zf-{RUN}-worker"
        client = server.address(name, password(name)).client()
        for machine in (ONE, OTHER):
            client.xadd(f"zf:{{{RUN}}}:episodes:{machine}", {"a": "b"})
        with pytest.raises(redis.exceptions.NoPermissionError):
            client.xadd(f"zf:{{{RUN}}}:episodes:laptop", {"a": "b"})
        client.close()


@pytest.mark.long
def test_a_fleet_trains_with_the_users_of_the_stack(tmp_path: Path) -> None:
    def login(kind: str) -> dict[str, str]:
        name = f"zf-{RUN}-{kind}"
        return {"REDIS_USER": name, "REDIS_PASSWORD": password(name)}

    with RedisServer(tmp_path) as server, Fleet(tmp_path, server) as fleet:
        add_users(server)
        trainer = fleet.trainer(environment=login("trainer"))
        inference = fleet.inference(f"{OTHER}-0", environment=login("inference"))
        worker = fleet.remote_worker(ONE, environment=login("worker"))
        fleet.wait_for(lambda: len(fleet.logged()) > 200, "games")
        fleet.finish()
        for role in (trainer, inference, worker):
            assert "permission" not in role.output.lower(), role.output
