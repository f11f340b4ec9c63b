"""The runs that a validation judges: small, real, each made when a check first asks for it.

    with runs_in(folder):
        runs = ValidationRuns("tictactoe", QUICK)
        runs.first, runs.second   # deterministic, with the same seed
        runs.resumed              # the same again, stopped half-way and resumed
        runs.embedded             # concurrent, in this process, publishing after each step
        runs.fleet                # the same as processes around a Redis; see validation_fleet

Their settings are the preset `fast` of the game, made smaller. Ctrl-C ends the run in hand and then
the validation (KeyboardInterrupt).
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from zerofleet import metrics
from zerofleet.config import Config, Override, load
from zerofleet.fleet.callbacks import NO_CALLBACKS, Callbacks, ForSeconds, StepInfo, VersionInfo
from zerofleet.metrics import Record
from zerofleet.runs.folder import Run
from zerofleet.weights import WeightsStore

if TYPE_CHECKING:
    from zerofleet.fleet.validation_fleet import FleetRun

SEED = 1
PRESET = "fast"
NUM_POINTS = 4
"""Of the learning curves, at equal steps."""

KEY_FILE = "ZEROFLEET_CURVE_KEY_FILE"
"""Names a key of inference servers or workers; see infer/sockets.py, which needs zmq."""

TIMED_PATIENCE_S = 600.0
"""For a run whose throughput is measured to begin and end."""

NO_RATING = ("rating.interval_minutes=0", "rating.final_games=0")
SETTINGS = (
    "network.preset=tiny",
    "network.options={}",
    "selfplay.num_groups=2",
    "train.learning_rate=5e-3",
    "train.ema_decay=0.98",
    "train.schedule=constant",
    "train.warmup_steps=10",
    "train.checkpoint_every_minutes=null",
    "train.keep_all_weights=true",
    "train.publish_every_steps=1",
    "fleet.max_versions_behind=1000000",
    *NO_RATING,
    "run.compile_inference=false",
    "run.compile_training=false",
)
"""On top of the preset, at every scale: a network that trains within minutes on two cores, and
weights kept for a learning curve. A stop half-way must not change the learning rate."""

Show = Callable[[str, int, int], None]
"""Gets what is in flight, how much of it is done, and the total."""


CONCURRENT = ("search.num_simulations=64", "fleet.pace_slack_s=0")
"""Where games come in beside the training steps: a worker that plays thousands of them while the
trainer starts up would teach it only what its first weights knew."""


@dataclass(frozen=True)
class Scale:
    """How much a validation does."""

    name: str
    deterministic_steps: int
    publications: int
    """Steps of the embedded run and of the fleet, each followed by a publication."""
    match_games: int
    compared_games: int
    """Of each kind of worker."""
    held_out_games: int
    """Of each of two runs, on which their weights are compared."""
    throughput_s: float
    """Of the run that is timed, from its first step."""
    settings: tuple[str, ...]
    concurrent: tuple[str, ...] = CONCURRENT
    """On top of them, in the embedded run and the fleet."""


QUICK = Scale(
    name="quick",
    deterministic_steps=120,
    publications=200,
    match_games=400,
    compared_games=300,
    held_out_games=200,
    throughput_s=20,
    settings=(
        "search.num_simulations=16",
        "selfplay.games_per_group=16",
        "replay.min_rows=300",
        "replay.capacity_rows=10000",
        "replay.samples_per_row=3",
        "train.batch_size=128",
    ),
)
FULL = Scale(
    name="full",
    deterministic_steps=300,
    publications=500,
    match_games=1000,
    compared_games=1000,
    held_out_games=500,
    throughput_s=60,
    settings=(
        "search.num_simulations=16",
        "selfplay.games_per_group=32",
        "replay.min_rows=1000",
        "replay.capacity_rows=20000",
        "replay.samples_per_row=3",
        "train.batch_size=128",
    ),
)


Made = TypeVar("Made")


class Once(Generic[Made]):
    """A property that is made when it is first asked for. What fails is not tried again: its error
    is raised each time."""

    def __init__(self, make: Callable[["ValidationRuns"], Made]) -> None:
        self._make = make

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = f"_{name}"

    def __get__(self, runs: "ValidationRuns", owner: type) -> Made:
        if self._name not in vars(runs):
            try:
                vars(runs)[self._name] = self._make(runs)
            except Exception as fault:
                vars(runs)[self._name] = fault
        made: Made | Exception = vars(runs)[self._name]
        if isinstance(made, Exception):
            raise made
        return made


@dataclass(frozen=True)
class EmbeddedRun:
    """A run in one process, and what it reported while it trained."""

    run: Run
    losses: Sequence[float]
    """Of each step."""
    published: Sequence[int]
    """The steps after which weights were published."""


@dataclass
class ValidationRuns:
    """Makes each run once. `settings` come on top of those of the scale."""

    game: str
    scale: Scale
    options: Mapping[str, int | str] = field(default_factory=dict)
    settings: Sequence[str] = ()
    device: str = "auto"
    show: Show = lambda what, num_done, num_all: None
    say: Callable[[str], None] = lambda line: None
    """Gets the lines that the runs print."""

    # ---- settings

    def config(self, *more: str, **overrides: object) -> Config:
        """Settings of a run, with more on top of the scale; an override such as stop__steps=3 is of
        stop.steps."""
        given = [
            Override((section, name), value, f"{section}.{name}")
            for each, value in overrides.items()
            for section, _, name in [each.partition("__")]
        ]
        return load(
            self.game,
            PRESET,
            overrides=[*SETTINGS, *self.scale.settings, *more, *self.settings, *given],
            options=self.options,
        )

    def deterministic_config(self, steps: int, seed: int = SEED) -> Config:
        return self.config(
            stop__steps=steps, run__seed=seed, run__deterministic=True, run__device=self.device
        )

    def concurrent_settings(self) -> dict[str, object]:
        """What the embedded run and the fleet share, by setting."""
        steps = self.scale.publications
        return {
            "stop.steps": steps,
            "run.seed": SEED,
            "run.device": self.device,
            "train.checkpoint_every_steps": steps // NUM_POINTS,
        }

    @property
    def points(self) -> list[int]:
        """Steps at which the weights of embedded run and fleet are kept."""
        every = self.scale.publications // NUM_POINTS
        return [every * number for number in range(1, NUM_POINTS + 1)]

    # ---- runs

    @Once
    def first(self) -> Run:
        return self.deterministic("first")

    @Once
    def second(self) -> Run:
        return self.deterministic("second")

    @Once
    def resumed(self) -> Run:
        steps = self.scale.deterministic_steps
        self.train("resumed", self.deterministic_config(steps // 2))
        return self.train("resumed", self.deterministic_config(steps))

    @Once
    def embedded(self) -> EmbeddedRun:
        losses: list[float] = []
        published: list[int] = []

        def on_step(info: StepInfo) -> None:
            losses.append(info.values["loss"])
            self.show("embedded run", info.step, self.scale.publications)

        def on_version(info: VersionInfo) -> None:
            published.append(info.step)

        given = {name.replace(".", "__"): each for name, each in self.concurrent_settings().items()}
        config = self.config(*self.scale.concurrent, **given)
        run = self.train("embedded", config, Callbacks(on_step, on_version))
        return EmbeddedRun(run, losses, published)

    @Once
    def fleet(self) -> "FleetRun":
        # Imported here: it loads redis and torch.
        from zerofleet.fleet.validation_fleet import run_small_fleet

        return run_small_fleet(self)

    def timed(self) -> Run:
        """A run with the settings that benchmarks have, of `throughput_s` from its first step."""
        config = load(
            self.game,
            PRESET,
            overrides=[*NO_RATING, f"stop.minutes={TIMED_PATIENCE_S / 60}"],
            options=self.options,
        )
        clock = ForSeconds(self.scale.throughput_s)
        run = self.train("timed", config, Callbacks(clock))
        elapsed_s = metrics.latest(run.folder)["status"]["elapsed_s"]
        if not clock.is_over and elapsed_s < TIMED_PATIENCE_S:
            raise KeyboardInterrupt
        return run

    def deterministic(self, name: str, seed: int = SEED) -> Run:
        return self.train(name, self.deterministic_config(self.scale.deterministic_steps, seed))

    def train(self, name: str, config: Config, callbacks: Callbacks = NO_CALLBACKS) -> Run:
        """Trains to the stop of the settings. KeyboardInterrupt where a signal ended it before."""
        # Imported here: it loads torch.
        from zerofleet.fleet.api import train_run

        screen = ProgressScreen(name, config.stop.steps, self.show, self.say)
        run = train_run(name, config, screen=screen, callbacks=callbacks)
        if config.stop.steps is not None and last_step(run) < config.stop.steps:
            raise KeyboardInterrupt
        return run


def last_step(run: Run) -> int:
    return WeightsStore(run.weights).versions()[-1]


class ProgressScreen:
    """A screen that shows the step of a run, and keeps its lines for whoever looks for a cause."""

    def __init__(
        self, name: str, num_steps: int | None, show: Show, say: Callable[[str], None]
    ) -> None:
        self._name, self._num_steps, self._show, self._say = name, num_steps, show, say

    def write(self, record: Record) -> None:
        if self._num_steps is not None:
            self._show(f"{self._name} run", record["step"], self._num_steps)

    def rewind(self, step: int) -> None:
        """Nothing is shown of earlier steps."""

    def close(self) -> None:
        """Nothing to close."""

    def say(self, text: str) -> None:
        self._say(f"{self._name}: {text}")

    def show_doing(self, text: str) -> None:
        """Only steps are shown."""


@contextmanager
def runs_in(folder: Path) -> Iterator[None]:
    """Runs and spools of this process, and of those that it starts, are in a folder of their own.
    No Redis, user or key that the environment names is used."""
    own = {"ZEROFLEET_RUNS": str(folder / "runs"), "ZEROFLEET_SPOOL": str(folder / "spool")}
    names = {*own, KEY_FILE, *(name for name in os.environ if name.startswith("REDIS_"))}
    before = {name: os.environ.pop(name) for name in names if name in os.environ}
    os.environ.update(own)
    try:
        yield
    finally:
        for name in names:
            os.environ.pop(name, None)
        os.environ.update(before)
