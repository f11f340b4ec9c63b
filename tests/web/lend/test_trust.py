"""Trust: how often games are searched again, the sequential test, and selective return."""

import asyncio
import math
import random
import time
from contextlib import closing
from pathlib import Path

import pytest
from lending_client import connected, sign_up
from lent_run import LentServer, lent_server
from redis_server import RedisServer, needs_redis

from zerofleet.games import Episode
from zerofleet.web.lend import trust, upkeep
from zerofleet.web.lend.ledger import Ledger
from zerofleet.web.lend.ledger_rows import ACCEPTED, REPLAYED, LedgerGame
from zerofleet.web.lend.messages import GamesComplete, GamesRefused, PlayGames
from zerofleet.web.lend.trust import ALARM, Standing, fisher_p_value, is_selected


def test_the_first_ten_games_are_all_searched_again_then_fewer_but_never_none() -> None:
    standing = Standing()
    for number in range(10):
        assert standing.check_probability == 1, number
        standing = standing.after_valid()
    assert standing.check_probability == 0.1
    assert Standing(50).check_probability == 0.02
    assert Standing(10**6).check_probability == 0.01


def test_a_suspect_sender_is_searched_again_every_time() -> None:
    trusted = Standing(num_valid=10**6)
    suspect = trusted.after_check([False] * 10 + [True])
    assert 0 < suspect.suspicion < ALARM
    assert suspect.check_probability == 1
    assert suspect.after_check([False] * 100).suspicion == 0


@pytest.mark.parametrize("num_decisions", [7, 20, 200])
def test_a_game_of_forged_policies_raises_the_alarm_at_once(num_decisions: int) -> None:
    assert Standing().after_check([True] * num_decisions).is_alarming


def test_honest_senders_are_not_quarantined() -> None:
    """At the assumed bound of 1 % differing decisions a false alarm is expected after at least
    exp(ALARM) = 25.6 million decisions; two million raise none, but for one in twelve runs by
    Lorden's bound, and the seed is fixed."""
    assert math.exp(ALARM) * trust.FALSE_ALARMS_PER_GAME == pytest.approx(256)
    drawn = random.Random(5)
    standing = Standing()
    for _ in range(20_000):
        standing = standing.after_check([drawn.random() < trust.HONEST_RATE for _ in range(100)])
    assert not standing.is_alarming


def test_one_who_turns_later_gets_fewer_than_a_hundred_games_in() -> None:
    """Forging every policy after a million valid games: the mean of a geometric law, 99."""
    drawn = random.Random(3)
    counts = []
    for _ in range(3000):
        standing, num_accepted = Standing(num_valid=10**6), 0
        while True:
            if drawn.random() < standing.check_probability:
                standing = standing.after_check([True] * 20)
                if standing.is_alarming:
                    break
            else:
                standing = standing.after_valid()
            num_accepted += 1
        counts.append(num_accepted)
    mean = sum(counts) / len(counts)
    assert 90 < mean < 108  # 99, and three standard errors of 1.8


def test_fishers_test_is_that_of_the_tea_tasting() -> None:
    # Fisher 1935: all eight cups right has probability 1/70, on one side.
    assert fisher_p_value(4, 4, 0, 4) == pytest.approx(2 / 70)
    assert fisher_p_value(3, 4, 1, 4) == pytest.approx(34 / 70)
    assert fisher_p_value(5, 10, 5, 10) == pytest.approx(1)


def test_choosing_what_to_return_is_found_and_closing_tabs_is_not() -> None:
    drawn = random.Random(1)
    games = [(drawn.random() < 0.55, drawn.randint(10, 40)) for _ in range(4000)]
    for _ in range(20):
        drawn.shuffle(games)  # half of the tabs were closed
        assert is_selected(games[:2000], games[2000:2064]) == ""
    wins = [game for game in games if game[0]]
    losses = [game for game in games if not game[0]]
    assert "first player won" in is_selected(wins[:500], losses[:32])
    short = [game for game in games if game[1] < 25]
    long = [game for game in games if game[1] >= 25]
    assert "long games" in is_selected(short[:500], long[:32])


