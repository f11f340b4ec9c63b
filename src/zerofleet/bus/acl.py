"""Redis users for the roles of a run, each with only the permissions that its role needs.

    roles = RoleIds(workers=["box-1"], raters=["box-2"])
    for line in acl_users("my-run", roles, passwords):
        print(line)          # a line of an ACL file, or what follows ACL SETUSER

An inference server reads the run's facts, graph and weights and registers itself; it cannot read
games or ratings. A rater reads the run's facts, graph, weights and pace, leases blocks, reports
results and registers itself. A worker rates while it is idle; it also appends to its own stream,
reads which of its games still wait there, reads its own marks, and finds inference servers. It
cannot read games of others. A gateway of browsers is a worker that may also withdraw games.
Commands and keys are paired in selectors, since a command that is harmless on one key may not be on
another.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from zerofleet.bus.keys import Keys, checked_name

CONNECTION = "auth hello ping select time info subscribe unsubscribe multi exec discard"
READ_RUN = "get exists hget hmget hgetall"
LEAD = (
    "eval evalsha script|load script|exists publish del exists get set mget pttl "
    "hget hmget hgetall hkeys hset hsetnx hdel hexists sadd srem smembers sismember scard "
    "lpush rpush rpop lrange llen ltrim zadd zrange zrem watch unwatch "
    "xadd xlen xrange xrevrange xreadgroup xack xdel xgroup|create xgroup|setid memory|usage"
)
VIEW = (
    "get mget pttl exists hget hmget hgetall hkeys smembers scard lrange zrange "
    "xlen xrange xrevrange memory|usage"
)


@dataclass(frozen=True)
class RoleIds:
    """The roles of a run, by kind, that get a user of their own beside trainer and viewer."""

    workers: Sequence[str] = ()
    raters: Sequence[str] = ()
    inference: Sequence[str] = ()
    gateways: Sequence[str] = ()


def user_names(run: str, roles: RoleIds) -> list[str]:
    """The users that `acl_users` writes, in its order."""
    start = f"zf-{checked_name('run', run)}"
    of_roles = [
        f"{start}-{kind}-{checked_name(kind, each)}"
        for kind, ids in (
            ("worker", roles.workers),
            ("rater", roles.raters),
            ("inference", roles.inference),
            ("gateway", roles.gateways),
        )
        for each in ids
    ]
    return [f"{start}-trainer", *of_roles, f"{start}-viewer"]


def acl_users(run: str, roles: RoleIds, passwords: Mapping[str, str]) -> list[str]:
    """Lines of an ACL file, one per user, with the SHA-256 of its password."""
    by_kind = [
        ("trainer", [""]),
        ("worker", roles.workers),
        ("rater", roles.raters),
        ("inference", roles.inference),
        ("gateway", roles.gateways),
        ("viewer", [""]),
    ]
    rules = [permissions(run, kind, each) for kind, ids in by_kind for each in ids]
    names = user_names(run, roles)
    return [
        f"user {name} on #{hashlib.sha256(passwords[name].encode()).hexdigest()} "
        f"resetkeys resetchannels {rule}"
        for name, rule in zip(names, rules, strict=True)
    ]


def permissions(run: str, kind: str, role_id: str = "") -> str:
    """What a user of this kind may do, for ACL SETUSER of a user that may do nothing yet.

    `role_id` may be a pattern: then one user serves all roles whose ids match it, which cannot be
    kept from one another.
    """
    keys = Keys(run)
    rules = {
        "trainer": lambda: f"~{keys.prefix}* {commands(LEAD)}",
        "worker": lambda: f"{_rate(keys, role_id)} {_play(keys, role_id)}",
        "rater": lambda: _rate(keys, role_id),
        "inference": lambda: _infer(keys, role_id),
        "gateway": lambda: (
            f"{_rate(keys, role_id)} {_play(keys, role_id)} "
            f"{selector('rpush', f'%W~{keys.withdrawals}')}"
        ),
        "viewer": lambda: f"%R~{keys.prefix}* {commands(VIEW)}",
    }
    return f"&{keys.announce} -@all {commands(CONNECTION)} {rules[kind]()}"


def commands(names: str) -> str:
    return " ".join(f"+{name}" for name in names.split())


def selector(names: str, *patterns: str) -> str:
    """These commands on these keys."""
    return f"({commands(names)} {' '.join(patterns)})"


def _read_run(keys: Keys) -> str:
    names = (keys.run, keys.graph, keys.pace, keys.ended, keys.held, keys.weights)
    patterns = [f"%R~{name}" for name in (*names, keys.weights_of("*"))]
    return selector(READ_RUN, *patterns)


def _play(keys: Keys, worker: str) -> str:
    """What a worker does beside rating while it is idle."""
    return " ".join(
        [
            selector("xadd memory|usage", f"%W~{keys.episodes(worker)}"),
            selector("xrange", f"%R~{keys.episodes(worker)}"),
            selector("sadd scard", f"%W~{keys.senders}"),
            selector("hget", f"%R~{keys.marks(worker)}"),
            selector("lrange", f"%R~{keys.recent}"),
            selector("smembers", f"%R~{keys.servers}"),
            selector("mget", f"%R~{keys.server('*')}"),
        ]
    )


def _rate(keys: Keys, role_id: str) -> str:
    """Reading the run, rating and registering."""
    return " ".join(
        [
            commands("unwatch"),
            _read_run(keys),
            _register(keys, role_id),
            selector("zrange", f"%R~{keys.ratings}"),
            selector("hkeys hget hexists watch", f"%R~{keys.blocks('*')}"),
            selector("hkeys", f"%R~{keys.results('*')}"),
            selector("hsetnx", f"%W~{keys.results('*')}"),
            selector("mget set", f"~{keys.lease('*', '*')}"),
            selector("sadd", f"%W~{keys.returns('*')}"),
        ]
    )


def _infer(keys: Keys, role_id: str) -> str:
    """Reading the run, registering, and being found by workers."""
    own = keys.server(role_id)
    return " ".join(
        [
            _read_run(keys),
            _register(keys, role_id),
            selector("sadd", f"%W~{keys.servers}"),
            selector("set", f"%W~{own}", f"%W~{own}/*"),
        ]
    )


def _register(keys: Keys, role_id: str) -> str:
    """A role that has several processes has an entry for each."""
    own = keys.role(role_id)
    return " ".join(
        [
            selector("sadd", f"%W~{keys.roles}"),
            selector("set", f"%W~{own}", f"%W~{own}/*"),
        ]
    )
