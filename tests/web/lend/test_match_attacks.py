"""What a hostile tab may do with rating games: refused as specified, and the rating is right."""

import asyncio
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
from lending_client import Client, connected, sign_up
from lent_run import LentServer
from match_client import merged, next_match, offer, on_one_machine, play_match, play_next_match
from redis_server import needs_redis

import zerofleet as zf
from zerofleet.arena.blocks import BlockTask, MatchBlocks
from zerofleet.bus import Block
from zerofleet.fleet.rater_role import published_player
from zerofleet.web.lend import matches, messages
from zerofleet.web.lend.checks import GameFault
from zerofleet.web.lend.match_checks import PlayedPortion
from zerofleet.web.lend.matches import BlockPlayer, LentBlock, Portion
from zerofleet.web.lend.messages import (
    EvalResult,
    GamesRefused,
    MatchPair,
    MatchPlayer,
    PlayMatch,
    Refused,
)
from zerofleet.web.lend.trust import Standing
from zerofleet.weights import encoded_tensors

pytestmark = needs_redis

numbers = iter(range(10**9))
Games = list[list[int]]


@pytest.fixture(scope="module")
def rated(lent: LentServer) -> str:
    """A player whose network is nothing like that of version 1."""
    tensors = {
        name: -each if each.ndim > 1 else each for name, each in lent.trainer.tensors.items()
    }
    data, sha256 = encoded_tensors(tensors)
    return published_player(lent.trainer.bus.publish_weights(2, sha256, data, at_least=2), 8)


