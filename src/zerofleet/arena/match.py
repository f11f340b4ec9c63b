"""Matches: two players, paired games, played in parallel."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import ExitStack
from threading import Event, Lock

from zerofleet.arena.match_result import Match, PlayedGame
from zerofleet.arena.pairs import play_pairs
from zerofleet.arena.player import Player
from zerofleet.arena.players import game_of, is_timed, player_maker
from zerofleet.arena.starts import OpeningOf, opening_of_each_pair
from zerofleet.cores import num_cores
from zerofleet.errors import BadText
from zerofleet.games import Game

PAIRS_PER_BLOCK = 32
"""Pairs per block, played concurrently. Fixed, so that network batches, and with them the exact
evaluations, do not depend on the number of threads."""

TIMED_PAIRS_PER_BLOCK = 1
"""Block size where a player has seconds per move. It searches one position at a time, so larger
blocks would leave threads idle."""

PlayerSource = str | Callable[[], Player]
"""A player's text, or a factory that is called once per thread."""

CHECK_S = 0.2
"""How often a search looks, at most, whether its match was ended."""

OnProgress = Callable[[int, int], None]
"""Called again and again, by one thread at a time, with the number of finished games and of all
games. An exception ends the match."""


def match(
    game: str | Game,
    first: PlayerSource,
    second: PlayerSource,
    num_games: int = 400,
    seed: int = 1,
    num_threads: int | None = None,
    openings: Sequence[Sequence[int]] | None = None,
    on_progress: OnProgress = lambda num_done, num_games: None,
    **game_options: int | str,
) -> Match:
    """Plays a match in pairs: each start from both seats.

    `first` and `second` are texts (see zerofleet.arena.players) or player factories. `openings`,
    lists of actions, replace the game's own; see zerofleet.arena.starts. With deterministic players
    the same seed gives the same games for any number of threads (default: one per core). An illegal
    move ends the match with an error.
    """
    game = game_of(game, game_options)
    refuse_odd(num_games)
    pairing = Pairing(game, first, second, seed, num_threads)
    opening_of = opening_of_each_pair(game, seed, openings)
    return pairing.play(range(num_games // 2), opening_of, on_progress)


class MatchEnded(Exception):
    """Another thread of a match has failed."""


class Pairing:
    """Two players of a game that play pairs by index. Weights are loaded once."""

    def __init__(
        self,
        game: Game,
        first: PlayerSource,
        second: PlayerSource,
        seed: int,
        num_threads: int | None,
    ) -> None:
        if num_threads is not None and num_threads < 1:
            raise BadText(f"num_threads must be at least 1, got {num_threads}")
        self.game = game
        self.seed = seed
        self.num_threads = num_threads or num_cores()
        make_first = maker_of(game, first)
        make_second = make_first if second == first else maker_of(game, second)
        self._makers = (make_first, make_second)
        timed = any(isinstance(source, str) and is_timed(source) for source in (first, second))
        self.pairs_per_block = TIMED_PAIRS_PER_BLOCK if timed else PAIRS_PER_BLOCK

    def play(
        self,
        pairs: range,
        opening_of: OpeningOf,
        on_progress: OnProgress = lambda num_done, num_games: None,
    ) -> Match:
        """Plays the pairs of these indices, two games each."""
        blocks = range(0, len(pairs), self.pairs_per_block)
        num_threads = min(self.num_threads, len(blocks))
        played: dict[int, list[PlayedGame]] = {}
        names: list[str] = []
        num_done, checked_at_s, lock, stop = 0, time.monotonic(), Lock(), Event()

        def count(num_over: int) -> None:
            nonlocal num_done
            with lock:
                num_done += num_over
                on_progress(num_done, 2 * len(pairs))

        def check() -> None:
            """Ends a search, which may take minutes, when the match has ended."""
            nonlocal checked_at_s
            if stop.is_set():
                raise MatchEnded
            if time.monotonic() >= checked_at_s + CHECK_S:
                checked_at_s = time.monotonic()
                count(0)

        def play_every(offset: int) -> None:
            """Plays every num_threads-th block from `offset`, with this thread's own players."""
            with ExitStack() as opened:
                first, second = (opened.enter_context(make()) for make in self._makers)
                names[:] = [first.name, second.name]
                first.on_step = second.on_step = check
                for begin in blocks[offset::num_threads]:
                    if stop.is_set():
                        return
                    numbers = pairs[begin : begin + self.pairs_per_block]
                    starts = {pair: opening_of(pair) for pair in numbers}
                    played[begin] = play_pairs(
                        self.game, (first, second), self.seed, starts, count, stop
                    )

        with ThreadPoolExecutor(num_threads) as threads:
            futures = [threads.submit(play_every, offset) for offset in range(num_threads)]
            try:
                done, _ = wait(futures, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
            except BaseException:
                stop.set()  # the others stop too
                raise
        return Match(
            game=self.game,
            first=names[0],
            second=names[1],
            seed=self.seed,
            played=[game for begin in blocks for game in played[begin]],
        )


def refuse_odd(num_games: int) -> None:
    if num_games < 2 or num_games % 2:
        raise BadText(f"games are played in pairs: num_games must be even, got {num_games}")


def maker_of(game: Game, source: PlayerSource) -> Callable[[], Player]:
    return player_maker(game, source) if isinstance(source, str) else source
