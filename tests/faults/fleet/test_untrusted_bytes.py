"""Whatever bytes reach a running fleet, nothing breaks and no good game is lost."""

import hashlib
import json
import pickle
import re
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest
import redis
from command_line import ran_in
from episode_bytes import rehashed
from fleet_processes import RUN, Fleet
from played_games import played
from redis_server import RedisServer, needs_redis
from safetensors.numpy import load, save
from strangers import MAX_GROWTH_BYTES, REQUESTS, memory_of, sent_to

import zerofleet as zf
from zerofleet.bus import Sender
from zerofleet.bus.acl import RoleIds, acl_users, user_names
from zerofleet.bus.keys import Keys
from zerofleet.bus.redis import RedisBus
from zerofleet.replay.intake import MAX_KEPT

pytestmark = needs_redis
KEYS = Keys(RUN)
PASSWORDS = {name: f"secret-of-{name}" for name in user_names(RUN, RoleIds(["a"]))}
INCARNATION = 77


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """A trainer that publishes weights once, and a worker, each with its own credentials."""
    folder = tmp_path_factory.mktemp("fleet")
    users = ["user default on >secret ~* &* +@all", *acl_users(RUN, RoleIds(["a"]), PASSWORDS)]
    (folder / "users.acl").write_text("\n".join(users) + "\n")
    options = ["--aclfile", str(folder / "users.acl")]
    with (
        RedisServer(folder, *options, password="secret") as server,
        Fleet(folder, server, "train.publish_every_steps=1000000") as fleet,
    ):
        fleet.trainer(environment=credentials("trainer"))
        fleet.worker("a", environment=credentials("worker-a"))
        fleet.wait_for_games()
        fleet.wait_for(lambda: {"a", "trainer"} <= fleet.roles().keys(), "the registry")
        yield fleet


@pytest.fixture
def client(fleet):
    with closing(fleet.server.client()) as client:
        yield client


def credentials(role):
    user = f"zf-{RUN}-{role}"
    return {"REDIS_USER": user, "REDIS_PASSWORD": PASSWORDS[user]}


def goes_on(fleet):
    """Both roles live, and games arrive."""
    fleet.wait_for_games(30)
    assert [role.exit_status for _, role in fleet.started] == [None, None]


def output(fleet, name):
    return next(role.output for each, role in fleet.started if each == name)


# ---- weights


class Payload:
    def __init__(self, path):
        self._path = path

    def __reduce__(self):
        return (Path.touch, (self._path,))


def publish_directly(client, version, data, sha256):
    """As anyone with the trainer's password could."""
    client.hset(KEYS.weights_of(version), mapping={"step": 1, "sha256": sha256, "data": data})
    facts = {"version": version, "step": 1, "sha256": sha256, "size": len(data), "at_ms": 1}
    client.hset(KEYS.weights, mapping=facts)
    client.publish(KEYS.announce, f"weights {version}")


def test_bad_weights_are_refused_by_name_and_the_old_ones_stay_in_use(fleet, client, tmp_path):
    good = client.hget(KEYS.weights_of(int(client.hget(KEYS.weights, "version"))), "data")
    first = fleet.counter("a", "version")
    tensors = load(good)
    name = max(tensors, key=lambda name: tensors[name].size)
    flipped = bytearray(good)
    flipped[-1] ^= 1
    nan = tensors[name].copy()
    nan.flat[0] = float("nan")
    payload, control = tmp_path / "it-ran", tmp_path / "it-would-run"
    pickle.loads(pickle.dumps(Payload(control)))
    assert control.exists()
    bad = {
        "sha256 differs from its manifest": bytes(flipped),
        f"{name} has a number that is not finite": save({**tensors, name: nan}),
        "must be [32, 32, 3, 3], got [9215]": save(
            {**tensors, name: tensors[name].reshape(-1)[:-1]}
        ),
        "is missing": save({"stranger": tensors[name]}),
        "no safetensors": pickle.dumps(Payload(payload)),
    }
    sha256 = hashlib.sha256(good).hexdigest()
    for version, (reason, data) in enumerate(bad.items(), start=int(first) + 1):
        own = sha256 if "sha256" in reason else hashlib.sha256(data).hexdigest()
        publish_directly(client, version, data, own)
        line = fleet.wait_for(
            lambda v=version: re.search(rf".*weights {v} .*", output(fleet, "a")), reason
        )
        print(line.group())
        assert reason in line.group()
        assert f"still serving {first:.0f}" in line.group()
    goes_on(fleet)
    assert fleet.counter("a", "version") == first
    assert not payload.exists()
    publish_directly(client, version + 1, good, sha256)
    fleet.wait_for(lambda: fleet.counter("a", "version") == version + 1, "the good weights")
    assert fleet.counter("a", "weights_refused") == len(bad)


