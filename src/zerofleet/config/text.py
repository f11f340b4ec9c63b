"""Parses settings: YAML files and texts such as search.num_simulations=64.

Unknown names and invalid values are rejected; the error says where they are and what is right.
"""

import difflib
import json
import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from zerofleet.config.section import Section
from zerofleet.config.sections import Config
from zerofleet.errors import BadText


@dataclass(frozen=True)
class Override:
    """A value for one setting, and its source for error messages."""

    place: tuple[str, ...]
    """The setting's path: section, name, and for options the option."""

    value: Any
    source: str


# ---- reading


MAX_BYTES = 1 << 16
"""Limit of a settings file: ten times what a file with every setting takes."""

MAX_SHOWN = 200
"""Characters of an invalid value that an error shows."""


class _Loader(yaml.SafeLoader):
    """Safe YAML that reads 1e-3 as a number and rejects duplicate names.

    It rejects aliases too: a few lines of them can expand to billions of values.
    """

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event = self.get_event()  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(
                problem=f"*{event.anchor} is an alias; write the value itself",
                problem_mark=event.start_mark,
            )
        return super().compose_node(parent, index)

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
    except RecursionError:
        raise BadText(f"{source}: lists or sections are nested too deeply") from None


BASED_ON = "based_on"


def read_settings(path: Path, upon: tuple[Path, ...] = ()) -> dict[str, Any]:
    """The settings in a file, merged over the file that it is `based_on`, if any."""
    if path in upon:
        chain = " → ".join(each.stem for each in (*upon, path))
        raise BadText(f"{shown(path)}: circular {BASED_ON}: {chain}")
    settings = read_yaml(path)
    if BASED_ON not in settings:
        return settings
    base = settings.pop(BASED_ON)
    beside = {each.stem: each for each in sorted(path.parent.glob("*.yaml"))}
    if not isinstance(base, str) or base not in beside:
        known = [name for name in beside if name != path.stem]
        raise BadText(f"{shown(path)}: {unknown_name(BASED_ON, str(base)[:MAX_SHOWN], known)}")
    return merged(read_settings(beside[base], (*upon, path)), settings)


def merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Both, merged recursively; `over` wins."""
    both = dict(base)
    for name, value in over.items():
        old = both.get(name)
        if isinstance(old, dict) and isinstance(value, dict):
            value = merged(old, value)
        both[name] = value
    return both


def read_yaml(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise BadText(f"{shown(path)}: a settings file has at most {MAX_BYTES} bytes")
        text = data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadText(f"{shown(path)}: cannot be read: {error}") from None
    return parse_settings(text, shown(path))


def parse_settings(text: str, source: str) -> dict[str, Any]:
    settings = _parse(text, source)
    if not isinstance(settings, dict):
        raise BadText(f"{source}: must hold settings by section, such as `game: …`")
    return settings


def override_of(given: str | Override) -> Override:
    """Parses the text of a `--set`; an Override passes through."""
    if isinstance(given, Override):
        return given
    name, equals, value = given.partition("=")
    if not equals:
        raise BadText(f"--set must be NAME=VALUE, such as search.num_simulations=64; got {given}")
    return Override(tuple(name.split(".")), _parse(value, f"--set {given}"), f"--set {given}")


def put(settings: dict[str, Any], override: Override) -> None:
    *outer, last = override.place
    for part in outer:
        settings = settings.setdefault(part, {})
        if not isinstance(settings, dict):
            raise BadText(f"{override.source}: {part} is not a section of settings")
    settings[last] = override.value


# ---- validation


def build(settings: dict[str, Any], source: Path | str, given: Sequence[Override]) -> Config:
    """The validated settings, or an error that locates the first fault."""
    try:
        return Config.model_validate(settings)
    except ValidationError as error:
        fault = error.errors()[0]
        place = tuple(str(part) for part in fault["loc"])
        raise BadText(f"{source_of(place, source, given)}: {_explained(fault, place)}") from None


def source_of(place: tuple[str, ...], otherwise: Path | str, given: Sequence[Override]) -> str:
    """The source that last set the setting at a place, or one below it."""
    for override in reversed(given):
        if all(a == b for a, b in zip(override.place, place, strict=False)):
            return override.source
    return shown(otherwise) if isinstance(otherwise, Path) else otherwise


def _explained(fault: ErrorDetails, place: tuple[str, ...]) -> str:
    name = ".".join(place[:3])  # the rest names the types that an option may have
    got = shortened(fault["input"])
    match fault["type"]:
        case "extra_forbidden" | "invalid_key":
            return _unknown_setting(name)
        case "missing":
            return f"{name} is missing"
        case "model_type" | "dict_type":
            return f"{name} must be a section of settings, got {got}"
        case "value_error":
            text = fault["msg"].removeprefix("Value error, ")
            return f"{name}: {text}" if name else text  # no name: it concerns several sections
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


def shortened(value: Any) -> str:
    """A value as JSON, shortened if it is long."""
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


def shown(path: Path) -> str:
    """A path, relative to the current folder if possible."""
    absolute = path.absolute()
    return str(absolute.relative_to(Path.cwd()) if absolute.is_relative_to(Path.cwd()) else path)


def unknown_name(what: str, name: str, known: Sequence[str]) -> str:
    """Error text such as "unknown game gomku; did you mean gomoku? known: connect4, gomoku"."""
    near = difflib.get_close_matches(name, known, n=1)
    proposal = f"did you mean {near[0]}? " if near else ""
    return f"unknown {what} {name}; {proposal}known: {', '.join(known) or 'none'}"
