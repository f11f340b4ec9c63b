"""Run folders: all that belongs to one training run, under its name.

    runs/c4/
      run.json        what it is: format, id, game, options, when it was made
      config.yaml     all its settings
      metrics.jsonl   what was measured
      graph.onnx      its network without weights, for players without torch; graph.json beside it
      episodes/       its games; checkpoints/, weights/, tensorboard/ beside them
      run.lock        held by the process that has the run
      unpacked        there while the run is as it came out of a pack; see zerofleet.runs.game

A run that exists is resumed. One process has a run at a time; when it dies, however it dies,
the next can have it.
"""

import json
import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from zerofleet.config import (
    Config,
    GameConfig,
    Override,
    differences,
    load,
    override_of,
    read,
    unknown_name,
)
from zerofleet.errors import BadBytes, BadText, Inconsistent, Unsupported, first_fault
from zerofleet.games import Game, absolute, fingerprint, get, is_source
from zerofleet.runs.game import (
    changed_rules,
    game_of_run,
    programs_among,
    refuse_code_of_runs,
    refuse_other_game,
)
from zerofleet.runs.lock import LOCK, locked
from zerofleet.storage import write_whole

FORMAT = 2
"""Of a run folder. It changes when older folders can no longer be resumed."""

FACTS, CONFIG, UNPACKED = "run.json", "config.yaml", "unpacked"
MADE_FIRST = {LOCK, CONFIG, f"{CONFIG}.new", f"{FACTS}.new"}
"""What a folder holds before it is a run."""

BEST = "best"
"""No run is called so: it names the weights that come with zerofleet."""

OPPONENTS = "rating.opponents"
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
    """The fingerprint of a custom game; see GameConfig."""
    created: AwareDatetime

    @property
    def played(self) -> GameConfig:
        return GameConfig(name=self.game, options=self.options, rules=self.rules)


@dataclass(frozen=True)
class Run:
    """A run folder and what it is."""

    folder: Path
    facts: RunFacts
    is_foreign: bool = False
    """It came out of a pack, and what it names was not confirmed yet."""

    @property
    def name(self) -> str:
        return self.folder.name

    def game(self, named: Game | None = None) -> Game:
        """What it plays. A custom game that is gone or has changed is refused, and so is one that
        came out of a pack, unless it is the one that the user has `named`."""
        return game_of_run(self.folder, self.facts.played, named, self.is_foreign)

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
                f"{folder} has run format {found['format']}; this zerofleet reads {FORMAT}. "
                "Its weights can begin a new run: train GAME --from file:PATH, one of its weights/"
            )
        facts = RunFacts.model_validate_json(text)
        return Run(folder, facts, is_foreign=(folder / UNPACKED).exists())
    except ValidationError as error:
        raise BadBytes(f"{path} is damaged: {first_fault(error)}") from None
    except Unsupported:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise BadBytes(f"{path} is damaged: {error}") from None


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

    An old run changes to another preset or file only where one is named. Settings of others, in a
    file or out of a pack, start no program: opponents that are programs must be among `overrides`.
    """
    if preset is not None and path is not None:
        raise BadText(
            f"settings come from a preset or a file, not from both: {preset} and {path}; name one"
        )
    is_foreign = path is not None
    if preset is None and path is None and name in run_names():
        run = find(name)
        path, is_foreign = run.config_path, run.is_foreign
    config = load(game, preset or "fast", path, overrides, options)
    if path and is_foreign and OPPONENTS not in map(setting_name, overrides):
        refuse_programs(path, config)
    return config


def setting_name(override: str | Override) -> str:
    return ".".join(override_of(override).place)


def refuse_programs(path: Path, config: Config) -> None:
    """Raises Inconsistent where the settings of a file start a program."""
    programs = programs_among(config.rating.opponents)
    if programs:
        raise Inconsistent(
            f"{path} may be of others, and its {OPPONENTS} would start {', '.join(programs)}; name "
            f"the opponents that you want: --set '{OPPONENTS}=[…]'"
        )


@contextmanager
def create_or_open(name: str, config: Config) -> Iterator[Run]:
    """Has a run for as long as the context lasts: a new one, or the one of that name.

    A run keeps its game and network; others are refused. One that exists is left as it is until
    `keep_settings`.
    """
    folder = new_folder(name)
    with locked(folder):
        if (folder / FACTS).exists():
            run = read_run(folder)
            refuse_other_game(run.folder, run.facts.played, config.game)
            refuse_other_network(run, config)
            # Only a custom game can have moved. Whoever made the config has named it.
            facts = run.facts.model_copy(update={"game": config.game.name})
            yield replace(run, facts=facts, is_foreign=False)
        else:
            yield create(folder, config)


def keep_settings(run: Run, config: Config, say: Callable[[str], None] = print) -> None:
    """Writes down with what a run is resumed: settings that differ from its own, each said, and
    where its game is. From then on the run is the user's own, wherever it came from."""
    changes = differences(read(run.config_path), config)
    if changes:
        write_whole(run.config_path, config.to_yaml().encode())
    for name, (old, new) in changes.items():
        say(f"{run.folder}: {name} was {old}, is now {new}")
    keep_facts(run)


def keep_facts(run: Run) -> None:
    if read_run(run.folder).facts != run.facts:
        write_facts(run.folder, run.facts)
    (run.folder / UNPACKED).unlink(missing_ok=True)


def set_source(name: str, source: str) -> Run:
    """Lets a run play the custom game at a source, which must be the one that it was begun with."""
    folder = folder_of(name)
    with locked(folder):
        run = read_run(folder)
        if not is_source(source) or not is_source(run.facts.game):
            raise Inconsistent(
                f"{folder} is a run of {run.facts.game}; only a custom game has a place"
            )
        source = absolute(source)
        refuse_code_of_runs(folder, source)
        if fingerprint(get(source, **run.facts.options)) != run.facts.rules:
            raise Inconsistent(changed_rules(folder, source))
        facts = run.facts.model_copy(update={"game": source})
        run = replace(run, facts=facts, is_foreign=False)
        keep_facts(run)
    return run


def check_name(name: str) -> str:
    """A name that a run can have."""
    if name == BEST:
        raise BadText(
            f"a run cannot be called {BEST!r}: that names the weights that come with zerofleet"
        )
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


def refuse_other_network(run: Run, config: Config) -> None:
    for name, (old, new) in differences(read(run.config_path), config).items():
        if name.partition(".")[0] == FIXED_SECTION:
            raise Inconsistent(
                f"{run.folder} was begun with {name}={old}, which cannot become {new}; use another "
                "name"
            )


def remove(name: str) -> None:
    """Removes a run that nobody has, with all that is in it."""
    folder = folder_of(name)
    if folder.is_symlink():
        raise Inconsistent(f"{folder} is a link to {folder.readlink()}; remove the link by hand")
    with locked(folder):
        doomed = folder.with_name(f".removed-{name}-{uuid.uuid4().hex}")
        folder.rename(doomed)
        shutil.rmtree(doomed)
