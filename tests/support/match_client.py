"""Rating games of a lent run: offered as a trainer offers them, and played as a tab plays them."""

from collections.abc import Mapping, Sequence
from threading import Event

from lending_client import Client, Evaluate
from lent_run import LentServer

from zerofleet import games
from zerofleet.arena import Match
from zerofleet.arena.blocks import MatchBlocks
from zerofleet.arena.match import Pairing, PlayerSource
from zerofleet.arena.pairs import play_pairs
from zerofleet.arena.player import Player
from zerofleet.arena.players import player_maker
from zerofleet.arena.search_players import SearchPlayer
from zerofleet.arena.simple_players import RandomPlayer
from zerofleet.arena.starts import opening_of_each_pair
from zerofleet.bus import Block
from zerofleet.fleet.rater_role import PUBLISHED
from zerofleet.games import Episode
from zerofleet.infer.onnx_evaluator import OnnxEvaluator
from zerofleet.web.lend.messages import EvalResult, GamesAccepted, MatchPlayer, PlayMatch
from zerofleet.weights import Graph, checked_tensors


def offer(
    lent: LentServer, rating: str, first: str, second: str, num_games: int, seed: int = 5
) -> MatchBlocks:
    """Blocks of a match on the bus."""
    bus = lent.trainer.bus
    hashes = {}
    for text in (first, second):
        if found := PUBLISHED.fullmatch(text):
            weights = bus.weights(int(found[1]))
            assert weights is not None
            hashes[text] = weights.sha256
    blocks = MatchBlocks(lent.game, first, second, num_games, seed, weights_sha256=hashes)
    bus.add_blocks([Block(rating, i, task) for i, task in enumerate(blocks.tasks())])
    return blocks


def merged(lent: LentServer, rating: str, blocks: MatchBlocks) -> Match:
    """The match, once all of its blocks are reported."""
    bus = lent.trainer.bus
    lent.wait_for(lambda: len(bus.block_results(rating)) == len(blocks), f"results of {rating}")
    return blocks.merge([each.result for each in bus.block_results(rating)])


def on_one_machine(
    lent: LentServer, first: str, second: str, num_games: int, seed: int = 5
) -> Match:
    """The same match, played here."""

    def source_of(text: str) -> PlayerSource:
        if found := PUBLISHED.fullmatch(text):
            weights = lent.trainer.bus.weights(int(found[1]))
            graph = lent.trainer.bus.graph()
            assert weights is not None
            assert graph is not None
            tensors = checked_tensors(weights.data, weights.sha256, text)
            evaluator = OnnxEvaluator(Graph.decode(graph, "the graph"), tensors)
            return lambda: SearchPlayer(text, evaluator, int(found[2]))
        return player_maker(lent.game, text)

    pairing = Pairing(lent.game, source_of(first), source_of(second), seed, 1)
    return pairing.play(range(num_games // 2), opening_of_each_pair(lent.game, seed))


def player_of(side: MatchPlayer, evaluators: Mapping[int, Evaluate]) -> Player:
    if side.kind == "random":
        return RandomPlayer()
    num_simulations = int(side.settings["num_simulations"])
    if side.version is None:
        return SearchPlayer(side.kind, "playout", num_simulations)
    return SearchPlayer(side.kind, evaluators[side.version], num_simulations)


def play_match(task: PlayMatch, evaluators: Mapping[int, Evaluate]) -> list[list[int]]:
    """The games of a portion."""
    game = games.get(task.game, **task.options)
    players = (player_of(task.weights, evaluators), player_of(task.opponent, evaluators))
    openings: dict[int, Sequence[int]] = {each.pair: each.opening for each in task.pairs}
    played = play_pairs(game, players, task.seed, openings, lambda num_over: None, Event())
    return [[event.id for event in Episode.decode(each.episode).events] for each in played]


_played: set[str] = set()


async def next_match(client: Client) -> PlayMatch:
    """The next portion that was not returned before, of those that came already or will come."""
    while True:
        for message in client.received:
            if isinstance(message, PlayMatch) and message.match not in _played:
                _played.add(message.match)
                return message
        await client.next(PlayMatch)


async def play_next_match(client: Client) -> PlayMatch:
    """Plays a portion honestly, and sees it accepted."""
    task = await next_match(client)
    await client.send(EvalResult(task.match, play_match(task, client.evaluators)))
    ids = [(task.seed, 2 * each.pair + seat) for each in task.pairs for seat in (0, 1)]
    assert (await client.next(GamesAccepted)).ids == ids
    return task
