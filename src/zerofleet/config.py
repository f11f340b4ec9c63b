"""The settings of a run, from a preset or a file, with what is set over them.

    config = load("connect4", "fast", overrides=["search.num_simulations=64"])

A file holds only what differs from the defaults in zerofleet.settings. A name that is not known or
a value that does not fit is refused, with where it stood and what would be right.
"""

import difflib
import json
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from zerofleet import games
from zerofleet.errors import BadText, Inconsistent, Unsupported, ZerofleetError
from zerofleet.settings import (
    Config,
    GameConfig,
    NetworkConfig,
    ReplayConfig,
    RunConfig,
    SearchConfig,
    Section,
    SelfPlayConfig,
    StopConfig,
    TrainConfig,
    differences,
)

__all__ = [
    "Config",
    "GameConfig",
    "NetworkConfig",
    "ReplayConfig",
    "RunConfig",
    "SearchConfig",
    "SelfPlayConfig",
    "StopConfig",
    "TrainConfig",
    "differences",
    "load",
    "preset_names",
    "presets_folder",
    "read",
    "trainable_games",
    "unknown_name",
]


@dataclass(frozen=True)
class Override:
    """A value for one setting, and what to call it in an error."""

    place: tuple[str, ...]
    """The setting's full name in parts: section, name, and for options the option."""

    value: Any
    source: str


OWN_GAME = "own"
"""The folder of presets that every game of one's own has."""


# ---- where they come from


def presets_folder() -> Path:
    """The folder with a folder of presets per game: in the package, or in a checkout."""
    package = Path(__file__).parent
    for folder in (package / "configs", package.parents[1] / "configs"):
        if folder.is_dir():
            return folder
    raise Unsupported(f"{package}: the presets that belong to it are missing; install it again")


def preset_names(game: str) -> list[str]:
    """The presets of a game."""
    return sorted(path.stem for path in (presets_folder() / game).glob("*.yaml"))


def trainable_games() -> list[str]:
    """The games that have presets. Some are another game with fixed options, as tictactoe is."""
    folders = (path.name for path in presets_folder().iterdir() if path.is_dir())
    return sorted(name for name in folders if name != OWN_GAME)


def load(
    game: str,
    preset: str = "fast",
    path: Path | None = None,
    overrides: Sequence[str] = (),
    options: Mapping[str, int | str] | None = None,
) -> Config:
    """The settings of a preset of a game, or of the file at `path`, with what is set over them.

    An override is a text such as search.num_simulations=64; its value is written as in YAML.
    `options` are options of the game. The config that comes back has all of these written out.
    `game` may say where a game of one's own is; those share the presets in configs/own.
    """
    own = games.is_source(game)
    folder = OWN_GAME if own else game
    if not own and game not in trainable_games():
        raise Unsupported(unknown_name("game", game, trainable_games()))
    if path is None:
        if preset not in preset_names(folder):
            raise Unsupported(unknown_name("preset", preset, preset_names(folder)))
        path = presets_folder() / folder / f"{preset}.yaml"
    settings = _read_yaml(path)
    given = [_override(text) for text in overrides] + [
        Override(("game", "options", name), value, f"--option {name}={value}")
        for name, value in (options or {}).items()
    ]
    for override in given:
        _put(settings, override)
    if own:
        _name_own_game(settings, games.absolute(game), path)
    config = _build(settings, path, given)
    if own:
        return _for_own_game(config)
    return _for_game(config, game, _source(("game",), path, given))


def read(path: Path) -> Config:
    """The settings in a file, such as that of a run."""
    return _build(_read_yaml(path), path, [])


def unknown_name(what: str, name: str, known: Sequence[str]) -> str:
    """The text "unknown game gomku; did you mean gomoku? known: connect4, gomoku" of an error."""
    near = difflib.get_close_matches(name, known, n=1)
    proposal = f"did you mean {near[0]}? " if near else ""
    return f"unknown {what} {name}; {proposal}known: {', '.join(known) or 'none'}"


# ---- reading


