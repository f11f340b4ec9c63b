"""The cluster file: a run, its settings, and the number and resources of its roles on Ray.

    run: c4
    game: connect4
    preset: standard
    settings:
      search: {num_simulations: 64}
    roles:
      trainer: {num_cpus: 4, num_gpus: 1}
      worker: {per_node: 1, num_cpus: 8}

`zerofleet fleet up FILE` reads it and passes its content to the nodes as command lines, so it must
not hold secrets: passwords come from the environment or from files on each node.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, ValidationError, model_validator

from zerofleet import games
from zerofleet.config.presets import load
from zerofleet.config.section import Section
from zerofleet.config.sections import Config, leaves
from zerofleet.config.text import Override, read_yaml, shown, unknown_name
from zerofleet.errors import BadText, first_fault

ROLE_KINDS = ("trainer", "inference", "worker", "rater")
"""By verb, in the order of starting: each depends only on those before it."""
SECRETS = ("REDIS_PASSWORD", "REDIS_URL")
"""Variables that may hold a password."""

Number = Annotated[int, Field(ge=0, le=100_000)]


class RoleConfig(Section):
    """The number of replicas of a role and the resources of each."""

    count: Number | None = None
    """Replicas in total, on any nodes with enough resources. Ray's autoscaler adds nodes for those
    that wait. Default: 1, unless per_node is given."""

    per_node: Number | None = None
    """Replicas on each node that has the resources, including nodes that join later."""

    num_cpus: Annotated[int, Field(ge=0, le=4096)] = 1
    """Cores that Ray reserves for each, and its number of processes or threads."""

    num_gpus: Annotated[float, Field(ge=0, le=64)] = 0
    """GPUs of each; it sees no others. A fraction shares a GPU."""

    resources: dict[str, Annotated[float, Field(gt=0, le=1e6)]] = Field(default={})
    """Custom resources of each, such as {selfplay: 1}: it runs only on nodes that have them
    (ray start --resources)."""

    options: list[str] = Field(default=[])
    """Further command-line options; they override those that follow from the resources. {node} is
    replaced by the node's address."""

    @model_validator(mode="after")
    def _is_counted_one_way(self) -> Self:
        if self.count is not None and self.per_node is not None:
            raise ValueError("count and per_node are both given; keep one")
        return self

    @property
    def total(self) -> int:
        """Replicas in total, where per_node is not given."""
        return 1 if self.count is None else self.count

    def scaled(self, number: int) -> "RoleConfig":
        """A copy with another number, in total or per node as before."""
        name = "count" if self.per_node is None else "per_node"
        return self.model_copy(update={name: number})


class ClusterConfig(Section):
    """A run on a cluster."""

    run: str
    """Name of the run."""

    game: str
    """One of `zerofleet games`, or a custom game by its file, at the same path on every node."""

    preset: str = "standard"
    """Preset of the trainer."""

    settings: dict[str, Any] = Field(default={})
    """Settings over the preset, by section, as in a settings file."""

    redis: str = ""
    """redis://HOST:6379 or rediss://HOST:6380, without a password. Empty: REDIS_URL or
    REDIS_URL_FILE in the environment of each node."""

    passwords: str = ""
    """A folder on each node with password files made by `fleet acl`: each role logs in as its own
    user. Empty: REDIS_USER and REDIS_PASSWORD or REDIS_PASSWORD_FILE of each node."""

    environment: dict[str, str] = Field(default={})
    """Environment variables of all roles, such as ZEROFLEET_RUNS. No secrets: Ray stores them."""

    roles: dict[str, RoleConfig]
    """By kind: trainer, inference, worker, rater."""

    @model_validator(mode="after")
    def _one_trainer_leads_known_roles(self) -> Self:
        for kind in self.roles:
            if kind not in ROLE_KINDS:
                raise ValueError(unknown_name("role", kind, ROLE_KINDS))
        trainer = self.roles.get("trainer")
        if trainer is None or trainer.per_node is not None or trainer.total != 1:
            raise ValueError("roles must have one trainer: trainer: {num_cpus: 4, num_gpus: 1}")
        return self

    @model_validator(mode="after")
    def _holds_no_secret(self) -> Self:
        for name in self.environment:
            if name in SECRETS:
                raise ValueError(
                    f"environment.{name} may hold a password, and Ray would store it; put it into "
                    f"a file on each node and name that: {name}_FILE"
                )
        return self

    def overrides(self, source: str) -> list[Override]:
        """The settings, each under its full name."""
        return [
            Override(tuple(name.split(".")), value, f"{source}: settings.{name}")
            for name, value in leaves(self.settings)
        ]

    def training_config(self, source: str) -> Config:
        """The validated settings of the run; errors name `source`."""
        return load(self.game, self.preset, overrides=self.overrides(source))


def read_cluster(path: Path) -> ClusterConfig:
    """Reads and validates a cluster file, including the settings of its run."""
    content = read_yaml(path)
    try:
        cluster = ClusterConfig.model_validate(content)
    except ValidationError as error:
        fault = error.errors()[0]
        name = ".".join(map(str, fault["loc"]))
        if fault["type"] == "extra_forbidden":
            explained = unknown_name("setting", name, list(_names(content)))
        else:
            explained = first_fault(error)
        raise BadText(f"{shown(path)}: {explained}") from None
    cluster.training_config(shown(path))
    if games.is_source(cluster.game):
        return cluster.model_copy(update={"game": games.absolute(cluster.game)})
    return cluster


def _names(content: dict[str, Any]) -> Iterator[str]:
    """Every valid field name of a file with these roles."""
    yield from ClusterConfig.model_fields
    for kind in content.get("roles", {}):
        yield from (f"roles.{kind}.{name}" for name in RoleConfig.model_fields)
