"""Evaluates on inference servers: a stream per batch in flight, over servers that come and go.

    asking = RemoteEvaluator(wire, find_servers, why_refused, timeout_s, key, say, fallback)
    pipeline = asking.pipeline(num_streams, masks_of)

Each batch goes to the server that is expected to answer first, by the latencies that it has shown.
A server that does not answer in time, or whose answer must not reach a search, is avoided for a
while that doubles, and the batch goes to another. Where none is left, the batch is evaluated here
if there is a fallback, and waits if there is none; both are said. No torch is needed.

Everything here belongs to the thread of the pipeline, except what `doing` and `values` read.

Shapes: B observations, N bytes of an observation, M bytes of a mask, A actions, O outcomes.
"""

import itertools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast

import zmq

from zerofleet.errors import BadBytes, Unsupported
from zerofleet.infer.evaluator import Finished, Observations, Pipeline, Rows, State
from zerofleet.infer.latencies import Latencies
from zerofleet.infer.sockets import KEY_FILE, CurveKey, connected_socket, is_loopback, receive
from zerofleet.infer.wire import (
    Masks,
    Refused,
    Status,
    WireGame,
    all_asked,
    answered_id,
    decode_answer,
    decode_request,
    encode_request,
)

FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 30.0
"""For which a server is avoided after its first fault in a row, and at most."""
NEW_SHARE = 0.2
"""Of the newest latency in a server's moving average."""
HALVED_AFTER_S = 5.0
"""An average that is not renewed halves in so long, so that a server once slow is tried again."""
POLL_S = 0.1
"""Longest wait for answers before servers and deadlines are looked at again."""

Say = Callable[[str], None]
MasksOf = Callable[[int], Masks]
"""Which logits of a slot's batch are read, [B, M]."""


class ServerAddress(NamedTuple):
    """A server as the registry lists it."""

    id: str
    address: str
    """tcp://HOST:PORT."""
    public_key: str = ""
    """Of its CURVE key; empty where it has none."""


@dataclass
class Batch:
    """What one stream has in flight."""

    id: int
    """Of the request."""
    message: bytes
    """The request."""
    masks_BM: Masks
    begin_s: float
    sent_s: float = 0.0
    """To the server that has it in flight."""
    finished: Finished | None = None

    @property
    def num_rows(self) -> int:
        return len(self.masks_BM)


@dataclass
class Server:
    """A server as this worker knows it."""

    at: ServerAddress
    socket: "zmq.Socket[bytes] | None" = None
    latency_s: float = 0.0
    """Moving average; 0 before the first answer."""
    answered_s: float = 0.0
    in_flight: dict[int, Batch] = field(default_factory=dict)
    """By request id."""
    num_faults: int = 0
    """In a row."""
    avoided_until_s: float = 0.0
    why_avoided: str = ""

    def expected_s(self, now_s: float) -> float:
        """Until it would answer one more batch."""
        stale: float = 0.5 ** ((now_s - self.answered_s) / HALVED_AFTER_S)
        return self.latency_s * stale * (1 + len(self.in_flight))


@dataclass
class RemoteCounts:
    num_requests: int = 0
    num_retries: int = 0
    """Requests that another server, or the same one later, was asked again."""
    num_refused: int = 0
    """Answers that did not reach a search."""
    num_fallback_rows: int = 0
    latencies: Latencies = field(default_factory=Latencies)
    """From sending a request to reading its answer."""


