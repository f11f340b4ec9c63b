"""The rater role: leases blocks of rating games from the bus, plays them and reports them.

    rater = BlockRater("box-1", game, bus, make_evaluator, device="cpu", lease_s=600)
    rater.rate_blocks(stop=lambda: False)  # until the run ends

A worker that may not play rates meanwhile (`rate_while_idle`). A block that cannot be played here
because an engine or the weights of another run are missing is returned with the reason, and no
other block of its match is leased for a while. The lease of a rater that dies expires.
"""

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from zerofleet.arena.blocks import play_block
from zerofleet.arena.match import PlayerSource
from zerofleet.arena.players import Maker, SearchText, player_maker
from zerofleet.arena.search_players import SearchPlayer
from zerofleet.bus import (
    Block,
    BlockResult,
    Bus,
    BusFull,
    BusRefused,
    BusUnreachable,
    PublishedWeights,
)
from zerofleet.errors import Inconsistent, ZerofleetError
from zerofleet.games import Game
from zerofleet.infer import Evaluator
from zerofleet.infer.load import weights_named
from zerofleet.weights import encoded_tensors

PUBLISHED = re.compile(r"version:(\d{1,19}),sims=(\d{1,9})")
"""The text of a player with published weights of the run."""

IDLE_S = 1.0
"""Between two questions for a block, and between two tries to reach the bus."""

IDLE_BEFORE_S = 5.0
"""How long a worker waits before it rates: most pauses by the rate limiter are shorter."""

RETRY_S = 60.0
"""How long a rater leases no block of a match that it could not play."""

MAX_PLAYERS = 4
"""Players kept with their networks; a rating has two with weights of the run."""

MakeEvaluator = Callable[[PublishedWeights], Evaluator]
"""Makes an evaluator of the run's network. BadWeights refuses damaged weights."""

Stop = Callable[[], bool]
"""Whether to end, asked after each round of moves."""


class Stopped(Exception):
    """The rater ends in the midst of a block."""


@dataclass
class RaterCounts:
    """What a rater has done."""

    num_blocks: int = 0
    """Played and reported first."""
    num_returned: int = 0
    """Blocks that it could not play."""
    num_loaded: int = 0
    """Weights of the run that it fetched."""


def published_player(version: int, num_simulations: int) -> str:
    """The text of a player with published weights of the run."""
    return f"version:{version},sims={num_simulations}"


def weights_sha256(text: str, game: Game) -> str | None:
    """The hash of the weights that a player's text names on this machine; None for a player without
    weights. Other machines compare it with theirs."""
    named = SearchText.of(text)
    if named is None or named.source == "playout":
        return None
    _, sha256 = encoded_tensors(weights_named(named.source, game).tensors)
    return sha256


