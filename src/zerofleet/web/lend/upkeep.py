"""What a gateway does beside its sockets: new weights, pauses, withdrawals, blocks of ratings, and
games that nobody returned."""

import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from zerofleet.bus import BusFull, BusUnreachable
from zerofleet.errors import ZerofleetError
from zerofleet.web.lend.ledger import Ledger
from zerofleet.web.lend.ledger_rows import ACCEPTED, REPLAYED, Assignment
from zerofleet.web.lend.trust import is_selected, is_test_due

if TYPE_CHECKING:
    from zerofleet.web.lend.gateway import Gateway

LOOK_S = 1.0
GRACE_S = 60.0
"""After a deadline, for games that are being checked."""
REPLAYED_SHARE = 0.1
"""Of the games that were not returned; each is played here."""
MAX_QUEUED = 200
"""Games that wait to be played here; more are not played."""


class Upkeep:
    """`step` is called a few times a second, by one thread."""

    def __init__(
        self,
        gateway: "Gateway",
        ledger: Ledger,
        quarantine: Callable[[int, str], None],
        say: Callable[[str], None],
    ) -> None:
        self._gateway, self._ledger = gateway, ledger
        self._quarantine, self._say = quarantine, say
        self._refresh_s = 60 * gateway.role.config.lend.refresh_minutes
        self._refreshed_s = time.monotonic()
        self._looked_s = 0.0
        self._unreturned: list[tuple[Assignment, int]] = []
        self._ended = threading.Event()
        self._player = threading.Thread(target=self._play, name="lend-unreturned", daemon=True)
        self._player.start()

    def step(self) -> None:
        role = self._gateway.role
        self._gateway.set_paused(role.why_paused, role.is_held)
        if time.monotonic() < self._looked_s + LOOK_S:
            return
        self._looked_s = time.monotonic()
        with suppress(BusUnreachable, BusFull):
            self._refresh()
            self._tell_withdrawals()
            self._gateway.matches.step()
        self._settle()

    def close(self) -> None:
        """Once the tabs were told that the gateway ends."""
        with suppress(BusUnreachable, BusFull):
            self._gateway.matches.close()
        self._ended.set()
        self._player.join()

    def _refresh(self) -> None:
        """New weights, at most every lend.refresh_minutes."""
        if time.monotonic() < self._refreshed_s + self._refresh_s:
            return
        try:
            is_new = self._gateway.weights.refresh()
        except (BusUnreachable, BusFull):
            raise
        except ZerofleetError as fault:
            self._say(f"lending: {fault}")
            is_new = False
        if is_new:
            self._refreshed_s = time.monotonic()
            self._gateway.announce_weights()

    def _tell_withdrawals(self) -> None:
        """Until the trainer was told, they stay in the ledger."""
        run = self._gateway.run_id
        if ids := self._ledger.untold(run):
            self._gateway.role.bus.withdraw(ids)
            self._ledger.tell(run, [sequence for _, sequence in ids])

    def _settle(self) -> None:
        """Counts what did not come back by its deadline, and draws what is played here."""
        for each in self._ledger.overdue(self._gateway.run_id, time.time() - GRACE_S):
            missing = self._ledger.settle(each)
            drawn = [one for one in missing if random.random() < REPLAYED_SHARE]
            room = MAX_QUEUED - len(self._unreturned)
            self._unreturned += [(each, one) for one in drawn[: max(0, room)]]

    # ---- the thread that plays

    def _play(self) -> None:
        while not self._ended.wait(LOOK_S):
            while self._unreturned and not self._ended.is_set():
                assignment, sequence = self._unreturned.pop(0)
                try:
                    self._gateway.receiver.replace(assignment, sequence, REPLAYED)
                except Exception as fault:  # such as weights that are gone
                    self._say(f"lending: game {sequence} is not played here: {fault}")
                    continue
                if assignment.account is not None:
                    self._test(assignment.account)

    def _test(self, account: int) -> None:
        """Whether a sender chooses what it returns."""
        replayed = self._ledger.results(account, REPLAYED)
        if is_test_due(len(replayed)):
            returned = self._ledger.results(account, ACCEPTED)
            if why := is_selected(returned, replayed):
                self._quarantine(account, f"it returns selected games: {why}")
