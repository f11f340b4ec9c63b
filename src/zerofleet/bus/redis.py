"""The bus of a fleet: roles on many machines, connected through one Redis.

    bus = RedisBus(read_address(), "my-run")
    bus.lead("box-1", timeout_s=15)       # the trainer only

Workers and raters use plain commands, so that Redis' ACL can confine each to its own keys
(`zerofleet.bus.acl`); every write of the trainer checks its lease (`zerofleet.bus.lead`). Leases,
heartbeats and ages use Redis' clock. All reads into memory are bounded.
"""

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from zerofleet.bus import scripts
from zerofleet.bus.connect import RedisAddress
from zerofleet.bus.contract import (
    Backlog,
    Block,
    BlockResult,
    Delivery,
    EpisodeId,
    FetchWeights,
    InferenceOffer,
    NotTheTrainer,
    Pace,
    PublishedWeights,
    Receipt,
    RoleEntry,
    Sender,
    ServerFigures,
    WeightsFacts,
)
from zerofleet.bus.keys import Keys, checked_name
from zerofleet.bus.lead import (
    AT_ONCE,
    MAX_EPISODE_BYTES,
    Leader,
    checked_size,
    lead,
)
from zerofleet.bus.link import RedisLink
from zerofleet.bus.ratings import Ratings
from zerofleet.errors import BadBytes

ROLE_TIMEOUT_S = 30.0
"""A role that has not registered for this long is no longer listed."""
MAX_ENTRY_BYTES = 64 << 10
MAX_SENT_BYTES = 1 << 20
MAX_SENT_ENTRIES = 1024
"""Of one transaction."""
CLEARED_AT_ONCE = 200
MAX_REASON = 500
"""Characters of a reason that somebody gives."""

_ENTRY = TypeAdapter(RoleEntry)
_OFFER = TypeAdapter(InferenceOffer)
Listed = TypeVar("Listed", RoleEntry, InferenceOffer)


