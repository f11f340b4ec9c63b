"""What a run in progress shows to a person.

A screen is a sink of the run's metrics that can also say something. Here is the one for files and
pipes, which prints lines; the command line has a table for terminals.
"""

from typing import Protocol

from zerofleet.metrics import Record, Sink


class Screen(Sink, Protocol):
    """Shows records as they come, and what else there is to say, from any thread."""

    def say(self, text: str) -> None:
        """Prints lines that stay: what was found, changed or went wrong, and how to go on."""

    def show_doing(self, text: str) -> None:
        """What is under way besides playing and training; replaces the last; empty: nothing."""


class PlainScreen:
    """A line for each status and each rating."""

    def write(self, record: Record) -> None:
        if record["kind"] == "status":
            self.say(status_line(record))
        elif record["kind"] == "rating":
            self.say(rating_line(record))

    def rewind(self, step: int) -> None:
        """Lines that were printed stay."""

    def close(self) -> None:
        """There is nothing to close."""

    def say(self, text: str) -> None:
        print(text, flush=True)

    def show_doing(self, text: str) -> None:
        """Lines stay, so passing things are left out."""


def status_line(record: Record) -> str:
    loss = record["loss"]
    return (
        f"{record['elapsed_s'] / 60:6.1f} min  step {record['step']:7,}  "
        f"games {record['games']:8,}  positions {record['positions']:10,}  "
        f"loss {'-' if loss is None else f'{loss:.3f}'}  waiting: {record['waiting']}"
    )


def rating_line(record: Record) -> str:
    return (
        f"rated step {record['step']:,}: {record['score']:.1%} against {record['opponent']} "
        f"({record['low']:.1%} to {record['high']:.1%}, {record['games']:,} games)"
    )
