"""Who contributed how much: one's own account, the leaderboards and the history."""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from zerofleet.web.lend.ledger import Ledger
from zerofleet.web.lend.ledger_rows import Account, Contribution
from zerofleet.web.lend.schema import (
    Community,
    CommunityDevice,
    CommunityHour,
    CommunityTotals,
    CommunityUser,
    LendAccount,
    LentDevice,
    OperatorAccount,
)
from zerofleet.web.lend.trust import ALARM
from zerofleet.web.schema import RatingPoint

MAX_LISTED = 100
HISTORY_S = 14 * 24 * 3600.0


def totals_by_account(contributions: Iterable[Contribution]) -> dict[int, tuple[int, int, int]]:
    """Games, rows and simulations."""
    found: dict[int, tuple[int, int, int]] = defaultdict(lambda: (0, 0, 0))
    for each in contributions:
        games, rows, simulations = found[each.account]
        found[each.account] = (
            games + each.num_games,
            rows + each.num_rows,
            simulations + each.num_simulations,
        )
    return found


def contribution(account: Account, num_games: int) -> float:
    """Games count by how reliably they come back."""
    return num_games * account.reliability


class Ranks:
    """Ranks of all accounts by contribution, computed at most every few seconds: whoever asks for
    an own account must not make the server count all games."""

    KEPT_S = 5.0

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lock = threading.Lock()
        self._ranks: dict[int, int] = {}
        self._at_s = -self.KEPT_S

    def of(self, account: int) -> int | None:
        """None without a game."""
        with self._lock:
            if time.monotonic() - self._at_s >= self.KEPT_S:
                totals = totals_by_account(self._ledger.contributions())
                shares = {
                    each.id: contribution(each, totals[each.id][0])
                    for each in self._ledger.accounts()
                    if each.id in totals
                }
                order = sorted(shares, key=lambda each: -shares[each])
                self._ranks = {each: rank for rank, each in enumerate(order, start=1)}
                self._at_s = time.monotonic()
            return self._ranks.get(account)


def account_answers(
    ledger: Ledger, ranks: Ranks, accounts: Sequence[Account], wanted: int | None = None
) -> list[LendAccount]:
    """These accounts; `wanted` where it is one."""
    contributions = ledger.contributions(wanted)
    totals = totals_by_account(contributions)
    devices = ledger.devices(wanted)
    by_device = {each.device: each for each in contributions}
    answers = []
    for each in accounts:
        num_games, num_rows, num_simulations = totals[each.id]
        own = [number for number, found in devices.items() if found[0] == each.id]
        answers.append(
            LendAccount(
                id=each.id,
                name=each.name,
                state=each.state,  # type: ignore[arg-type]
                reason=each.reason,
                created=each.created,
                num_games=num_games,
                num_samples=num_rows,
                num_simulations=num_simulations,
                num_unreturned=each.num_unreturned,
                reliability=each.reliability,
                contribution=contribution(each, num_games),
                rank=ranks.of(each.id),
                devices=[
                    LentDevice(
                        device=devices[number][1][:8],
                        backend=devices[number][2],
                        num_games=by_device[number].num_games if number in by_device else 0,
                        num_samples=by_device[number].num_rows if number in by_device else 0,
                        last_seen=devices[number][3],
                    )
                    for number in own
                ],
            )
        )
    return answers


def operator_answers(
    ledger: Ledger, ranks: Ranks, num_online: Callable[[int], int], wanted: int | None = None
) -> list[OperatorAccount]:
    """All accounts, newest first, or one."""
    found = ledger.accounts() if wanted is None else [ledger.account(wanted)]
    known = {each.id: each for each in found if each is not None}
    withdrawn = ledger.num_withdrawn()
    return [
        OperatorAccount(
            account=answer,
            num_online=num_online(answer.id),
            num_valid=known[answer.id].num_valid,
            num_checked=known[answer.id].num_checked,
            suspicion=known[answer.id].suspicion,
            alarm=ALARM,
            num_refused=known[answer.id].num_refused,
            num_withdrawn=withdrawn.get(answer.id, 0),
        )
        for answer in account_answers(ledger, ranks, list(known.values()), wanted)
    ]


def community_of(
    ledger: Ledger,
    run: str,
    run_id: str,
    version: int | None,
    num_online: int,
    ratings: Sequence[RatingPoint],
) -> Community:
    """Of one run for totals and history; leaderboards count all that an account has done."""
    accounts = {each.id: each for each in ledger.accounts()}
    contributions = [each for each in ledger.contributions() if each.account in accounts]
    totals = totals_by_account(contributions)
    devices = ledger.devices()
    now = time.time()
    num_games, num_rows = ledger.totals(run_id)
    ranked = sorted(totals, key=lambda each: -contribution(accounts[each], totals[each][0]))
    of_devices = [each for each in contributions if each.device in devices]
    of_devices.sort(key=lambda each: -each.num_games)
    return Community(
        run=run,
        totals=CommunityTotals(
            num_games=num_games,
            num_samples=num_rows,
            num_users=len(totals),
            num_devices=len(of_devices),
            num_online=num_online,
            games_per_hour=float(ledger.totals(run_id, now - 3600)[0]),
            version=version,
            rating=ratings[-1] if ratings else None,
        ),
        users=[
            CommunityUser(
                rank=rank,
                name=accounts[each].name,
                num_games=totals[each][0],
                num_samples=totals[each][1],
                reliability=accounts[each].reliability,
                contribution=contribution(accounts[each], totals[each][0]),
            )
            for rank, each in enumerate(ranked[:MAX_LISTED], start=1)
        ],
        devices=[
            CommunityDevice(
                rank=rank,
                name=accounts[each.account].name,
                device=devices[each.device or 0][1][:8],
                backend=devices[each.device or 0][2],
                num_games=each.num_games,
                num_samples=each.num_rows,
            )
            for rank, each in enumerate(of_devices[:MAX_LISTED], start=1)
        ],
        history=[
            CommunityHour(time=hour, num_games=games, num_samples=rows)
            for hour, games, rows in ledger.hours(run_id, now - HISTORY_S)
        ],
    )