# ---- episodes


def untrusted_episodes(good, other_game):
    """Episodes that must be refused, by what their reason says."""
    game = zf.games.get("tictactoe")
    record = zf.games.Episode.record(game, 1, [0, 3, 1, 4, 2], worker=INCARNATION).encode()
    assert rehashed(record[:-8]) == record
    second = record.index(bytes([1, 0, 1, 3, 1, 1])) + 3
    gigabyte = bytes([0x80, 0x80, 0x80, 0x80, 0x04])  # 2**30 as a varint
    stranger = zf.games.Episode.record(game, 1, [0, 3, 1, 4, 2], worker=9).encode()
    return {
        "does not begin with ZFE": bytes(range(256)),
        "of connect4, not of gomoku": other_game,
        "event 1: id 0 is not possible here": rehashed(
            record[:second] + b"\0" + record[second + 1 : -8]
        ),
        "damaged": rehashed(b"ZFE\1" + gigabyte + good[5:-8]),
        f"names worker 9, but its sender is {INCARNATION}": stranger,
        "at most 4194304 are read": b"ZFE\1" + bytes(5 << 20),
        "hash differs": good[:20] + bytes([good[20] ^ 1]) + good[21:],
    }


def test_bad_episodes_in_a_stream_are_refused_and_hold_up_no_good_one(fleet, client):
    _, episodes = played("tictactoe", 3, worker=INCARNATION)
    good = [each.encode() for each in episodes]
    _, (other_game,) = played("connect4", 1, worker=INCARNATION)
    bad = untrusted_episodes(good[0], other_game.encode())
    run_id = json.loads(client.get(KEYS.run))["run_id"]
    (live,) = {path.parent.name for path in fleet.spool.glob("*/*/spool.json")}

    def deliver(number, data, incarnation=INCARNATION):
        fields = {"incarnation": incarnation, "number": number, "episode": data, "run": run_id}
        client.xadd(KEYS.episodes("b"), fields)

    with closing(RedisBus(fleet.server.address(), RUN)) as bus:

        def wait_for_mark(mark):
            client.sadd(KEYS.senders, "b")
            fleet.wait_for(lambda: bus.mark(Sender("b", INCARNATION)) == mark, f"mark {mark}")

        batch = [good[0], *bad.values(), *good[1:]]
        for fields in ({"rubbish": "x"}, {"incarnation": "x y", "number": "-1", "episode": "z"}):
            client.xadd(KEYS.episodes("b"), fields)
        deliver(10**6, good[0], incarnation=int(live, 16))
        for number, data in enumerate(batch):
            deliver(number, data)
        wait_for_mark(len(batch))
        refused = fleet.runs / RUN / "refused"
        texts = [path.read_text() for path in refused.glob("*.txt")]
        assert len(texts) == len(bad) + 1
        for reason in [*bad, "its incarnation is of worker a"]:
            assert sum(reason in text for text in texts) == 1, reason
        print("".join(text.partition("\n")[0] + "\n" for text in texts))

        for number in range(len(batch), len(batch) + 2 * MAX_KEPT):
            deliver(number, b"rubbish")
        wait_for_mark(len(batch) + 2 * MAX_KEPT)
        assert len(list(refused.glob("*.txt"))) == len(list(refused.glob("*.episode"))) == MAX_KEPT
        fleet.wait_for(lambda: client.xlen(KEYS.episodes("b")) == 0, "the acknowledgement")
    logged = [game.sequence for game in fleet.logged() if game.incarnation == INCARNATION]
    assert logged == [each.sequence for each in episodes]
    fleet.wait_for(lambda: "dropped 2 entries of workers' streams" in output(fleet, "trainer"), "")
    goes_on(fleet)


# ---- strangers


