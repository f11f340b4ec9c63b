"""The contract between roles: what a bus carries and promises.

All methods may be called from any thread. `stop` may also be called from a signal handler.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

EpisodeId = tuple[int, int]
"""Worker and sequence number of an episode."""


@dataclass(frozen=True)
class Delivery:
    """An episode on its way to the trainer."""

    sender: int
    """The worker that sent it."""
    number: int
    """Its place among all that this worker has sent, counted from 0."""
    episode: bytes


@dataclass(frozen=True)
class PublishedWeights:
    """One version of the weights that play."""

    version: int
    step: int
    """The training step that produced them."""
    sha256: str
    data: bytes
    """The tensors, as safetensors."""


@dataclass(frozen=True)
class Pace:
    """How far self-play may run ahead of training."""

    rows_inserted: int
    """Rows in the trainer's log."""
    rows_allowed: int
    """Workers make new moves while no more rows than these were inserted."""
    paused: str = ""
    """Why nobody may play for now, such as a full disk; empty: somebody may."""

    @property
    def allows_play(self) -> bool:
        return not self.paused and self.rows_inserted <= self.rows_allowed


@dataclass(frozen=True)
class RoleEntry:
    """A role as the registry lists it."""

    id: str
    kind: str
    """worker, trainer or rater."""
    host: str
    device: str
    counters: Mapping[str, float]
    """What it has done so far, by name."""


@dataclass(frozen=True)
class Block:
    """Rating games that one rater plays: pairs of a match, by their numbers."""

    rating: str
    """The match that it is part of."""
    number: int
    """Counted from 0; a block counts once by this number."""
    task: bytes


@dataclass(frozen=True)
class BlockResult:
    rating: str
    number: int
    result: bytes


class Bus(Protocol):
    """What every role may rely on."""

    # ---- episodes

    def send_episodes(self, deliveries: Sequence[Delivery]) -> None:
        """Queues finished episodes for the trainer."""

    def receive_episodes(self) -> list[Delivery]:
        """Everything that was sent and not received yet. It stays pending until acknowledged."""

    def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        """Drops pending deliveries: the trainer has logged or refused them."""

    def set_marks(self, marks: Mapping[int, int]) -> None:
        """Publishes per sender that all its deliveries below a number are in the log. A mark never
        falls."""

    def mark(self, sender: int) -> int:
        """What that sender may forget: its deliveries below this number. 0 where none is known."""

    def withdraw(self, episodes: Collection[EpisodeId]) -> None:
        """Asks the trainer to disregard episodes that were sent before."""

    def take_withdrawals(self) -> list[EpisodeId]:
        """All withdrawals since the last call."""

    # ---- weights and pace

    def publish_weights(self, weights: PublishedWeights) -> None:
        """Makes these the weights that play."""

    def other_weights(self, version: int) -> PublishedWeights | None:
        """The published weights, unless they are of this version or there are none."""

    def set_pace(self, pace: Pace) -> None:
        """Tells workers how far they may play."""

    def wait_to_play(self, timeout_s: float) -> bool:
        """Whether new moves may be made; waits until they may, at most so long."""

    # ---- registry

    def register(self, entry: RoleEntry) -> None:
        """Adds a role, or updates what it has done."""

    def unregister(self, role_id: str) -> None:
        """Removes a role that ends."""

    def roles(self) -> list[RoleEntry]:
        """All roles, by id."""

    # ---- rating

    def add_blocks(self, blocks: Sequence[Block]) -> None:
        """Offers rating work."""

    def lease_block(self, lease_s: float) -> Block | None:
        """A block that nobody has finished and whose lease, if any, has expired."""

    def finish_block(self, result: BlockResult) -> bool:
        """Reports a block. False where it was reported before: a block counts once."""

    def block_results(self, rating: str) -> list[BlockResult]:
        """What was reported of a match so far, by number."""

    # ---- the end

    def stop(self) -> None:
        """Asks every role to end."""

    @property
    def stopping(self) -> bool:
        """Whether the roles are to end."""
