"""The contract between roles: what a bus carries and promises.

All methods may be called from any thread. `stop` may also be called from a signal handler. A bus on
a server raises `BusUnreachable` while the server cannot be reached and `BusFull` while it has no
room; the same call may be repeated later. Only the trainer that holds the lease may publish, mark,
acknowledge, set the pace, and add and drop blocks: `NotTheTrainer` otherwise.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from zerofleet.errors import ZerofleetError

EpisodeId = tuple[int, int]
"""Incarnation and sequence number of an episode."""


NUM_RECENT_WEIGHTS = 5
"""Published versions that stay on the bus at least."""


class BusUnreachable(ZerofleetError, ConnectionError):
    """The bus's server cannot be reached. Nothing is known about the call that failed."""


class BusFull(ZerofleetError):
    """The bus's server has no memory left for what was sent."""


class BusRefused(ZerofleetError):
    """The bus's server does not allow what was asked: a wrong password, or another role's call."""


class NotTheTrainer(ZerofleetError):
    """Another process trains the run, or this one was silent for so long that another may."""


class Sender(NamedTuple):
    """Who sends episodes: one start of one worker."""

    worker: str
    """The worker's id, the same after a restart."""
    incarnation: int
    """64 random bits drawn at each start, so that episodes' ids never repeat."""


@dataclass(frozen=True)
class Delivery:
    """An episode on its way to the trainer."""

    sender: Sender
    number: int
    """Its sequence number within this sender, counted from 0: its spool number."""
    episode: bytes
    run: str = ""
    """The id of the run that it was played for. A trainer of another run, such as one that was
    created later under the same name, does not receive it."""


@dataclass(frozen=True)
class Backlog:
    """Deliveries that were sent and not acknowledged."""

    num_episodes: int
    num_bytes: int
    """What they occupy in the bus."""
    oldest_s: float
    """Age of the oldest."""


@dataclass(frozen=True)
class Receipt:
    """What a sender learns of its deliveries."""

    mark: int
    """It may forget its deliveries below this number."""
    oldest_waiting_s: float
    """Age of the oldest delivery of its worker that waits for the trainer; 0 where none does."""
    waiting_bytes: int
    """What its worker's waiting deliveries occupy in the bus."""
    num_senders: int
    """Workers whose deliveries wait."""

    def room_bytes(self, max_bytes: int) -> int:
        """How much more its worker may send: at most `max_bytes` wait for the trainer, in equal
        shares for all workers whose deliveries wait."""
        return max_bytes // max(1, self.num_senders) - self.waiting_bytes


@dataclass(frozen=True)
class ServerFigures:
    """What a bus's server reports of itself."""

    memory_bytes: int
    max_memory_bytes: int
    """0: as much as the machine has."""


@dataclass(frozen=True)
class PublishedWeights:
    """One version of the weights that play."""

    version: int
    step: int
    """The training step that produced them."""
    sha256: str
    data: bytes
    """The tensors, as safetensors."""
    age_s: float = 0.0
    """Seconds since they were published, by the bus's clock, when they were read."""


@dataclass(frozen=True)
class WeightsFacts:
    """What is known of the published weights without fetching them."""

    version: int
    step: int
    """The training step that produced them."""
    num_bytes: int
    age_s: float
    """Seconds since they were published, by the bus's clock."""
    num_kept: int
    """Versions that can be fetched: the newest ones, and those that a rating needs."""


@dataclass(frozen=True)
class Pace:
    """How far self-play may run ahead of training."""

    rows_inserted: int
    """Rows in the trainer's log."""
    rows_allowed: int
    """Workers make new moves until this many rows are inserted."""
    paused: str = ""
    """Why play is paused, such as a full disk; empty while it is not."""

    @property
    def allows_play(self) -> bool:
        return not self.paused and self.rows_inserted <= self.rows_allowed


@dataclass(frozen=True)
class RoleEntry:
    """A role as the registry lists it."""

    id: str
    kind: str
    """worker, trainer, rater or inference."""
    host: str
    device: str
    program: str = ""
    """Version of zerofleet."""
    started: float = 0.0
    """Unix time."""
    address: str = ""
    """Where it serves /healthz and /metrics, as host:port."""
    doing: str = ""
    """What it does or waits for, in a few words."""
    weights_sha256: str = ""
    """Of the weights that it evaluates with; empty where it has none."""
    counters: Mapping[str, float] = field(default_factory=dict)
    """What it has done so far, by name."""


@dataclass(frozen=True)
class InferenceOffer:
    """An inference server as workers find it."""

    id: str
    address: str
    """Where it takes requests: tcp://HOST:PORT."""
    public_key: str = ""
    """Of its CURVE key; empty where it has none."""


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


FetchWeights = Callable[[str], bytes]
"""Gets the bytes of weights by their SHA-256."""


