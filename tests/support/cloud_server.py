"""A moto server as a process of its own, with types of resources that its CloudFormation lacks.

    python cloud_server.py PORT QUOTAS.json

moto has these services, but its CloudFormation skips their types with a warning, and deletes others
not at all; both would make "the whole stack was created" and "nothing is left" true for nothing.
Here they are created in, and deleted from, moto's own services. A type that is still unknown is an
error. QUOTAS.json maps quota codes to values and is read at each question.
"""

import json
import re
import secrets
import sys
import warnings
from pathlib import Path
from typing import Any

from moto.budgets.models import budgets_backends
from moto.cloudformation.parsing import ResourceMap
from moto.core.common_models import CloudFormationModel
from moto.ec2.models import ec2_backends
from moto.ec2.models.elastic_ip_addresses import ElasticAddress
from moto.ec2.models.internet_gateways import InternetGateway
from moto.ec2.models.nat_gateways import NatGateway
from moto.ec2.models.route_tables import Route, RouteTable
from moto.ec2.models.vpcs import VPCEndPoint
from moto.elasticache.models import elasticache_backends
from moto.s3.models import s3_backends
from moto.scheduler.models import scheduler_backends
from moto.secretsmanager.models import secretsmanager_backends
from moto.server import main
from moto.servicequotas.models import ServiceQuotasBackend
from moto.sns.models import sns_backends
from moto.ssm.models import ssm_backends

from zerofleet.cloud.stack_parts import CPU_IMAGE, GPU_IMAGE


class Made:
    """A resource: what `Ref` and `Fn::GetAtt` give for it."""

    def __init__(self, identity: str, **attributes: str) -> None:
        self.physical_resource_id = identity
        self.attributes = attributes

    def get_cfn_attribute(self, name: str) -> str:
        return self.attributes[name]

    def is_created(self) -> bool:
        return True


def add_type(kind: str, create: Any, delete: Any = lambda *_: None) -> None:
    """Registers a type: `create(name, properties, account, region)` makes a `Made`."""

    class Model(CloudFormationModel):
        __module__ = "moto.cloudformation.more"  # moto reads a service from it

        @staticmethod
        def cloudformation_name_type() -> str:
            return ""

        @staticmethod
        def cloudformation_type() -> str:
            return kind

        @classmethod
        def has_cfn_attr(cls, attr: str) -> bool:
            return True

        @classmethod
        def create_from_cloudformation_json(cls, name, resource, account, region, **_):
            made = create(name, resource["Properties"], account, region)
            made.delete = lambda account, region: delete(made.physical_resource_id, account, region)
            made.type = kind
            return made

        @classmethod
        def update_from_cloudformation_json(
            cls, original_resource, new_resource_name, cloudformation_json, account_id, region_name
        ):
            original_resource.delete(account_id, region_name)
            return cls.create_from_cloudformation_json(
                new_resource_name, cloudformation_json, account_id, region_name
            )

    KEPT.append(Model)


KEPT: list[type] = []
"""moto finds types among living subclasses."""


# ---- types that moto lacks


def create_secret(name: str, properties: dict[str, Any], account: str, region: str) -> Made:
    value = secrets.token_hex(32) if "GenerateSecretString" in properties else None
    answer = secretsmanager_backends[account][region].create_secret(
        name=name,
        secret_string=value,
        secret_binary=None,
        description=properties["Description"],
        tags=properties["Tags"],
        kms_key_id=None,
        client_request_token=None,
        replica_regions=[],
        force_overwrite=False,
    )
    return Made(json.loads(answer)["ARN"])


def delete_secret(identity: str, account: str, region: str) -> None:
    secretsmanager_backends[account][region].delete_secret(identity, None, True)


def resolved(text: str, account: str, region: str) -> str:
    """A dynamic reference to a secret, as CloudFormation replaces it."""
    (identity,) = re.fullmatch(r"\{\{resolve:secretsmanager:(.*)\}\}", text).groups()
    backend = secretsmanager_backends[account][region]
    return backend.get_secret_value(identity, None, None)["SecretString"]


