"""An inference server: merges the requests of several workers into batches and answers them.

    server = InferenceServer(socket, wire, pipeline, batching, load_newest, why_paused)
    server.serve(is_stopping)

One thread receives, computes and answers. A batch is submitted at once while nothing is computed;
else when it is full, or when its oldest request has waited `max_wait_s`, so that requests gather
while others are computed. Requests are merged whole, in the order of their arrival. New weights are
loaded between two batches, so each answer has one version and no request is lost. What is no
request, or cannot be served, is answered with a status and a sentence, and harms no other.
"""

import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Self

import zmq

from zerofleet.infer.evaluator import Answered, Pipeline
from zerofleet.infer.latencies import Latencies
from zerofleet.infer.sockets import receive
from zerofleet.infer.wire import (
    Refused,
    Request,
    Status,
    WireGame,
    decode_request,
    encode_answer,
    encode_refusal,
)

SENDER_AND_MESSAGE = 2
"""Frames."""
NUM_SLOTS = 4
"""More than a pipeline has streams."""
IDLE_S = 0.1
"""Longest wait for a request; between waits weights and the signal to end are looked at."""
MAX_QUEUED_BATCHES = 32
"""Of full size. More requests are refused as BUSY: they would time out."""
QUIET_S = 1.0
"""A server that ends answers until no request has come for so long."""
CPU_MERGED_ROWS = 64
"""On a CPU a row of a convolutional network costs a few percent less in a batch of 64 than of 256.
A dense network gains a tenth by 256, but its games are played in groups of 128 rows and more, and
a request is never split."""


@dataclass(frozen=True)
class Batching:
    """How requests are merged."""

    max_batch_rows: int
    """Of one request."""
    max_wait_s: float
    merged_rows: int
    """Of several requests."""

    @classmethod
    def on(cls, device: str, max_batch_rows: int, max_wait_s: float) -> Self:
        """As suits a device."""
        merged_rows = CPU_MERGED_ROWS if device == "cpu" else max_batch_rows
        return cls(max_batch_rows, max_wait_s, min(max_batch_rows, merged_rows))


@dataclass
class ServerCounts:
    """What a server has done. Its own thread writes, any may read."""

    num_turns: int = 0
    """Of its loop: while it grows, the server is alive."""
    num_requests: int = 0
    """Answered with evaluations."""
    num_refused: int = 0
    num_merged: int = 0
    """Batches of more than one request."""
    latencies: Latencies = field(default_factory=Latencies)
    """From the moment a request is read to that of its answer."""


class Waiting(NamedTuple):
    """A request and whom to answer."""

    sender: memoryview
    request: Request
    received_s: float


