"""Run folders: everything of one training run, under its name.

    runs/c4/
      run.json        format, id, game, options, time of creation
      config.yaml     all settings
      metrics.jsonl   metrics
      graph.onnx      the network without weights, for players without torch; see graph.json
      episodes/       the episode log
      refused/        the newest episodes that failed their check, with the reasons
      checkpoints/, weights/, tensorboard/
      opponent/       the frozen weights that the run exploits; see zerofleet.fleet.opponents
      run.lock        held by the process that trains the run
      redis/          the Redis of a fleet on this machine: data, address, password
      unpacked        marks a run that came from a pack or from S3; see zerofleet.runs.game
      s3.json, .s3/   of a run that is saved in S3 too: where, and what is being uploaded

Training an existing run resumes it. One process at a time holds a run; when it dies, in whatever
way, the next one can take the lock.
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
"""Version of the run folder. It changes when older folders can no longer be resumed."""

FACTS, CONFIG, UNPACKED, REDIS = "run.json", "config.yaml", "unpacked", "redis"
FILES_BEFORE_FACTS = {LOCK, CONFIG, REDIS, f"{CONFIG}.new", f"{FACTS}.new"}
"""What a folder may hold before it is a run."""

BEST = "best"
"""Names the shipped weights, so no run may have this name."""

OPPONENTS, S3_URL = "rating.opponents", "run.s3_url"
FIXED_SECTION = "network"
FIXED_SETTINGS = {"opponent.source", "opponent.sha256"}
"""What a run cannot change, as it cannot change its game."""


class RunFacts(BaseModel):
    """The contents of run.json."""

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
    """A run folder and its facts."""

    folder: Path
    facts: RunFacts
    is_foreign: bool = False
    """It came from a pack or from S3, and the user has not yet confirmed the code that it names."""

    @property
    def name(self) -> str:
        return self.folder.name

    def game(self, named: Game | None = None) -> Game:
        """The game of the run. Rejects a custom game that is missing or has changed, and one that
        came from a pack unless it is the game that the user `named`."""
        return game_of_run(self.folder, self.facts.played, named, self.is_foreign)

    @property
    def config_path(self) -> Path:
        return self.folder / CONFIG

    @property
    def episodes(self) -> Path:
        return self.folder / "episodes"

    @property
    def refused(self) -> Path:
        """Episodes that failed their check, with the reasons."""
        return self.folder / "refused"

    @property
    def checkpoints(self) -> Path:
        return self.folder / "checkpoints"

    @property
    def weights(self) -> Path:
        return self.folder / "weights"

    @property
    def opponent(self) -> Path:
        """Frozen weights that the run plays against."""
        return self.folder / "opponent"


# ---- reading


def runs_folder() -> Path:
    """The folder of all runs: $ZEROFLEET_RUNS, else runs/ in the current folder."""
    return Path(os.environ.get("ZEROFLEET_RUNS") or "runs")


def run_names() -> list[str]:
    """The names of all runs."""
    return sorted(path.parent.name for path in runs_folder().glob(f"[!.]*/{FACTS}"))


def find(name: str) -> Run:
    """The run of this name; Unsupported if there is none."""
    return read_run(folder_of(name))


def folder_of(name: str) -> Path:
    """The folder of an existing run, damaged or not."""
    if name not in run_names():
        known = unknown_name("run", name, run_names())
        raise Unsupported(f"{known} (in {runs_folder()})")
    return runs_folder() / name


def read_run(folder: Path) -> Run:
    """Reads run.json. Rejects another format."""
    path = folder / FACTS
    try:
        text = path.read_text()
        found = json.loads(text)
        if isinstance(found, dict) and found.get("format", FORMAT) != FORMAT:
            raise Unsupported(
                f"{folder} has run format {found['format']}; this zerofleet reads {FORMAT}. "
                "Its weights can start a new run: train GAME --from file:PATH, one of its weights/"
            )
        facts = RunFacts.model_validate_json(text)
        return Run(folder, facts, is_foreign=(folder / UNPACKED).exists())
    except ValidationError as error:
        raise BadBytes(f"{path} is damaged: {first_fault(error)}") from None
    except Unsupported:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise BadBytes(f"{path} is damaged: {error}") from None


# ---- creating and changing


def config_for(
    name: str,
    game: str,
    preset: str | None = None,
    path: Path | None = None,
    overrides: Sequence[str | Override] = (),
    options: Mapping[str, int | str] | None = None,
) -> Config:
    """The settings to train a run with: a preset's for a new run, its own for an existing one.

    An existing run changes to another preset or file only if one is named. Settings from a file or
    a pack start no program: opponents that are programs must be among `overrides`.
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
    if path and is_foreign:
        named = set(map(setting_name, overrides))
        if OPPONENTS not in named:
            refuse_programs(path, config)
        if S3_URL not in named and config.run.s3_url is not None:
            raise Inconsistent(
                f"{path} is not trusted, and would upload the run to {config.run.s3_url}; name "
                f"where it is to go: --s3 URL, or nowhere: --set {S3_URL}=null"
            )
    return config


