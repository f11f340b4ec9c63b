"""Parts of attacks on a gateway, and an honest lender whom they must not disturb.

An attack is a coroutine that returns the code with which it was refused. `refused` prints the CPU
time of the server's threads per refusal: from the hostile message on, or with the connection where
that is hostile; the least of $ZEROFLEET_ATTACKS attempts.
"""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

from lending_client import Client, Lender, connected, sign_up
from lent_run import LentServer
from websockets.exceptions import ConnectionClosed

from zerofleet.web.lend import messages
from zerofleet.web.lend.messages import PlayGames

Attack = Callable[[LentServer], Coroutine[Any, Any, str]]

numbers = iter(range(10**9))


class Honest:
    """Somebody who lends all the while."""

    def __init__(self, lent: LentServer) -> None:
        self.lender = sign_up(lent.url, "honest")
        self.num_accepted = 0
        self.fault: BaseException | None = None
        self.resting = threading.Lock()
        """Whoever holds it measures: this one does nothing."""
        self._lent = lent
        self._ended = False
        self._thread = threading.Thread(target=lambda: asyncio.run(self._lend()))
        self._thread.start()

    async def _lend(self) -> None:
        try:
            async with connected(self._lent.url, self.lender, self._lent.game) as client:
                while not self._ended:
                    with self.resting:
                        self.num_accepted += await client.lend(1)
                    await asyncio.sleep(0.2)
                return
            raise AssertionError(f"its socket was closed after {client.received[-1]}")
        except BaseException as fault:
            self.fault = fault

    def assert_undisturbed(self) -> None:
        """Its games are still accepted, and none was ever refused."""
        before = self.num_accepted
        self._lent.wait_for(lambda: self.num_accepted > before, "its next games")
        assert self.fault is None
        account = self._lent.lending.ledger.account(self.lender.id)
        assert account is not None
        assert (account.state, account.num_refused) == ("active", 0)

    def end(self) -> None:
        self._ended = True
        self._thread.join()


def server_cpu_s() -> float:
    """CPU time of the server's threads, which are in this process."""
    total = 0
    for thread in threading.enumerate():
        if thread.name.startswith(("dashboard", "lend", "web")) and thread.native_id:
            path = Path(f"/proc/self/task/{thread.native_id}/schedstat")
            total += int(path.read_text().split()[0])
    return total / 1e9


class Meter:
    """CPU of the server since an attack began; one that needs a good start begins after it."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self._began_s = server_cpu_s()

    def spent_s(self) -> float:
        return server_cpu_s() - self._began_s


meter = Meter()


def refused(lent: LentServer, honest: Honest, name: str, attack: Attack) -> str:
    """The code with which an attack is refused, always the same."""
    num_times = int(os.environ.get("ZEROFLEET_ATTACKS", "1"))
    codes, spent_s = set(), []
    with honest.resting if num_times > 1 else nullcontext():
        for _ in range(num_times):
            meter.begin()
            codes.add(asyncio.run(attack(lent)))
            spent_s.append(meter.spent_s())
    assert len(codes) == 1, codes
    (code,) = codes
    print(f"{name}: {code}, {1e3 * min(spent_s):.1f} ms")
    return code


# ---- parts of attacks


def stranger(lent: LentServer) -> Lender:
    return sign_up(lent.url, f"mallory {next(numbers)}")


async def code_of(client_or_socket: Any) -> str:
    """The code of what refuses it: a game, else the socket."""
    socket = getattr(client_or_socket, "socket", client_or_socket)
    try:
        while True:
            data = await asyncio.wait_for(socket.recv(), 30)
            message = messages.decode_answer(data)
            if isinstance(message, messages.GamesRefused | messages.Refused):
                return message.code
    except ConnectionClosed as closed:
        return str(closed.rcvd.code if closed.rcvd else 1006)


@asynccontextmanager
async def at_work(
    lent: LentServer, lender: Lender | None = None
) -> AsyncIterator[tuple[Client, PlayGames]]:
    """A sender with its first assignment."""
    async with connected(lent.url, lender or stranger(lent), lent.game) as client:
        yield client, await client.next(PlayGames)
