"""Stands in for W&B's package where that is not installed: writes what it is given to the file that
the real one writes in its offline mode, as lines of JSON.

A test appends this folder to the path of a process, so that an installed wandb goes first.
"""

import json
from pathlib import Path
from typing import Any


class Error(Exception):
    """What the package raises."""


class Run:
    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True)
        self._file = path.open("w")

    def define_metric(self, name: str, step_metric: str) -> None:
        """Only a page would show it."""

    def log(self, values: dict[str, Any]) -> None:
        self._file.write(json.dumps(values) + "\n")

    def finish(self) -> None:
        self._file.close()


def init(*, dir: Path, id: str, **others: Any) -> Run:  # noqa: A002
    return Run(dir / "wandb" / f"offline-run-{id}" / f"run-{id}.wandb")
