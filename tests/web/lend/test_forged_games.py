"""Forged games, and games of others: refused in the very game, the forger quarantined, and what it
sent since its last confirmed check withdrawn, while an honest sender lends undisturbed.

pytest -s prints the CPU time per refusal.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from episode_bytes import rehashed
from hostile_tab import Attack, Honest, at_work, code_of, meter, refused, stranger
from lending_client import Client, sign_up
from lent_run import LentServer, lent_server
from redis_server import RedisServer, needs_redis

from zerofleet import games
from zerofleet.games import Episode
from zerofleet.web.lend import messages
from zerofleet.web.lend.messages import GamesAccepted, GamesComplete, PlayGames

pytestmark = needs_redis


def sends(forge: Callable[[Client, PlayGames], Awaitable[list[bytes]]]) -> Attack:
    """An attack that sends what is made of an assignment."""

    async def attack(lent: LentServer) -> str:
        async with at_work(lent) as (client, task):
            played = await forge(client, task)
            meter.begin()
            await client.send(GamesComplete(task.assignment, played))
            return await code_of(client)

    return attack


def changed_last(data: bytes, change: Callable[[bytearray], object]) -> bytes:
    body = bytearray(data[:-8])
    change(body)
    return rehashed(bytes(body))


def flip_result(body: bytearray) -> None:
    body[-1] = 1 if body[-1] == 3 else 3


async def unreadable(client: Client, task: PlayGames) -> list[bytes]:
    return [b"ZFE\x01 and nothing that follows"]


async def cut(client: Client, task: PlayGames) -> list[bytes]:
    return [(await client.play(task))[0][:-20]]


async def bit_flipped(client: Client, task: PlayGames) -> list[bytes]:
    data = bytearray((await client.play(task))[0])
    data[len(data) // 2] ^= 4
    return [bytes(data)]


async def flipped_result(client: Client, task: PlayGames) -> list[bytes]:
    return [changed_last((await client.play(task))[0], flip_result)]


async def illegal(client: Client, task: PlayGames) -> list[bytes]:
    """A game that ends before its end."""
    episode = Episode.record(games.get("connect4"), 0, [3, 3, 3, 3, 3, 3, 2, 2, 1, 1, 0])
    return [episode.with_id(task.worker, task.first_sequence).encode()]


async def without_search(client: Client, task: PlayGames) -> list[bytes]:
    """A legal game that nobody searched."""
    episode = Episode.record(games.get("connect4"), 0, [0, 1, 0, 1, 0, 1, 0])
    return [episode.with_id(task.worker, task.first_sequence).encode()]


async def other_version(client: Client, task: PlayGames) -> list[bytes]:
    evaluate = client.evaluators[task.version]
    client.evaluators[task.version + 1] = evaluate
    return await client.play(msgspec.structs.replace(task, version=task.version + 1))


async def other_number(client: Client, task: PlayGames) -> list[bytes]:
    return await client.play(msgspec.structs.replace(task, first_sequence=10**6))


async def other_worker(client: Client, task: PlayGames) -> list[bytes]:
    return await client.play(msgspec.structs.replace(task, worker=task.worker ^ 1))


async def other_game(client: Client, task: PlayGames) -> list[bytes]:
    episode = Episode.record(games.get("tictactoe"), 0, [0, 3, 1, 4, 2])
    return [episode.with_id(task.worker, task.first_sequence).encode()]


async def more_simulations(client: Client, task: PlayGames) -> list[bytes]:
    return await client.play(task, num_simulations=100)


async def few_simulations(client: Client, task: PlayGames) -> list[bytes]:
    return await client.play(task, num_simulations=1)


async def other_search(client: Client, task: PlayGames) -> list[bytes]:
    return await client.play(task, gumbel_c_scale=50.0, gumbel_scale=5.0)


async def other_network(client: Client, task: PlayGames) -> list[bytes]:
    def uniform(rows: Any) -> tuple[Any, Any]:
        return np.zeros((len(rows), 7), np.float32), np.full((len(rows), 3), 1 / 3, np.float32)

    client.evaluators[task.version] = uniform
    return await client.play(task)


async def other_seed(client: Client, task: PlayGames) -> list[bytes]:
    return await client.play(msgspec.structs.replace(task, seed=task.seed ^ 1))


async def others_assignment(lent: LentServer) -> str:
    """The games that another was given, and played."""
    async with at_work(lent) as (client, task), at_work(lent) as (thief, _):
        played = await client.play(task)
        meter.begin()
        await thief.send(GamesComplete(task.assignment, played))
        return await code_of(thief)


async def replayed(lent: LentServer) -> str:
    """A game that was accepted, in the next assignment."""
    async with at_work(lent) as (client, task):
        played = await client.play(task)
        await client.send(GamesComplete(task.assignment, played))
        await client.next(GamesAccepted)
        following = await client.next(PlayGames)
        meter.begin()
        await client.send(GamesComplete(following.assignment, played))
        return await code_of(client)


async def unknown_assignment(lent: LentServer) -> str:
    async with at_work(lent) as (client, task):
        played = await client.play(task)
        meter.begin()
        await client.send(GamesComplete(10**9, played))
        return await code_of(client)


async def late(lent: LentServer) -> str:
    async with at_work(lent) as (client, task):
        ledger = lent.lending.ledger
        with ledger._transaction() as database:
            database.execute(
                "UPDATE assignments SET deadline = ? WHERE id = ?",
                (time.time() - 1, task.assignment),
            )
        played = await client.play(task)
        meter.begin()
        await client.send(GamesComplete(task.assignment, played))
        return await code_of(client)


ATTACKS: list[tuple[str, Attack, str]] = [
    ("unreadable games", sends(unreadable), "unreadable"),
    ("a truncated game", sends(cut), "unreadable"),
    ("a flipped bit", sends(bit_flipped), "unreadable"),
    ("a flipped result", sends(flipped_result), "forged"),
    ("a game against the rules", sends(illegal), "forged"),
    ("a game without searches", sends(without_search), "forged"),
    ("other weights", sends(other_version), "forged"),
    ("more simulations than allowed", sends(more_simulations), "forged"),
    ("another game's number", sends(other_number), "not_assigned"),
    ("another worker's id", sends(other_worker), "not_assigned"),
    ("another game", sends(other_game), "not_assigned"),
    ("the games of another", others_assignment, "not_yours"),
    ("an assignment that never was", unknown_assignment, "not_yours"),
    ("its own games once more", replayed, "not_assigned"),
    ("games after the deadline", late, "late"),
    ("policies of one simulation", sends(few_simulations), "forged"),
    ("policies of another search", sends(other_search), "forged"),
    ("another network", sends(other_network), "forged"),
    ("another seed", sends(other_seed), "forged"),
]


@pytest.mark.parametrize(("name", "attack", "code"), ATTACKS, ids=[each[0] for each in ATTACKS])
def test_a_forged_game_is_refused(
    lent: LentServer, honest: Honest, name: str, attack: Attack, code: str
) -> None:
    assert refused(lent, honest, name, attack) == code


def test_the_honest_lender_was_not_disturbed(honest: Honest) -> None:
    honest.assert_undisturbed()


def test_forgers_are_quarantined_and_what_they_sent_is_withdrawn(lent: LentServer) -> None:
    """One who turns after two honest assignments: nothing confirmed is withdrawn, all later is."""
    lender = stranger(lent)

    async def lend() -> list[tuple[int, int]]:
        async with at_work(lent, lender) as (client, task):
            await client.send(GamesComplete(task.assignment, await client.play(task)))
            honest_ids = (await client.next(GamesAccepted)).ids
            ledger = lent.lending.ledger
            task = await client.next(PlayGames)
            # As though trusted for long, and none of these were drawn for a check.
            with ledger._transaction() as database:
                database.execute(
                    "UPDATE accounts SET num_valid = 1000000 WHERE id = ?", (lender.id,)
                )
            forged: list[tuple[int, int]] = []
            while True:
                played = await few_simulations(client, task)
                await client.send(GamesComplete(task.assignment, played))
                answer = await client.next(messages.Message)
                while not isinstance(answer, GamesAccepted | messages.GamesRefused):
                    answer = await client.next(messages.Message)
                if isinstance(answer, messages.GamesRefused):
                    assert answer.code == "forged"
                    return [*honest_ids, *forged]
                forged += answer.ids
                task = next(
                    each for each in reversed(client.received) if isinstance(each, PlayGames)
                )
                if forged:  # the next is drawn for sure
                    with ledger._transaction() as database:
                        database.execute(
                            "UPDATE accounts SET num_valid = 0 WHERE id = ?", (lender.id,)
                        )
                task = await client.next(PlayGames)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("zerofleet.web.lend.trust.MIN_CHECK_PROBABILITY", 0.0)
        honest_ids = asyncio.run(lend())
    accepted = set(honest_ids[:4])
    forged = set(honest_ids[4:])
    assert forged
    lent.wait_for(lambda: forged <= lent.trainer.withdrawn, "the withdrawals")
    assert not accepted & lent.trainer.withdrawn
    with lent.operator() as operator:
        found = next(
            each for each in operator.get("/accounts").json() if each["account"]["id"] == lender.id
        )
    assert found["account"]["state"] == "quarantined"
    assert found["num_withdrawn"] == len(forged)
    assert found["account"]["num_games"] == 4


@pytest.mark.parametrize(("game", "what"), [("backgammon", "dice"), ("beastybar", "hands")])
def test_wrong_dice_and_hands_are_found_in_the_very_game(
    tmp_path: Path, game: str, what: str
) -> None:
    """A game with luck of the sender's choice, by another seed."""
    settings = ["search.num_simulations=2", "network.preset=tiny"] if game == "beastybar" else []
    with RedisServer(tmp_path) as redis, lent_server(tmp_path, redis, game, *settings) as lent:
        lender = sign_up(lent.url, "lucky")

        async def lend() -> tuple[str, str]:
            async with at_work(lent, lender) as (client, task):
                other = msgspec.structs.replace(task, seed=task.seed ^ 1)
                await client.send(GamesComplete(task.assignment, await client.play(other)))
                refused = await client.next(messages.GamesRefused)
                return refused.code, refused.reason

        code, reason = asyncio.run(lend())
        assert code == "forged"
        assert "seed" in reason
        assert lent.trainer.taken == {}
