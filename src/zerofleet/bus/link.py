"""The connection of one process to Redis: calls, their errors, and the last known state of the run.

One thread listens to the announcements and polls the same values every few seconds, so that a role
reads pace, version and holds without waiting for the network. It alone reconnects after a lost
connection, with full jitter; until then every other call fails immediately.
"""

import json
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import redis

from zerofleet.bus.connect import RedisAddress, check_server, pause_before
from zerofleet.bus.contract import BusFull, BusRefused, BusUnreachable, NotTheTrainer, Pace
from zerofleet.bus.keys import Keys

POLL_S = 2.0
"""How often everything that is announced is also read, on average."""
WRITES_STOPPED = ("MISCONF", "NOREPLICAS")
NOT_READY = ("LOADING", "BUSY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "READONLY", "UNBLOCKED")


def taken_over(host: str) -> NotTheTrainer:
    return NotTheTrainer(
        f"{host} has taken the run over: this trainer was silent for longer than "
        "fleet.trainer_timeout_s, and may write nothing more"
    )


class NoLease(BusUnreachable):
    """Redis knows no trainer of the run: it was emptied."""


@dataclass
class Seen:
    """What was last seen of a run."""

    pace: Pace | None = None
    pace_until_s: float = 0.0
    """When the trainer counts as away unless a new pace arrives; monotonic."""
    num_listeners: int = 0
    """Roles that heard the last announced pace."""
    version: int | None = None
    held: dict[str, str] = field(default_factory=dict)
    ended: bool = False


class RedisLink:
    """Redis as one process sees it. Calls may come from any thread."""

    def __init__(self, address: RedisAddress, keys: Keys) -> None:
        self.address = address
        self.keys = keys
        self.client: Any = address.client()  # its types say too little of what it answers
        self.seen = Seen()
        # Re-entrant: a signal handler may stop the bus while its own thread holds the lock.
        lock = threading.RLock()
        self.changed = threading.Condition(lock)
        self.published = threading.Condition(lock)
        self.returns_first = False
        """Whether it connects again before the others of a large fleet, as a trainer does."""
        self.num_breaks = 0
        """Connections lost so far."""
        self._is_up = True
        self._why_down = ""
        self._closed = threading.Event()
        self._subscribed: Any = None  # the connection that announcements come through
        self._scripts: dict[str, Any] = {}
        try:
            with self.errors():
                self.server = check_server(self.client.info(), address)
            self.poll()
        except BaseException:
            self.client.close()
            raise
        self._thread = threading.Thread(target=self._listen_until_closed, name="bus", daemon=True)
        self._thread.start()

    @property
    def is_up(self) -> bool:
        return self._is_up

    def close(self) -> None:
        self._closed.set()
        self._wake_listener()
        self._thread.join()
        self.client.close()

    # ---- calls

    def call(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Calls with the client and these, unless the connection is known to be broken."""
        if not self._is_up:
            raise BusUnreachable(f"{self._why_down}; trying again")
        with self.errors():
            return call(self.client, *arguments)

    def script(self, text: str, keys: list[str], arguments: list[Any]) -> Any:
        """Runs a Lua script."""
        made = self._scripts.get(text)
        if made is None:
            made = self._scripts[text] = self.client.register_script(text)
        return self.call(lambda client: made(keys, arguments))

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Raises what Redis reports as the errors of a bus."""
        try:
            yield
        except BusUnreachable:
            raise
        except (redis.AuthenticationError, redis.exceptions.AuthorizationError) as error:
            raise BusRefused(
                f"{self.address} refuses the login: {error}; the password comes from "
                "REDIS_PASSWORD or REDIS_PASSWORD_FILE, the user from REDIS_USER"
            ) from None
        except (redis.ConnectionError, redis.TimeoutError, OSError) as error:
            fault = BusUnreachable(f"{self.address} cannot be reached: {error}")
            self._break(fault)
            raise fault from None
        except redis.exceptions.NoScriptError:
            # The client loads a script that Redis lacks; Redis was restarted right after that.
            fault = BusUnreachable(f"{self.address} was restarted")
            self._break(fault)
            raise fault from None
        except redis.exceptions.OutOfMemoryError:
            raise BusFull(f"{self.address} is full: it has reached its maxmemory") from None
        except redis.exceptions.NoPermissionError as error:
            raise BusRefused(
                f"{self.address} does not allow this user what its role needs: {error}; see "
                "zerofleet fleet acl"
            ) from None
        except redis.ResponseError as error:
            raise self._translated(str(error)) from None

    def _translated(self, text: str) -> Exception:
        kind, _, rest = text.partition(" ")
        if kind == "NOLEASE":
            return NoLease(f"{self.address} was emptied; the run is restored")
        if kind == "NOTTRAINER":
            return taken_over(rest)
        if kind in WRITES_STOPPED:
            return BusFull(f"{self.address} refuses writes: {text}")
        if kind in NOT_READY:
            return BusUnreachable(f"{self.address} is not ready: {text}")
        return BusRefused(f"{self.address} refused a call: {text}")

    def _break(self, fault: Exception) -> None:
        with self.changed:
            self.num_breaks += self._is_up
            self._is_up = False
            self._why_down = str(fault)
        self._wake_listener()

    # ---- listening

    def _listen_until_closed(self) -> None:
        attempt = 0
        while not self._closed.is_set():
            try:
                with self.errors(), self._subscription() as connection:
                    self.poll()  # once subscribed, so that nothing is missed
                    attempt = 0
                    self._is_up = True
                    self._listen(connection)
            except (BusUnreachable, BusRefused) as fault:
                self._break(fault)
                self.client.connection_pool.disconnect(inuse_connections=False)
                num_others = 0 if self.returns_first else self.seen.num_listeners
                self._closed.wait(pause_before(attempt, num_others))
                attempt += 1

    @contextmanager
    def _subscription(self) -> Iterator[Any]:
        """A connection to the announcements. Unlike a PubSub it does not connect again by itself:
        a thousand of them would do so at the same moment."""
        pool = self.client.connection_pool
        connection = self._subscribed = pool.get_connection()
        try:
            connection.send_command("SUBSCRIBE", self.keys.announce)
            connection.read_response()
            yield connection
        finally:
            self._subscribed = None
            connection.disconnect()
            pool.release(connection)

    def _listen(self, connection: Any) -> None:
        poll_at_s = time.monotonic() + random.uniform(0, POLL_S)
        while not self._closed.is_set():
            if not self._is_up:  # another call noticed first
                raise BusUnreachable(self._why_down)
            if connection.can_read(timeout=max(0.0, poll_at_s - time.monotonic())):
                _, _, message = connection.read_response()
                self._hear(bytes(message))
            if time.monotonic() >= poll_at_s:
                self.poll()
                poll_at_s = time.monotonic() + random.uniform(0.5, 1.5) * POLL_S

    def _wake_listener(self) -> None:
        """Ends its wait for announcements: their connection is shut down."""
        connection = self._subscribed
        own_socket = None if connection is None else connection._sock
        if own_socket is not None:
            with suppress(OSError):  # it is closed already
                own_socket.shutdown(socket.SHUT_RDWR)

    def _hear(self, message: bytes) -> None:
        kind, _, value = message.partition(b" ")
        if kind == b"pace":
            self.see_pace(value, age_s=0.0)
        elif kind == b"weights":
            self.see_version(int(value))
        elif kind in (b"held", b"ended"):
            self.poll()
        with self.changed:
            if kind not in (b"pace", b"held"):
                self.published.notify_all()

    def poll(self) -> None:
        """Reads everything that is also announced."""
        keys = self.keys
        pipeline = self.client.pipeline(transaction=False)
        pipeline.time()
        pipeline.get(keys.pace)
        pipeline.hget(keys.weights, "version")
        pipeline.exists(keys.ended)
        pipeline.hgetall(keys.held)
        with self.errors():
            (seconds, micros), pace, version, ended, held = pipeline.execute()
        if pace is not None:
            now_ms = seconds * 1000 + micros / 1000
            self.see_pace(pace, age_s=max(0.0, now_ms - json.loads(pace)["at_ms"]) / 1000)
        self.see_version(None if version is None else int(version))
        with self.changed:
            self.seen.held = {worker.decode(): why.decode() for worker, why in held.items()}
            if ended and not self.seen.ended:
                self.published.notify_all()
            self.seen.ended = bool(ended)
            self.changed.notify_all()

    # ---- what is seen

    def pace(self) -> Pace | None:
        """What the trainer says, unless it is away."""
        with self.changed:
            return self.seen.pace if time.monotonic() < self.seen.pace_until_s else None

    def see_pace(self, data: bytes, age_s: float) -> None:
        values = json.loads(data)
        pace = Pace(values["rows_inserted"], values["rows_allowed"], values["paused"])
        with self.changed:
            self.seen.pace = pace
            self.seen.num_listeners = values["listeners"]
            self.seen.pace_until_s = time.monotonic() + values["timeout_s"] - age_s
            self.changed.notify_all()

    def see_version(self, version: int | None) -> None:
        with self.changed:
            if version != self.seen.version:
                self.seen.version = version
                self.published.notify_all()