def create_redis(name: str, properties: dict[str, Any], account: str, region: str) -> Made:
    backend = elasticache_backends[account][region]
    assert "AuthToken" not in properties  # it excludes users
    assert properties["UserGroupIds"]
    for group in properties["UserGroupIds"]:
        assert any(group in user.user_group_ids for user in backend.users.values()), group
    given = {
        re.sub(r"(?<!^)([A-Z])", r"_\1", key).lower(): value for key, value in properties.items()
    }
    count = backend.create_replication_group.__code__.co_argcount
    wanted = backend.create_replication_group.__code__.co_varnames[1:count]
    assert set(given) <= set(wanted), set(given) - set(wanted)
    made = backend.create_replication_group(**{key: given.get(key) for key in wanted})
    return Made(
        made.replication_group_id,
        **{"PrimaryEndPoint.Address": f"master.{made.replication_group_id}.cache.internal"},
    )


def delete_redis(identity: str, account: str, region: str) -> None:
    backend = elasticache_backends[account][region]
    if identity in backend.replication_groups:  # the shutdown function may have been before
        backend.replication_groups.pop(identity)


def create_user(name: str, properties: dict[str, Any], account: str, region: str) -> Made:
    backend = elasticache_backends[account][region]
    mode = properties["AuthenticationMode"]
    passwords = [resolved(each, account, region) for each in mode["Passwords"]]
    assert all(re.fullmatch(r"[\x21-\x7e]{16,128}", each) for each in passwords)
    check_name(properties["UserId"])
    made = backend.create_user(
        user_id=properties["UserId"],
        user_name=properties["UserName"],
        engine=properties["Engine"],
        passwords=passwords,
        access_string=properties["AccessString"],
        no_password_required=False,
        authentication_type=mode["Type"],
        tags=properties["Tags"],
    )
    return Made(made.id)


def delete_user(identity: str, account: str, region: str) -> None:
    elasticache_backends[account][region].users.pop(identity)


def create_user_group(name: str, properties: dict[str, Any], account: str, region: str) -> Made:
    """moto has no groups of users; who is in one is recorded with the users."""
    backend = elasticache_backends[account][region]
    group = properties["UserGroupId"]
    check_name(group)
    users = [backend.users[each] for each in properties["UserIds"]]
    assert "default" in [user.name for user in users]
    assert len({user.name for user in users}) == len(users)
    assert {user.engine for user in users} == {properties["Engine"]}
    for user in users:
        user.user_group_ids.append(group)
    return Made(group)


def delete_user_group(identity: str, account: str, region: str) -> None:
    for user in elasticache_backends[account][region].users.values():
        user.user_group_ids = [each for each in user.user_group_ids if each != identity]


def check_name(identity: str) -> None:
    """ElastiCache's rule for ids."""
    assert re.fullmatch(r"[a-z][a-z0-9-]{0,39}", identity), identity
    assert "--" not in identity
    assert not identity.endswith("-")


def create_subnets(name: str, properties: dict[str, Any], account: str, region: str) -> Made:
    backend = elasticache_backends[account][region]
    backend.create_cache_subnet_group(
        name, properties["Description"], properties["SubnetIds"], properties["Tags"]
    )
    return Made(name)


def delete_subnets(identity: str, account: str, region: str) -> None:
    elasticache_backends[account][region].cache_subnet_groups.pop(identity)


def create_budget(name: str, properties: dict[str, Any], account: str, region: str) -> Made:
    budget = properties["Budget"]
    budget["BudgetLimit"]["Amount"] = str(budget["BudgetLimit"]["Amount"])
    alarms = properties["NotificationsWithSubscribers"]
    budgets_backends[account]["aws"].create_budget(account, budget, alarms)
    return Made(budget["BudgetName"])


def delete_budget(identity: str, account: str, region: str) -> None:
    budgets_backends[account]["aws"].delete_budget(account, identity)


def create_schedule(name: str, properties: dict[str, Any], account: str, region: str) -> Made:
    given = {
        "description": properties["Description"],
        "schedule_expression": properties["ScheduleExpression"],
        "flexible_time_window": properties["FlexibleTimeWindow"],
        "target": properties["Target"],
        "name": name,
        "state": "ENABLED",
    }
    backend = scheduler_backends[account][region]
    count = backend.create_schedule.__code__.co_argcount
    wanted = backend.create_schedule.__code__.co_varnames[1:count]
    backend.create_schedule(**{key: given.get(key) for key in wanted})
    return Made(name)


def delete_schedule(identity: str, account: str, region: str) -> None:
    scheduler_backends[account][region].delete_schedule(None, identity)


def put_bucket_policy(name: str, properties: dict[str, Any], account: str, region: str) -> Made:
    document = json.dumps(properties["PolicyDocument"]).encode()
    s3_backends[account]["aws"].put_bucket_policy(properties["Bucket"], document)
    return Made(name)


