"""ZeroMQ sockets of inference servers and workers, encrypted (CURVE) where a key is set.

Both ends hold a key file of two lines, `secret = …` of their own and `peer = …`, the public key of
the other side; `zerofleet fleet acl --inference` writes them. A server admits the workers' key
alone, and a worker talks to the holder of the servers' key alone. Without a key a server listens on
loopback only, and a worker asks servers on loopback only.
"""

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import zmq
from zmq.auth.thread import ThreadAuthenticator

from zerofleet.errors import BadText, Inconsistent

KEY_FILE = "ZEROFLEET_CURVE_KEY_FILE"
KEY = re.compile(r"[0-9a-zA-Z.\-:+=^!/*?&<>()\[\]{}@%$#]{40}")
"""32 bytes in the alphabet of Z85."""
PREFIX = "tcp://"
QUEUED_MESSAGES = 256
"""Requests of one worker that a server holds unread; then the worker's wait."""
LINGER_MS = 1000
"""How long a server that ends still hands over its last answers."""


@dataclass(frozen=True)
class CurveKey:
    """The key of one side. Its text shows no secret."""

    public: str
    secret: str = field(repr=False)
    peer: str
    """The other side's public key."""


def make_key_files() -> tuple[str, str]:
    """Texts of a key file for servers and of one for workers."""
    (server, server_secret), (worker, worker_secret) = (
        [part.decode() for part in zmq.curve_keypair()] for _ in range(2)
    )
    return key_text(server_secret, worker), key_text(worker_secret, server)


def key_text(secret: str, peer: str) -> str:
    return f"secret = {secret}\npeer = {peer}\n"


def read_key(environment: Mapping[str, str] = os.environ) -> CurveKey | None:
    """The key that the environment names; None where it names none."""
    path = environment.get(KEY_FILE, "")
    if not path:
        return None
    try:
        lines = Path(path).read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadText(f"{KEY_FILE}: {path} cannot be read: {error}") from None
    values = dict(line.split(" = ", 1) for line in lines if " = " in line)
    secret, peer = values.get("secret", ""), values.get("peer", "")
    if not (KEY.fullmatch(secret) and KEY.fullmatch(peer)):
        raise BadText(
            f"{KEY_FILE}: {path} must have the lines `secret = KEY` and `peer = KEY`, each of 40 "
            "characters; `zerofleet fleet acl --inference ID` writes such files"
        )
    return CurveKey(zmq.curve_public(secret.encode()).decode(), secret, peer)


def is_loopback(address: str) -> bool:
    """Whether tcp://HOST:PORT stays on this machine."""
    host = address.removeprefix(PREFIX).rpartition(":")[0].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def refuse_open_address(host: str, key: CurveKey | None) -> None:
    """Raises Inconsistent for an address that others reach, without a key to admit workers by."""
    if key is None and not is_loopback(f"{PREFIX}{host}:0"):
        raise Inconsistent(
            f"without a key an inference server listens on loopback only, not on {host}: set "
            f"{KEY_FILE} to a file that `zerofleet fleet acl --inference ID` has written"
        )


class OneKey:
    """Admits the holder of one public key; see zmq.auth."""

    def __init__(self, public: str) -> None:
        self._public = public.encode()

    def callback(self, domain: str, key: bytes) -> bool:
        return key == self._public


class ServerSocket:
    """A ROUTER on tcp://HOST:PORT; port 0 is a free one."""

    def __init__(self, host: str, port: int, key: CurveKey | None, max_message_bytes: int) -> None:
        refuse_open_address(host, key)
        shown = f"[{host}]" if ":" in host else host
        self._context = zmq.Context()
        self._authenticator: ThreadAuthenticator | None = None
        self.socket: zmq.Socket[bytes] = self._context.socket(zmq.ROUTER)
        try:
            self._prepare(key, max_message_bytes)
            self.socket.bind(f"{PREFIX}{shown}:{port or '*'}")
        except zmq.ZMQError as error:
            self.close()
            raise Inconsistent(f"cannot listen on {host}, port {port}: {error}") from None
        self.port = int(self.socket.getsockopt_string(zmq.LAST_ENDPOINT).rpartition(":")[2])

    def _prepare(self, key: CurveKey | None, max_message_bytes: int) -> None:
        self.socket.setsockopt(zmq.IPV6, 1)
        self.socket.setsockopt(zmq.LINGER, LINGER_MS)
        self.socket.setsockopt(zmq.MAXMSGSIZE, max_message_bytes)
        self.socket.setsockopt(zmq.RCVHWM, QUEUED_MESSAGES)
        if key is not None:
            self._authenticator = ThreadAuthenticator(self._context)
            self._authenticator.start()
            self._authenticator.configure_curve_callback(
                domain="*", credentials_provider=OneKey(key.peer)
            )
            self.socket.curve_secretkey = key.secret.encode()
            self.socket.curve_publickey = key.public.encode()
            self.socket.curve_server = True

    def close(self) -> None:
        """Waits until the last answers are handed over, for at most LINGER_MS."""
        self.socket.close()
        if self._authenticator is not None:
            self._authenticator.stop()
        self._context.term()


def connected_socket(
    context: "zmq.Context[zmq.Socket[bytes]]", address: str, key: CurveKey | None
) -> "zmq.Socket[bytes]":
    """A DEALER of one worker and one server. What is not handed over when it closes is dropped."""
    socket = context.socket(zmq.DEALER)
    socket.setsockopt(zmq.IPV6, 1)
    socket.setsockopt(zmq.LINGER, 0)
    if key is not None:
        socket.curve_secretkey = key.secret.encode()
        socket.curve_publickey = key.public.encode()
        socket.curve_serverkey = key.peer.encode()
    try:
        socket.connect(address)
    except zmq.ZMQError:
        socket.close()
        raise
    return socket


def receive(socket: "zmq.Socket[bytes]", max_frames: int) -> list[memoryview] | None:
    """The frames of the next message, in place; None where there is none. Frames beyond
    `max_frames` + 1 are dropped, so that their number shows that there were too many."""
    if not int(socket.getsockopt(zmq.EVENTS)) & zmq.POLLIN:  # cheaper than a failure's exception
        return None
    frames: list[memoryview] = []
    while True:
        frame = socket.recv(copy=False)
        if len(frames) <= max_frames:
            frames.append(frame.buffer)
        if not frame.more:
            return frames
