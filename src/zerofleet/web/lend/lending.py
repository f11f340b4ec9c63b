"""Lending as the server offers it: the run that takes games, accounts, and the operator's actions.

A thread finds the run's trainer through Redis and serves each run of that name with a Gateway; the
accounts and what they did outlive it, in one file of the lending folder.
"""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_state_path
from starlette.websockets import WebSocket

from zerofleet.errors import ZerofleetError
from zerofleet.metrics import needed
from zerofleet.web.errors import Refused, unknown
from zerofleet.web.lend import accounts, community
from zerofleet.web.lend.ledger import Ledger, NameTaken
from zerofleet.web.lend.ledger_rows import Account
from zerofleet.web.lend.messages import PROTOCOL, SOCKET_PATH
from zerofleet.web.lend.schema import (
    Community,
    LendAccount,
    LendStatus,
    NewAccount,
    OperatorAccount,
    OperatorAction,
    SignUp,
)
from zerofleet.web.lend.tab import LATER, Closing, refuse
from zerofleet.web.lend.upkeep import Upkeep
from zerofleet.web.runs import Runs
from zerofleet.web.safety import RateLimits

if TYPE_CHECKING:
    from zerofleet.bus import PublishedWeights
    from zerofleet.bus.redis import RedisBus
    from zerofleet.fleet.facts import FleetFacts
    from zerofleet.web.lend.gateway import Gateway
    from zerofleet.web.lend.weights import LentVersion

FILE = "lend.sqlite"
STATES = {"pause": "paused", "resume": "active", "revoke": "revoked"}
CLOSE_S = 20.0
NO_MORE = "an operator of this server did so"


def lend_folder() -> Path:
    """$ZEROFLEET_LEND, else zerofleet/lend in the user's state folder."""
    own = os.environ.get("ZEROFLEET_LEND")
    if own:
        return Path(own).absolute()
    return user_state_path("zerofleet", appauthor=False) / "lend"


def status_without(reason: str) -> LendStatus:
    """Where lending is off."""
    return LendStatus(
        is_on=False,
        reason=reason,
        protocol=PROTOCOL,
        socket=SOCKET_PATH,
        consent=accounts.CONSENT,
        lent=None,
    )