def subscribe(name: str, properties: dict[str, Any], account: str, region: str) -> Made:
    backend = sns_backends[account][region]
    made = backend.subscribe(properties["TopicArn"], properties["Endpoint"], properties["Protocol"])
    return Made(made.arn)


def set_topic_policy(name: str, properties: dict[str, Any], account: str, region: str) -> Made:
    for topic in properties["Topics"]:
        sns_backends[account][region].topics[topic].policy = json.dumps(
            properties["PolicyDocument"]
        )
    return Made(name)


def record_only(name: str, properties: dict[str, Any], account: str, region: str) -> Made:
    """moto has no such service at all."""
    return Made(name)


add_type("AWS::SecretsManager::Secret", create_secret, delete_secret)
add_type("AWS::ElastiCache::ReplicationGroup", create_redis, delete_redis)
add_type("AWS::ElastiCache::User", create_user, delete_user)
add_type("AWS::ElastiCache::UserGroup", create_user_group, delete_user_group)
add_type("AWS::ElastiCache::SubnetGroup", create_subnets, delete_subnets)
add_type("AWS::ElastiCache::ParameterGroup", record_only)
add_type("AWS::Budgets::Budget", create_budget, delete_budget)
add_type("AWS::Scheduler::Schedule", create_schedule, delete_schedule)
add_type("AWS::S3::BucketPolicy", put_bucket_policy)
add_type("AWS::SNS::Subscription", subscribe)
add_type("AWS::SNS::TopicPolicy", set_topic_policy)
add_type("AWS::EC2::PlacementGroup", record_only)


# ---- types that moto creates but does not delete


def delete_by(find: Any) -> Any:
    def delete(self: Any, account: str, region: str) -> None:
        find(self, ec2_backends[account][region])

    return delete


def end_gateway(gateway: NatGateway, backend: Any) -> None:
    gateway.state = "deleted"


NatGateway.delete = delete_by(end_gateway)
ElasticAddress.delete = delete_by(
    lambda address, backend: backend.release_address(allocation_id=address.allocation_id)
)
VPCEndPoint.delete = delete_by(
    lambda endpoint, backend: backend.vpc_end_points.pop(endpoint.id, None)
)
Route.delete = delete_by(lambda route, backend: None)  # goes with its table
RouteTable.delete = delete_by(lambda table, backend: backend.route_tables.pop(table.id, None))


def drop_gateway(gateway: InternetGateway, backend: Any) -> None:
    gateway.vpc = None
    backend.internet_gateways.pop(gateway.id, None)


InternetGateway.delete = delete_by(drop_gateway)


# ---- types whose tags moto reads in another form than the documented one


def store(name: str, properties: dict[str, Any], account: str, region: str) -> Made:
    backend = ssm_backends[account][region]
    given = {
        "name": properties["Name"],
        "description": "",
        "value": properties["Value"],
        "parameter_type": properties["Type"],
        "data_type": "text",
        "tags": [{"Key": key, "Value": value} for key, value in properties["Tags"].items()],
    }
    assert len(given["value"].encode()) <= 4096
    count = backend.put_parameter.__code__.co_argcount
    wanted = backend.put_parameter.__code__.co_varnames[1:count]
    backend.put_parameter(**{key: given.get(key) for key in wanted})
    return Made(properties["Name"])


def unstore(identity: str, account: str, region: str) -> None:
    ssm_backends[account][region].delete_parameter(identity)


add_type("AWS::SSM::Parameter", store, unstore)


# ---- machine images


def find_image(self: ResourceMap, name: str, kind: str) -> str:
    """moto publishes plain Amazon Linux alone."""
    return moto_find_image(self, CPU_IMAGE if name == GPU_IMAGE else name, kind)


moto_find_image = ResourceMap.parse_ssm_parameter
ResourceMap.parse_ssm_parameter = find_image


# ---- quotas


def get_service_quota(self: Any, service_code: str, quota_code: str) -> dict[str, Any]:
    value = json.loads(Path(sys.argv[2]).read_text())[quota_code]
    return {"ServiceCode": service_code, "QuotaCode": quota_code, "Value": float(value)}


ServiceQuotasBackend.get_service_quota = get_service_quota

if __name__ == "__main__":
    warnings.filterwarnings("error", message="Tried to parse .* but it's not supported")
    main(["-H", "127.0.0.1", "-p", sys.argv[1]])
