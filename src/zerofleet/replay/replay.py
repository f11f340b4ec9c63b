"""The replay as the trainer holds it: episodes in, batches out."""

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import compress, islice
from pathlib import Path
from typing import Any

from zerofleet._core import PackedRows, pack_rows
from zerofleet.config import ReplayConfig
from zerofleet.games import Episode, Game
from zerofleet.replay.buffer import ReplayBuffer, Sampler
from zerofleet.replay.limiter import LimiterState, RateLimiter
from zerofleet.replay.log import START, EpisodeLog, LogPosition

EPISODES_AT_ONCE = 256
"""Episodes per call when the buffer is filled from the log: more would only take more memory."""


class Replay:
    """The log of a folder with its buffer, sampler and rate limiter, kept consistent."""

    def __init__(
        self,
        folder: Path,
        game: Game,
        config: ReplayConfig,
        seed: int,
        state: dict[str, Any] | None = None,
        exactly: bool = False,
    ) -> None:
        """Opens the log and fills the buffer from it. With a `state` it resumes from there.

        Episodes logged after that state stay and count as inserted. With `exactly` they are removed
        (all of them, without a state), so that a deterministic run repeats itself.

        Where the log lacks the earlier episodes, the buffer starts empty and training waits until
        it has `min_rows` again.
        """
        self._game = game
        self._config = config
        reached = START if state is None else LogPosition(**state["log"])
        until = reached if exactly else None
        self.num_truncated = 0 if state is None else int(state["num_truncated"])
        """Games truncated at max_plies, which give no rows; without those that a killed process
        logged after its last checkpoint."""
        self.log = EpisodeLog(folder, game, config, until, begin_after=reached)
        try:
            self.buffer = filled_buffer(self.log, game, config)
            self.sampler = Sampler(self.buffer, game, config, seed)
            limiter_state = LimiterState()
            if state is not None:
                self.sampler.restore(state["sampler"])
                limiter_state = LimiterState(**state["limiter"])
            limiter_state = replace(limiter_state, num_rows=self.log.position.num_rows)
            self.num_missing = num_missing(limiter_state.num_rows, len(self.buffer), config)
            """Rows that were inserted and that the buffer lacks, so that training waits."""
            if self.num_missing:
                # Samples of the missing rows are no longer due.
                num_samples = math.ceil(self.num_missing * config.samples_per_row)
                num_samples = max(limiter_state.num_samples, num_samples)
                limiter_state = replace(limiter_state, num_samples=num_samples)
            self.limiter = RateLimiter(config, limiter_state)
        except BaseException:
            self.log.close()
            raise

    @property
    def state(self) -> dict[str, Any]:
        """For a checkpoint; can be written as JSON. It survives a dead machine after `log.sync`."""
        return {
            "log": asdict(self.log.position),
            "sampler": self.sampler.state,
            "limiter": asdict(self.limiter.state),
            "num_truncated": self.num_truncated,
        }

    def accept(self, episodes: Sequence[bytes]) -> int:
        """Logs the new episodes and adds their rows to the buffer; returns how many rows.

        Each episode is first replayed through the rules; one that fails refuses the whole call.
        LogFull leaves everything unchanged.
        """
        decoded = [Episode.decode(data) for data in episodes]
        packed = derive_rows(self._game, decoded, self._config)
        is_new = self.log.append(decoded, packed.num_rows.tolist())
        new = list(compress(decoded, is_new))
        self.num_truncated += sum(episode.outcome_first_player < 0 for episode in new)
        if not all(is_new):
            packed = derive_rows(self._game, new, self._config)
        self.buffer.add(packed)
        # Each game is a quantum of its own, however many arrive together.
        for num_rows in packed.num_rows.tolist():
            self.limiter.inserted(num_rows)
        return int(packed.num_rows.sum())

    def close(self) -> None:
        self.log.close()


def num_missing(num_inserted: int, num_buffered: int, config: ReplayConfig) -> int:
    """Inserted rows that the buffer lacks, where it has too few to train on."""
    return num_inserted - num_buffered if num_buffered < config.min_rows else 0


def derive_rows(game: Game, episodes: Sequence[Episode], config: ReplayConfig) -> PackedRows:
    """Replays episodes into training rows, with value targets as the settings say."""
    return pack_rows(game, episodes, config.value_target_lambda)


def filled_buffer(log: EpisodeLog, game: Game, config: ReplayConfig) -> ReplayBuffer:
    """The buffer as it was when the newest episode of the log arrived."""
    num_before, episodes = log.newest(config.capacity_rows)
    buffer = ReplayBuffer(game, config.capacity_rows, num_before)
    while some := list(islice(episodes, EPISODES_AT_ONCE)):
        buffer.add(derive_rows(game, [Episode.decode(data) for data in some], config))
    return buffer
