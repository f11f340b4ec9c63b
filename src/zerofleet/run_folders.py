"""Run folders: all that belongs to one training run, under its name.

    runs/c4/
      run.json        what it is: format, id, game, options, when it was made
      config.yaml     all its settings
      metrics.jsonl   what was measured
      episodes/       its games; checkpoints/, weights/, tensorboard/ beside them
      run.lock        held by the process that has the run

A run that exists is gone on with. One process has a run at a time; when it dies, however it dies,
the next can have it.
"""

import json
import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from zerofleet.config import Config, GameConfig, differences, load, read, unknown_name
from zerofleet.errors import BadBytes, BadText, Inconsistent, Unsupported
from zerofleet.files import write_whole
from zerofleet.games import Game
from zerofleet.run_games import game_of_run, refuse_other_game
from zerofleet.run_lock import LOCK, locked
from zerofleet.settings_text import Override

FORMAT = 1
"""Of a run folder. It changes when folders of before can no longer be gone on with."""

FACTS, CONFIG = "run.json", "config.yaml"
MADE_FIRST = {LOCK, CONFIG, f"{CONFIG}.new", f"{FACTS}.new"}
"""What a folder holds before it is a run."""

FIXED_SECTION = "network"
"""Settings that a run keeps for good, as it does its game."""


class RunFacts(BaseModel):
    """What run.json holds."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    format: int
    id: str
    game: str
    options: dict[str, int | str]
    rules: str = ""
    """The fingerprint of a game of one's own; see GameConfig."""
    created: AwareDatetime

    @property
    def played(self) -> GameConfig:
        return GameConfig(name=self.game, options=self.options, rules=self.rules)


@dataclass(frozen=True)
class Run:
    """A run folder and what it is."""

    folder: Path
    facts: RunFacts

    @property
    def name(self) -> str:
        return self.folder.name

    def game(self) -> Game:
        """What it plays. A game of one's own that is gone or has changed is refused."""
        return game_of_run(self.folder, self.facts.played)

    @property
    def config_path(self) -> Path:
        return self.folder / CONFIG

    @property
    def episodes(self) -> Path:
        return self.folder / "episodes"

    @property
    def checkpoints(self) -> Path:
        return self.folder / "checkpoints"

    @property
    def weights(self) -> Path:
        return self.folder / "weights"


# ---- finding


def runs_folder() -> Path:
    """Where runs are: $ZEROFLEET_RUNS, else runs/ in the current folder."""
    return Path(os.environ.get("ZEROFLEET_RUNS") or "runs")


def run_names() -> list[str]:
    """The runs there are."""
    return sorted(path.parent.name for path in runs_folder().glob(f"[!.]*/{FACTS}"))


def find(name: str) -> Run:
    """A run that exists."""
    return read_run(folder_of(name))


def folder_of(name: str) -> Path:
    """The folder of a run that exists, damaged or not."""
    if name not in run_names():
        known = unknown_name("run", name, run_names())
        raise Unsupported(f"{known} (in {runs_folder()})")
    return runs_folder() / name


def read_run(folder: Path) -> Run:
    """What a run folder says of itself. One of another format is refused."""
    path = folder / FACTS
    try:
        text = path.read_text()
        found = json.loads(text)
        if isinstance(found, dict) and found.get("format", FORMAT) != FORMAT:
            raise Unsupported(
                f"{folder} has run format {found['format']}; this zerofleet reads {FORMAT}"
            )
        return Run(folder, RunFacts.model_validate_json(text))
    except (OSError, json.JSONDecodeError, UnicodeDecodeError, ValidationError) as error:
        raise BadBytes(f"{path} is damaged: {str(error).splitlines()[0]}") from None


# ---- having


def config_for(
    name: str,
    game: str,
    preset: str | None = None,
    path: Path | None = None,
    overrides: Sequence[str | Override] = (),
    options: Mapping[str, int | str] | None = None,
) -> Config:
    """The settings to train a run with: a new one's from its preset, an old one's its own.

    An old run changes to another preset or file only where one is named.
    """
    if preset is not None and path is not None:
        raise BadText(
            f"settings come from a preset or a file, not from both: {preset} and {path}; name one"
        )
    if preset is None and path is None and name in run_names():
        path = find(name).config_path
    return load(game, preset or "fast", path, overrides, options)


@contextmanager
def create_or_open(name: str, config: Config, say: Callable[[str], None] = print) -> Iterator[Run]:
    """Has a run for as long as the context lasts: a new one, or the one of that name.

    A run keeps its game and network; other settings that differ from its own are changed, and each
    change is said.
    """
    folder = new_folder(name)
    with locked(folder):
        if (folder / FACTS).exists():
            run = read_run(folder)
            change_settings(run, config, say)
            run = at_new_place(run, config.game.name)
        else:
            run = create(folder, config)
        yield run


def check_name(name: str) -> str:
    """A name that a run can have."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name):
        raise BadText(
            f"a run cannot be called {name!r}: letters, digits, '.', '_' and '-' are allowed, and "
            "a letter or digit comes first"
        )
    return name


def new_folder(name: str) -> Path:
    """A folder that is a run, or can become one."""
    folder = runs_folder() / check_name(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise Inconsistent(f"{folder} is in the way: it is no folder; use another name") from None
    except OSError as error:
        raise Inconsistent(
            f"{folder} cannot be made: {error.strerror}; ZEROFLEET_RUNS says where runs go"
        ) from None
    present = {path.name for path in folder.iterdir()}
    if FACTS not in present and present - MADE_FIRST:
        raise Inconsistent(f"{folder} is no run: it has files but no {FACTS}; use another name")
    return folder


def create(folder: Path, config: Config) -> Run:
    facts = RunFacts(
        format=FORMAT,
        id=uuid.uuid4().hex,
        game=config.game.name,
        options=config.game.options,
        rules=config.game.rules,
        created=datetime.now(UTC).replace(microsecond=0),
    )
    write_whole(folder / CONFIG, config.to_yaml().encode())
    write_facts(folder, facts)
    return Run(folder, facts)


def write_facts(folder: Path, facts: RunFacts) -> None:
    write_whole(folder / FACTS, (facts.model_dump_json(indent=1) + "\n").encode())


def change_settings(run: Run, config: Config, say: Callable[[str], None]) -> None:
    refuse_other_game(run.folder, run.facts.played, config.game)
    changes = differences(read(run.config_path), config)
    for name, (old, new) in changes.items():
        if name.partition(".")[0] == FIXED_SECTION:
            raise Inconsistent(
                f"{run.folder} was begun with {name}={old}, which cannot become {new}; use another "
                "name"
            )
    if changes:
        write_whole(run.config_path, config.to_yaml().encode())
    for name, (old, new) in changes.items():
        say(f"{run.folder}: {name} was {old}, is now {new}")


def at_new_place(run: Run, source: str) -> Run:
    """The run with its game where it is now; only a game of one's own can have moved."""
    if run.facts.game == source:
        return run
    facts = run.facts.model_copy(update={"game": source})
    write_facts(run.folder, facts)
    return Run(run.folder, facts)


def remove(name: str) -> None:
    """Removes a run that nobody has, with all that is in it."""
    folder = folder_of(name)
    with locked(folder):
        doomed = folder.with_name(f".removed-{name}-{uuid.uuid4().hex}")
        folder.rename(doomed)
        shutil.rmtree(doomed)