def test_a_stranger_at_any_port_breaks_nothing_and_takes_no_memory(fleet, client):
    ports = [entry.address.rpartition(":") for entry in fleet.roles().values()]
    ports = [(host, int(port)) for host, _, port in ports]
    roles = [role for _, role in fleet.started]
    before, of_redis = [memory_of(role) for role in roles], client.info("memory")["used_memory"]
    connections = []
    try:
        for address in [*ports, ("127.0.0.1", fleet.server.port)]:
            for request in list(REQUESTS.values()) * 8:
                connections.append(sent_to(address, request))
        for host, port in ports:
            with urllib.request.urlopen(f"http://{host}:{port}/healthz", timeout=10) as answer:
                assert json.load(answer)["status"] == "ok"
        goes_on(fleet)
        growth = [memory_of(role) - size for role, size in zip(roles, before, strict=True)]
        growth.append(client.info("memory")["used_memory"] - of_redis)
        print(f"{len(connections)} connections, growth {[each >> 20 for each in growth]} MiB")
        assert max(growth) < MAX_GROWTH_BYTES
    finally:
        for connection in connections:
            connection.close()


def test_redis_lets_nobody_in_without_a_password(fleet):
    for password in (None, "guessed"):
        stranger = redis.Redis(port=fleet.server.port, password=password)
        with closing(stranger), pytest.raises(redis.AuthenticationError):
            stranger.get(KEYS.run)
    ran = ran_in(
        fleet.runs,
        *("worker", "--run", RUN, "--processes", "1", "--device", "cpu"),
        REDIS_URL=f"redis://127.0.0.1:{fleet.server.port}",
    )
    print(ran.stderr)
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
    assert "password" in ran.stderr


FORBIDDEN = f"""
    HSET {KEYS.weights} version 99 | SET {KEYS.run} x | PUBLISH {KEYS.announce} ended
    HSET {KEYS.marks("a")} 1 9 | HGET {KEYS.marks("b")} 1 | XADD {KEYS.episodes("b")} * a b
    XTRIM {KEYS.episodes("a")} MAXLEN 0 | DEL {KEYS.senders} | SET {KEYS.ended} 1 | EVAL 1 0
    HSET {KEYS.trainer} token x | GET zf:{{other}}:run | KEYS * | CONFIG GET * | FLUSHALL
    SHUTDOWN NOSAVE | ACL LIST | HSET {KEYS.held} a x
"""


def test_a_workers_credentials_allow_only_its_own_games(fleet):
    own = fleet.server.address(f"zf-{RUN}-worker-a", PASSWORDS[f"zf-{RUN}-worker-a"])
    with closing(own.client()) as client:
        for command in FORBIDDEN.replace("\n", "|").split("|"):
            if command.strip():
                with pytest.raises(redis.ResponseError, match="no permissions"):
                    client.execute_command(*command.split())
    goes_on(fleet)


# ---- runs of another program


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"signature": "0123456789abcdef"},
            "the signature of self-play of .* and 0123456789abcdef in",
        ),
        ({"rules": "fedcba98"}, "the fingerprint of the rules of .* here and fedcba98 in the run"),
        ({"episode_format": 9}, r"the episode format of .* is \d here and 9 in the run"),
        ({"format": 2, "new": 1}, "has format 2, by zerofleet .*, which reads format 1"),
        ({"run_id": "../../x"}, "run id '../../x': must be letters"),
        ({"settings": "search: {a: 1}"}, "the settings of run r:"),
        ({"game": "chess"}, "chess"),
    ],
)
def test_a_run_that_this_program_cannot_serve_is_refused_in_one_line(
    fleet, client, tmp_path, changes, line
):
    """A run beside the fleet's own, in the same Redis, with its weights and other facts."""
    other = Keys("other")
    facts = json.loads(client.get(KEYS.run)) | changes
    client.set(other.run, json.dumps(facts))
    weights = client.hgetall(KEYS.weights)
    client.hset(other.weights, mapping=weights)
    version = int(weights[b"version"])
    client.hset(other.weights_of(version), mapping=client.hgetall(KEYS.weights_of(version)))
    ran = ran_in(
        tmp_path,
        *("worker", "--run", "other", "--processes", "1", "--device", "cpu"),
        *("--evaluator", "onnx"),
        REDIS_URL=f"redis://:secret@127.0.0.1:{fleet.server.port}",
        ZEROFLEET_SPOOL=str(tmp_path / "spool"),
    )
    print(ran.stderr)
    assert ran.returncode == 2
    assert re.fullmatch(f"zerofleet: .*{line}.*\n", ran.stderr)
    assert list(tmp_path.glob("spool/*/*")) == []