class InferenceServer:
    """Serves one game and run from one socket, with one pipeline of NUM_SLOTS slots."""

    def __init__(
        self,
        socket: "zmq.Socket[bytes]",
        wire: WireGame,
        pipeline: Pipeline,
        batching: Batching,
        load_newest: Callable[[Pipeline], None],
        why_paused: Callable[[], str],
    ) -> None:
        """`load_newest` gives the pipeline the newest weights; `why_paused` says why what it has
        must not be used, and is empty where it may."""
        self.counts = ServerCounts()
        self.pipeline = pipeline
        self._socket = socket
        self._poller = zmq.Poller()
        self._poller.register(socket, zmq.POLLIN)
        self._wire = wire
        self._batching = batching
        self._load_newest = load_newest
        self._why_paused = why_paused
        self._queue: deque[Waiting] = deque()
        self._num_queued_rows = 0
        self._in_flight: deque[list[Waiting]] = deque()
        self._free_slots = deque(range(NUM_SLOTS))
        self._is_draining = False
        self._received_s = time.monotonic()

    @property
    def num_queued_rows(self) -> int:
        return self._num_queued_rows

    def serve(self, is_stopping: Callable[[], bool], drain_s: float = 10.0) -> None:
        """Until it is to stop; then answers what it has and refuses what still comes, until nothing
        does, for at most `drain_s`."""
        while not is_stopping():
            self._turn()
        self._is_draining = True
        self._received_s = start_s = time.monotonic()
        while self._queue or self._in_flight or not self._is_quiet(start_s + drain_s):
            self._turn()

    def _is_quiet(self, end_s: float) -> bool:
        now_s = time.monotonic()
        return now_s >= end_s or now_s - self._received_s >= QUIET_S

    def _turn(self) -> None:
        self.counts.num_turns += 1
        self._load_newest(self.pipeline)
        self._receive_all(self._patience_s())
        while self._queue and self.pipeline.has_room and self._is_due():
            self._submit()
        if self._in_flight and not (self._queue and self.pipeline.has_room):
            self._answer_oldest()

    def _patience_s(self) -> float:
        """How long to wait for requests: until the next batch is due, and not while there is an
        answer to wait for instead."""
        if not self._in_flight:
            return 0.0 if self._queue else IDLE_S
        if self._queue and self.pipeline.has_room:
            due_s = self._queue[0].received_s + self._batching.max_wait_s
            return max(0.0, due_s - time.monotonic())
        return 0.0

    def _is_due(self) -> bool:
        if not self._in_flight or self._num_queued_rows >= self._batching.merged_rows:
            return True
        return time.monotonic() - self._queue[0].received_s >= self._batching.max_wait_s

    # ---- requests

    def _receive_all(self, patience_s: float) -> None:
        """Reads what has come, after waiting for something to come; stops at a full queue."""
        if patience_s and not self._poller.poll(math.ceil(patience_s * 1000)):
            return
        max_rows = MAX_QUEUED_BATCHES * self._batching.max_batch_rows
        why_paused = self._why_paused()
        while self._num_queued_rows <= max_rows:
            frames = receive(self._socket, SENDER_AND_MESSAGE)
            if frames is None:
                return
            self._received_s = time.monotonic()
            sender, *message = frames
            try:
                request = decode_request(message, self._wire, self._batching.max_batch_rows)
                self._refuse_unserved(request, why_paused, max_rows)
            except Refused as refused:
                self._refuse(sender, refused)
            else:
                self._queue.append(Waiting(sender, request, self._received_s))
                self._num_queued_rows += len(request.observations_BN)

    def _refuse_unserved(self, request: Request, why_paused: str, max_rows: int) -> None:
        """Raises Refused for a good request that this server cannot answer in time."""
        if self._is_draining:
            raise Refused(Status.DRAINING, request.request_id, "this server ends")
        if why_paused:
            raise Refused(Status.BEHIND, request.request_id, why_paused)
        if self._num_queued_rows + len(request.observations_BN) > max_rows:
            raise Refused(Status.BUSY, request.request_id, "its queue is full")

    def _refuse(self, sender: memoryview, refused: Refused) -> None:
        self.counts.num_refused += 1
        self._send(sender, encode_refusal(refused))

    # ---- batches

    def _submit(self) -> None:
        batch: list[Waiting] = []
        num_rows = 0
        while self._queue:
            more = len(self._queue[0].request.observations_BN)
            if batch and num_rows + more > self._batching.merged_rows:
                break
            num_rows += more
            batch.append(self._queue.popleft())
        self._num_queued_rows -= num_rows
        self.counts.num_merged += len(batch) > 1
        slot = self._free_slots.popleft()
        self.pipeline.submit(slot, *(each.request.observations_BN for each in batch))
        self._in_flight.append(batch)

    def _answer_oldest(self) -> None:
        answered, first = self.pipeline.collect(), 0
        for each in self._in_flight.popleft():
            last = first + len(each.request.observations_BN)
            self._answer(each, answered, first, last)
            first = last
        self._free_slots.append(answered.slot)

    def _answer(self, to: Waiting, answered: Answered, first: int, last: int) -> None:
        """With the rows of a batch that are its own."""
        logits_BA, outcomes_BO = answered.policy_logits_BA, answered.outcomes_BO
        try:
            message = encode_answer(
                to.request, answered.version, logits_BA[first:last], outcomes_BO[first:last]
            )
        except Refused as refused:
            self._refuse(to.sender, refused)
            return
        self._send(to.sender, message)
        self.counts.num_requests += 1
        self.counts.latencies.add(time.monotonic() - to.received_s)

    def _send(self, to: memoryview, message: bytes) -> None:
        self._socket.send(to, zmq.SNDMORE)
        self._socket.send(message, copy=False)
