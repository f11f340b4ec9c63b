"""Ratings that tabs play: the result is one machine's, game by game, and each block counts once."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager

import pytest
from lending_client import Client, connected, sign_up
from lent_run import LentServer
from match_client import (
    merged,
    next_match,
    offer,
    on_one_machine,
    play_match,
    play_next_match,
)
from redis_server import needs_redis

from zerofleet.bus import Block
from zerofleet.fleet.rater_role import BlockRater, published_player
from zerofleet.games import Episode
from zerofleet.infer.onnx_evaluator import OnnxEvaluator
from zerofleet.web.lend import match_checks, matches
from zerofleet.web.lend.messages import EvalResult, GamesRefused, PlayGames, PlayMatch
from zerofleet.weights import Graph, checked_tensors

pytestmark = needs_redis

numbers = iter(range(10**9))
NEWEST, FIRST = published_player(2, 8), published_player(1, 8)


@pytest.fixture(autouse=True)
def rating(lent: LentServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A new name of a rating; its blocks are dropped afterwards."""
    monkeypatch.setattr(matches, "LOOK_S", 0.05)
    if lent.trainer.bus.weights(2) is None:
        lent.trainer.publish(2)
    name = f"rating-{next(numbers)}"
    yield name
    lent.trainer.bus.drop_blocks(name)
    lent.wait_for(lambda: not held_blocks(lent), "the gateway to let go of the rating")


def held_blocks(lent: LentServer) -> list[matches.LentBlock]:
    gateway = lent.lending._gateway
    assert gateway is not None
    return gateway.matches._blocks


def tabs(lent: LentServer, num_tabs: int = 1) -> list[AbstractAsyncContextManager[Client]]:
    return [
        connected(lent.url, sign_up(lent.url, f"tab {next(numbers)}"), lent.game)
        for _ in range(num_tabs)
    ]


async def play_all(lent: LentServer, rating: str, num_blocks: int, num_tabs: int = 1) -> int:
    """Tabs play until all blocks are reported; returns how many portions they had."""
    num_portions = 0

    async def play(connecting: AbstractAsyncContextManager[Client]) -> None:
        nonlocal num_portions
        async with connecting as client:
            while len(lent.trainer.bus.block_results(rating)) < num_blocks:
                try:
                    await asyncio.wait_for(play_next_match(client), 2)
                    num_portions += 1
                except TimeoutError:  # others have the last ones
                    continue

    await asyncio.gather(*(play(each) for each in tabs(lent, num_tabs)))
    return num_portions


@pytest.mark.parametrize(("first", "second"), [("playout-8", "random"), ("random", "random")])
def test_a_match_without_networks_equals_that_of_one_machine_bit_by_bit(
    lent: LentServer, rating: str, first: str, second: str
) -> None:
    blocks = offer(lent, rating, first, second, 70)
    asyncio.run(play_all(lent, rating, len(blocks), num_tabs=2))
    assert merged(lent, rating, blocks) == on_one_machine(lent, first, second, 70)


def test_a_rating_of_weights_by_tabs_alone_agrees_with_that_of_one_machine(
    lent: LentServer, rating: str
) -> None:
    blocks = offer(lent, rating, NEWEST, FIRST, 24)
    num_portions = asyncio.run(play_all(lent, rating, len(blocks)))
    assert num_portions == 6, "of four games each"
    ours, theirs = merged(lent, rating, blocks), on_one_machine(lent, NEWEST, FIRST, 24)
    assert (ours.first, ours.second, ours.seed) == (theirs.first, theirs.second, theirs.seed)
    same = [a == b for a, b in zip(ours.episodes, theirs.episodes, strict=True)]
    assert sum(same) >= 22, "networks agree to rounding, so nearly all games are the same"
    assert abs(ours.score - theirs.score) <= 0.1


def test_tabs_and_raters_share_a_rating_and_each_block_counts_once(
    lent: LentServer, rating: str
) -> None:
    def evaluator_of(weights: object) -> OnnxEvaluator:
        graph = lent.trainer.bus.graph()
        assert graph is not None
        tensors = checked_tensors(weights.data, weights.sha256, "weights")  # type: ignore[attr-defined]
        return OnnxEvaluator(Graph.decode(graph, "the graph"), tensors)

    blocks = offer(lent, rating, NEWEST, "random", 140)
    rater = BlockRater("rater", lent.game, lent.trainer.bus, evaluator_of, "cpu", 60.0)
    raters_end = threading.Event()

    def rate() -> None:
        while not raters_end.is_set() and rater.counts.num_blocks < 1:
            rater.rate_one_block(raters_end.is_set)

    thread = threading.Thread(target=rate)
    thread.start()
    gateway = lent.lending._gateway
    assert gateway is not None
    before = gateway.matches.num_delivered
    asyncio.run(play_all(lent, rating, len(blocks)))
    raters_end.set()
    thread.join()
    assert rater.counts.num_blocks + gateway.matches.num_delivered - before == len(blocks) == 3
    assert gateway.matches.num_delivered > before
    ours = merged(lent, rating, blocks)
    assert len(set(ours.episodes)) == 140


