"""The trainer's side of ratings across machines: offers blocks, collects and merges their results.

One rating is open at a time. It is written to the run folder before its blocks are offered, and a
trainer that starts again offers the same blocks: results that arrived meanwhile count, and each
block counts once. The name of a match is a hash of its tasks, so that blocks of other weights,
another run or other settings are never mistaken for its own.
"""

import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from zerofleet.arena import Match
from zerofleet.arena.blocks import MatchBlocks
from zerofleet.arena.players import refuse_unknown
from zerofleet.arena.ratings import START
from zerofleet.bus import Block, BlockResult, Bus, BusFull, BusUnreachable, PublishedWeights
from zerofleet.config import Config
from zerofleet.errors import BadBytes, ZerofleetError, first_fault
from zerofleet.fleet.rater import OnGames, Rating, Results, match_seed
from zerofleet.fleet.rater_role import BlockRater, published_player, weights_sha256
from zerofleet.fleet.screen import Screen
from zerofleet.games import Game
from zerofleet.runs.folder import Run
from zerofleet.storage import Disk, write_whole
from zerofleet.weights import WeightsStore, encoded_tensors

POLL_S = 1.0
"""Between two looks at what was played."""

START_VERSION = 0
"""Of the weights of step 0: nothing else is ever published under it."""

Answer = TypeVar("Answer")