@pytest.fixture(autouse=True)
def rating(lent: LentServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(matches, "LOOK_S", 0.05)
    name = f"attacked-{next(numbers)}"
    yield name
    lent.trainer.bus.drop_blocks(name)
    gateway = lent.lending._gateway
    assert gateway is not None
    lent.wait_for(lambda: not gateway.matches._blocks, "the gateway to let go of the rating")


async def code_of(client: Client) -> str:
    while True:
        message = await client.next(messages.Message)
        if isinstance(message, GamesRefused | Refused):
            return message.code


def play_honestly(lent: LentServer, num_portions: int) -> None:
    """Another tab plays what is left."""
    lender = sign_up(lent.url, f"honest {next(numbers)}")

    async def play() -> None:
        async with connected(lent.url, lender, lent.game) as client:
            for _ in range(num_portions):
                await play_next_match(client)

    asyncio.run(play())


# ---- what is sent in place of the games


def as_they_are(client: Client, task: PlayMatch, played: Games) -> Games:
    return played


def illegal(client: Client, task: PlayMatch, played: Games) -> Games:
    return [[0] * 7, *played[1:]]


def other_opening(client: Client, task: PlayMatch, played: Games) -> Games:
    return [[6, *played[0][1:]], *played[1:]]


def cut(client: Client, task: PlayMatch, played: Games) -> Games:
    return [*played[:-1], played[-1][:-1]]


def longer(client: Client, task: PlayMatch, played: Games) -> Games:
    return [*played[:-1], [*played[-1], 0]]


def lost_on_purpose(client: Client, task: PlayMatch, played: Games) -> Games:
    """The networks' moves are drawn at random."""
    forged = MatchPlayer("random")
    drawn = msgspec.structs.replace(task, weights=forged, opponent=forged, seed=task.seed)
    return play_match(drawn, {})


def foreign_version(client: Client, task: PlayMatch, played: Games) -> Games:
    """Each player has the other's weights."""
    first, second = task.weights.version, task.opponent.version
    assert first is not None
    assert second is not None
    swapped = {first: client.evaluators[second], second: client.evaluators[first]}
    return play_match(task, swapped)


def uniform_network(client: Client, task: PlayMatch, played: Games) -> Games:
    def uniform(rows: Any) -> tuple[Any, Any]:
        return np.zeros((len(rows), 7), np.float32), np.full((len(rows), 3), 1 / 3, np.float32)

    return play_match(task, dict.fromkeys(client.evaluators, uniform))


def too_few(client: Client, task: PlayMatch, played: Games) -> Games:
    return played[:-1]


def too_many(client: Client, task: PlayMatch, played: Games) -> Games:
    return played * 20


def no_number(client: Client, task: PlayMatch, played: Games) -> Games:
    return [[-1], *played[1:]]


ATTACKS: list[tuple[str, Callable[[Client, PlayMatch, Games], Games], str, str]] = [
    ("an illegal move", illegal, "forged", "quarantined"),
    ("another opening", other_opening, "forged", "quarantined"),
    ("a game that ends before its end", cut, "forged", "quarantined"),
    ("moves after the end", longer, "forged", "quarantined"),
    ("moves that nobody searched", lost_on_purpose, "forged", "quarantined"),
    ("a foreign version", foreign_version, "forged", "quarantined"),
    ("another network", uniform_network, "forged", "quarantined"),
    ("fewer games than were given", too_few, "incomplete", "active"),
    ("more games than fit into a message", too_many, "bad_message", "active"),
    ("no move of any game", no_number, "bad_message", "active"),
]


SLOW = {
    "a game that ends before its end",
    "moves after the end",
    "another network",
    "more games than fit into a message",
    "no move of any game",
}


@pytest.mark.parametrize(
    ("attack", "code", "state"),
    [
        pytest.param(*attack, id=name, marks=[pytest.mark.long] if name in SLOW else [])
        for name, *attack in ATTACKS
    ],
)
def test_forged_games_are_refused_and_others_play_them(
    lent: LentServer,
    rating: str,
    rated: str,
    attack: Callable[[Client, PlayMatch, Games], Games],
    code: str,
    state: str,
) -> None:
    opponent = published_player(1, 8)
    blocks = offer(lent, rating, rated, opponent, 8)
    lender = sign_up(lent.url, f"mallory {next(numbers)}")

    async def forge() -> str:
        async with connected(lent.url, lender, lent.game) as client:
            while True:  # a portion whose forged games are others than the true ones
                task = await next_match(client)
                played = play_match(task, client.evaluators)
                forged = attack(client, task, played)
                if forged != played:
                    break
            await client.send(EvalResult(task.match, forged))
            return await code_of(client)

    assert asyncio.run(forge()) == code
    lent.wait_for(lambda: account_state(lent, lender.id) == state, state)
    play_honestly(lent, 2)
    ours, theirs = merged(lent, rating, blocks), on_one_machine(lent, rated, opponent, 8)
    same = [a == b for a, b in zip(ours.episodes, theirs.episodes, strict=True)]
    assert sum(same) >= 7, "networks agree to rounding, so nearly all games are the same"


def account_state(lent: LentServer, account: int) -> str:
    found = lent.lending.ledger.account(account)
    assert found is not None
    return found.state


@pytest.mark.parametrize("player", ["playout-8", "random"])
def test_moves_of_players_without_a_network_must_be_those_of_their_seed(
    lent: LentServer, rating: str, player: str
) -> None:
    """Of a new sender all are asked again, and one other move is a proof."""
    blocks = offer(lent, rating, player, "random", 8)
    lender = sign_up(lent.url, f"mallory {next(numbers)}")

    async def forge() -> str:
        async with connected(lent.url, lender, lent.game) as client:
            task = await next_match(client)
            forged = play_match(msgspec.structs.replace(task, seed=task.seed + 1), {})
            await client.send(EvalResult(task.match, forged))
            return await code_of(client)

    assert asyncio.run(forge()) == "forged"
    lent.wait_for(lambda: account_state(lent, lender.id) == "quarantined", "the quarantine")
    play_honestly(lent, 2)
    assert merged(lent, rating, blocks) == on_one_machine(lent, player, "random", 8)


def test_games_of_another_portion_of_another_account_and_twice_do_not_count(
    lent: LentServer, rating: str
) -> None:
    blocks = offer(lent, rating, "playout-8", "random", 8)
    thief = sign_up(lent.url, f"thief {next(numbers)}")

    async def scenario() -> list[str]:
        codes = []
        owner = sign_up(lent.url, f"owner {next(numbers)}")
        async with connected(lent.url, owner, lent.game) as client:
            first, second = await next_match(client), await next_match(client)
            async with connected(lent.url, thief, lent.game) as other:
                await other.send(EvalResult(first.match, play_match(first, {})))
                codes.append(await code_of(other))
            played = play_match(first, {})
            for _ in range(2):
                await client.send(EvalResult(first.match, played))
            codes.append(await code_of(client))
            await client.send(EvalResult(second.match, played))
            codes.append(await code_of(client))
        return codes

    assert asyncio.run(scenario()) == ["no_match", "late", "forged"]
    assert account_state(lent, thief.id) == "active"

    play_honestly(lent, 1)
    assert merged(lent, rating, blocks) == on_one_machine(lent, "playout-8", "random", 8)


def test_of_a_trusted_sender_all_games_are_searched_again_if_one_that_was_drawn_differs(
    lent: LentServer, rating: str, rated: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It forges all games, and only the last one is drawn."""
    offer(lent, rating, rated, published_player(1, 8), 8)
    lender = sign_up(lent.url, f"turncoat {next(numbers)}")
    lent.lending.ledger.set_standing(lender.id, Standing(num_valid=10_000))
    gateway = lent.lending._gateway
    assert gateway is not None
    drawn = iter([0.9, 0.9, 0.9, 0.0])
    monkeypatch.setattr(gateway.receiver, "_random", SimpleNamespace(random=lambda: next(drawn)))

    async def forge() -> str:
        async with connected(lent.url, lender, lent.game) as client:
            task = await next_match(client)
            forged = lost_on_purpose(client, task, [])
            await client.send(EvalResult(task.match, forged))
            return await code_of(client)

    assert asyncio.run(forge()) == "forged"
    lent.wait_for(lambda: account_state(lent, lender.id) == "quarantined", "the quarantine")


def test_a_game_with_one_forged_move_is_played_by_the_gateway_in_its_place(
    lent: LentServer, rating: str, rated: str
) -> None:
    """Too little for a quarantine: rounding may turn one decision."""
    opponent = published_player(1, 8)
    blocks = offer(lent, rating, rated, opponent, 4)
    lender = sign_up(lent.url, f"subtle {next(numbers)}")

    async def forge() -> None:
        async with connected(lent.url, lender, lent.game) as client:
            task = await next_match(client)
            played = play_match(task, client.evaluators)
            at = len(task.pairs[0].opening)
            start = zf.games.get("connect4").new_position()
            for action in played[0][:at]:
                start.play(action)
            other = next(each for each in start.legal_actions() if each != played[0][at])
            opening = [*task.pairs[0].opening, other]
            pairs = [MatchPair(task.pairs[0].pair, opening)]
            turned = play_match(msgspec.structs.replace(task, pairs=pairs), client.evaluators)
            await client.send(EvalResult(task.match, [turned[0], *played[1:]]))
            assert len((await client.next(messages.GamesAccepted)).ids) == 4

    asyncio.run(forge())
    ours, theirs = merged(lent, rating, blocks), on_one_machine(lent, rated, opponent, 4)
    assert ours.episodes == theirs.episodes
    account = lent.lending.ledger.account(lender.id)
    assert account is not None
    assert account.state == "active"


@pytest.mark.parametrize(("game", "what"), [("backgammon", "dice"), ("beastybar", "hands")])
def test_wrong_dice_and_hands_are_found_without_a_search(game: str, what: str) -> None:
    """A game with luck of the sender's choice, by another seed."""
    core_game = zf.games.get(game)
    blocks = MatchBlocks(core_game, "random", "random", 2, seed=5)
    (task,) = map(BlockTask.decode, blocks.tasks())
    player = BlockPlayer("random", MatchPlayer("random"))
    block = LentBlock(Block("r", 0, b""), task, (player, player), 1e9, {}, [0])
    portion = Portion("m", 1, block, (0,), 1e9)
    message = portion.message()
    honest = play_match(message, {})
    assert len(PlayedPortion(core_game, portion, honest).episodes) == 2
    lucky = play_match(msgspec.structs.replace(message, seed=6), {})
    with pytest.raises(GameFault) as fault:
        PlayedPortion(core_game, portion, lucky)
    assert (fault.value.code, fault.value.is_proof) == ("forged", True)