class RedisBus:
    """Implements `Bus`. A pace that no trainer refreshes allows play."""

    def __init__(self, address: RedisAddress, run: str) -> None:
        self.keys = Keys(run)
        self._link = RedisLink(address, self.keys)
        self._ratings = Ratings(self._link)
        self._leader: Leader | None = None
        self._stopping = False

    @property
    def server(self) -> str:
        """Name and version of the server."""
        return self._link.server

    def close(self) -> None:
        """Ends the threads; a trainer gives its lease back."""
        if self._leader is not None:
            self._leader.close()
        self._link.close()

    # ---- the trainer

    def lead(self, host: str, timeout_s: float, patience_s: float = 0.0, run_id: str = "") -> int:
        """Makes this process the run's trainer until it is silent for the timeout and another takes
        over. Returns its epoch; NotTheTrainer, with the other's host, while another leads. What an
        earlier run of the same name, with another id, has left in Redis is deleted."""
        self._leader = lead(self._link, host, timeout_s, patience_s, run_id)
        return self._leader.epoch

    @property
    def num_malformed(self) -> int:
        """Entries of streams that were dropped: no deliveries at all, or of another run."""
        return self._leading.num_malformed

    @property
    def num_published(self) -> int:
        """Versions of weights that this trainer has published."""
        return self._leading.num_published

    @property
    def _leading(self) -> Leader:
        if self._leader is None:
            raise NotTheTrainer("only the run's trainer may do this, and this process is not it")
        return self._leader

    # ---- the run

    def publish_run(self, facts: bytes) -> None:
        self._leading.publish_run(facts)

    def run_facts(self) -> bytes | None:
        found: bytes | None = self._link.call(lambda client: client.get(self.keys.run))
        return found

    def publish_graph(self, graph: bytes) -> None:
        self._leading.publish_graph(graph)

    def graph(self) -> bytes | None:
        data, sha256 = self._link.call(
            lambda client: client.hmget(self.keys.graph, ["data", "sha256"])
        )
        if data is None:
            return None
        if hashlib.sha256(data).hexdigest() != sha256.decode(errors="replace"):
            raise BadBytes(f"the graph in {self._link.address} is damaged: its sha256 differs")
        return bytes(data)

    def wait_for_news(self, timeout_s: float) -> None:
        with self._link.changed:
            self._link.published.wait(timeout_s)

    # ---- episodes

    def send_episodes(self, deliveries: Sequence[Delivery]) -> None:
        for part in in_parts(deliveries):
            self._link.call(self._send, part)

    def _send(self, client: Any, deliveries: Sequence[Delivery]) -> None:
        pipeline = client.pipeline(transaction=True)
        for each in deliveries:
            fields = {
                "incarnation": each.sender.incarnation,
                "number": each.number,
                "episode": each.episode,
                "run": each.run,
            }
            stream = self.keys.episodes(checked_name("worker", each.sender.worker))
            pipeline.execute_command("XADD", stream, "*", *(x for kv in fields.items() for x in kv))
        for worker in {each.sender.worker for each in deliveries}:
            pipeline.sadd(self.keys.senders, worker)
        pipeline.execute()

    def receive_episodes(self) -> list[Delivery]:
        return self._leading.receive()

    def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        self._leading.acknowledge(deliveries)

    def set_marks(self, marks: Mapping[Sender, int]) -> None:
        self._leading.set_marks(marks)

    def mark(self, sender: Sender) -> int:
        key = self.keys.marks(checked_name("worker", sender.worker))
        found = self._link.call(lambda client: client.hget(key, str(sender.incarnation)))
        return int(found or 0)

    def receipt(self, sender: Sender) -> Receipt:
        worker = checked_name("worker", sender.worker)

        def look(client: Any) -> Any:
            pipeline = client.pipeline(transaction=False)
            pipeline.xrange(self.keys.episodes(worker), count=1)
            pipeline.time()
            pipeline.memory_usage(self.keys.episodes(worker))
            pipeline.scard(self.keys.senders)
            pipeline.hget(self.keys.marks(worker), str(sender.incarnation))
            return pipeline.execute()

        entries, now, num_bytes, num_senders, mark = self._link.call(look)
        oldest_s = age_of(entries, now) if entries else 0.0
        return Receipt(int(mark or 0), oldest_s, num_bytes or 0, num_senders)

    def backlog(self) -> Backlog:
        found = self.backlog_by_worker().values()
        return Backlog(
            sum(each.num_episodes for each in found),
            sum(each.num_bytes for each in found),
            max((each.oldest_s for each in found), default=0.0),
        )

    def backlog_by_worker(self) -> dict[str, Backlog]:
        def look(client: Any) -> Any:
            workers = self._senders(client)
            pipeline = client.pipeline(transaction=False)
            for worker in workers:
                stream = self.keys.episodes(worker)
                pipeline.xlen(stream)
                pipeline.memory_usage(stream)
                pipeline.xrange(stream, count=1)
            pipeline.time()
            return workers, pipeline.execute()

        workers, (*found, now) = self._link.call(look)
        backlogs = {}
        for worker, *figures in zip(workers, found[::3], found[1::3], found[2::3], strict=True):
            num_episodes, num_bytes, entries = figures
            if entries:  # else all were acknowledged meanwhile
                backlogs[worker] = Backlog(num_episodes, num_bytes or 0, age_of(entries, now))
        return backlogs

    def peek_episodes(self, max_count: int) -> list[Delivery]:
        def look(client: Any) -> Any:
            for worker in self._senders(client):
                entries = client.xrevrange(self.keys.episodes(worker), count=max_count)
                yield from ((entry, worker, fields) for entry, fields in entries)

        if max_count < 1:
            return []
        found = self._link.call(lambda client: list(look(client)))
        found.sort(key=lambda each: [int(part) for part in each[0].split(b"-")])
        deliveries = []
        for _, worker, fields in found[-max_count:]:
            try:
                sender = Sender(worker, int(fields[b"incarnation"]))
                number, run = int(fields[b"number"]), fields[b"run"].decode(errors="replace")
                deliveries.append(Delivery(sender, number, fields[b"episode"], run))
            except (KeyError, ValueError):
                continue  # the trainer drops and counts it
        return deliveries

    def clear_backlog(self) -> int:
        num_cleared = 0
        for worker in self._link.call(self._senders):
            stream = self.keys.episodes(worker)
            names = [stream, self.keys.senders, self.keys.marks(worker), self.keys.cleared]
            left = self._link.call(lambda client, key: client.xlen(key), stream)
            while left > 0:
                at_once = min(left, CLEARED_AT_ONCE)
                cleared = self._link.script(scripts.CLEAR, names, [worker, at_once])
                num_cleared += cleared
                left = left - at_once if cleared else 0
        return num_cleared

    def _senders(self, client: Any) -> list[str]:
        """Workers whose episodes wait."""
        found = client.smembers(self.keys.senders)
        return sorted(worker.decode(errors="replace") for worker in found)

    def take_cleared(self) -> list[tuple[Sender, int]]:
        lines = [line.decode().split() for line in self._leading.take(self.keys.cleared)]
        return [(Sender(worker, int(inc)), int(number)) for worker, inc, number in lines]

    def withdraw(self, episodes: Collection[EpisodeId]) -> None:
        lines = [f"{incarnation} {sequence}" for incarnation, sequence in episodes]
        for first in range(0, len(lines), AT_ONCE):
            part = lines[first : first + AT_ONCE]
            self._link.call(lambda client, items: client.rpush(self.keys.withdrawals, *items), part)

    def take_withdrawals(self) -> list[EpisodeId]:
        lines = [line.split() for line in self._leading.take(self.keys.withdrawals)]
        return [(int(incarnation), int(sequence)) for incarnation, sequence in lines]

    # ---- weights and pace

    def publish_weights(self, step: int, sha256: str, data: bytes, at_least: int) -> int:
        return self._leading.publish_weights(step, sha256, data, at_least)

    @property
    def num_listeners(self) -> int:
        return self._link.seen.num_listeners

    def weights_version(self) -> int | None:
        return self._link.seen.version

    def weights_facts(self) -> WeightsFacts | None:
        def look(client: Any) -> Any:
            pipeline = client.pipeline(transaction=False)
            pipeline.time()
            pipeline.hmget(self.keys.weights, ["version", "step", "size", "at_ms"])
            pipeline.lrange(self.keys.recent, 0, -1)
            pipeline.smembers(self.keys.kept)
            return pipeline.execute()

        (seconds, micros), (version, *facts), recent, kept = self._link.call(look)
        if version is None:
            return None
        step, num_bytes, at_ms = map(int, facts)
        age_s = max(0.0, seconds + micros / 1e6 - at_ms / 1000)
        return WeightsFacts(int(version), step, num_bytes, age_s, len({*recent, *kept}))

    def other_weights(
        self, version: int, fetch: FetchWeights | None = None
    ) -> PublishedWeights | None:
        def look(client: Any) -> Any:
            pipeline = client.pipeline(transaction=False)
            pipeline.time()
            pipeline.hmget(self.keys.weights, ["version", "at_ms", "step", "sha256"])
            return pipeline.execute()

        while self._link.seen.version not in (None, version):
            (seconds, micros), (newest, at_ms, step, sha256) = self._link.call(look)
            self._link.see_version(None if newest is None else int(newest))
            if newest is None or int(newest) == version:
                return None
            age_s = max(0.0, seconds + micros / 1e6 - int(at_ms) / 1000)
            if fetch is not None:
                sha256 = sha256.decode()
                return PublishedWeights(int(newest), int(step), sha256, fetch(sha256), age_s)
            if (found := self._weights(int(newest), age_s)) is not None:
                return found
        return None

    def keep_weights(self, weights: Sequence[PublishedWeights]) -> None:
        self._leading.keep_weights(weights)

    def weights(self, version: int) -> PublishedWeights | None:
        return self._weights(version, age_s=0.0)

    def _weights(self, version: int, age_s: float) -> PublishedWeights | None:
        key = self.keys.weights_of(version)
        step, sha256, data = self._link.call(
            lambda client: client.hmget(key, ["step", "sha256", "data"])
        )
        if data is None:
            return None
        return PublishedWeights(version, int(step), sha256.decode(), data, age_s)

    def recent_versions(self) -> list[int]:
        found = self._link.call(lambda client: client.lrange(self.keys.recent, 0, -1))
        return [int(version) for version in found]

    def set_pace(self, pace: Pace) -> None:
        self._leading.set_pace(pace)
        with self._link.changed:
            self._link.changed.notify_all()

    def pace(self) -> Pace | None:
        return self._link.pace() if self._leader is None else self._leader.pace

    def wait_to_play(self, timeout_s: float) -> bool:
        def is_allowed() -> bool:
            pace = self.pace()
            return pace is None or pace.allows_play

        with self._link.changed:
            return self._link.changed.wait_for(is_allowed, timeout_s)

    def hold(self, worker: str, reason: str) -> None:
        name = checked_name("worker", worker) if worker else ""

        def write(client: Any) -> None:
            if reason:
                client.hset(self.keys.held, name, reason[:MAX_REASON])
            else:
                client.hdel(self.keys.held, name)
            client.publish(self.keys.announce, "held")

        self._link.call(write)
        self._link.poll()

    def held(self, worker: str) -> str:
        held = self._link.seen.held
        return held.get("") or held.get(worker, "")

    # ---- registry

    def register(self, entry: RoleEntry) -> None:
        data = _ENTRY.dump_json(entry)
        checked_size(f"the registry entry of {entry.id}", data, MAX_ENTRY_BYTES)
        self._write_entry(self.keys.roles, self.keys.role, entry.id, data)

    def unregister(self, role_id: str) -> None:
        self._write_entry(self.keys.roles, self.keys.role, role_id, b"")

    def roles(self) -> list[RoleEntry]:
        return list(self._listed(self.keys.roles, self.keys.role, _ENTRY))

    def offer_inference(self, offer: InferenceOffer) -> None:
        data = _OFFER.dump_json(offer)
        self._write_entry(self.keys.servers, self.keys.server, offer.id, data)

    def end_offer(self, server_id: str) -> None:
        self._write_entry(self.keys.servers, self.keys.server, server_id, b"")

    def inference_offers(self) -> list[InferenceOffer]:
        return list(self._listed(self.keys.servers, self.keys.server, _OFFER))

    def _write_entry(
        self, index: str, key_of: Callable[[str], str], role_id: str, data: bytes
    ) -> None:
        """Lists an entry for as long as a role lives without a heartbeat; no data ends it."""
        for part in role_id.split("/"):
            checked_name("role", part)

        def write(client: Any) -> None:
            pipeline = client.pipeline(transaction=True)
            pipeline.sadd(index, role_id)
            pipeline.set(key_of(role_id), data, px=round(ROLE_TIMEOUT_S * 1000) if data else 1)
            pipeline.execute()

        self._link.call(write)

    def _listed(
        self, index: str, key_of: Callable[[str], str], kind: TypeAdapter[Listed]
    ) -> Iterator[Listed]:
        """The entries that have not expired, by id."""

        def look(client: Any) -> Any:
            ids = client.smembers(index)
            names = sorted(each.decode(errors="replace") for each in ids)
            return names, client.mget([key_of(each) for each in names]) if names else []

        ids, entries = self._link.call(look)
        return listed(ids, entries, kind)

    def heartbeats(self) -> dict[str, float]:
        def look(client: Any) -> Any:
            names = sorted(each.decode(errors="replace") for each in client.smembers(keys.roles))
            pipeline = client.pipeline(transaction=False)
            for name in names:
                pipeline.pttl(keys.role(name))
            return zip(names, pipeline.execute(), strict=True)

        keys = self.keys
        return {
            name: max(0.0, ROLE_TIMEOUT_S - left_ms / 1000)
            for name, left_ms in self._link.call(look)
            if left_ms >= 0
        }

    # ---- rating

    def add_blocks(self, blocks: Sequence[Block]) -> None:
        self._leading.add_blocks(blocks)

    def lease_block(self, lease_s: float, without: Collection[str] = ()) -> Block | None:
        return self._ratings.lease_block(lease_s, without)

    def return_block(self, block: Block, reason: str) -> None:
        self._ratings.return_block(block, reason[:MAX_REASON])

    def finish_block(self, result: BlockResult) -> bool:
        return self._ratings.finish_block(result)

    def block_results(self, rating: str) -> list[BlockResult]:
        return self._ratings.block_results(rating)

    def block_returns(self, rating: str) -> list[str]:
        return self._ratings.block_returns(rating)

    def ratings(self) -> list[str]:
        return self._ratings.ratings()

    def drop_blocks(self, rating: str) -> None:
        self._leading.drop_blocks(rating)

    # ---- the end

    def server_figures(self) -> ServerFigures:
        memory = self._link.call(lambda client: client.info("memory"))
        return ServerFigures(memory["used_memory"], memory["maxmemory"])

    @property
    def reachable(self) -> bool:
        return self._link.is_up

    def stop(self) -> None:
        with self._link.changed:
            self._stopping = True
            self._link.changed.notify_all()
            self._link.published.notify_all()

    def end_run(self) -> None:
        self._leading.end_run()
        self.stop()

    @property
    def stopping(self) -> bool:
        return self._stopping or (self._leader is None and self._link.seen.ended)