def setting_name(override: str | Override) -> str:
    return ".".join(override_of(override).place)


def refuse_programs(path: Path, config: Config) -> None:
    """Raises Inconsistent if the settings of a file would start a program."""
    programs = programs_among(config.rating.opponents)
    if programs:
        raise Inconsistent(
            f"{path} is not trusted, and its {OPPONENTS} would start {', '.join(programs)}; name "
            f"the opponents that you want: --set '{OPPONENTS}=[…]'"
        )


@contextmanager
def create_or_open(name: str, config: Config) -> Iterator[Run]:
    """Creates a run, or opens the existing one, and holds its lock inside this context.

    A run keeps its game and network; others are rejected. An existing run is unchanged until
    `keep_settings`.
    """
    folder = new_folder(name)
    with locked(folder):
        if (folder / FACTS).exists():
            run = read_run(folder)
            refuse_other_game(run.folder, run.facts.played, config.game)
            refuse_other_settings(run, config)
            # Only a custom game can have moved, and the user has named it in this config.
            facts = run.facts.model_copy(update={"game": config.game.name})
            yield replace(run, facts=facts, is_foreign=False)
        else:
            yield create(folder, config)


def keep_settings(run: Run, config: Config, say: Callable[[str], None] = print) -> None:
    """Stores the settings with which a run is resumed, printing each change, and the place of its
    game. From then on the run is trusted, wherever it came from."""
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
    """Sets the place of a run's custom game. The rules must be those the run started with."""
    folder = folder_of(name)
    with locked(folder):
        run = read_run(folder)
        if not is_source(source) or not is_source(run.facts.game):
            raise Inconsistent(
                f"{folder} is a run of {run.facts.game}; only a custom game has a source"
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
    """Returns the name if a run can have it, else raises BadText."""
    if name == BEST:
        raise BadText(f"a run cannot be called {BEST!r}: that names the shipped weights")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name):
        raise BadText(
            f"a run cannot be called {name!r}: use letters, digits, '.', '_' and '-', and begin "
            "with a letter or digit"
        )
    return name


def new_folder(name: str) -> Path:
    """Creates or returns a folder that is a run or can become one."""
    folder = runs_folder() / check_name(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise Inconsistent(f"{folder} exists and is not a folder; use another name") from None
    except OSError as error:
        raise Inconsistent(
            f"{folder} cannot be created: {error.strerror}; ZEROFLEET_RUNS sets where runs go"
        ) from None
    present = {path.name for path in folder.iterdir()}
    if FACTS not in present and present - FILES_BEFORE_FACTS:
        raise Inconsistent(f"{folder} is not a run: it has files but no {FACTS}; use another name")
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


def refuse_other_settings(run: Run, config: Config) -> None:
    for name, (old, new) in differences(read(run.config_path), config).items():
        if name.partition(".")[0] == FIXED_SECTION or name in FIXED_SETTINGS:
            raise Inconsistent(
                f"{run.folder} was started with {name}={old}, which cannot become {new}; use "
                "another name"
            )


def remove(name: str) -> None:
    """Removes a run that no process holds, with everything in it."""
    folder = folder_of(name)
    if folder.is_symlink():
        raise Inconsistent(f"{folder} is a link to {folder.readlink()}; remove the link by hand")
    with locked(folder):
        doomed = folder.with_name(f".removed-{name}-{uuid.uuid4().hex}")
        folder.rename(doomed)
        shutil.rmtree(doomed)