class BlockRater:
    """Plays blocks of one run, in any number of threads."""

    def __init__(
        self,
        rater_id: str,
        game: Game,
        bus: Bus,
        make_evaluator: MakeEvaluator,
        device: str,
        lease_s: float,
    ) -> None:
        """Opponents' networks run on `device`."""
        self.rater_id = rater_id
        self.counts = RaterCounts()
        self.doing = ""
        """In a few words."""
        self._game = game
        self._bus = bus
        self._make_evaluator = make_evaluator
        self._device = device
        self._lease_s = lease_s
        self._lock = threading.Lock()
        self._makers: OrderedDict[tuple[str, str | None], Maker] = OrderedDict()
        self._avoided_until_s: dict[str, float] = {}

    def rate_blocks(self, stop: Stop) -> None:
        """Plays whatever block is free until `stop`, or until the bus stops. A bus that cannot be
        reached is waited for."""
        while not (stop() or self._bus.stopping):
            try:
                has_played = self.rate_one_block(stop)
            except (BusUnreachable, BusFull) as error:
                has_played, self.doing = False, str(error)
            if not has_played:
                self._bus.wait_for_news(IDLE_S)

    def rate_while_idle(
        self, is_idle: Callable[[], bool], stop: Stop, say: Callable[[str], None]
    ) -> None:
        """Plays blocks while a worker is idle, until `stop`. A block in hand is returned as soon as
        it is not, since self-play comes first. Ends where the worker's user may not rate."""
        busy_at_s = time.monotonic()
        while not (stop() or self._bus.stopping):
            if not is_idle():
                busy_at_s = time.monotonic()
            has_played = False
            if time.monotonic() - busy_at_s >= IDLE_BEFORE_S:
                try:
                    has_played = self.rate_one_block(lambda: stop() or not is_idle())
                except (BusUnreachable, BusFull) as error:
                    self.doing = str(error)
                except BusRefused as error:
                    say(f"{self.rater_id} does not rate while it waits: {error}")
                    return
            if not has_played:
                time.sleep(IDLE_S)

    def rate_one_block(self, stop: Stop) -> bool:
        """Plays a free block and reports it; returns it where `stop` says so meanwhile, or where it
        cannot be played here. False where there was none, or it was returned."""
        block = self._bus.lease_block(self._lease_s, without=self._avoided())
        if block is None:
            self.doing = "waits for a rating"
            return False
        try:
            result = self._played(block, stop)
        except Stopped:
            self._bus.return_block(block, "")
            return False
        except (BusUnreachable, BusFull, BusRefused):
            raise
        except ZerofleetError as error:
            with self._lock:
                self._avoided_until_s[block.rating] = time.monotonic() + RETRY_S
                self.counts.num_returned += 1
            self._bus.return_block(block, f"{self.rater_id}: {error}")
            return False
        self._report(BlockResult(block.rating, block.number, result), stop)
        return True

    def _played(self, block: Block, stop: Stop) -> bytes:
        def on_progress(num_done: int, num_games: int) -> None:
            if stop():
                raise Stopped
            self.doing = f"{block.rating}, block {block.number}: {num_done} of {num_games} games"

        return play_block(self._game, block.task, self._source_of, on_progress=on_progress)

    def _report(self, result: BlockResult, stop: Stop) -> None:
        """A result is worth its games: it outlasts a bus that cannot be reached for a while."""
        while True:
            try:
                counts = self._bus.finish_block(result)
            except (BusUnreachable, BusFull) as error:
                if stop():
                    raise
                self.doing = str(error)
                time.sleep(IDLE_S)
            else:
                break
        with self._lock:
            self.counts.num_blocks += counts

    def _avoided(self) -> list[str]:
        now_s = time.monotonic()
        with self._lock:
            still = {
                name: until_s for name, until_s in self._avoided_until_s.items() if until_s > now_s
            }
            self._avoided_until_s = still
            return list(still)

    # ---- players

    def _source_of(self, text: str, sha256: str | None) -> PlayerSource:
        """A factory of such players; its weights are loaded once."""
        key = (text, sha256)
        with self._lock:
            if key not in self._makers:
                self._makers[key] = self._maker_of(text, sha256)
                if len(self._makers) > MAX_PLAYERS:
                    self._makers.popitem(last=False)
            self._makers.move_to_end(key)
            return self._makers[key]

    def _maker_of(self, text: str, sha256: str | None) -> Maker:
        if found := PUBLISHED.fullmatch(text):
            version, num_simulations = int(found[1]), int(found[2])
            weights = self._bus.weights(version)
            if weights is None:
                raise Inconsistent(f"weights {version} are not on the bus")
            refuse_other(f"weights {version}", weights.sha256, sha256)
            evaluator = self._make_evaluator(weights)
            self.counts.num_loaded += 1
            return lambda: SearchPlayer(text, evaluator, num_simulations)
        if sha256 is not None:
            refuse_other(f"player {text!r}", weights_sha256(text, self._game), sha256)
        return player_maker(self._game, text, self._device)


def refuse_other(name: str, got: str | None, expected: str | None) -> None:
    """Raises unless the weights are those that the trainer means."""
    if got != expected:
        shown = [f"{each[:8]}…" if each else "none" for each in (got, expected)]
        raise Inconsistent(
            f"{name} has other weights here than at the trainer (sha256 {shown[0]}, expected "
            f"{shown[1]})"
        )
