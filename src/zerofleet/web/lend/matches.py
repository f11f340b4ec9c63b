"""Rating games for browsers: blocks that the gateway leases as a rater does, dealt out in portions.

A portion is some pairs of a block, given to one tab. Its games are checked, and the block reported
once all are there. Where a tab leaves, its pairs wait for the next one. A block that nobody plays
goes back, and one whose lease is over is anybody's again: the games that did come are kept, and
count if the gateway leases the block once more. The bus counts a block once, whoever plays it.
"""

import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from zerofleet import _core
from zerofleet.arena.blocks import BlockGames, BlockTask
from zerofleet.arena.players import SearchText
from zerofleet.bus import Block, BlockResult, Bus
from zerofleet.errors import ZerofleetError
from zerofleet.fleet.rater_role import PUBLISHED
from zerofleet.games import Game
from zerofleet.web.lend.messages import MatchPair, MatchPlayer, PlayMatch, WeightsUpdate
from zerofleet.web.lend.weights import LentVersion, LentWeights

MAX_PAIRS = 8
"""Of a portion: a tab that leaves loses no more."""
MAX_SIMULATIONS = 2000
"""Per move. With more, the trees of a portion do not fit into the memory of a tab."""
TREE_BYTES = 1 << 26
"""A search of so many simulations does not fill it, so its bound changes no game."""
SLACK_S = 10.0
"""A portion ends so long before its block's lease: checking takes time."""
LOOK_S = 1.0
"""Between two looks for a free block where there was none."""
UNPLAYABLE_S = 60.0
"""How long no block of a match is leased whose players a tab cannot play."""
IDLE_S = 5.0
"""How long a block without a portion in flight is held."""
AVOIDED_S = 600.0
"""How long an account gets no portion that let a deadline pass, or whose games were refused."""
MAX_SETTLED = 1024
"""Portions that are over and remembered, so that a resend is told so."""


@dataclass(frozen=True)
class BlockPlayer:
    """Who plays one side of a block, as a tab can."""

    text: str
    wire: MatchPlayer
    weights: LentVersion | None = None


@dataclass(eq=False)
class LentBlock:
    """A leased block."""

    block: Block
    task: BlockTask
    players: tuple[BlockPlayer, BlockPlayer]
    ends_s: float
    """Of its lease."""
    games: dict[int, tuple[bytes, bytes]]
    """Episodes by pair."""
    waiting: list[int]
    """Pairs that nobody plays."""
    in_flight: set[str] = field(default_factory=set)
    """Portions."""
    touched_s: float = field(default_factory=time.monotonic)

    @property
    def is_complete(self) -> bool:
        return len(self.games) == len(self.task.openings)

    def opening(self, pair: int) -> list[int]:
        return self.task.openings[pair - self.task.first_pair]


@dataclass(frozen=True)
class Portion:
    """Pairs that an account plays."""

    name: str
    account: int
    of: LentBlock
    pairs: tuple[int, ...]
    ends_s: float

    @property
    def ids(self) -> list[tuple[int, int]]:
        """Of its games."""
        return [(self.of.task.seed, 2 * pair + seat) for pair in self.pairs for seat in (0, 1)]

    def updates(self) -> list[WeightsUpdate]:
        """The weights that it needs."""
        return [each.weights.update() for each in self.of.players if each.weights is not None]

    def message(self) -> PlayMatch:
        first, second = self.of.players
        return PlayMatch(
            match=self.name,
            game=self.of.task.game,
            options=dict(self.of.task.options),
            weights=first.wire,
            opponent=second.wire,
            pairs=[MatchPair(pair, self.of.opening(pair)) for pair in self.pairs],
            seed=self.of.task.seed,
            deadline_s=max(1.0, self.ends_s - time.monotonic()),
        )


