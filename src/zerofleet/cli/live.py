"""The live table of a training run: one row per stage, redrawn in place.

Messages appear above it, and it stays when the run ends. Throughput and waiting shares are those
between the two newest statuses.
"""

import time

from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from zerofleet.cli.live_cells import (
    clock_text,
    inference_cells,
    left_text,
    losses_text,
    rating_rows,
    replay_cells,
    self_play_cells,
    trainer_cells,
)
from zerofleet.config import Config
from zerofleet.fleet.throughput import Throughput, earlier
from zerofleet.metrics import Record

REDRAWS_PER_S = 2


class LiveScreen:
    """A zerofleet.fleet.screen.Screen for terminals, drawn from the first record on."""

    def __init__(self, name: str, config: Config, console: Console) -> None:
        self._name = name
        self._config = config
        self._console = console
        self._started_s = time.monotonic()
        self._statuses: list[Record] = []
        """The newest two at most."""
        self._losses: Record = {}
        self._ratings: dict[str, Record] = {}
        """The last rating against each opponent."""
        self._num_steps = 0
        self._doing = ""
        self._live = Live(
            get_renderable=self.table, console=self._console, refresh_per_second=REDRAWS_PER_S
        )

    def write(self, record: Record) -> None:
        if record["kind"] == "status":
            self._statuses = [*earlier(self._statuses, record), record]
            self._started_s = time.monotonic() - record["elapsed_s"]
        elif record["kind"] == "train":
            self._losses = record
        elif record["kind"] == "rating":
            self._ratings[record["opponent"]] = record
        self._num_steps = max(self._num_steps, record["step"])
        self._live.start()

    def rewind(self, step: int) -> None:
        """Nothing to discard: a rewind comes before the first record."""

    def close(self) -> None:
        self._doing = ""
        self._live.stop()

    def say(self, text: str) -> None:
        self._console.print(text)

    def show_doing(self, text: str) -> None:
        self._doing = text

    def table(self) -> RenderableType:
        """The current table."""
        stages = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), expand=True)
        for title in ("stage", "so far", "now", ""):
            stages.add_column(title, overflow="fold")
        pace = Throughput.between(self._statuses)
        newest = self._statuses[-1] if self._statuses else None
        stages.add_row("self-play", *self_play_cells(newest, pace, self._config))
        stages.add_row("inference", *inference_cells(newest, pace))
        stages.add_row("replay", *replay_cells(newest, self._config))
        stages.add_row("trainer", *trainer_cells(self._num_steps, pace))
        for row in rating_rows(list(self._ratings.values())):
            stages.add_row(*row)
        notes = [Text(losses_text(self._losses))]
        if newest and newest["stall"]:
            notes.append(Text(newest["stall"], style="bold"))
        if self._doing:
            notes.append(Text(self._doing, style="italic", overflow="ellipsis", no_wrap=True))
        return Group(self._heading(newest, pace), stages, *notes)

    def _heading(self, status: Record | None, pace: Throughput | None) -> Table:
        elapsed_s = time.monotonic() - self._started_s
        heading = Table.grid(expand=True)
        heading.add_column(overflow="ellipsis", no_wrap=True)
        heading.add_column(justify="right", no_wrap=True)
        heading.add_row(
            Text(f"{self._name} ({self._config.game.name})", style="bold"),
            f"{clock_text(elapsed_s)} elapsed, {left_text(self._config, status, pace, elapsed_s)}",
        )
        return heading