def in_parts(deliveries: Sequence[Delivery]) -> Iterator[list[Delivery]]:
    """Deliveries in parts that fit into one transaction each."""
    part: list[Delivery] = []
    num_bytes = 0
    for each in deliveries:
        checked_size(
            f"episode {each.number} of {each.sender.worker}", each.episode, MAX_EPISODE_BYTES
        )
        if part and (
            len(part) == MAX_SENT_ENTRIES or num_bytes + len(each.episode) > MAX_SENT_BYTES
        ):
            yield part
            part, num_bytes = [], 0
        part.append(each)
        num_bytes += len(each.episode)
    if part:
        yield part


def age_of(entries: Any, now: tuple[int, int]) -> float:
    """The age of the first entry of a stream, by what TIME says."""
    seconds, micros = now
    at_ms = int(entries[0][0].partition(b"-")[0])
    return float(max(0.0, seconds + micros / 1e6 - at_ms / 1000))


def listed(
    ids: Sequence[str], entries: Sequence[bytes | None], kind: TypeAdapter[Listed]
) -> Iterator[Listed]:
    """The entries of roles that live. One that is no entry, or another role's, is left out."""
    for role_id, data in zip(ids, entries, strict=True):
        if data and len(data) <= MAX_ENTRY_BYTES:
            try:
                entry = kind.validate_json(data)
            except ValidationError:
                continue
            if entry.id == role_id:
                yield entry
