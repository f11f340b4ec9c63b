"""Takes games from browsers: checks each, writes it to the spool, and only then accepts it.

Checks run in threads, one game at a time and one message of a sender at a time, so that nobody
waits for another's. Searching again has threads of its own, since it may take seconds. One thread
writes: whatever has come meanwhile is appended, synced and recorded together. It records what was
spooled before it spools more, so a spool that an earlier start left behind names every game that
the ledger may lack.
"""

import asyncio
import queue
import random
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from zerofleet.cores import num_cores
from zerofleet.fleet.gateway_role import GatewayRole
from zerofleet.games import Episode
from zerofleet.web.lend.checks import Checker, GameFault
from zerofleet.web.lend.ledger import Ledger
from zerofleet.web.lend.ledger_rows import ACCEPTED, Assignment, LedgerGame
from zerofleet.web.lend.match_checks import CHECK_PROBABILITY, PlayedPortion
from zerofleet.web.lend.matches import Matches, Portion
from zerofleet.web.lend.trust import Standing

NUM_THREADS = 2
"""For rules and the ledger."""
MAX_TOGETHER = 1024
"""Messages that are written at once."""

Id = tuple[int, int]


@dataclass
class Answer:
    """What becomes of the games of one message."""

    accepted: list[Id] = field(default_factory=list)
    refused: list[tuple[list[Id], str, str]] = field(default_factory=list)
    """Ids, code and reason. No ids: all that are not accepted."""
    quarantine: str = ""
    """Why the sender is quarantined."""


def begun() -> "Future[None]":
    """A future that cannot be cancelled: what was taken is written, whoever left meanwhile."""
    made: Future[None] = Future()
    made.set_running_or_notify_cancel()
    return made


@dataclass
class Taken:
    """Games that are to be written."""

    games: list[tuple[LedgerGame, bytes]]
    account: int | None
    standing: Standing | None
    confirmed: int | None
    done: "Future[None]" = field(default_factory=begun)


