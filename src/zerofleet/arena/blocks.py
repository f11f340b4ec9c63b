"""Matches across machines: blocks of pairs, exchanged as bytes.

    blocks = MatchBlocks(game, "best,sims=64", "heuristic", num_games=400, seed=1)
    results = [play_block(game, task) for task in blocks.tasks()]  # anywhere, in any order
    blocks.merge(results)  # the match that `arena.match` plays, game by game

A block has the pairs whose searches share batches in `arena.match`, so that a network evaluates the
same batches wherever it is played. Tasks and results are JSON. A result has the episodes; rewards
are derived by replaying them.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from zerofleet.arena.match import (
    PAIRS_PER_BLOCK,
    OnProgress,
    Pairing,
    PlayerSource,
    refuse_odd,
)
from zerofleet.arena.match_result import Match, PlayedGame
from zerofleet.arena.starts import opening_of_each_pair
from zerofleet.config import MAX_SEED
from zerofleet.errors import BadBytes, Inconsistent, ZerofleetError, first_fault
from zerofleet.games import Episode, Game

FORMAT: Literal[1] = 1

SourceOf = Callable[[str, str | None], PlayerSource]
"""A player's source by its text, and the SHA-256 that its weights must have, if any."""


def named_by_text(text: str, sha256: str | None) -> PlayerSource:
    """Players as `arena.match` makes them from their texts."""
    if sha256 is not None:
        raise Inconsistent(f"player {text!r} must have weights {sha256[:8]}…; nobody checks them")
    return text


class Message(BaseModel):
    """What is exchanged, as JSON."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, ser_json_bytes="base64", val_json_bytes="base64"
    )

    format: Literal[1] = FORMAT

    def encode(self) -> bytes:
        return self.model_dump_json().encode()

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """BadBytes names the first fault."""
        try:
            return cls.model_validate_json(data)
        except ValidationError as error:
            raise BadBytes(
                f"not a {cls.__name__} of format {FORMAT}: {first_fault(error)}"
            ) from None


class BlockTask(Message):
    """Consecutive pairs of a match, and all that is needed to play them."""

    game: str
    options: dict[str, str]
    first: str
    second: str
    weights_sha256: dict[str, str] = {}
    """By a player's text, where its weights must be these."""
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)]
    first_pair: Annotated[int, Field(ge=0)]
    openings: Annotated[list[list[int]], Field(min_length=1, max_length=PAIRS_PER_BLOCK)]
    """Of each pair."""

    @property
    def pairs(self) -> range:
        return range(self.first_pair, self.first_pair + len(self.openings))


class BlockGames(Message):
    """The games of a block, in their order in the match."""

    first: str
    second: str
    """Names of the players."""
    episodes: Annotated[list[bytes], Field(max_length=2 * PAIRS_PER_BLOCK)]


def play_block(
    game: Game,
    task: bytes,
    source_of: SourceOf = named_by_text,
    num_threads: int | None = 1,
    on_progress: OnProgress = lambda num_done, num_games: None,
) -> bytes:
    """Plays the games of a task. Several threads serve only players with seconds per move."""
    asked = BlockTask.decode(task)
    if (asked.game, asked.options) != (game.name, dict(game.options)):
        raise Inconsistent(
            f"the block is of {asked.game} {asked.options}, not {game.name} {dict(game.options)}"
        )
    first, second = (
        source_of(text, asked.weights_sha256.get(text)) for text in (asked.first, asked.second)
    )
    pairing = Pairing(game, first, second, asked.seed, num_threads)
    openings = dict(zip(asked.pairs, asked.openings, strict=True))
    played = pairing.play(asked.pairs, openings.__getitem__, on_progress)
    return BlockGames(first=played.first, second=played.second, episodes=played.episodes).encode()


class MatchBlocks:
    """A match that is split into blocks, counted from 0."""

    def __init__(
        self,
        game: Game,
        first: str,
        second: str,
        num_games: int,
        seed: int = 1,
        openings: Sequence[Sequence[int]] | None = None,
        weights_sha256: dict[str, str] | None = None,
    ) -> None:
        refuse_odd(num_games)
        self.game = game
        self.num_games = num_games
        opening_of = opening_of_each_pair(game, seed, openings)
        pairs = range(num_games // 2)
        self._tasks = [
            BlockTask(
                game=game.name,
                options=dict(game.options),
                first=first,
                second=second,
                weights_sha256=weights_sha256 or {},
                seed=seed,
                first_pair=begin,
                openings=[
                    list(opening_of(pair)) for pair in pairs[begin : begin + PAIRS_PER_BLOCK]
                ],
            )
            for begin in pairs[::PAIRS_PER_BLOCK]
        ]

    def __len__(self) -> int:
        return len(self._tasks)

    def num_games_of(self, number: int) -> int:
        """In one block."""
        return 2 * len(self._tasks[number].openings)

    def tasks(self) -> list[bytes]:
        return [task.encode() for task in self._tasks]

    def merge(self, results: Sequence[bytes]) -> Match:
        """The match, of the results of all blocks by number. Every game is checked by replay."""
        if len(results) != len(self):
            raise Inconsistent(f"a match of {len(self)} blocks has {len(results)} results")
        names: set[tuple[str, str]] = set()
        played: list[PlayedGame] = []
        for number, (task, result) in enumerate(zip(self._tasks, results, strict=True)):
            try:
                games = BlockGames.decode(result)
                played += checked_games(self.game, task, games)
            except ZerofleetError as error:
                raise BadBytes(f"block {number} refused: {error}") from error
            names.add((games.first, games.second))
        if len(names) > 1:
            raise Inconsistent(f"the blocks have different players: {sorted(names)}")
        ((first, second),) = names
        return Match(self.game, first, second, self._tasks[0].seed, played)


def checked_games(game: Game, task: BlockTask, games: BlockGames) -> list[PlayedGame]:
    """The games of a task, each verified by replaying it."""
    numbers = [2 * pair + first_seat for pair in task.pairs for first_seat in (0, 1)]
    if len(games.episodes) != len(numbers):
        raise Inconsistent(f"{len(numbers)} games are due, got {len(games.episodes)}")
    played = []
    for number, data in zip(numbers, games.episodes, strict=True):
        episode = Episode.decode(data)
        if (episode.worker, episode.sequence) != (task.seed, number):
            raise Inconsistent(
                f"game {number} of seed {task.seed} is due, got game {episode.sequence} of seed "
                f"{episode.worker}"
            )
        episode.verify(game)
        played.append(played_game(game, episode, number % 2))
    return played


def played_game(game: Game, episode: Episode, first_seat: int) -> PlayedGame:
    index = episode.outcome_first_player
    if index < 0:
        return PlayedGame(0.0, True, episode.encode())
    outcome = game.outcomes[index]
    if first_seat == 1:
        outcome = game.outcomes[outcome.opposite]
    return PlayedGame(outcome.reward, False, episode.encode())