def test_matches_come_before_games_that_train_even_while_the_trainer_waits(
    lent: LentServer, rating: str
) -> None:
    async def scenario() -> None:
        (connecting,) = tabs(lent)
        async with connecting as client:
            await next_match(client)
            assert not any(isinstance(each, PlayGames) for each in client.received)

    blocks = offer(lent, rating, NEWEST, "random", 24)
    assert len(blocks) == 1
    asyncio.run(scenario())
    gateway = lent.lending._gateway
    assert gateway is not None
    lent.wait_for(lambda: all(each.waiting for each in held_blocks(lent)), "the pairs to wait")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gateway, "set_paused", lambda *why: None)
        patch.setattr(gateway, "_paused", "the trainer waits")
        asyncio.run(scenario())


def test_a_player_that_browsers_have_not_is_left_to_raters(lent: LentServer, rating: str) -> None:
    blocks = offer(lent, rating, NEWEST, "heuristic", 4)

    async def scenario() -> None:
        (connecting,) = tabs(lent)
        async with connecting as client:
            await client.next(PlayGames)
            assert not any(isinstance(each, PlayMatch) for each in client.received)

    asyncio.run(scenario())
    block = lent.trainer.bus.lease_block(60.0)
    assert block is not None
    assert (block.rating, len(blocks)) == (rating, 1)
    assert lent.trainer.bus.block_returns(rating) == []


def test_the_pairs_of_a_tab_that_leaves_are_played_by_the_next(
    lent: LentServer, rating: str
) -> None:
    blocks = offer(lent, rating, "playout-8", "random", 8)

    async def leaves() -> list[int]:
        (connecting,) = tabs(lent)
        async with connecting as client:
            task = await next_match(client)
            return [each.pair for each in task.pairs]

    async def stays(pairs: list[int]) -> None:
        (connecting,) = tabs(lent)
        async with connecting as client:
            played = [each.pair for _ in range(2) for each in (await play_next_match(client)).pairs]
            assert set(pairs) <= set(played) == {0, 1, 2, 3}

    asyncio.run(stays(asyncio.run(leaves())))
    assert merged(lent, rating, blocks) == on_one_machine(lent, "playout-8", "random", 8)


def test_a_block_that_no_tab_plays_goes_back_and_its_played_pairs_are_kept(
    lent: LentServer, rating: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matches, "IDLE_S", 0.2)
    blocks = offer(lent, rating, "playout-8", "random", 12)

    async def one_portion() -> list[int]:
        (connecting,) = tabs(lent)
        async with connecting as client:
            return [each.pair for each in (await play_next_match(client)).pairs]

    first = asyncio.run(one_portion())
    leased: list[Block] = []

    def lease() -> bool:
        leased.extend(filter(None, [lent.trainer.bus.lease_block(60.0)]))
        return bool(leased)

    lent.wait_for(lease, "the block to go back")
    lent.trainer.bus.return_block(leased[0], "")

    async def the_rest() -> list[int]:
        (connecting,) = tabs(lent)
        async with connecting as client:
            return [e.pair for _ in range(2) for e in (await play_next_match(client)).pairs]

    assert set(asyncio.run(the_rest())) == set(range(6)) - set(first)
    assert merged(lent, rating, blocks) == on_one_machine(lent, "playout-8", "random", 12)


def test_a_tab_that_is_too_slow_loses_its_lease_and_a_rater_plays_the_block(
    lent: LentServer, rating: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway = lent.lending._gateway
    assert gateway is not None
    monkeypatch.setattr(gateway.matches, "_lease_s", 1.0)
    monkeypatch.setattr(matches, "SLACK_S", 0.0)
    blocks = offer(lent, rating, "playout-8", "random", 4)

    async def scenario() -> None:
        (connecting,) = tabs(lent)
        async with connecting as client:
            task = await next_match(client)
            games = play_match(task, {})
            end_s = time.monotonic() + 30
            while (block := lent.trainer.bus.lease_block(60.0)) is None:
                assert time.monotonic() < end_s
                await asyncio.sleep(0.05)
            await client.send(EvalResult(task.match, games))
            assert (await client.next(GamesRefused)).code == "late"
            lent.trainer.bus.return_block(block, "")
        rater = BlockRater("rater", lent.game, lent.trainer.bus, None, "cpu", 60.0)  # type: ignore[arg-type]
        assert await asyncio.to_thread(rater.rate_one_block, lambda: False)

    asyncio.run(scenario())
    assert merged(lent, rating, blocks) == on_one_machine(lent, "playout-8", "random", 4)


@pytest.mark.long
def test_of_a_trusted_sender_one_match_game_in_eight_is_searched_again(
    lent: LentServer, rating: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lender = sign_up(lent.url, f"tab {next(numbers)}")
    ledger = lent.lending.ledger
    standing = ledger.account(lender.id).standing  # type: ignore[union-attr]
    ledger.set_standing(lender.id, type(standing)(num_valid=10_000))
    checked = []
    differing = match_checks.PlayedPortion.differing

    def counted(self: match_checks.PlayedPortion, number: int) -> list[bool]:
        checked.append(number)
        return differing(self, number)

    monkeypatch.setattr(match_checks.PlayedPortion, "differing", counted)
    blocks = offer(lent, rating, "playout-2", "random", 200)

    async def scenario() -> None:
        async with connected(lent.url, lender, lent.game) as client:
            while len(lent.trainer.bus.block_results(rating)) < len(blocks):
                try:
                    await asyncio.wait_for(play_next_match(client), 2)
                except TimeoutError:
                    continue

    asyncio.run(scenario())
    assert 8 <= len(checked) <= 50, "of 200; binomial with 1/8: mean 25, deviation 4.7"
    episodes = merged(lent, rating, blocks).episodes
    assert len({Episode.decode(each).sequence for each in episodes}) == 200