class RemoteEvaluator:
    """Asks inference servers. It has no weights of its own: `version` is that of the last answer.

    `find_servers` is asked often and must not wait. `why_refused` says why a version must not be
    used, and is empty for one that may. `fallback` evaluates where no server does.
    """

    def __init__(
        self,
        wire: WireGame,
        find_servers: Callable[[], Sequence[ServerAddress]],
        why_refused: Callable[[int], str],
        timeout_s: float,
        key: CurveKey | None,
        say: Say,
        fallback: Pipeline | None = None,
    ) -> None:
        self.counts = RemoteCounts()
        self.wire = wire
        self.waits_because = ""
        """Why no server is asked; empty while one is."""
        self._find_servers = find_servers
        self._why_refused = why_refused
        self._timeout_s = timeout_s
        self._key = key
        self._say = say
        self._fallback = fallback
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._poller = zmq.Poller()
        self._servers: dict[ServerAddress, Server] = {}
        self._waiting: list[Batch] = []
        """Batches that nobody computes yet."""
        self._ids = itertools.count(1)
        self._version = 0

    @property
    def version(self) -> int:
        return self._version

    @property
    def num_usable(self) -> int:
        """Servers that are not avoided."""
        now_s = time.monotonic()
        return sum(each.avoided_until_s <= now_s for each in list(self._servers.values()))

    def load(self, state: State, version: int) -> None:
        raise Unsupported("a remote evaluator has no weights; its servers load them")

    def __call__(self, observations_BN: Observations, /) -> tuple[Rows, Rows]:
        stream = RemoteStream(self, lambda slot: all_asked(len(observations_BN), self.wire))
        stream.start(0, observations_BN)
        finished = stream.finish()
        return finished.policy_logits_BA, finished.outcomes_BO

    def pipeline(self, num_streams: int, masks_of: MasksOf) -> Pipeline:
        return RemotePipeline(self, [RemoteStream(self, masks_of) for _ in range(num_streams)])

    def close(self) -> None:
        for server in self._servers.values():
            self._disconnect(server)
        self._context.term()

    # ---- for the streams

    def start(self, parts_BN: Sequence[Observations], masks_BM: Masks) -> Batch:
        begin_s, request_id = time.perf_counter(), next(self._ids)
        message = encode_request(self.wire, request_id, parts_BN, masks_BM)
        batch = Batch(request_id, message, masks_BM, begin_s)
        self._waiting.append(batch)
        self._send_waiting()
        return batch

    def wait(self, batches: Sequence[Batch], timeout_s: float) -> int | None:
        """The place of the first of these that is finished; waits for one at most so long, and
        looks after all others meanwhile."""
        end_s = time.monotonic() + timeout_s
        self._receive_all()
        while (found := first_finished(batches)) is None:
            now_s = time.monotonic()
            if now_s >= end_s:
                return None
            if self._waiting:
                self._send_waiting()
            if first_finished(batches) is None:
                self._sleep_until_news(min(end_s - now_s, POLL_S))
                self._receive_all()
            self._give_up_overdue()
        return found

    # ---- sending

    def _send_waiting(self) -> None:
        self._look_for_servers()
        waiting, self._waiting = self._waiting, []
        for batch in waiting:
            server = self._best_server()
            if server is not None:
                self._send(batch, server)
            elif self._fallback is not None:
                self._evaluate_here(batch, self._fallback)
            else:
                self._waiting.append(batch)
        if self._waiting:
            self._note_waiting(self._why_nobody())

    def _look_for_servers(self) -> None:
        found = set(self._find_servers())
        for at in found - self._servers.keys():
            self._servers[at] = Server(at)
        for at in self._servers.keys() - found:
            gone = self._servers[at]
            if not gone.in_flight:  # else until it has answered, or does not
                self._disconnect(gone)
                del self._servers[at]

    def _best_server(self) -> Server | None:
        """The one that is expected to answer first, of those that may be asked."""
        now_s = time.monotonic()
        listed = self._find_servers()
        usable = [
            server
            for at, server in self._servers.items()
            if at in listed and server.avoided_until_s <= now_s and self._is_connected(server)
        ]
        return min(
            usable,
            key=lambda server: (server.expected_s(now_s), len(server.in_flight)),
            default=None,
        )

    def _is_connected(self, server: Server) -> bool:
        if server.socket is not None:
            return True
        own = "" if self._key is None else self._key.peer
        if self._key is None and not is_loopback(server.at.address):
            why = f"it is on another machine, for which this worker needs a key ({KEY_FILE})"
        elif server.at.public_key != own:
            why = f"its key is not the one that this worker's {KEY_FILE} names"
        else:
            try:
                server.socket = connected_socket(self._context, server.at.address, self._key)
                self._poller.register(server.socket, zmq.POLLIN)
                return True
            except zmq.ZMQError as error:
                why = f"{server.at.address} is no address: {error}"
        self._avoid(server, why)
        return False

    def _send(self, batch: Batch, server: Server) -> None:
        assert server.socket is not None
        batch.sent_s = time.monotonic()
        server.in_flight[batch.id] = batch
        server.socket.send(batch.message, copy=False)
        self.counts.num_requests += 1

    def _evaluate_here(self, batch: Batch, fallback: Pipeline) -> None:
        self._note_waiting(f"{self._why_nobody()}; evaluating here with weights {fallback.version}")
        request = decode_request([batch.message], self.wire, batch.num_rows)
        fallback.submit(0, request.observations_BN)
        answered = fallback.collect()
        self._version = answered.version
        self.counts.num_fallback_rows += batch.num_rows
        batch.finished = Finished(
            answered.policy_logits_BA,
            answered.outcomes_BO,
            batch.num_rows,
            batch.begin_s,
            time.perf_counter(),
            answered.version,
        )

    # ---- receiving

    def _sleep_until_news(self, timeout_s: float) -> None:
        if self._poller.sockets:
            self._poller.poll(math.ceil(timeout_s * 1000))
        else:  # it would return at once
            time.sleep(timeout_s)

    def _receive_all(self) -> None:
        for server in list(self._servers.values()):
            while server.socket is not None and server.in_flight:
                frames = receive(server.socket, 1)
                if frames is None:
                    break
                self._take(server, frames)

    def _take(self, server: Server, frames: list[memoryview]) -> None:
        """An answer of a server. One to a request that was given up is dropped."""
        try:
            batch = server.in_flight.pop(answered_id(frames), None)
        except BadBytes as fault:
            self._fail(server, str(fault))
            return
        if batch is None:
            return
        try:
            answer = decode_answer(frames, batch.masks_BM, self.wire)
            if why := self._why_refused(answer.version):
                raise BadBytes(f"its answer is of weights {answer.version}, {why}")
        except (BadBytes, Refused) as fault:
            self._retry([batch])
            self.counts.num_refused += isinstance(fault, BadBytes)
            if isinstance(fault, Refused) and fault.status == Status.DRAINING:
                self._avoid(server, "it ends")
            else:
                self._fail(server, str(fault))
            return
        self._note_answer(server, batch)
        self._version = answer.version
        batch.finished = Finished(
            answer.policy_logits_BA,
            answer.outcomes_BO,
            batch.num_rows,
            batch.begin_s,
            time.perf_counter(),
            answer.version,
        )

    def _note_answer(self, server: Server, batch: Batch) -> None:
        now_s = time.monotonic()
        latency_s = now_s - batch.sent_s
        known_s = server.latency_s or latency_s
        server.latency_s = known_s + NEW_SHARE * (latency_s - known_s)
        server.answered_s = now_s
        self.counts.latencies.add(latency_s)
        if server.num_faults or self.waits_because:
            self._say(f"inference server {server.at.id} answers again")
        server.num_faults, server.why_avoided, self.waits_because = 0, "", ""

    # ---- faults

    def _give_up_overdue(self) -> None:
        now_s = time.monotonic()
        for server in list(self._servers.values()):
            overdue = any(
                now_s - each.sent_s > self._timeout_s for each in server.in_flight.values()
            )
            if overdue:
                self._fail(server, f"no answer within {self._timeout_s:g} s")

    def _fail(self, server: Server, why: str) -> None:
        """Its batches go elsewhere, and what it may still answer is dropped."""
        server.num_faults += 1
        pause_s = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** (server.num_faults - 1))
        if why != server.why_avoided:
            self._say(f"inference server {server.at.id} ({server.at.address}) is avoided: {why}")
        self._avoid(server, why, pause_s)
        self._retry(list(server.in_flight.values()))
        self._disconnect(server)

    def _avoid(self, server: Server, why: str, pause_s: float = FIRST_PAUSE_S) -> None:
        server.why_avoided = why
        server.avoided_until_s = time.monotonic() + pause_s

    def _retry(self, batches: Sequence[Batch]) -> None:
        self._waiting += batches
        self.counts.num_retries += len(batches)

    def _disconnect(self, server: Server) -> None:
        server.in_flight.clear()
        if server.socket is not None:
            self._poller.unregister(server.socket)
            server.socket.close()
            server.socket = None

    def _why_nobody(self) -> str:
        if not self._servers:
            return "no inference server is registered"
        whys = [f"{each.at.id}: {each.why_avoided}" for each in self._servers.values()]
        return f"no inference server answers ({'; '.join(whys)})"

    def _note_waiting(self, why: str) -> None:
        if not self.waits_because:
            self._say(why)
        self.waits_because = why