class Lending:
    """One per server."""

    def __init__(
        self, run: str, say: Callable[[str], None], redis: str | None = None,
        worker_id: str = "browsers",
    ) -> None:  # fmt: skip
        """`worker_id` is the gateway's name in the registry of the run."""
        for module, extra in (("redis", "lend"), ("onnx", "lend"), ("onnxruntime", "lend")):
            needed(module, f"zerofleet[{extra}]")
        # Imported here: they need the extra `fleet`.
        from zerofleet.fleet.local_redis import address_for
        from zerofleet.fleet.signals import GracefulStop

        self.run = run
        self.ledger = Ledger(lend_folder() / FILE)
        self.limits = RateLimits()
        self._ranks = community.Ranks(self.ledger)
        self._address = address_for(run, redis)
        self._say = say
        self._worker_id = worker_id
        self._reason = f"no trainer of run {run} was found yet"
        self._gateway: Gateway | None = None
        self._stop = GracefulStop()
        self._thread = threading.Thread(target=self._serve, name="lend", daemon=True)

    # ---- the run

    def status(self) -> LendStatus:
        gateway = self._gateway
        reason = "" if gateway else self._reason
        lent = gateway.lent_run() if gateway else None
        return status_without(reason).model_copy(update={"is_on": True, "lent": lent})

    async def connect(self, socket: WebSocket) -> None:
        """Serves one tab until it leaves."""
        if self._gateway is None:
            await socket.accept()
            await refuse(socket, Closing("no_run", self._reason, LATER))
        else:
            await self._gateway.connect(socket)

    def weights(self, token: str, version: int) -> "LentVersion":
        """A version for the browser with this token."""
        if self.authenticated(token).state != "active":
            raise Refused(403, "not_active", "this account may not lend")
        found = self._gateway.weights.get(version) if self._gateway else None
        if found is None:
            raise unknown(f"there are no weights {version} here")
        return found

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Tells the tabs, and waits until what was accepted is on its way. The event loop must
        still run."""
        self._stop.requested = True
        if self._thread.ident is not None:
            self._thread.join(CLOSE_S)

    def close(self) -> None:
        self.end()
        self.ledger.close()

    def _serve(self) -> None:
        """Serves each run of the name until `close`."""
        from zerofleet.fleet.handshake import serve_each_run

        try:
            serve_each_run(self._address, self.run, self._stop, self._say, self._serve_run)
            self._reason = f"run {self.run} has ended"
        except Exception as fault:  # the dashboard serves without lending
            self._reason = str(fault)
            self._say(f"lending ended: {fault}")
        finally:
            self._gateway = None

    def _serve_run(self, bus: "RedisBus", facts: "FleetFacts", first: "PublishedWeights") -> bool:
        """Returns whether another run has taken the name."""
        from zerofleet.fleet.gateway_role import GatewayRole
        from zerofleet.fleet.handshake import POLL_S, RunWatch
        from zerofleet.web.lend.gateway import Gateway
        from zerofleet.web.lend.weights import LentWeights

        faults: list[BaseException] = []
        role = GatewayRole(
            bus, facts, self._worker_id, lambda: {"version": gateway.version}, self._say,
            faults.append,
        )  # fmt: skip
        folder = lend_folder() / "weights" / facts.run_id
        weights = LentWeights(bus, facts.run_name, role.game, folder, first)
        gateway = Gateway(role, weights, self.ledger, self.limits, self._quarantine)
        role.start()
        self._gateway = gateway
        self._say(f"lending is on: browsers play {facts.game} for run {facts.run_name}")
        upkeep = Upkeep(gateway, self.ledger, self._quarantine, self._say)
        watch = RunWatch(bus, facts)
        try:
            while not (self._stop.requested or bus.stopping or watch.is_outdated or faults):
                role.beat(f"{gateway.num_online():,} tabs")
                upkeep.step()
                time.sleep(POLL_S)
        finally:
            self._reason = "the gateway ends"
            self._gateway = None
            gateway.drain("the server ends; finished games are taken when it is back")
            time.sleep(POLL_S)
            upkeep.close()
            gateway.close()
            if num_left := role.close():
                self._say(f"lending: {num_left:,} games wait in the spool for the next start")
        if faults:
            raise faults[0]
        return watch.is_outdated

    def _quarantine(self, account: int, reason: str) -> None:
        """Stops a sender, and withdraws what it sent since its last confirmed check."""
        found = self.ledger.account(account)
        if found is None or found.state != "active":
            return
        self.ledger.set_state(account, "quarantined", reason)
        num_games = self.ledger.withdraw_since_confirmed(account)
        self._say(
            f"lending: account {account} ({found.name}) is quarantined: {reason}; {num_games:,} "
            "games are withdrawn"
        )
        self._close_tabs(account, "quarantined", f"this account is quarantined: {reason}")

    # ---- accounts

    def sign_up(self, address: str, asked: SignUp) -> NewAccount:
        if asked.consent != accounts.CONSENT.version:
            raise Refused(409, "consent", "agree to the newest text first: GET /api/v1/lend")
        if not self.limits.allow(address, accounts.SIGN_UPS):
            raise Refused(429, "too_often", "too many accounts from your address; try again later")
        token = accounts.new_token()
        try:
            made = self.ledger.add_account(asked.name, accounts.token_hash(token), asked.consent)
        except NameTaken:
            raise Refused(409, "name_taken", f"the name {asked.name!r} is taken") from None
        return NewAccount(id=made, name=asked.name, token=token)

    def authenticated(self, token: str) -> Account:
        """The account of a token, whatever its state."""
        found = self.ledger.account_of(accounts.token_hash(token))
        if found is None:
            raise Refused(401, "wrong_token", "no account has this token")
        return found

    def own_account(self, token: str) -> LendAccount:
        account = self.authenticated(token)
        return community.account_answers(self.ledger, self._ranks, [account], account.id)[0]

    def delete_account(self, token: str) -> None:
        account = self.authenticated(token).id
        self.ledger.delete_account(account)
        self._close_tabs(account, "deleted", "this account was deleted")

    # ---- the community and the operator

    def community(self, runs: Runs) -> Community:
        gateway = self._gateway
        try:
            ratings = runs.ratings(self.run)
        except (ZerofleetError, OSError):  # the run's folder is on another machine
            ratings = []
        return community.community_of(
            self.ledger,
            self.run,
            gateway.run_id if gateway else "",
            gateway.version if gateway else None,
            gateway.num_online() if gateway else 0,
            ratings,
        )

    def operator_accounts(self) -> list[OperatorAccount]:
        return community.operator_answers(self.ledger, self._ranks, self._num_online)

    def operate(self, account: int, action: OperatorAction) -> OperatorAccount:
        found = self.ledger.account(account)
        if found is None:
            raise unknown(f"there is no account {account}")
        if found.state == "revoked" and action != "revoke":
            raise Refused(409, "revoked", "a revoked account stays revoked; a new one is needed")
        self.ledger.set_state(account, STATES[action], "" if action == "resume" else NO_MORE)
        if action != "resume":
            self._close_tabs(
                account, STATES[action], f"this account is {STATES[action]}: {NO_MORE}"
            )
        return community.operator_answers(self.ledger, self._ranks, self._num_online, account)[0]

    def _num_online(self, account: int) -> int:
        return self._gateway.num_online(account) if self._gateway else 0

    def _close_tabs(self, account: int, code: str, reason: str) -> None:
        if self._gateway is not None:
            self._gateway.close_tabs(account, code, reason)