@needs_redis
def test_games_that_do_not_come_back_are_counted_and_a_sample_is_played_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "GRACE_S", 0.0)
    monkeypatch.setattr(upkeep, "REPLAYED_SHARE", 1.0)
    with RedisServer(tmp_path) as redis, lent_server(tmp_path, redis) as lent:
        lender = sign_up(lent.url, "closes tabs")
        ledger = lent.lending.ledger

        async def lend() -> PlayGames:
            """Returns one game of four."""
            async with connected(lent.url, lender, lent.game) as client:
                task = await client.next(PlayGames)
                played = await client.play(task)
                await client.send(GamesComplete(task.assignment, played[:1]))
                await client.next(PlayGames)
                return task

        task = asyncio.run(lend())
        with ledger._transaction() as database:
            database.execute("UPDATE assignments SET deadline = ?", (time.time() - 1,))
        ids = [task.first_sequence + i for i in range(4)]
        lent.wait_for(
            lambda: set(ids) <= {sequence for _, sequence in lent.trainer.taken}, "the sample"
        )
        states = ledger.game_states("run-1", ids)
        assert [states[each] for each in ids] == [ACCEPTED, REPLAYED, REPLAYED, REPLAYED]
        account = ledger.account(lender.id)
        assert account is not None
        # One of four came back, and nothing of the second assignment.
        assert (account.num_due, account.num_unreturned) == (8, 7)
        assert account.reliability == pytest.approx(1 / 8)
        assert account.state == "active"


@needs_redis
def test_a_game_that_is_refused_has_not_come_back(lent: LentServer) -> None:
    """Nobody gets rid of a game by spoiling it."""
    lender = sign_up(lent.url, "spoils what it lost")

    async def lend() -> PlayGames:
        async with connected(lent.url, lender, lent.game) as client:
            task = await client.next(PlayGames)
            lost, *others = await client.play(task)
            spoiled = Episode.decode(lost).with_id(task.worker ^ 1, task.first_sequence).encode()
            await client.send(GamesComplete(task.assignment, [*others, spoiled]))
            assert (await client.next(GamesRefused)).code == "not_assigned"
            while sum(isinstance(each, PlayGames) for each in client.received) < 3:
                await client.next(PlayGames)
            return task

    task = asyncio.run(lend())
    ledger = lent.lending.ledger
    open_ones = ledger.overdue("run-1", time.time() + 1e6)
    (assignment,) = (each for each in open_ones if each.id == task.assignment)
    assert ledger.settle(assignment) == [task.first_sequence]


def test_games_in_hand_at_the_quarantine_or_deletion_of_their_sender(tmp_path: Path) -> None:
    """They were checked before and are written after: withdrawn, or nobody's."""
    with closing(Ledger(tmp_path / "lend.sqlite")) as ledger:
        forger, gone = (ledger.add_account(each, each.encode(), "1") for each in ("ada", "bea"))
        ledger.set_state(forger, "quarantined", "a test")
        ledger.delete_account(gone)
        for sequence, account in enumerate((forger, gone)):
            game = LedgerGame("run-1", sequence, 7, account, 1, time.time(), 20, 160, 20, True)
            ledger.take([game], account, Standing(1))
        assert ledger.untold("run-1") == [(7, 0)]
        assert ledger.totals("run-1") == (1, 20)
        assert ledger.contributions() == []


@needs_redis
def test_selective_return_is_quarantined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last replayed game completes sixteen, which all went the other way."""
    monkeypatch.setattr(upkeep, "GRACE_S", 0.0)
    monkeypatch.setattr(upkeep, "REPLAYED_SHARE", 1.0)
    with RedisServer(tmp_path) as redis, lent_server(tmp_path, redis) as lent:
        lender = sign_up(lent.url, "chooses luck")
        ledger = lent.lending.ledger

        async def take() -> PlayGames:
            async with connected(lent.url, lender, lent.game) as client:
                return await client.next(PlayGames)

        asyncio.run(take())
        kept = [
            LedgerGame("run-1", 10**6 + i, 1, lender.id, 1, time.time(), 20, 160, 20, True)
            for i in range(200)
        ]
        lost = [
            LedgerGame(
                "run-1", 2 * 10**6 + i, 1, lender.id, 1, time.time(), 20, 160, 20, False, REPLAYED
            )
            for i in range(12)
        ]
        ledger.take([*kept, *lost])
        with ledger._transaction() as database:
            # One assignment of four games is open: with its games there are sixteen.
            database.execute("DELETE FROM assignments WHERE id > 1")
            database.execute("UPDATE assignments SET deadline = ?", (time.time() - 1,))

        def state() -> str:
            found = ledger.account(lender.id)
            return found.state if found else ""

        lent.wait_for(lambda: state() == "quarantined", "the quarantine")
        found = ledger.account(lender.id)
        assert found is not None
        assert "selected games" in found.reason
        lent.wait_for(lambda: len(lent.trainer.withdrawn) == 200, "the withdrawals")