def first_finished(batches: Sequence[Batch]) -> int | None:
    return next((i for i, batch in enumerate(batches) if batch.finished is not None), None)


class RemoteStream:
    """One batch at a time; see zerofleet.infer.evaluator.Stream."""

    def __init__(self, evaluator: RemoteEvaluator, masks_of: MasksOf) -> None:
        self._evaluator = evaluator
        self._masks_of = masks_of

    def start(self, slot: int, *parts_BN: Observations) -> None:
        self.batch = self._evaluator.start(parts_BN, self._masks_of(slot))

    def wait(self, timeout_s: float) -> bool:
        return self._evaluator.wait([self.batch], timeout_s) is not None

    def finish(self) -> Finished:
        while not self.wait(POLL_S):
            pass
        assert self.batch.finished is not None
        return self.batch.finished


class RemotePipeline(Pipeline):
    """Collects batches in the order of their answers, so that one which waits at a slow server
    holds up no other."""

    def __init__(self, evaluator: RemoteEvaluator, streams: Sequence[RemoteStream]) -> None:
        super().__init__(evaluator, streams)
        self._remote = evaluator

    def wait(self, timeout_s: float) -> bool:
        """Whether a batch is answered: the one that `collect` then returns."""
        batches = [cast(RemoteStream, stream).batch for stream, _ in self._in_flight]
        answered = self._remote.wait(batches, timeout_s)
        if answered is None:
            return False
        self._in_flight.rotate(-answered)
        return True