class _Loader(yaml.SafeLoader):
    """Plain YAML that reads 1e-3 as a number and refuses a name that is set twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key, _ in node.value:
            name = str(key.value)
            if name in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"{name} is set twice", problem_mark=key.start_mark
                )
            seen.add(name)
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?[0-9][0-9_]*(\.[0-9]*)?[eE][-+]?[0-9]+$"), None
)


def _parse(text: str, source: str) -> Any:
    try:
        return yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise BadText(f"{source}{line}: {error.problem}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise BadText(f"{source}: not YAML: {error}") from None


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadText(f"{_shown(path)}: cannot be read: {error}") from None
    settings = _parse(text, _shown(path))
    if not isinstance(settings, dict):
        raise BadText(f"{_shown(path)}: must hold settings by section, such as `game: …`")
    return settings


def _override(text: str) -> Override:
    name, equals, value = text.partition("=")
    if not equals:
        raise BadText(f"--set must be NAME=VALUE, such as search.num_simulations=64; got {text}")
    return Override(tuple(name.split(".")), _parse(value, f"--set {text}"), f"--set {text}")


def _put(settings: dict[str, Any], override: Override) -> None:
    *outer, last = override.place
    for part in outer:
        settings = settings.setdefault(part, {})
        if not isinstance(settings, dict):
            raise BadText(f"{override.source}: {part} is no section of settings")
    settings[last] = override.value


def _for_game(config: Config, game: str, source: str) -> Config:
    """Refuses settings for another game; writes all options of this one out."""
    folder = presets_folder() / game
    presets = [read(folder / f"{preset}.yaml").game for preset in preset_names(game)]
    name = presets[0].name
    if config.game.name != name:
        raise Inconsistent(f"{source}: is for {config.game.name}, not for {game}")
    try:
        options = _as_settings(games.get(name, **config.game.options).options)
    except ZerofleetError as error:
        raise BadText(f"{source}: {error}") from None
    # What all presets agree on is what the game is: tic-tac-toe is Gomoku with size 3, line 3.
    agreed = set.intersection(*(set(each.options.items()) for each in presets))
    for option, value in sorted(agreed):
        if options[option] != value:
            raise Inconsistent(
                f"{source}: {game} is {name} with {option}={value}, got {option}={options[option]}"
            )
    return config.model_copy(update={"game": GameConfig(name=name, options=options)})


def _name_own_game(settings: dict[str, Any], source: str, path: Path) -> None:
    """Lets the settings be for the game at a source; those for one of our games are refused."""
    section = settings.setdefault("game", {})
    if isinstance(section, dict):
        if not games.is_source(str(section.get("name", source))):
            raise Inconsistent(f"{_shown(path)}: is for {section['name']}, not for {source}")
        section["name"] = source


def _for_own_game(config: Config) -> Config:
    """Writes out all options of the game, and its rules as they are now."""
    game = games.get(config.game.name, **config.game.options)
    section = GameConfig(
        name=config.game.name, options=_as_settings(game.options), rules=games.fingerprint(game)
    )
    return config.model_copy(update={"game": section})


def _as_settings(options: Mapping[str, str]) -> dict[str, int | str]:
    return {name: int(text) if text.isdigit() else text for name, text in options.items()}


# ---- refusing


def _build(settings: dict[str, Any], path: Path, given: Sequence[Override]) -> Config:
    """The settings, or an error that says where the first fault stood."""
    try:
        return Config.model_validate(settings)
    except ValidationError as error:
        fault = error.errors()[0]
        place = tuple(str(part) for part in fault["loc"])
        raise BadText(f"{_source(place, path, given)}: {_explained(fault, place)}") from None


def _source(place: tuple[str, ...], path: Path, given: Sequence[Override]) -> str:
    """Where the setting at a place, or one in it, was given last."""
    for override in reversed(given):
        if all(a == b for a, b in zip(override.place, place, strict=False)):
            return override.source
    return _shown(path)


def _explained(fault: ErrorDetails, place: tuple[str, ...]) -> str:
    name = ".".join(place[:3])  # what follows are the kinds that an option may be
    got = json.dumps(fault["input"], default=str, ensure_ascii=False)
    match fault["type"]:
        case "extra_forbidden" | "invalid_key":
            return _unknown_setting(name)
        case "missing":
            return f"{name} is missing"
        case "model_type" | "dict_type":
            return f"{name} must be a section of settings, got {got}"
        case "value_error":
            return f"{name}: {fault['msg'].removeprefix('Value error, ')}"
    if len(place) > 3:
        kinds = "a number or a word" if place[0] == "game" else "a number, true or false"
        return f"{name} must be {kinds}, got {got}"
    return f"{name} {fault['msg'].replace('Input should be', 'must be')}, got {got}"


def _unknown_setting(name: str) -> str:
    known = list(_setting_names())
    word = name.rpartition(".")[2]
    same_word = [each for each in known if each.rpartition(".")[2] == word]
    near = same_word or difflib.get_close_matches(name, known, n=1)
    if near:
        return f"unknown setting {name}; did you mean {near[0]}?"
    section = name.partition(".")[0]
    there = [each for each in known if each.startswith(f"{section}.")]
    return f"unknown setting {name}; known: {', '.join(there or Config.model_fields)}"


def _setting_names() -> Iterator[str]:
    for section, field in Config.model_fields.items():
        assert isinstance(field.annotation, type)
        assert issubclass(field.annotation, Section)
        yield from (f"{section}.{name}" for name in field.annotation.model_fields)


def _shown(path: Path) -> str:
    """A path as short as it can be written from here."""
    absolute = path.absolute()
    return str(absolute.relative_to(Path.cwd()) if absolute.is_relative_to(Path.cwd()) else path)
