"""Inference servers in threads of this process, honest and other, on real sockets of loopback.

with Serving(evaluator, wire) as server, asking(wire, server) as remote:
    logits_BA, outcomes_BO = remote(observations_BN)
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

import zmq

from zerofleet.infer.evaluator import Evaluator, Pipeline, lockstep
from zerofleet.infer.remote import RemoteEvaluator, ServerAddress
from zerofleet.infer.server import Batching, InferenceServer
from zerofleet.infer.sockets import CurveKey, ServerSocket, connected_socket
from zerofleet.infer.wire import WireGame

PATIENCE_S = 30.0


class Serving:
    """A real server; `newest` are weights and their version, for it to load."""

    def __init__(
        self,
        evaluator: Evaluator,
        wire: WireGame,
        max_rows: int = 64,
        max_wait_s: float = 0.002,
        key: CurveKey | None = None,
        name: str = "gpu",
        drain_s: float = 0.0,
        merged_rows: int | None = None,
    ) -> None:
        self.newest: tuple[Any, int] | None = None
        self.why_paused = ""
        self._name, self._key = name, key
        self._is_stopping = False
        self._drain_s = drain_s
        self._socket = ServerSocket("127.0.0.1", 0, key, wire.request_bytes(max_rows))
        self.server = InferenceServer(
            self._socket.socket,
            wire,
            lockstep(evaluator),
            Batching(max_rows, max_wait_s, merged_rows or max_rows),
            self._load_newest,
            lambda: self.why_paused,
        )
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    @property
    def at(self) -> ServerAddress:
        public = self._key.public if self._key else ""
        return ServerAddress(self._name, f"tcp://127.0.0.1:{self._socket.port}", public)

    def stop(self) -> None:
        """It drains."""
        self._is_stopping = True

    def close(self) -> None:
        self.stop()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *fault: object) -> None:
        self.close()

    def _load_newest(self, pipeline: Pipeline) -> None:
        if self.newest is not None and self.newest[1] != pipeline.version:
            pipeline.load(*self.newest)

    def _serve(self) -> None:
        self.server.serve(lambda: self._is_stopping, self._drain_s)
        self._socket.close()


class Lying:
    """A server that answers each request with what a function makes of its frames; with None, not
    at all."""

    def __init__(self, answer: Callable[[list[bytes]], list[bytes] | None], name: str) -> None:
        self.num_requests = 0
        self._answer = answer
        self._is_stopping = False
        self._socket = ServerSocket("127.0.0.1", 0, None, 1 << 20)
        self.at = ServerAddress(name, f"tcp://127.0.0.1:{self._socket.port}")
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while not self._is_stopping:
            if self._socket.socket.poll(20):
                sender, *frames = self._socket.socket.recv_multipart()
                self.num_requests += 1
                if (answer := self._answer(frames)) is not None:
                    self._socket.socket.send_multipart([sender, *answer])
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *fault: object) -> None:
        self._is_stopping = True
        self._thread.join(PATIENCE_S)


class Asking(RemoteEvaluator):
    """A worker's side. What it says is in `said`; `servers` is the registry."""

    def __init__(self, wire: WireGame, *servers: ServerAddress, **options: Any) -> None:
        self.said: list[str] = []
        self.servers = list(servers)
        self.published = {40, 41}
        super().__init__(
            wire,
            lambda: self.servers,
            lambda version: "" if version in self.published else "which is unknown",
            options.pop("timeout_s", PATIENCE_S),
            options.pop("key", None),
            self.said.append,
            **options,
        )


@contextmanager
def asking(wire: WireGame, *servers: Any, **options: Any) -> Iterator[Asking]:
    remote = Asking(wire, *(each.at for each in servers), **options)
    try:
        yield remote
    finally:
        remote.close()


@contextmanager
def raw_socket(at: ServerAddress, key: CurveKey | None = None) -> Iterator[Any]:
    """What any program can connect to a server."""
    context = zmq.Context()
    socket = connected_socket(context, at.address, key)
    try:
        yield socket
    finally:
        socket.close()
        context.term()
