"""The replay of a trainer: episodes in, batches out, at a fixed replay ratio.

The rate limiter (after Reverb's, 2021) makes the side that is ahead wait:

    samples due = samples_per_row * rows inserted beyond min_rows

Training never exceeds the samples due. Self-play may run ahead by 5 %, or by two of the largest
quanta where that is more (a quantum is a batch, or the rows of a game), so that neither side waits
for every single game or step of the other, but never by more than half a replay buffer. Finished
episodes always count; only new moves wait.

Rows that arrive while no trainer runs may leave the buffer before they are sampled. At most the
samples of one full buffer are due; the rest are waived. So a trainer that was away returns to its
ratio without overfitting one buffer.
"""

import math
import random
import threading
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import compress, islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from zerofleet._core import CheckedEpisodes, PackedRows, check_episodes, pack_rows
from zerofleet.bus import EpisodeId, Sender
from zerofleet.config import ReplayConfig
from zerofleet.errors import Inconsistent, Unsupported
from zerofleet.games import Episode, Game
from zerofleet.replay.buffer import ReplayBuffer, Sampler
from zerofleet.replay.log import EpisodeLog
from zerofleet.replay.recovery import START, LogPosition
from zerofleet.replay.segment import Entry

EPISODES_PER_CALL = 256
"""Episodes per call when the buffer is filled from the log: more would only take more memory."""

SLACK_SHARE = 0.05
SLACK_QUANTA = 2
SLACK_BUFFER_SHARE = 0.5


class Buffered(NamedTuple):
    """An episode with rows in the buffer."""

    id: EpisodeId
    first: int
    """The number of its first row."""
    num_rows: int
    data: bytes
    """Encoded, where episodes are searched again; else empty."""

    @property
    def end(self) -> int:
        return self.first + self.num_rows


@dataclass
class ReanalysisCounts:
    """What was searched again in this session."""

    num_games: int = 0
    num_rows: int = 0
    """Whose targets were replaced."""
    search_s: float = 0.0
    """Seconds of the thread that searches and evaluates them."""


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
        if config.use_solved_values and not game.has_solver:
            raise Unsupported(
                f"replay.use_solved_values: {game.name} has no solver, so no value of it is exact"
            )
        self._game = game
        self._config = config
        reached = START if state is None else LogPosition(**state["log"])
        until = reached if exactly else None
        self.num_truncated = 0 if state is None else int(state["num_truncated"])
        """Games truncated at max_plies, which give no rows; without those that a killed process
        logged after its last checkpoint."""
        self.log = EpisodeLog(folder, game, config, until, begin_after=reached)
        try:
            num_before, newest = self.log.newest(config.capacity_rows)
            self.buffer = ReplayBuffer(game, config.capacity_rows, num_before)
            self._buffered: deque[Buffered] = deque()
            """Episodes with rows in the buffer, in order."""
            self._stored_changing = threading.Lock()
            self.reanalysed = ReanalysisCounts()
            self._fill(newest)
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
                num_settled = self.num_missing * config.samples_per_row
                num_waived = num_settled - limiter_state.num_samples
                num_waived = max(limiter_state.num_waived, num_waived)
                limiter_state = replace(limiter_state, num_waived=num_waived)
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
        checked = self.check(episodes)
        for data, fault in zip(episodes, checked.faults, strict=True):
            if fault:
                Episode.decode(data).verify(self._game)  # raises what is wrong with it
        entries = [
            Entry(data, *episode_id, num_rows, version)
            for data, episode_id, num_rows, version in zip(
                episodes,
                checked.ids,
                checked.packed.num_rows.tolist(),
                checked.versions,
                strict=True,
            )
        ]
        return self.insert(entries, [checked.packed])

    def check(self, episodes: Sequence[bytes], workers: Sequence[int] = ()) -> CheckedEpisodes:
        """Decodes untrusted episodes and derives their rows. Any thread may call it."""
        config = self._config
        return check_episodes(
            self._game, episodes, workers, config.value_target_lambda, config.use_solved_values
        )

    def insert(
        self,
        entries: Sequence[Entry],
        packed: Sequence[PackedRows],
        done: Iterable[tuple[Sender, int]] = (),
        sync: bool = False,
    ) -> int:
        """Logs checked episodes that are new, and adds their rows, which are `packed` in the same
        order; returns how many. For `done` and `sync` see `EpisodeLog.append`."""
        is_new = self.log.append(entries, done, sync)
        if not all(is_new):
            entries = list(compress(entries, is_new))
            packed = [self._rows_of(entries)]
        num_rows = [entry.num_rows for entry in entries]
        self._add(entries, packed)
        self.num_truncated += num_rows.count(0)
        # Each game is a quantum of its own, however many arrive together.
        self.limiter.inserted(*num_rows)
        return sum(num_rows)

    def withdraw(self, ids: Collection[EpisodeId]) -> int:
        """Takes episodes out of training, now and after a restart. Returns how many samples of them
        were trained on in this session."""
        new = {each for each in ids if not self.log.is_withdrawn(each)}
        self.log.withdraw(new)
        num_rows, num_drawn = self._exclude(new)
        self.limiter.waive(max(0, num_rows * self._config.samples_per_row - num_drawn))
        return num_drawn

    def _fill(self, entries: Iterable[Entry]) -> None:
        """Adds what the log holds to the buffer, as it was when the newest of them arrived."""
        left = iter(entries)
        while some := list(islice(left, EPISODES_PER_CALL)):
            self._add(some, [self._rows_of(some)])
        buffered = (each.id for each in self._buffered)
        self._exclude({each for each in buffered if self.log.is_withdrawn(each)})

    def _rows_of(self, entries: Iterable[Entry]) -> PackedRows:
        episodes = [Episode.decode(entry.data) for entry in entries]
        return derive_rows(self._game, episodes, self._config)

    def _add(self, entries: Sequence[Entry], packed: Sequence[PackedRows]) -> None:
        first = self.buffer.num_added
        for each in packed:
            self.buffer.add(each)
        keeps = self._config.reanalyse_share > 0
        oldest = self.buffer.num_added - len(self.buffer)
        with self._stored_changing:
            for entry in entries:
                if entry.num_rows:
                    data = entry.data if keeps else b""
                    self._buffered.append(Buffered(entry.id, first, entry.num_rows, data))
                    first += entry.num_rows
            while self._buffered and self._buffered[0].end <= oldest:
                self._buffered.popleft()

    # ---- reanalysis

    def sample_episodes(self, count: int, rng: random.Random) -> "list[Buffered]":
        """Different episodes of the buffer, each with the same probability; all, if there are
        fewer. Needs `replay.reanalyse_share`."""
        with self._stored_changing:
            number = len(self._buffered)
            chosen = rng.sample(range(number), min(count, number))
            return [self._buffered[at] for at in chosen]

    def replace(self, games: "Sequence[Buffered]", searched_again: Sequence[bytes]) -> None:
        """Replaces the rows of episodes by those of the same episodes with other searches. They are
        no new rows: the rate limiter does not count them, and the log keeps the first searches."""
        for buffered, data in zip(games, searched_again, strict=True):
            packed = derive_rows(self._game, [Episode.decode(data)], self._config)
            if len(packed.rows) != buffered.num_rows:
                raise Inconsistent(
                    f"an episode of {buffered.num_rows} rows has {len(packed.rows)} after its "
                    "searches were done again"
                )
            self.reanalysed.num_rows += self.buffer.replace(buffered.first, packed)
            self.reanalysed.num_games += 1

    def _exclude(self, ids: Collection[EpisodeId]) -> tuple[int, int]:
        """How many rows of these episodes are in the buffer, and how often they were drawn."""
        numbers = [np.arange(each.first, each.end) for each in self._buffered if each.id in ids]
        return self.buffer.exclude(np.concatenate(numbers)) if numbers else (0, 0)

    def close(self) -> None:
        self.log.close()


