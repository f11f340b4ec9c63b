"""The Redis of a fleet: a user for each role, with a password that its machines alone may read.

A user may do what `zerofleet fleet acl` allows its role. One serves all machines of a role, whose
ids are not known before they start: what they share in Redis, such as the streams of workers, is
not kept from one another. Nobody else can log in.
"""

from typing import Any

from troposphere import GetAtt, Ref, Sub, Template
from troposphere.elasticache import (
    AuthenticationMode,
    ParameterGroup,
    ReplicationGroup,
    SubnetGroup,
    User,
    UserGroup,
)
from troposphere.secretsmanager import GenerateSecretString, Secret

from zerofleet.bus.acl import permissions
from zerofleet.cloud.plan import Plan, Role
from zerofleet.cloud.stack_network import REDIS_PORT
from zerofleet.cloud.stack_parts import tags

ENGINE = "valkey"
MACHINE_IDS = "i-*"
"""The ids of roles begin with that of their machine (boot/role.sh)."""
VIEWER = "viewer"
"""The dashboard on the trainer's machine."""


def add_redis(built: Template, plan: Plan) -> None:
    """Encrypted on the wire and at rest; it never evicts games."""
    assert plan.redis
    add = built.add_resource
    for kind in user_kinds(plan):
        _add_user(built, kind)
    if plan.inference:
        for title, role, whose in (
            ("ServerKey", "inference", "inference servers"),
            ("WorkerKey", "worker", "workers"),
        ):
            # The value is added by `up`, which makes both keys of a pair.
            add(Secret(title, Description=f"CURVE key of {whose}", Tags=tags(role)))
    # ElastiCache wants a user of this name in each group, and a password for each user. It is off.
    add(_user("DefaultUser", "default", "default", "off -@all", password_title("trainer")))
    titles = ["DefaultUser", *(f"{kind.capitalize()}User" for kind in user_kinds(plan))]
    add(
        UserGroup(
            "RedisUsers",
            UserGroupId=Sub("zerofleet-${RunName}"),
            Engine=ENGINE,
            UserIds=[Ref(title) for title in titles],
            Tags=tags("redis"),
        )
    )
    add(
        SubnetGroup(
            "RedisSubnets",
            Description="zerofleet",
            SubnetIds=[Ref("FirstSubnet")],
            Tags=tags("redis"),
        )
    )
    add(
        ParameterGroup(
            "RedisSettings",
            CacheParameterGroupFamily="valkey8",
            Description="zerofleet: games must not be evicted",
            Properties={"maxmemory-policy": "noeviction"},
            Tags=tags("redis"),
        )
    )
    add(
        ReplicationGroup(
            "Redis",
            ReplicationGroupId=Sub("zerofleet-${RunName}"),
            ReplicationGroupDescription="zerofleet: games and weights in transit",
            Engine=ENGINE,
            EngineVersion="8.0",
            CacheNodeType=plan.redis.type,
            NumCacheClusters=1,
            AutomaticFailoverEnabled=False,
            Port=REDIS_PORT,
            TransitEncryptionEnabled=True,
            AtRestEncryptionEnabled=True,
            UserGroupIds=[Ref("RedisUsers")],
            CacheSubnetGroupName=Ref("RedisSubnets"),
            CacheParameterGroupName=Ref("RedisSettings"),
            SecurityGroupIds=[GetAtt("RedisDoor", "GroupId")],
            Tags=tags("redis"),
        )
    )


def user_kinds(plan: Plan) -> list[str]:
    return [*plan.machines(), VIEWER]


def password_title(kind: str) -> str:
    """The secret of a user."""
    return f"{kind.capitalize()}Password"


def secrets_of(plan: Plan, role: Role) -> dict[str, str]:
    """The secrets that machines of a role read: variable of the boot scripts to title."""
    found = {}
    if plan.redis:
        found["REDIS_SECRET"] = password_title(role)
        if role == "trainer":
            found["VIEWER_SECRET"] = password_title(VIEWER)
    if plan.inference and role != "trainer":
        title = "WorkerKey" if role == "worker" else "ServerKey"
        found["CURVE_SECRET"] = title
    return found


def _add_user(built: Template, kind: str) -> None:
    role = "trainer" if kind == VIEWER else kind
    built.add_resource(
        Secret(
            password_title(kind),
            Description=f"Password of the {kind} in the run's Redis",
            GenerateSecretString=GenerateSecretString(PasswordLength=64, ExcludePunctuation=True),
            Tags=tags(role),
        )
    )
    allowed = permissions("RUN", kind, MACHINE_IDS).replace("{RUN}", "{${RunName}}")
    built.add_resource(
        _user(
            f"{kind.capitalize()}User",
            kind,
            Sub(f"zf-${{RunName}}-{kind}"),
            Sub(f"on {allowed}"),
            password_title(kind),
        )
    )


def _user(title: str, kind: str, name: Any, access: Any, password: str) -> User:
    return User(
        title,
        UserId=Sub(f"${{RunName}}-{kind}"),  # at most 40 characters
        UserName=name,
        Engine=ENGINE,
        AccessString=access,
        AuthenticationMode=AuthenticationMode(
            Type="password", Passwords=[Sub(f"{{{{resolve:secretsmanager:${{{password}}}}}}}")]
        ),
        Tags=tags("redis"),
    )