class Receiver:
    """For one run."""

    def __init__(self, role: GatewayRole, ledger: Ledger, checker: Checker) -> None:
        self._role, self._ledger, self._checker = role, ledger, checker
        self._rules = ThreadPoolExecutor(NUM_THREADS, "lend-rules")
        self._searches = ThreadPoolExecutor(max(1, num_cores() // 2), "lend-search")
        self._senders: dict[int, asyncio.Lock] = {}
        self._random = random.SystemRandom()
        self._waiting: queue.SimpleQueue[Taken | None] = queue.SimpleQueue()
        self._writer = threading.Thread(target=self._write, name="lend-writer", daemon=True)
        self._recover()
        self._writer.start()

    def close(self) -> None:
        """Writes what was taken."""
        self._rules.shutdown(cancel_futures=True)
        self._searches.shutdown(cancel_futures=True)
        self._waiting.put(None)
        self._writer.join()

    async def in_thread(self, work: Callable[..., object], *arguments: object) -> object:
        return await asyncio.get_running_loop().run_in_executor(self._rules, work, *arguments)

    # ---- games of a message

    async def receive(self, account: int, number: int, episodes: Sequence[bytes]) -> Answer:
        """Games of an assignment. One message of an account at a time."""
        lock = self._senders.setdefault(account, asyncio.Lock())
        async with lock:
            answer = Answer()
            assignment = await self._assignment(account, number, answer)
            if assignment is not None:
                await self._judge(account, assignment, episodes, answer)
            return answer

    async def _assignment(self, account: int, number: int, answer: Answer) -> Assignment | None:
        found = await self.in_thread(self._ledger.assignment, number)
        assert found is None or isinstance(found, Assignment)
        if found is None or found.account != account:
            answer.refused.append(([], "not_yours", f"assignment {number} is not of this account"))
        elif found.run != self._role.facts.run_id:
            answer.refused.append(([], "other_run", f"assignment {number} is of a former run"))
        elif time.time() > found.deadline:
            answer.refused.append(([], "late", f"the deadline of assignment {number} is over"))
        else:
            return found
        return None

    async def _judge(
        self, account: int, assignment: Assignment, episodes: Sequence[bytes], answer: Answer
    ) -> None:
        """Checks games in their order, then has the good ones written."""
        loop = asyncio.get_running_loop()
        found = await self.in_thread(self._ledger.account, account)
        if found is None or found.state != "active":  # type: ignore[attr-defined]
            state = "deleted" if found is None else found.state  # type: ignore[attr-defined]
            answer.refused.append(([], "not_active", f"this account is {state}"))
            return
        standing: Standing = found.standing  # type: ignore[attr-defined]
        good: list[tuple[LedgerGame, bytes]] = []
        confirmed: int | None = None
        num_refused = 0
        seen: dict[int, str] = {}
        for data in episodes:
            try:
                episode = await loop.run_in_executor(
                    self._rules, self._check, assignment, data, seen
                )
                if episode is None:  # it was accepted before
                    answer.accepted.append(id_in(data))
                    continue
                if self._random.random() < standing.check_probability:
                    differ = await loop.run_in_executor(
                        self._searches, self._checker.differing, assignment, episode
                    )
                    standing = standing.after_check(differ)
                    if standing.is_alarming:
                        answer.quarantine = "its searches are not those of the network"
                        raise GameFault("forged", answer.quarantine, is_proof=True)
                    if standing.suspicion == 0:
                        confirmed = episode.sequence
                else:
                    standing = standing.after_valid()
            except GameFault as fault:
                num_refused += 1
                ids = [] if fault.code == "unreadable" else [id_in(data)]
                answer.refused.append((ids, fault.code, fault.reason))
                if fault.is_proof:
                    answer.quarantine = answer.quarantine or fault.reason
                    break
            else:
                seen[episode.sequence] = ACCEPTED
                worker = self._role.sender.incarnation
                facts = self._checker.facts(assignment, episode, worker=worker, time=time.time())
                stored = data if episode.worker == worker else stamped(episode, worker)
                good.append((facts, stored))
        if answer.quarantine:
            # Nothing of such a message counts.
            standing = Standing(0, standing.num_checked, standing.suspicion)
            await self.in_thread(self._ledger.set_standing, account, standing, num_refused)
            return
        if num_refused:
            standing = Standing(0, standing.num_checked, standing.suspicion)
            await self.in_thread(self._ledger.set_standing, account, standing, num_refused)
        if good:
            taken = Taken(good, account, standing, confirmed)
            self._waiting.put(taken)
            await asyncio.wrap_future(taken.done)
            answer.accepted += [(assignment.worker, facts.sequence) for facts, _ in good]

    # ---- games of a match

    async def receive_match(
        self, account: int, matches: Matches, portion: Portion, games: Sequence[Sequence[int]]
    ) -> Answer:
        """The games of a portion: all count, or none."""
        lock = self._senders.setdefault(account, asyncio.Lock())
        async with lock:
            answer = Answer()
            found = await self.in_thread(self._ledger.account, account)
            if found is None or found.state != "active":  # type: ignore[attr-defined]
                answer.refused.append((portion.ids, "not_active", "this account is not active"))
                return answer
            standing = before = found.standing  # type: ignore[attr-defined]
            num_refused = 0
            try:
                played = await self.in_thread(PlayedPortion, self._role.game, portion, games)
                assert isinstance(played, PlayedPortion)
                async for standing in self._judge_match(played, before):
                    if standing.is_alarming:
                        reason = "its searches are not those of the network"
                        raise GameFault("forged", reason, is_proof=True)
                if not matches.take(portion, played.episodes):
                    raise GameFault("late", "these games came too late")
            except GameFault as fault:
                answer.refused.append((portion.ids, fault.code, fault.reason))
                if fault.is_proof:
                    answer.quarantine = fault.reason
                num_refused = len(portion.ids)
                standing = Standing(0, standing.num_checked, standing.suspicion)
            else:
                answer.accepted = portion.ids
            await self.in_thread(self._ledger.set_standing, account, standing, num_refused)
            return answer

    async def _judge_match(
        self, played: PlayedPortion, standing: Standing
    ) -> AsyncIterator[Standing]:
        """The sender's standing after each game. If any that was drawn differs, all are searched,
        and those that differ are played here."""
        loop = asyncio.get_running_loop()
        passed = []
        for number in range(len(played.episodes)):
            if self._random.random() < max(CHECK_PROBABILITY, standing.check_probability):
                differ = await loop.run_in_executor(self._searches, played.differing, number)
                standing = standing.after_check(differ)
            else:
                standing = standing.after_valid()
                passed.append(number)
            yield standing
        for number in passed if played.differ else ():
            differ = await loop.run_in_executor(self._searches, played.differing, number)
            standing = standing.after_check(differ)
            yield standing
        for number in played.differ:
            await loop.run_in_executor(self._searches, played.play_again, number)

    def _check(self, assignment: Assignment, data: bytes, seen: dict[int, str]) -> Episode | None:
        """None where the game counts already."""
        episode = self._checker.decode(assignment, data)
        sequence = episode.sequence
        state = seen.get(sequence) or self._ledger.game_states(assignment.run, [sequence]).get(
            sequence
        )
        if state == ACCEPTED:
            return None
        if state is not None:
            raise GameFault("withdrawn", "this game was withdrawn or played by another")
        self._checker.check_rules(assignment, episode)
        return episode

    # ---- games that are played here

    def replace(self, assignment: Assignment, sequence: int, state: str) -> None:
        """Plays a game that was not returned, and has it written."""
        data = self._checker.play(assignment, sequence)
        worker = self._role.sender.incarnation
        episode = Episode.decode(data)
        facts = self._checker.facts(
            assignment, episode, worker=worker, time=time.time(), state=state
        )
        taken = Taken([(facts, stamped(episode, worker))], None, None, None)
        self._waiting.put(taken)
        taken.done.result()

    # ---- the thread that writes

    def _write(self) -> None:
        while (first := self._waiting.get()) is not None:
            together = [first]
            while not self._waiting.empty() and len(together) < MAX_TOGETHER:
                if (more := self._waiting.get()) is None:
                    self._waiting.put(None)
                    break
                together.append(more)
            try:
                self._role.send([data for each in together for _, data in each.games])
                self._ledger.take_all(
                    ([facts for facts, _ in each.games], each.account, each.standing,
                     each.confirmed)
                    for each in together
                )  # fmt: skip
            except Exception as fault:
                for each in together:
                    each.done.set_exception(fault)
            else:
                for each in together:
                    each.done.set_result(None)

    def _recover(self) -> None:
        """Records games that an earlier start spooled and did not record."""
        run = self._role.facts.run_id
        for worker, sequence in self._role.earlier:
            if self._ledger.game_states(run, [sequence]):
                continue
            self._ledger.take(
                [LedgerGame(run, sequence, worker, None, None, time.time(), 0, 0, 0, False)]
            )


def id_in(data: bytes) -> Id:
    episode = Episode.decode(data)
    return episode.worker, episode.sequence


def stamped(episode: Episode, worker: int) -> bytes:
    """The game under the incarnation that sends it: a start of the gateway sends only its own, and
    one that came back after a restart names an earlier start."""
    return episode.with_id(worker, episode.sequence).encode()
