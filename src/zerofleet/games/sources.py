"""Custom games by source:

    path/to/sticks.py:Sticks      a class in a Python file
    package.module:Sticks         a class in an importable module
    path/to/sticks.h              a class MyGame in a C++ header; see zerofleet.games.build

A source is valid wherever a game is named. A run stores it with an absolute path, together with the
game's fingerprint (fingerprint.py), which detects changed rules.
"""

import hashlib
import importlib
import importlib.machinery
import importlib.util
import re
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from zerofleet import _core
from zerofleet._core import Game
from zerofleet.errors import BadText, Unsupported
from zerofleet.games.build import build
from zerofleet.games.custom import from_class

CUSTOM_MODULE = "zerofleet_custom_"
"""Prefix of the module names of games in files."""


def is_source(name: str) -> bool:
    """Whether a text is a source, not the name of a built-in game."""
    return ":" in name or name.endswith((".h", ".py"))


def absolute(source: str) -> str:
    """The source with an absolute path."""
    path, colon, class_name = source.partition(":")
    return f"{Path(path).absolute()}{colon}{class_name}" if is_file(path) else source


def short_name(source: str) -> str:
    """A short name of a source: sticks."""
    path = source.partition(":")[0]
    word = Path(path).stem if is_file(path) else path.rpartition(".")[2]
    return re.sub(r"[^A-Za-z0-9_-]+", "-", word).strip("-_") or "game"


def is_file(where: str) -> bool:
    """Whether the first part of a source is a path rather than a module name."""
    return where.endswith((".h", ".py"))


def code_places(source: str) -> list[Path]:
    """The files and folders whose code a source would run, with links resolved; runs none of it.

    Finding a submodule makes Python import its parent packages, so only the outermost package is
    looked up.
    """
    where = source.partition(":")[0]
    if is_file(where):
        return [Path(where).resolve()]
    outermost, *inner = where.split(".")
    try:
        spec = importlib.util.find_spec(outermost)
    except ValueError:  # an empty name, or a module without a spec
        return []
    if spec is None:
        return []
    places = [Path(spec.origin)] if spec.origin and spec.has_location else []
    for folder in spec.submodule_search_locations or []:
        for depth in range(len(inner) + 1):
            module = Path(folder, *inner[:depth])
            endings = ["", *importlib.machinery.all_suffixes()]
            places += [module.with_name(module.name + ending) for ending in endings]
    return [place.resolve() for place in places if place.exists()]


def from_source(source: str, options: Mapping[str, int | str]) -> Game:
    """The game of a source, with these options."""
    path, _, class_name = source.partition(":")
    if path.endswith(".h"):
        if class_name:
            raise BadText(f"{source}: a header's class is always MyGame; write {path}")
        game = build(path, **options)
    else:
        if options:
            raise Unsupported(f"{source}: a game written in Python has no options")
        game = from_class(find_class(source))
    if game.name in {_core.make_game(name, []).name for name in _core.game_names()}:
        raise BadText(f"{source}: a built-in game is called {game.name}; use another name")
    return game


def find_class(source: str) -> type:
    where, colon, class_name = source.partition(":")
    if not colon or not class_name.isidentifier():
        raise BadText(
            f"{source} does not name the class of the game; write path/to/file.py:Class, "
            "package.module:Class, or path/to/header.h"
        )
    module = import_file(Path(where)) if where.endswith(".py") else import_by_name(where)
    found = getattr(module, class_name, None)
    if not isinstance(found, type):
        own = [
            name
            for name, value in vars(module).items()
            if isinstance(value, type) and value.__module__ == module.__name__
        ]
        raise Unsupported(f"{where} has no class {class_name}; it has: {', '.join(own) or 'none'}")
    return found


def import_file(path: Path) -> ModuleType:
    """The module of a file; the same module as long as the file does not change."""
    try:
        code = path.read_bytes()
    except OSError as error:
        raise BadText(f"{path} cannot be read: {error.strerror}") from None
    digest = hashlib.sha256(str(path.absolute()).encode() + code).hexdigest()[:16]
    name = f"{CUSTOM_MODULE}{digest}"
    if name in sys.modules:
        return sys.modules[name]
    module = ModuleType(name)
    module.__file__ = str(path.absolute())
    sys.modules[name] = module
    try:
        # Not with Python's loader: it caches bytecode and misses a change within one second.
        exec(compile(code, module.__file__, "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        frames = traceback.extract_tb(error.__traceback__)
        own_lines = [each.lineno for each in frames if each.filename == module.__file__]
        line = own_lines[-1] if own_lines else getattr(error, "lineno", "?")
        raise BadText(f"{path}:{line}: {type(error).__name__}: {error}") from error
    return module


def import_by_name(name: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise BadText(f"{name!r} is neither a file (folder/file.py:Class) nor a module")
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise BadText(
            f"{name} cannot be imported: {error}; a file is named by its path: folder/file.py:Class"
        ) from error
