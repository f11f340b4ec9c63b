"""The gateway of one run: tabs connect, are given games, and send them.

The first message of a socket must be WORKER_READY, soon. Then a tab has at most two assignments at
a time, rating games before games that train, gets WEIGHTS_UPDATE when the gateway adopts newer
weights, and is told PAUSE while the run takes no games. Everything that waits for a disk, a search
or Redis runs in threads.
"""

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from starlette.websockets import WebSocket, WebSocketDisconnect

from zerofleet import _core, games
from zerofleet.errors import ZerofleetError
from zerofleet.fleet.gateway_role import GatewayRole
from zerofleet.web.lend import accounts, messages
from zerofleet.web.lend.accounts import device_hash, token_hash
from zerofleet.web.lend.checks import Checker, lent_settings
from zerofleet.web.lend.ledger import Ledger
from zerofleet.web.lend.ledger_rows import Account, Assignment
from zerofleet.web.lend.matches import Matches, Portion
from zerofleet.web.lend.messages import BadMessage
from zerofleet.web.lend.receiver import Answer, Receiver
from zerofleet.web.lend.schema import LendLimits, LentRun
from zerofleet.web.lend.tab import LATER, Closing, Tab, refuse
from zerofleet.web.lend.weights import LentWeights
from zerofleet.web.safety import RateLimits, client_of

READY_S = 10.0
"""For the first message."""
TICK_S = 1.0
DAY_S = 24 * 3600.0
SLACK_S = 30.0
"""A tab is told an earlier deadline: sending takes time."""


class Quarantine(Protocol):
    def __call__(self, account: int, reason: str) -> None: ...