def num_missing(num_inserted: int, num_buffered: int, config: ReplayConfig) -> int:
    """Inserted rows that the buffer lacks, where it has too few to train on."""
    return num_inserted - num_buffered if num_buffered < config.min_rows else 0


def derive_rows(game: Game, episodes: Sequence[Episode], config: ReplayConfig) -> PackedRows:
    """Replays episodes into training rows, with value targets as the settings say."""
    return pack_rows(game, episodes, config.value_target_lambda, config.use_solved_values)


# ---- the rate limiter


@dataclass(frozen=True)
class LimiterState:
    """What a limiter resumes from, counted from the start of the run."""

    num_rows: int = 0
    num_samples: int = 0
    largest_quantum: float = 0.0
    """In samples."""
    num_waived: float = 0.0
    """Samples that were due and are waived, since their rows had left the buffer."""


class RateLimiter:
    """Threads of both sides may report, ask and wait."""

    def __init__(self, config: ReplayConfig, state: LimiterState | None = None) -> None:
        self._samples_per_row = config.samples_per_row
        self._min_rows = config.min_rows
        self._buffer_samples = config.capacity_rows * config.samples_per_row
        self._state = state or LimiterState()
        self._batch_size = 1
        self._changed = threading.Condition()

    @property
    def state(self) -> LimiterState:
        return self._state

    def inserted(self, *num_rows: int) -> None:
        """Reports games by their numbers of rows."""
        with self._changed:
            total = self._state.num_rows + sum(num_rows)
            self._state = replace(self._state, num_rows=total)
            self._see_quantum(max(num_rows, default=0) * self._samples_per_row)
            most = max(self._buffer_samples, SLACK_QUANTA * self._state.largest_quantum)
            self._waive(self._samples_left() - most)
            self._changed.notify_all()

    def waive(self, num_samples: float) -> None:
        """Reports that so many samples that were due cannot be trained on."""
        with self._changed:
            self._waive(num_samples)
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
        """Self-play may make new moves until this many rows are inserted."""
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
        return counted * self._samples_per_row - self._settled()

    def _settled(self) -> float:
        """Samples that need not be trained on any more."""
        return self._state.num_samples + self._state.num_waived

    def _waive(self, num_samples: float) -> None:
        if num_samples > 0:
            num_waived = self._state.num_waived + num_samples
            self._state = replace(self._state, num_waived=num_waived)

    def _trainer_may(self) -> bool:
        return self._samples_left() >= self._batch_size

    def _self_play_may(self) -> bool:
        return self._state.num_rows <= self._rows_allowed()

    def _rows_allowed(self) -> int:
        # Samples that rows may be due while the trainer is behind by no more than the slack. What
        # is allowed now may arrive as one more quantum, so that much is kept free. What is left, at
        # least a quantum, is enough for a batch: the two sides never both wait.
        settled, quantum = self._settled(), self._state.largest_quantum
        num_samples = max(
            min(
                (settled - quantum) / (1 - SLACK_SHARE),
                settled + SLACK_BUFFER_SHARE * self._buffer_samples,
            ),
            settled + (SLACK_QUANTA - 1) * quantum,
        )
        return self._min_rows + math.floor(num_samples / self._samples_per_row)

    def _see_quantum(self, num_samples: float) -> None:
        if num_samples > self._state.largest_quantum:
            self._state = replace(self._state, largest_quantum=float(num_samples))
