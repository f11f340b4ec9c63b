"""The replay as the trainer holds it: episodes in, batches out, at a replay ratio that is held.

The rate limiter (after Reverb's, 2021) makes whoever is ahead wait:

    samples due = samples_per_row * rows inserted beyond min_rows

Training never exceeds the samples due. Self-play may run ahead by 5 %, or by two of the largest
quanta where that is more (a quantum is a batch, or the rows of a game), so that neither side waits
for each single game or step of the other. Finished episodes always count; only new moves wait.
"""

import math
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import compress, islice
from pathlib import Path
from typing import Any, Literal

from zerofleet._core import PackedRows, pack_rows
from zerofleet.config import ReplayConfig
from zerofleet.games import Episode, Game
from zerofleet.replay.buffer import ReplayBuffer, Sampler
from zerofleet.replay.log import START, EpisodeLog, LogPosition

EPISODES_AT_ONCE = 256
"""Episodes per call when the buffer is filled from the log: more would only take more memory."""

SLACK_SHARE = 0.05
SLACK_QUANTA = 2


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


# ---- the rate limiter


@dataclass(frozen=True)
class LimiterState:
    """What a limiter resumes from, counted from the start of the run."""

    num_rows: int = 0
    num_samples: int = 0
    largest_quantum: float = 0.0
    """In samples."""


class RateLimiter:
    """Threads of both sides may report, ask and wait."""

    def __init__(self, config: ReplayConfig, state: LimiterState | None = None) -> None:
        self._samples_per_row = config.samples_per_row
        self._min_rows = config.min_rows
        self._state = state or LimiterState()
        self._batch_size = 1
        self._changed = threading.Condition()

    @property
    def state(self) -> LimiterState:
        return self._state

    def inserted(self, num_rows: int) -> None:
        """Reports a game of `num_rows` rows."""
        with self._changed:
            total = self._state.num_rows + num_rows
            self._state = replace(self._state, num_rows=total)
            self._see_quantum(num_rows * self._samples_per_row)
            self._changed.notify_all()

    def trained(self, num_samples: int) -> None:
        """Reports a training step on a batch of `num_samples`."""
        with self._changed:
            total = self._state.num_samples + num_samples
            self._state = replace(self._state, num_samples=total)
            self._changed.notify_all()

    def may_train(self, num_samples: int) -> bool:
        """Whether a batch of `num_samples` is due now."""
        return self.wait_to_train(num_samples, timeout_s=0)

    def wait_to_train(self, num_samples: int, timeout_s: float) -> bool:
        """Waits until a batch is due; False after the timeout."""
        with self._changed:
            self._batch_size = num_samples
            self._see_quantum(num_samples)
            self._changed.notify_all()
            return self._changed.wait_for(self._trainer_may, timeout_s)

    @property
    def rows_allowed(self) -> int:
        """Self-play may make new moves while no more rows than these are inserted."""
        with self._changed:
            return self._rows_allowed()

    @property
    def waiting(self) -> Literal["self-play", "trainer", "nobody"]:
        """Which side has to wait now."""
        with self._changed:
            if not self._self_play_may():
                return "self-play"
            return "nobody" if self._trainer_may() else "trainer"

    @property
    def rows_missing(self) -> int:
        """How many more rows the next batch needs; 0 where it is due now."""
        with self._changed:
            num_below_min = max(0, self._min_rows - self._state.num_rows)
            num_samples = self._batch_size - self._samples_left()
            return num_below_min + max(0, math.ceil(num_samples / self._samples_per_row))

    def _samples_left(self) -> float:
        """Samples due and not yet trained on; the first `min_rows` rows make none due."""
        counted = max(0, self._state.num_rows - self._min_rows)
        return counted * self._samples_per_row - self._state.num_samples

    def _trainer_may(self) -> bool:
        return self._samples_left() >= self._batch_size

    def _self_play_may(self) -> bool:
        return self._state.num_rows <= self._rows_allowed()

    def _rows_allowed(self) -> int:
        # Samples that rows may be due while the trainer is behind by no more than the slack. What
        # is allowed now may arrive as one more quantum, so that much is kept free. What is left, at
        # least a quantum, is enough for a batch: the two sides never both wait.
        trained, quantum = self._state.num_samples, self._state.largest_quantum
        num_samples = max(
            (trained - quantum) / (1 - SLACK_SHARE), trained + (SLACK_QUANTA - 1) * quantum
        )
        return self._min_rows + math.floor(num_samples / self._samples_per_row)

    def _see_quantum(self, num_samples: float) -> None:
        if num_samples > self._state.largest_quantum:
            self._state = replace(self._state, largest_quantum=float(num_samples))