class Gateway:
    """See above. Its coroutines run in the server's event loop."""

    def __init__(
        self,
        role: GatewayRole,
        weights: LentWeights,
        ledger: Ledger,
        limits: RateLimits,
        quarantine: Quarantine,
    ) -> None:
        self.role, self.weights = role, weights
        self.checker = Checker(role.game, role.config, weights)
        self.receiver = Receiver(role, ledger, self.checker)
        self.matches = Matches(role.bus, role.game, weights, role.config.fleet.block_lease_s)
        self._ledger, self._limits, self._quarantine = ledger, limits, quarantine
        # With default options, whatever those of the run: a tab computes it before it knows them.
        self._signatures = {role.game.name: _core.signature(games.get(role.game.name))}
        self._tabs: set[Tab] = set()
        self._by_account: dict[int, set[Tab]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ticker: asyncio.Task[None] | None = None
        self._paused, self._is_held = "", False
        self.counts: Counter[str] = Counter()

    # ---- what others ask, from any thread

    @property
    def run_id(self) -> str:
        return self.role.facts.run_id

    @property
    def version(self) -> int:
        return self.weights.current.version

    def num_online(self, account: int | None = None) -> int:
        return len(self._tabs if account is None else self._by_account.get(account, ()))

    def lent_run(self) -> LentRun:
        facts, lend = self.role.facts, self.role.config.lend
        return LentRun(
            run=facts.run_name,
            game=facts.game,
            options={name: str(value) for name, value in self.role.game.options.items()},
            signatures=self._signatures,
            version=self.version,
            limits=LendLimits(
                min_simulations=self._simulations(1),
                max_simulations=self._simulations(0),
                max_games_at_once=lend.max_games_at_once,
                refresh_minutes=lend.refresh_minutes,
                deadline_minutes=lend.deadline_minutes,
                max_games_per_day=accounts.MAX_GAMES_PER_DAY,
            ),
            paused=self._paused,
        )

    def close_tabs(self, account: int, code: str, reason: str) -> None:
        """Of one account."""

        def close() -> None:
            for tab in list(self._by_account.get(account, ())):
                tab.end(Closing(code, reason))

        self._in_loop(close)

    def drain(self, reason: str) -> None:
        """Tells all tabs to send what they have finished; the sockets are closed soon after."""

        def tell() -> None:
            for tab in self._tabs:
                tab.put(messages.Drain(reason))
                tab.end(Closing("drain", reason, LATER))

        self._in_loop(tell)

    def announce_weights(self) -> None:
        """Tells all tabs of the current version."""
        update = self.weights.current.update()

        def tell() -> None:
            for tab in self._tabs:
                self._update(tab, update)

        self._in_loop(tell)

    def set_paused(self, reason: str, is_held: bool) -> None:
        """Why no games that train are given out; held: no others either."""
        self._paused, self._is_held = reason, is_held

    def _in_loop(self, work: Callable[[], None]) -> None:
        if self._loop is not None and not self._loop.is_closed():
            with suppress(RuntimeError):  # the loop ends just now
                self._loop.call_soon_threadsafe(work)

    # ---- one tab

    async def connect(self, socket: WebSocket) -> None:
        """Serves a tab until it leaves."""
        self._loop = asyncio.get_running_loop()
        if self._ticker is None or self._ticker.done():
            self._ticker = asyncio.create_task(self._tick())
        await socket.accept()
        try:
            tab = await self._greeted(socket)
        except Closing as why:
            await refuse(socket, why)
            return
        except (WebSocketDisconnect, RuntimeError):
            return
        self._tabs.add(tab)
        self._by_account.setdefault(tab.account, set()).add(tab)
        sending = asyncio.create_task(self._send(tab))
        receiving = asyncio.create_task(self._receive(tab))
        try:
            self._update(tab, self.weights.current.update())
            await self._assign(tab)
            done, _ = await asyncio.wait((sending, receiving), return_when=asyncio.FIRST_COMPLETED)
            if receiving in done and not tab.closing and (fault := receiving.exception()):
                tab.end(fault if isinstance(fault, Closing) else Closing("fault", "a fault", LATER))
            if tab.closing is not None and not sending.done():
                await asyncio.wait((sending,), timeout=5)
        finally:
            self._tabs.discard(tab)
            self._by_account[tab.account].discard(tab)
            if not self._by_account[tab.account]:
                del self._by_account[tab.account]
            for name in tab.portions:
                self.matches.give_back(name)
            for task in (sending, receiving):
                task.cancel()
            await asyncio.gather(sending, receiving, return_exceptions=True)

    async def _greeted(self, socket: WebSocket) -> Tab:
        address = client_of(socket.scope)
        try:
            message = await asyncio.wait_for(self._message(socket, address), READY_S)
        except TimeoutError:
            raise Closing("not_ready", f"no WORKER_READY within {READY_S:g} s") from None
        if not isinstance(message, messages.WorkerReady):
            raise Closing("not_ready", "the first message must be WORKER_READY")
        if message.protocol != messages.PROTOCOL:
            raise Closing(
                "protocol", f"this server speaks version {messages.PROTOCOL}; reload the page"
            )
        account = await self._authenticated(address, message.token)
        for game, signature in self._signatures.items():
            if message.signatures.get(game) != signature:
                raise Closing(
                    "signature",
                    f"this browser plays {game} otherwise than the server (signature "
                    f"{message.signatures.get(game, 'none')}, not {signature}); it cannot lend",
                )
        if self.num_online(account.id) >= accounts.MAX_TABS:
            raise Closing("too_many", f"an account has at most {accounts.MAX_TABS} tabs", LATER)
        device = await self.receiver.in_thread(
            self._ledger.see_device, account.id, device_hash(account.id, message.id),
            message.backend,
        )  # fmt: skip
        num_devices = await self.receiver.in_thread(self._ledger.num_devices, account.id)
        if num_devices > accounts.MAX_DEVICES:  # type: ignore[operator]
            raise Closing("too_many", f"an account has at most {accounts.MAX_DEVICES} devices")
        most = self.role.config.lend.max_games_at_once
        return Tab(
            socket,
            address,
            account.id,
            device,  # type: ignore[arg-type]
            message.backend,
            self._simulations(message.num_simulations),
            min(message.games_at_once or most, most),
        )

    async def _authenticated(self, address: str, token: str) -> Account:
        found = await self.receiver.in_thread(self._ledger.account_of, token_hash(token))
        if not isinstance(found, Account):
            allowed = self._limits.allow(address, accounts.BAD_TOKENS)
            code = "wrong_token" if allowed else "too_often"
            raise Closing(code, "no account has this token")
        if found.state != "active":
            raise Closing(found.state, f"this account is {found.state}: {found.reason}")
        return found

    def _simulations(self, wanted: int) -> int:
        """What a tab plays with; 0: the most."""
        most = self.role.config.search.num_simulations
        least = min(self.role.config.lend.min_simulations or most, most)
        return max(least, min(wanted or most, most))

    async def _message(self, socket: WebSocket, address: str) -> messages.FromTab:
        """The next one. Closing where it is none."""
        received = await socket.receive()
        if received["type"] == "websocket.disconnect":
            raise WebSocketDisconnect
        if not self._limits.allow(address, accounts.MESSAGES_OF_ADDRESS):
            raise Closing("too_often", "too many messages from this address", LATER)
        data = received.get("bytes")
        if data is None:
            raise Closing("bad_message", "messages are binary (MessagePack)")
        try:
            return messages.decode(data)
        except BadMessage as fault:
            self.counts["bad messages"] += 1
            raise Closing("bad_message", str(fault)[:500]) from None

    async def _send(self, tab: Tab) -> None:
        with suppress(WebSocketDisconnect, RuntimeError):
            while tab.closing is None or not tab.unsent.empty():
                await tab.socket.send_bytes(messages.encode(await tab.unsent.get()))
            await tab.socket.close(tab.closing.status, tab.closing.code)

    async def _receive(self, tab: Tab) -> None:
        try:
            while True:
                message = await asyncio.wait_for(
                    self._message(tab.socket, tab.address), tab.silent_s
                )
                if not self._limits.allow(f"account {tab.account}", accounts.MESSAGES):
                    raise Closing("too_often", "too many messages; send more games in one", LATER)
                await self._take(tab, message)
        except TimeoutError:
            raise Closing("silent", f"nothing was heard for {tab.silent_s:g} s", LATER) from None
        except (WebSocketDisconnect, RuntimeError):
            return

    async def _take(self, tab: Tab, message: messages.FromTab) -> None:
        match message:
            case messages.GamesComplete():
                await self._take_games(tab, message)
            case messages.EvalResult():
                await self._take_match(tab, message)
            case messages.WorkerReady():
                raise Closing("not_ready", "WORKER_READY is the first message, and only that")
            case messages.Heartbeat():
                pass

    async def _take_games(self, tab: Tab, message: messages.GamesComplete) -> None:
        try:
            answer = await self.receiver.receive(tab.account, message.assignment, message.episodes)
        except (ZerofleetError, OSError) as fault:  # a full disk: the tab keeps its games
            raise Closing("later", f"the server cannot take games now: {fault}", LATER) from None
        self.counts["accepted"] += len(answer.accepted)
        left, _ = tab.open.get(message.assignment, (set(), 0.0))
        if answer.accepted:
            tab.put(messages.GamesAccepted(answer.accepted))
            left -= {sequence for _, sequence in answer.accepted}
        for ids, _, _ in answer.refused:
            left -= {sequence for _, sequence in ids}
        if not self._answer_refused(tab, answer):
            return
        if not left and tab.open.pop(message.assignment, None) is not None:
            await self.receiver.in_thread(self._ledger.complete, message.assignment)
        await self._assign(tab)

    def _answer_refused(self, tab: Tab, answer: Answer) -> bool:
        """Tells what was refused. False where the sender is quarantined."""
        for ids, code, reason in answer.refused:
            self.counts["refused"] += 1
            tab.put(messages.GamesRefused(ids, code, reason[:1000]))
        if answer.quarantine:
            self._quarantine(tab.account, answer.quarantine)
            return False
        if any(
            not self._limits.allow(f"account {tab.account}", accounts.REFUSALS)
            for _ in answer.refused
        ):
            raise Closing("refused", "too many of this account's games were refused")
        return True

    async def _take_match(self, tab: Tab, message: messages.EvalResult) -> None:
        portion = self.matches.find(message.match, tab.account)
        if portion is None:
            raise Closing("no_match", f"no match {message.match[:50]!r} was given to this tab")
        if tab.portions.pop(message.match, 0.0) <= time.monotonic():
            self.matches.give_back(portion.name, is_avoided=True)
            answer = Answer(refused=[(portion.ids, "late", "these games are over for this tab")])
        else:
            try:
                answer = await self.receiver.receive_match(
                    tab.account, self.matches, portion, message.games
                )
            finally:  # unless its games were taken
                self.matches.give_back(portion.name, is_avoided=True)
        self.counts["match games"] += len(answer.accepted)
        if answer.accepted:
            tab.put(messages.GamesAccepted(answer.accepted))
        if self._answer_refused(tab, answer):
            await self._assign(tab)

    # ---- assignments

    def _update(self, tab: Tab, update: messages.WeightsUpdate) -> None:
        """Weights of coming assignments."""
        if tab.version != update.version:
            tab.version = update.version
            tab.put(update)

    async def _assign(self, tab: Tab) -> None:
        """Gives a tab as many games as it may have."""
        if tab.is_assigning or tab.closing:
            return
        tab.is_assigning = True
        try:
            while tab.has_room and not tab.closing:
                if await self._give_match(tab):
                    continue
                reason = self._paused or str(
                    await self.receiver.in_thread(self._why_enough, tab.account, tab.games_at_once)
                )
                if reason:
                    if reason != tab.paused:
                        tab.put(messages.Pause(reason))
                    tab.paused = reason
                    return
                tab.paused = ""
                made = await self.receiver.in_thread(self._made_assignment, tab)
                assert isinstance(made, Assignment)
                tab.open[made.id] = (set(made.sequences), made.deadline)
                tab.put(
                    messages.PlayGames(
                        made.id,
                        self.role.game.name,
                        self.role.facts.options,
                        lent_settings(self.role.config, made.simulations),
                        made.version,
                        made.worker,
                        made.first_sequence,
                        made.count,
                        made.seed,
                        max(1.0, made.deadline - time.time() - SLACK_S),
                    )
                )
        finally:
            tab.is_assigning = False

    async def _give_match(self, tab: Tab) -> bool:
        """Gives a tab rating games, if there are any for it. The replay limiter does not hold
        these back, an operator who holds the worker does."""
        if self._is_held:
            return False
        with suppress(ZerofleetError):  # Redis cannot be reached: a later tick asks again
            portion = await self.receiver.in_thread(
                self.matches.give, tab.account, tab.games_at_once // 2
            )
            if isinstance(portion, Portion):
                tab.portions[portion.name] = portion.ends_s
                tab.paused = ""
                for update in portion.updates():
                    tab.put(update)
                tab.put(portion.message())
                return True
        return False

    def _why_enough(self, account: int, count: int) -> str:
        """Why an account gets no more games now; empty where it does. Assignments of tabs that
        have left count until their deadline."""
        if self._ledger.num_open_games(account) + count > accounts.MAX_OPEN_GAMES:
            return "this account has too many open games; finish some first"
        today = self._ledger.num_games_since(account, time.time() - DAY_S)
        if today >= accounts.MAX_GAMES_PER_DAY:
            return f"this account has played its {accounts.MAX_GAMES_PER_DAY:,} games of the day"
        return ""

    def _made_assignment(self, tab: Tab) -> Assignment:
        return self._ledger.assign(
            self.run_id,
            tab.account,
            tab.device,
            tab.backend,
            self.role.sender.incarnation,
            tab.version,
            tab.games_at_once,
            secrets.randbits(63),
            tab.num_simulations,
            time.time() + 60 * self.role.config.lend.deadline_minutes,
        )

    async def _tick(self) -> None:
        """Drops assignments whose time is over, and feeds whoever has room."""
        while True:
            await asyncio.sleep(TICK_S)
            now = time.time()
            for tab in list(self._tabs):
                for number in [each for each, (_, end) in tab.open.items() if end < now]:
                    del tab.open[number]
                for name in [each for each, end in tab.portions.items() if end < time.monotonic()]:
                    del tab.portions[name]
                is_idle = not (tab.open or tab.portions)
                if (tab.has_room and self._paused != tab.paused) or is_idle:
                    with suppress(ZerofleetError, OSError, RuntimeError):
                        await self._assign(tab)

    def close(self) -> None:
        """After `drain`; what was accepted is on the disk."""

        def end() -> None:
            if self._ticker is not None:
                self._ticker.cancel()

        self._in_loop(end)
        self.receiver.close()
