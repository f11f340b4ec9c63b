"""What the users of a run may not do in a real Redis. test_contract.py makes every call as the user
of its role, so it shows that each may do what its role needs."""

from collections.abc import Iterator

import pytest
import redis
from redis_server import RedisServer, needs_redis
from redis_users import PASSWORDS, ROLES, server_with_users

from zerofleet.bus.acl import RoleIds, acl_users
from zerofleet.errors import BadText

pytestmark = needs_redis

ADMIN = """
    CONFIG GET maxmemory | CONFIG SET maxmemory 1 | FLUSHALL | FLUSHDB | KEYS * | SCAN 0 | DBSIZE
    ACL LIST | ACL SETUSER eve on nopass ~* +@all | CLIENT LIST | CLIENT KILL TYPE normal
    SHUTDOWN NOSAVE | SAVE | BGSAVE | BGREWRITEAOF | MONITOR | SWAPDB 0 1
    REPLICAOF 127.0.0.1 1 | MODULE LIST | FUNCTION LIST | LATENCY LATEST | SLOWLOG GET | RANDOMKEY
"""
OTHER_RUN = """
    GET zf:{other}:run | HGETALL zf:{other}:weights | SET zf:{other}:pace x
    XADD zf:{other}:episodes:box-1 * a b | SUBSCRIBE zf:{other}:announce | PSUBSCRIBE *
    PUBLISH zf:{other}:announce ended
"""
PUBLISHING = """
    HSET zf:{run}:weights version 9 | HSET zf:{run}:weights:9 data x | SET zf:{run}:weights:9 x
    SET zf:{run}:run x | HSET zf:{run}:graph data x | SET zf:{run}:pace x | SET zf:{run}:ended 1
    HSET zf:{run}:trainer token x | PUBLISH zf:{run}:announce ended | HSET zf:{run}:held box-2 x
    LPUSH zf:{run}:weights-recent 9 | SADD zf:{run}:weights-kept 9 | SET zf:{run}:role:trainer x
    RPUSH zf:{run}:cleared x | RPUSH zf:{run}:withdrawals x | HSET zf:{run}:blocks:a 0 x
    ZADD zf:{run}:ratings 1 a
"""
DELETING = """
    DEL zf:{run}:run | UNLINK zf:{run}:weights | EXPIRE zf:{run}:run 1 | RENAME zf:{run}:run x
    XTRIM zf:{run}:episodes:box-1 MAXLEN 0 | XDEL zf:{run}:episodes:box-1 1-1
    XTRIM zf:{run}:episodes:box-2 MAXLEN 0 | XDEL zf:{run}:episodes:box-2 1-1
    XADD zf:{run}:episodes:box-2 MAXLEN 0 * a b | DEL zf:{run}:episodes:box-1
    DEL zf:{run}:senders | SREM zf:{run}:senders box-2 | SET zf:{run}:senders x
    DEL zf:{run}:role:box-1 | SET zf:{run}:role:box-2 x | SET zf:{run}:episodes:box-2 x
    XGROUP DESTROY zf:{run}:episodes:box-1 trainer | HDEL zf:{run}:results:a 0
    COPY zf:{run}:weights zf:{run}:role:box-1 | DEL zf:{run}:lease:a:0
"""
SCRIPTS = """
    EVAL 1 0 | EVALSHA x 0 | FCALL x 0 | SCRIPT LOAD x
"""
OTHERS_MARKS = """
    HGET zf:{run}:marks:box-2 8 | HSET zf:{run}:marks:box-2 8 99 | HGETALL zf:{run}:marks:box-2
    HSET zf:{run}:marks:box-1 8 99 | HINCRBY zf:{run}:marks:box-1 8 1
"""
READING_GAMES = """
    XREVRANGE zf:{run}:episodes:box-1 + - | XREAD STREAMS zf:{run}:episodes:box-2 0
    XREADGROUP GROUP trainer trainer STREAMS zf:{run}:episodes:box-1 >
    XINFO STREAM zf:{run}:episodes:box-2 FULL | XRANGE zf:{run}:episodes:box-2 - +
    DUMP zf:{run}:episodes:box-1 | MEMORY USAGE zf:{run}:episodes:box-2
    SMEMBERS zf:{run}:senders | SMEMBERS zf:{run}:roles | GET zf:{run}:role:box-2
"""
SERVING = """
    SET zf:{run}:server:gpu x | SET zf:{run}:server:box-1 x | SADD zf:{run}:servers box-1
    DEL zf:{run}:server:gpu | SREM zf:{run}:servers gpu
"""
OTHERS_OFFERS = """
    SET zf:{run}:server:other x | GET zf:{run}:server:other | SMEMBERS zf:{run}:servers
    LRANGE zf:{run}:weights-recent 0 -1 | SET zf:{run}:role:box-1 x
"""
RATING = """
    ZRANGE zf:{run}:ratings 0 -1 | HKEYS zf:{run}:results:a | HSETNX zf:{run}:results:a 1 x
    SET zf:{run}:lease:a:0 x | XADD zf:{run}:episodes:gpu * a b | SADD zf:{run}:senders gpu
"""