class Matches:
    """The rating work of one gateway. All methods may be called from any thread."""

    def __init__(self, bus: Bus, game: Game, weights: LentWeights, lease_s: float) -> None:
        self._bus, self._game, self._weights, self._lease_s = bus, game, weights, lease_s
        self._lock = threading.Lock()
        self._leasing = threading.Lock()
        self._blocks: list[LentBlock] = []
        self._open: dict[str, Portion] = {}
        self._settled: OrderedDict[str, Portion] = OrderedDict()
        self._kept: dict[tuple[str, int], dict[int, tuple[bytes, bytes]]] = {}
        self._unplayable: dict[str, float] = {}
        self._avoided_until: dict[int, float] = {}
        self._looked_s = -LOOK_S
        self.num_delivered = 0
        """Blocks that counted."""

    # ---- tabs

    def give(self, account: int, num_pairs: int) -> Portion | None:
        """What an account shall play now, if there is anything."""
        if time.monotonic() < self._avoided_until.get(account, 0.0):
            return None
        wanted = max(1, min(num_pairs, MAX_PAIRS))
        if (found := self._portion(account, wanted)) is not None:
            return found
        return self._portion(account, wanted) if self._lease() else None

    def _portion(self, account: int, num_pairs: int) -> Portion | None:
        now = time.monotonic()
        with self._lock:
            for each in self._blocks:
                ends_s = each.ends_s - SLACK_S
                if not each.waiting or now >= ends_s:
                    continue
                pairs, each.waiting = each.waiting[:num_pairs], each.waiting[num_pairs:]
                made = Portion(f"m{secrets.token_hex(8)}", account, each, tuple(pairs), ends_s)
                self._open[made.name] = made
                each.in_flight.add(made.name)
                each.touched_s = now
                return made
        return None

    def find(self, name: str, account: int) -> Portion | None:
        """A portion that this account was given, open or not."""
        with self._lock:
            found = self._open.get(name) or self._settled.get(name)
        return found if found is not None and found.account == account else None

    def take(self, portion: Portion, episodes: Sequence[bytes]) -> bool:
        """Takes the checked games of a portion; False where it is over."""
        with self._lock:
            if not self._settle(portion):
                return False
            for number, pair in enumerate(portion.pairs):
                portion.of.games[pair] = (episodes[2 * number], episodes[2 * number + 1])
            return True

    def give_back(self, name: str, is_avoided: bool = False) -> None:
        """Whoever has this portion will not play it, or played it wrong."""
        with self._lock:
            portion = self._open.get(name)
            if portion is not None and self._settle(portion, is_avoided):
                portion.of.waiting += portion.pairs

    def _settle(self, portion: Portion, is_avoided: bool = False) -> bool:
        """Under the lock. False where it was over."""
        if self._open.pop(portion.name, None) is None:
            return False
        if is_avoided:
            self._avoided_until[portion.account] = time.monotonic() + AVOIDED_S
        portion.of.in_flight.discard(portion.name)
        portion.of.touched_s = time.monotonic()
        self._settled[portion.name] = portion
        if len(self._settled) > MAX_SETTLED:
            self._settled.popitem(last=False)
        return True

    # ---- blocks

    def _lease(self) -> bool:
        """Leases a block that a tab can play. One thread looks at a time, and not too often."""
        if time.monotonic() < self._looked_s + LOOK_S or not self._leasing.acquire(blocking=False):
            return False
        try:
            while (block := self._bus.lease_block(self._lease_s, self._avoided())) is not None:
                leased_s = time.monotonic()
                try:
                    task = BlockTask.decode(block.task)
                    players = self._players(task)
                except ZerofleetError:  # a rater that cannot play it says why
                    players = None
                if players is None:
                    self._unplayable[block.rating] = time.monotonic() + UNPLAYABLE_S
                    self._bus.return_block(block, "")
                    continue
                with self._lock:
                    games = self._kept.pop((block.rating, block.number), {})
                    waiting = [pair for pair in task.pairs if pair not in games]
                    ends_s = leased_s + self._lease_s
                    self._blocks.append(LentBlock(block, task, players, ends_s, games, waiting))
                return True
            self._looked_s = time.monotonic()
            return False
        finally:
            self._leasing.release()

    def _avoided(self) -> list[str]:
        now = time.monotonic()
        self._unplayable = {each: end for each, end in self._unplayable.items() if end > now}
        return list(self._unplayable)

    def _players(self, task: BlockTask) -> tuple[BlockPlayer, BlockPlayer] | None:
        """None where a tab cannot play one of them."""
        if (task.game, task.options) != (self._game.name, dict(self._game.options)):
            return None
        first, second = (
            self._player(text, task.weights_sha256.get(text)) for text in (task.first, task.second)
        )
        return None if first is None or second is None else (first, second)

    def _player(self, text: str, sha256: str | None) -> BlockPlayer | None:
        if text == "random":
            return BlockPlayer(text, MatchPlayer("random"))
        if found := PUBLISHED.fullmatch(text):
            version, num_simulations = int(found[1]), int(found[2])
            if not 1 <= num_simulations <= MAX_SIMULATIONS:
                return None
            weights = self._weights.get(version)
            if weights is None or weights.tensors_sha256 != sha256:
                return None
            settings = match_settings(num_simulations)
            return BlockPlayer(text, MatchPlayer("network", version, settings), weights)
        if num_playouts := re.fullmatch(r"playout-(\d+)", text):
            named = SearchText.of(text)
            if named is not None and int(num_playouts[1]) <= MAX_SIMULATIONS:
                settings = match_settings(int(num_playouts[1]))
                return BlockPlayer(text, MatchPlayer("playout", settings=settings))
        return None

    # ---- upkeep

    def step(self) -> None:
        """Reports what is complete, and lets go of what nobody plays. Called again where the bus
        cannot be reached."""
        with self._lock:
            complete = [each for each in self._blocks if each.is_complete]
        for each in complete:
            self.num_delivered += self._bus.finish_block(result_of(each))
            self._drop(each, keeps=False)
        now = time.monotonic()
        self._avoided_until = {each: end for each, end in self._avoided_until.items() if end > now}
        with self._lock:
            held = list(self._blocks)
            has_kept = bool(self._kept)
        if not held and not has_kept:
            return
        ratings = self._bus.ratings()
        for each in held:
            is_idle = not each.in_flight and now >= each.touched_s + IDLE_S
            if each.block.rating not in ratings:
                self._drop(each, keeps=False)
            elif now >= each.ends_s - SLACK_S:
                self._drop(each, keeps=True)
            elif is_idle:
                self._drop(each, keeps=True)
                self._bus.return_block(each.block, "")
        with self._lock:
            self._kept = {key: games for key, games in self._kept.items() if key[0] in ratings}

    def close(self) -> None:
        """Reports or returns all blocks. Called once no tab is left."""
        self.step()
        with self._lock:
            held = list(self._blocks)
        for each in held:
            self._drop(each, keeps=False)
            self._bus.return_block(each.block, "")

    def _drop(self, block: LentBlock, keeps: bool) -> None:
        """Ends its portions; whoever still has one when the lease is over gets no other for now."""
        with self._lock:
            if block not in self._blocks:
                return
            self._blocks.remove(block)
            is_over = time.monotonic() >= block.ends_s - SLACK_S
            for name in list(block.in_flight):
                self._settle(self._open[name], is_avoided=is_over)
            if keeps and block.games:
                self._kept[block.block.rating, block.block.number] = block.games


def match_settings(num_simulations: int) -> dict[str, object]:
    """Of a search in a match, as `arena` has it."""
    return {
        **_core.analysis_settings(),
        "num_simulations": num_simulations,
        "root": "puct",
        "max_bytes": TREE_BYTES,
    }


def result_of(block: LentBlock) -> BlockResult:
    """What a rater would report."""
    episodes = [each for pair in block.task.pairs for each in block.games[pair]]
    games = BlockGames(first=block.task.first, second=block.task.second, episodes=episodes)
    return BlockResult(block.block.rating, block.block.number, games.encode())
