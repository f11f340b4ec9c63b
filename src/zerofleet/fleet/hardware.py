"""How a run uses this machine: devices for inference and training, threads, memory."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from zerofleet.config import Config, RunConfig
from zerofleet.cores import num_cores
from zerofleet.errors import BadText, Inconsistent, TooLarge, Unsupported
from zerofleet.games import Game
from zerofleet.infer import pick_device
from zerofleet.replay.buffer import row_dtype

INFERENCE, TRAINING = "run.inference_devices", "run.training_devices"


# ---- devices


@dataclass(frozen=True)
class DevicePlan:
    """Devices by name: cpu, cuda:0. The first training device belongs to the main process."""

    inference: tuple[str, ...]
    training: tuple[str, ...]

    @property
    def inference_kind(self) -> str:
        """cpu, cuda or mps: all are of one kind."""
        return kind_of(self.inference[0])

    def __str__(self) -> str:
        if self.inference == self.training:
            return ", ".join(self.inference)
        return f"{', '.join(self.inference)} for inference, {', '.join(self.training)} for training"


def plan_devices(config: Config) -> DevicePlan:
    """The devices of the settings. Missing or incompatible ones are rejected."""
    run = config.run
    inference = picked(INFERENCE, run.inference_devices, run.device)
    training = picked(TRAINING, run.training_devices, run.device)
    if len(inference) > 1 and kind_of(inference[0]) != "cuda":
        raise BadText(
            f"{INFERENCE}: several devices must be GPUs, such as cuda:0, cuda:1; on a CPU "
            "run.inference_threads sets the number of workers"
        )
    if config.train.batch_size % len(training):
        raise Inconsistent(
            f"train.batch_size ({config.train.batch_size}) must be a multiple of the number of "
            f"{TRAINING} ({len(training)}), which share each batch evenly"
        )
    if run.deterministic and len(inference) + len(training) > 2:
        raise Inconsistent(
            f"a deterministic run has one device for inference and one for training; {INFERENCE} "
            f"has {len(inference)}, {TRAINING} {len(training)}"
        )
    return DevicePlan(inference, training)


def picked(setting: str, names: Sequence[str], otherwise: str) -> tuple[str, ...]:
    """The devices of a setting, or the default device if it names none."""
    if not names:
        return (str(pick_device(otherwise)),)
    try:
        devices = [pick_device(name) for name in names]
    except Unsupported as error:
        raise Unsupported(f"{setting}: {error}") from None
    full_names = tuple(
        f"cuda:{device.index or 0}" if device.type == "cuda" else device.type for device in devices
    )
    if len({device.type for device in devices}) > 1:
        raise BadText(f"{setting}: {', '.join(full_names)} are not of one kind: use GPUs or CPUs")
    for name in full_names:
        if name != "cpu" and full_names.count(name) > 1:
            raise BadText(f"{setting}: {name} is named twice; name each device once")
    return full_names


def kind_of(device: str) -> str:
    return device.partition(":")[0]


# ---- threads


@dataclass(frozen=True)
class ThreadPlan:
    """On a CPU each worker alternates search and inference in one thread: both are CPU-bound, so
    overlapping them gains nothing. With GPUs, one worker per GPU moves batches and `search` threads
    keep it fed."""

    num_workers: int
    search: int
    """Search threads per worker; 0: the worker's own thread searches."""
    training: int
    """Threads of each training process."""

    @property
    def num_groups(self) -> int:
        """Groups of games per worker: with a GPU one per search thread, three in inference and two
        that wait for either."""
        return self.search + 5 if self.search else 2

    def __str__(self) -> str:
        if self.search == 0:
            players = f"{self.num_workers} for search and inference"
        else:
            search = self.num_workers * self.search
            players = f"{search} for search, {self.num_workers} for inference"
        return f"threads: {players}, {self.training} for training"


def plan_threads(
    settings: RunConfig,
    device: str,
    game_in_python: bool = False,
    num_inference: int = 1,
    num_training: int = 1,
) -> ThreadPlan:
    """Splits the threads over workers, one per inference device, and training processes.

    A game written in Python is searched by the thread that moves its batches.
    """
    total = settings.num_threads or num_cores()
    if device == "cpu":
        playing = settings.inference_threads or max(1, total - max(1, total // 4))
        return ThreadPlan(playing, 0, max(1, (total - playing) // num_training))
    search = max(1, (total - num_inference - num_training) // num_inference)
    return ThreadPlan(num_inference, 0 if game_in_python else search, 1)


# ---- memory


def refuse_too_large(config: Config, game: Game) -> None:
    """Raises TooLarge if the replay buffer, or a batch, exceeds physical memory; networks and
    search trees come on top."""
    memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    row_bytes = row_dtype(game).itemsize
    for setting, num_rows in (
        ("replay.capacity_rows", config.replay.capacity_rows),
        ("train.batch_size", config.train.batch_size),
    ):
        if num_rows * row_bytes > memory_bytes:
            raise TooLarge(
                f"{setting}={num_rows}: these rows of {game.name} take "
                f"{num_rows * row_bytes / 2**30:,.0f} GiB, and this machine has "
                f"{memory_bytes / 2**30:,.0f} GiB; at most {memory_bytes // row_bytes} would fit"
            )