def publishing_without(word: str) -> str:
    return " | ".join(
        each for each in PUBLISHING.replace("\n", " | ").split("|") if word not in each
    )


OF_ALL = [ADMIN, OTHER_RUN, PUBLISHING, DELETING]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = server_with_users(tmp_path_factory.mktemp("redis"))
    client = server.client()
    for worker in ("box-1", "box-2"):
        client.xadd(f"zf:{{run}}:episodes:{worker}", {"episode": "game"}, id="1-1")
        client.hset(f"zf:{{run}}:marks:{worker}", "8", 5)
        client.sadd("zf:{run}:senders", worker)
    for run in ("run", "other"):
        client.set(f"zf:{{{run}}}:run", "facts")
    client.hset("zf:{run}:results:a", "0", "won")
    client.close()
    yield server
    server.close()


@pytest.mark.parametrize(
    ("user", "commands"),
    [
        ("worker-box-1", [*OF_ALL, SCRIPTS, OTHERS_MARKS, READING_GAMES, SERVING]),
        ("rater-judge", [*OF_ALL, SCRIPTS, OTHERS_MARKS, READING_GAMES, SERVING]),
        ("inference-gpu", [*OF_ALL, SCRIPTS, OTHERS_MARKS, READING_GAMES, RATING, OTHERS_OFFERS]),
        (
            "gateway-browsers",
            [
                ADMIN,
                OTHER_RUN,
                publishing_without("withdrawals"),
                DELETING,
                SCRIPTS,
                OTHERS_MARKS,
                READING_GAMES,
                SERVING,
            ],
        ),
        ("viewer", [*OF_ALL, SCRIPTS]),
        ("trainer", [ADMIN, OTHER_RUN]),
    ],
)
def test_a_user_is_refused_what_is_not_its_roles(
    server: RedisServer, user: str, commands: list[str]
) -> None:
    name = f"zf-run-{user}"
    client = server.address(name, PASSWORDS[name]).client()
    before = contents(server)
    allowed = []
    for text in commands:
        for command in text.replace("\n", " | ").split("|"):
            if words := command.split():
                try:
                    client.execute_command(*words)
                    allowed.append(command)
                except redis.exceptions.NoPermissionError:
                    pass
                except redis.ResponseError as error:
                    allowed.append(f"{command}: {error}")
    client.close()
    assert allowed == []
    assert contents(server) == before


def test_without_a_password_nobody_is_let_in(server: RedisServer) -> None:
    client = server.address("zf-run-trainer", "a guess").client()
    with pytest.raises(redis.AuthenticationError):
        client.ping()
    client.close()


def test_an_id_that_would_match_other_keys_is_refused() -> None:
    with pytest.raises(BadText, match=r"worker 'box-\*' cannot be named in Redis"):
        acl_users("run", RoleIds(workers=["box-*"]), PASSWORDS)


def test_passwords_are_written_as_hashes() -> None:
    lines = acl_users("run", ROLES, PASSWORDS)
    assert len(lines) == len(PASSWORDS)
    assert not any("secret" in line for line in lines)


def contents(server: RedisServer) -> dict[bytes, bytes | None]:
    client = server.client()
    found = {key: client.dump(key) for key in sorted(client.keys())}
    client.close()
    return found
