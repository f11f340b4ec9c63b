"""Lending as the server offers it: the run that takes games, accounts, and the operator's actions.

A thread finds the run's trainer through Redis and serves each run of that name with a Gateway; the
accounts and what they did outlive it, in one file of the lending folder.
"""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_state_path
from starlette.websockets import WebSocket

from zerofleet.errors import ZerofleetError
from zerofleet.web.errors import Refused, unknown
from zerofleet.web.lend import accounts, community
from zerofleet.web.lend.ledger import Account, Ledger, NameTaken
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
from zerofleet.web.runs import Runs
from zerofleet.web.safety import RateLimits

if TYPE_CHECKING:
    from zerofleet.web.lend.gateway import Gateway

FILE = "lend.sqlite"
STATES = {"pause": "paused", "resume": "active", "revoke": "revoked"}
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

    def __init__(self, run: str, say: Callable[[str], None], worker_id: str = "browsers") -> None:
        """`worker_id` is the gateway's name in the registry of the run."""
        self.run = run
        self.ledger = Ledger(lend_folder() / FILE)
        self.limits = RateLimits()
        self._say = say
        self._worker_id = worker_id
        self._reason = f"no trainer of run {run} was found yet"
        self._gateway: Gateway | None = None
        self._ended = threading.Event()

    # ---- the run

    def status(self) -> LendStatus:
        gateway = self._gateway
        reason = "" if gateway else self._reason
        lent = gateway.lent_run() if gateway else None
        return status_without(reason).model_copy(update={"is_on": True, "lent": lent})

    async def connect(self, socket: WebSocket) -> None:
        """Serves one tab until it leaves."""
        raise NotImplementedError

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
        return community.account_answers(self.ledger, self.authenticated(token).id)[0]

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
        return community.operator_answers(self.ledger, self._num_online)

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
        return community.operator_answers(self.ledger, self._num_online, account)[0]

    def _num_online(self, account: int) -> int:
        return self._gateway.num_online(account) if self._gateway else 0

    def _close_tabs(self, account: int, code: str, reason: str) -> None:
        if self._gateway is not None:
            self._gateway.close_tabs(account, code, reason)

    def close(self) -> None:
        self._ended.set()
        self.ledger.close()