class OpenRating(BaseModel):
    """A rating in flight, as the run folder has it."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    format: Literal[1] = 1
    step: int
    version: int
    """Under which the bus has the weights."""
    num_games: int
    names: dict[str, str]
    """Of the matches, by opponent; without those that are recorded."""


@dataclass
class OpenMatch:
    """A match whose blocks are offered."""

    name: str
    opponent: str
    blocks: MatchBlocks
    results: list[BlockResult] = field(default_factory=list)
    """By number."""
    returns: list[str] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        return len(self.results) == len(self.blocks)

    @property
    def num_games(self) -> int:
        """Played so far."""
        return sum(self.blocks.num_games_of(each.number) for each in self.results)


@dataclass(kw_only=True)
class FleetMatches:
    """Matches that raters play. Implements `fleet.rater.Matches`."""

    run: Run
    game: Game
    config: Config
    bus: Bus
    weights: WeightsStore
    disk: Disk
    screen: Screen
    opponents: Sequence[str]
    helper: BlockRater
    """Plays blocks in this process too when the run no longer trains."""
    num_threads: int
    """Of the helper."""

    def __post_init__(self) -> None:
        self._played_at_s = time.monotonic()
        self._sha256 = {
            text: sha256
            for text in self.opponents
            if text != START and (sha256 := self._known(text)) is not None
        }

    def _known(self, opponent: str) -> str | None:
        """Rejects an unknown opponent before hours of training; the hash of its weights, if any."""
        refuse_unknown(self.game, opponent)
        return weights_sha256(opponent, self.game)

    # ---- ratings

    def play(self, rating: Rating, on_games: OnGames) -> Results:
        if not self.opponents:
            return
        step = rating.step
        check = partial(on_games, step, self.opponents[0], 0, rating.num_games)
        self._patiently(self._give_up, check)
        weights = self._weights_of(step, version=step)
        version = self._patiently(
            lambda: self.bus.publish_weights(step, weights.sha256, weights.data, at_least=step),
            check,
        )
        opened = OpenRating(
            step=step,
            version=version,
            num_games=rating.num_games,
            names=dict.fromkeys(self.opponents, ""),
        )
        yield from self._collect(opened, on_games, helps=not rating.in_background)

    def resume(self, on_games: OnGames) -> Results:
        opened = self._read()
        if opened is None or opened.step not in self.weights.versions():
            check = partial(on_games, 0, "", 0, 0)
            self._patiently(self._give_up, check)  # the run resumed before that step
            self._patiently(lambda: self._drop_all_but([]), check)
            return
        recorded = [
            result["opponent"]
            for result in self.weights.ratings(opened.step)
            if result["games"] == opened.num_games
        ]
        left = {
            text: name
            for text, name in opened.names.items()
            if text in self.opponents and text not in recorded
        }
        yield from self._collect(opened.model_copy(update={"names": left}), on_games, helps=False)

    def is_stalled(self, after_s: float) -> bool:
        return self.bus.reachable and time.monotonic() - self._played_at_s >= after_s

    def _collect(self, opened: OpenRating, on_games: OnGames, helps: bool) -> Results:
        """Offers what is left of a rating, and yields matches as their last blocks come in."""
        step = opened.step
        weights, matches = self._matches_of(opened)
        check = partial(on_games, step, ", ".join(opened.names), 0, opened.num_games)
        self._patiently(lambda: self._drop_all_but(matches), check)
        self._write(opened, matches)
        self._patiently(lambda: self.bus.keep_weights(weights), check)
        self._patiently(lambda: self._offer(matches), check)
        self._played_at_s = time.monotonic()
        with self._helping(helps) as check_helpers:
            while matches:
                check = partial(
                    on_games, step, matches[0].opponent, matches[0].num_games, opened.num_games
                )
                check()
                check_helpers()
                for match in list(matches):
                    self._patiently(partial(self._look_at, match, step), check)
                    if match.is_complete:
                        matches.remove(match)
                        if (found := self._merged(match, step)) is not None:
                            yield step, match.opponent, found
                        self._write(opened, matches)
                        self._patiently(partial(self.bus.drop_blocks, match.name), check)
                if matches:
                    time.sleep(POLL_S)
        self._patiently(lambda: self.bus.keep_weights([]), check)

    def _give_up(self) -> None:
        """Says what became of the open rating, if there is one, and forgets it."""
        opened = self._read()
        if opened is None:
            return
        for opponent, name in opened.names.items():
            num_played = len(self.bus.block_results(name))
            reasons = self.bus.block_returns(name) or [
                f"is a rater running? zerofleet rater --run {self.run.name}"
            ]
            self.screen.say(
                f"{title(opened.step, opponent)} was given up: {num_played} blocks were played; "
                f"{'; '.join(reasons)}"
            )
        self._path.unlink()

    # ---- matches

    def _matches_of(self, opened: OpenRating) -> tuple[list[PublishedWeights], list[OpenMatch]]:
        """The weights that the matches need, and the matches."""
        rated = self._weights_of(opened.step, opened.version)
        weights = [rated]
        simulations = self.config.rating.simulations
        first = published_player(rated.version, simulations)
        matches = []
        for opponent in opened.names:
            second, sha256 = opponent, {first: rated.sha256}
            if opponent == START:
                start = self._weights_of(0, START_VERSION)
                weights.append(start)
                second = published_player(START_VERSION, simulations)
                sha256[second] = start.sha256
            elif opponent in self._sha256:
                sha256[second] = self._sha256[opponent]
            seed = match_seed(self.config.run.seed, opened.step)
            blocks = MatchBlocks(
                self.game, first, second, opened.num_games, seed, weights_sha256=sha256
            )
            digest = hashlib.sha256(b"".join(blocks.tasks())).hexdigest()
            matches.append(OpenMatch(f"step-{opened.step}-{digest[:16]}", opponent, blocks))
        return weights, matches

    def _weights_of(self, step: int, version: int) -> PublishedWeights:
        data, sha256 = encoded_tensors(self.weights.load(step).tensors)
        return PublishedWeights(version, step, sha256, data)

    def _offer(self, matches: Sequence[OpenMatch]) -> None:
        self.bus.add_blocks(
            [
                Block(match.name, number, task)
                for match in matches
                for number, task in enumerate(match.blocks.tasks())
            ]
        )

    def _drop_all_but(self, matches: Sequence[OpenMatch]) -> None:
        """Drops ratings that were given up, offered under other settings, or left by an older copy
        of the run."""
        names = [each.name for each in matches]
        for name in self.bus.ratings():
            if name not in names:
                self.bus.drop_blocks(name)

    def _look_at(self, match: OpenMatch, step: int) -> None:
        """Fetches what was played, and says why blocks were returned."""
        results = self.bus.block_results(match.name)
        if len(results) != len(match.results):
            self._played_at_s = time.monotonic()
        match.results = results
        returns = self.bus.block_returns(match.name)
        for reason in returns:
            if reason not in match.returns:
                self.screen.say(f"{title(step, match.opponent)}: a block was returned by {reason}")
        match.returns = returns

    def _merged(self, match: OpenMatch, step: int) -> Match | None:
        """None for results that are not of this match; it is not played again."""
        try:
            return match.blocks.merge([each.result for each in match.results])
        except ZerofleetError as error:
            self.screen.say(f"{title(step, match.opponent)} was given up: {error}")
            return None

    @contextmanager
    def _helping(self, helps: bool) -> Iterator[Callable[[], None]]:
        """In this context threads of this process play blocks too. The call raises their faults."""
        done = threading.Event()

        def play() -> None:
            while not done.is_set():
                try:
                    has_played = self.helper.rate_one_block(done.is_set)
                except (BusUnreachable, BusFull):
                    has_played = False
                if not has_played:
                    done.wait(POLL_S)

        def check() -> None:
            for helper in helpers:
                if helper.done():
                    helper.result()

        with ThreadPoolExecutor(self.num_threads) as threads:
            helpers = [threads.submit(play) for _ in range(self.num_threads if helps else 0)]
            try:
                yield check
            finally:
                done.set()

    def _patiently(self, call: Callable[[], Answer], check: Callable[[], None]) -> Answer:
        """Repeats a call while the bus cannot be reached or is full. `check` raises Interrupted."""
        while True:
            try:
                return call()
            except (BusUnreachable, BusFull):
                check()
                time.sleep(POLL_S)

    # ---- the run folder

    @property
    def _path(self) -> Path:
        return self.run.folder / "rating.json"

    def _read(self) -> OpenRating | None:
        if not self._path.exists():
            return None
        try:
            return OpenRating.model_validate_json(self._path.read_bytes())
        except ValidationError as error:
            raise BadBytes(f"{self._path} is damaged: {first_fault(error)}; remove it") from None

    def _write(self, opened: OpenRating, matches: Sequence[OpenMatch]) -> None:
        """What is left of a rating; nothing where no match is."""
        if not matches:
            self._path.unlink(missing_ok=True)
            return
        names = {each.opponent: each.name for each in matches}
        data = opened.model_copy(update={"names": names}).model_dump_json().encode()
        self.disk.write(lambda: write_whole(self._path, data))


def title(step: int, opponent: str) -> str:
    return f"rating of step {step:,} against {opponent}"
