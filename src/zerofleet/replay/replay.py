"""The replay as a whole, as a trainer holds it: episodes in, samples out."""

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import compress, islice
from pathlib import Path
from typing import Any

from zerofleet._core import PackedRows, pack_rows
from zerofleet.config import ReplayConfig
from zerofleet.games import Episode, Game
from zerofleet.replay.buffer import ReplayBuffer
from zerofleet.replay.limiter import LimiterState, RateLimiter
from zerofleet.replay.log import EpisodeLog
from zerofleet.replay.recovery import START, LogPosition
from zerofleet.replay.sampler import Sampler

EPISODES_AT_ONCE = 256
"""That a buffer is filled with: more would only take more memory."""


class Replay:
    """The log of a folder with its buffer, sampler and limiter, kept in step with one another."""

    def __init__(
        self,
        folder: Path,
        game: Game,
        config: ReplayConfig,
        seed: int,
        state: dict[str, Any] | None = None,
        exactly: bool = False,
    ) -> None:
        """Opens the log and fills the buffer from it. With a `state` it goes on from there.

        Episodes that were logged after that state are kept and count as made. With `exactly` they
        are removed instead, and without a state all are: what comes then is as if nothing had
        happened since.

        Where the games of before are not here, the buffer fills anew: training waits until it has
        `min_rows` again.
        """
        self._game = game
        self._config = config
        reached = START if state is None else LogPosition(**state["log"])
        until = reached if exactly else None
        self.num_truncated = 0 if state is None else int(state.get("num_truncated", 0))
        """Games that reached max_plies, of which nothing is learnt; without those that were logged
        after the last checkpoint by a process that died."""
        self.log = EpisodeLog(folder, game, config, until, begin_after=reached)
        try:
            self.buffer = filled_buffer(self.log, game, config)
            self.sampler = Sampler(self.buffer, game, config, seed)
            limited = LimiterState()
            if state is not None:
                self.sampler.restore(state["sampler"])
                limited = LimiterState(**state["limiter"])
            limited = replace(limited, num_rows=self.log.position.num_rows)
            self.num_missing = num_missing(limited.num_rows, len(self.buffer), config)
            """Positions that were made and that the buffer lacks, so that training waits."""
            if self.num_missing:
                # None of them is due any more.
                num_samples = math.ceil(self.num_missing * config.samples_per_row)
                limited = replace(limited, num_samples=max(limited.num_samples, num_samples))
            self.limiter = RateLimiter(config, limited)
        except BaseException:
            self.log.close()
            raise

    @property
    def state(self) -> dict[str, Any]:
        """For a checkpoint; can be written as JSON. `log.sync` makes it true for a dead machine."""
        return {
            "log": asdict(self.log.position),
            "sampler": self.sampler.state,
            "limiter": asdict(self.limiter.state),
            "num_truncated": self.num_truncated,
        }

    def accept(self, episodes: Sequence[bytes]) -> int:
        """Logs the episodes that are new, derives their rows, and says how many positions came.

        Each is played again by the rules first; one that cannot be is refused, and with it all.
        LogFull leaves everything as it was.
        """
        decoded = [Episode.decode(data) for data in episodes]
        packed = rows_of(self._game, decoded, self._config)
        is_new = self.log.append(decoded, packed.num_rows.tolist())
        new = list(compress(decoded, is_new))
        self.num_truncated += sum(episode.outcome_first_player < 0 for episode in new)
        if not all(is_new):
            packed = rows_of(self._game, new, self._config)
        self.buffer.add(packed)
        # One by one: many that had to wait for a trainer are no reason to run so far ahead of it.
        for num_rows in packed.num_rows.tolist():
            self.limiter.inserted(num_rows)
        return int(packed.num_rows.sum())

    def close(self) -> None:
        self.log.close()


def num_missing(num_made: int, num_here: int, config: ReplayConfig) -> int:
    """Positions that were made and are not here, where too few are here to train on."""
    return num_made - num_here if num_here < config.min_rows else 0


def rows_of(game: Game, episodes: Sequence[Episode], config: ReplayConfig) -> PackedRows:
    decay, cut = config.value_target_lambda, config.value_target_cut_exploratory
    return pack_rows(game, episodes, decay, cut)


def filled_buffer(log: EpisodeLog, game: Game, config: ReplayConfig) -> ReplayBuffer:
    """The buffer as it was when the newest episode of the log had arrived."""
    num_before, episodes = log.newest(config.capacity_rows)
    buffer = ReplayBuffer(game, config.capacity_rows, num_before)
    while some := list(islice(episodes, EPISODES_AT_ONCE)):
        decoded = [Episode.decode(data) for data in some]
        buffer.add(rows_of(game, decoded, config))
    return buffer