class Bus(Protocol):
    """What every role may rely on."""

    # ---- the run

    def publish_run(self, facts: bytes) -> None:
        """What a role must know and match to serve the run."""

    def run_facts(self) -> bytes | None:
        """None before a trainer has published them."""

    def publish_graph(self, graph: bytes) -> None:
        """The network as ONNX without weights, for workers without torch."""

    def graph(self) -> bytes | None:
        """None where the run has none."""

    def wait_for_news(self, timeout_s: float) -> None:
        """Returns when something was published, or after the timeout."""

    # ---- episodes

    def send_episodes(self, deliveries: Sequence[Delivery]) -> None:
        """Queues finished episodes for the trainer."""

    def receive_episodes(self) -> list[Delivery]:
        """Everything that was sent and not received yet. It stays pending until acknowledged."""

    def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        """Drops pending deliveries: the trainer has logged or refused them."""

    def set_marks(self, marks: Mapping[Sender, int]) -> None:
        """Publishes per sender that all its deliveries below a number are in the log. A mark never
        falls."""

    def mark(self, sender: Sender) -> int:
        """What that sender may forget: its deliveries below this number. 0 where none is known."""

    def receipt(self, sender: Sender) -> Receipt:
        """What has become of a sender's deliveries. One that neither waits nor is below the mark is
        lost: what waits is read before the mark."""

    def backlog(self) -> Backlog:
        """What waits for the trainer."""

    def backlog_by_worker(self) -> dict[str, Backlog]:
        """The same for each worker whose episodes wait, by id."""

    def peek_episodes(self, max_count: int) -> list[Delivery]:
        """The newest deliveries that wait for the trainer, oldest first, at most this many. They
        stay in the queue."""

    def clear_backlog(self) -> int:
        """Discards all waiting deliveries and marks them as done, so that they are not sent again;
        returns how many."""

    def take_cleared(self) -> list[tuple[Sender, int]]:
        """Senders and numbers that were cleared since the last call. The trainer logs them."""

    def withdraw(self, episodes: Collection[EpisodeId]) -> None:
        """Asks the trainer to disregard episodes that were sent before."""

    def take_withdrawals(self) -> list[EpisodeId]:
        """All withdrawals since the last call."""

    # ---- weights and pace

    def publish_weights(self, step: int, sha256: str, data: bytes, at_least: int) -> int:
        """Makes these the weights that play. Returns their version: `at_least` that number, and
        higher than every version before."""

    @property
    def num_listeners(self) -> int:
        """How many roles receive announcements, as the trainer counted them last; 0 if unknown.
        Never waits for a server."""

    def weights_version(self) -> int | None:
        """The version of the published weights, without fetching them; None where there are
        none."""

    def weights_facts(self) -> WeightsFacts | None:
        """What is known of the published weights; None where there are none."""

    def other_weights(
        self, version: int, fetch: FetchWeights | None = None
    ) -> PublishedWeights | None:
        """The published weights, unless they are of this version or there are none. `fetch` gets
        their bytes from elsewhere than the bus."""

    def keep_weights(self, weights: Sequence[PublishedWeights]) -> None:
        """Keeps these versions for `weights`, published or not, instead of those kept before."""

    def weights(self, version: int) -> PublishedWeights | None:
        """Weights by version: the newest and kept ones; None where they are gone."""

    def recent_versions(self) -> list[int]:
        """The last NUM_RECENT_WEIGHTS versions that were published, newest first."""

    def set_pace(self, pace: Pace) -> None:
        """Tells workers how far they may play."""

    def pace(self) -> Pace | None:
        """What the trainer set last; None while no trainer keeps it up to date. Never waits for a
        server."""

    def wait_to_play(self, timeout_s: float) -> bool:
        """Whether new moves may be made; waits until they may, up to the timeout."""

    def hold(self, worker: str, reason: str) -> None:
        """Pauses a worker, or all where the id is empty; an empty reason resumes."""

    def held(self, worker: str) -> str:
        """Why this worker is paused; empty where it is not."""

    # ---- registry

    def register(self, entry: RoleEntry) -> None:
        """Adds a role, or updates what it has done."""

    def unregister(self, role_id: str) -> None:
        """Removes a role that ends."""

    def roles(self) -> list[RoleEntry]:
        """All roles, by id."""

    def heartbeats(self) -> dict[str, float]:
        """Seconds since each role registered last, by id, by the bus's clock."""

    def offer_inference(self, offer: InferenceOffer) -> None:
        """Lets workers find an inference server for as long as a role is listed; to be repeated
        with each heartbeat."""

    def end_offer(self, server_id: str) -> None:
        """Workers are to ask this inference server no more."""

    def inference_offers(self) -> list[InferenceOffer]:
        """All inference servers that take requests, by id."""

    # ---- rating

    def add_blocks(self, blocks: Sequence[Block]) -> None:
        """Offers rating work. A block that was added before keeps its lease and its result."""

    def lease_block(self, lease_s: float, without: Collection[str] = ()) -> Block | None:
        """A block that nobody has finished and whose lease, if any, has expired; of no match in
        `without`."""

    def return_block(self, block: Block, reason: str) -> None:
        """Ends a lease without a result: another may lease the block immediately. The trainer reads
        the reason; it is empty for a rater that ends."""

    def finish_block(self, result: BlockResult) -> bool:
        """Reports a block. False where it was reported before, since a block counts once, or where
        its match was dropped."""

    def block_results(self, rating: str) -> list[BlockResult]:
        """What was reported of a match so far, by number."""

    def block_returns(self, rating: str) -> list[str]:
        """Why blocks of a match were returned: each reason once, sorted."""

    def ratings(self) -> list[str]:
        """Matches that have blocks, oldest first."""

    def drop_blocks(self, rating: str) -> None:
        """Forgets a match: its blocks, leases, results and returns."""

    # ---- the end

    def server_figures(self) -> ServerFigures | None:
        """None where the bus has no server."""

    @property
    def reachable(self) -> bool:
        """Whether the bus's server answered last. Never waits for it."""

    def stop(self) -> None:
        """Asks all roles that use this object to end."""

    def end_run(self) -> None:
        """Asks all roles of the run to end, on every machine. The next trainer revokes it."""

    @property
    def stopping(self) -> bool:
        """Whether the roles are to end."""
