"""Which package may import which, in Python and in C++.

Data flows one way, so a room knows only the rooms before it. The checkers read sources without
running them, and are themselves tested on files that break one rule each.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent

MAY_IMPORT = {
    "games": set(),
    "bus": set(),
    "config": {"games"},
    "search": {"games"},
    "solve": {"games"},
    "weights": {"config", "games"},
    "nets": {"config", "games", "weights"},
    "replay": {"bus", "config", "games"},
    "runs": {"config", "games", "replay"},
    "remote": {"runs"},
    "infer": {"config", "games", "nets", "runs", "weights"},
    "selfplay": {"bus", "config", "games", "infer", "replay", "search", "weights"},
    "training": {"bus", "config", "games", "nets", "replay", "weights"},
    "arena": {"config", "games", "infer", "runs", "search", "solve", "weights"},
    "report": {"arena", "config", "games", "replay", "runs", "weights"},
    "cloud": {"bus"},
}
MAY_IMPORT["fleet"] = set(MAY_IMPORT) - {"cloud"}
MAY_IMPORT["web"] = set(MAY_IMPORT) - {"cloud", "nets", "selfplay", "training"}
MAY_IMPORT["cli"] = set(MAY_IMPORT)

# Modules beside the rooms that every room may import; they themselves import no room, but for
# those that must know what is played.
SHARED = {"_core", "cores", "errors", "metrics", "plugins", "printing", "program", "storage"}
ABOVE_GAMES = {"plugins"}
TORCH_ROOMS = {"nets", "infer", "training"}
S3_ROOMS = {"cloud", "remote"}

CPP_ORDER = ["base", "games", "search", "record", "solve", "selfplay", "bind", "tests"]
THREAD_HEADERS = {"condition_variable", "future", "mutex", "shared_mutex", "stop_token", "thread"}
THREAD_ROOMS = {"selfplay", "bind", "tests"}


def imported_modules(path: Path, package: Path) -> Iterator[tuple[int, str]]:
    """Every module that a file of the package imports, anywhere in it, by line and full name.

    `from a import b` counts as `a.b`, whether b is a module or not.
    """
    parents = [package.name, *path.relative_to(package).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = parents[: len(parents) - node.level + 1] if node.level else []
            for alias in node.names:
                yield node.lineno, ".".join([*base, *filter(None, [node.module]), alias.name])


def python_offences(package: Path) -> list[str]:
    """The imports in a package that break a rule, as `file:line: what is wrong`."""
    offences = []
    for path in sorted(package.rglob("*.py")):
        relative = path.relative_to(package)
        importer = relative.parts[0].removesuffix(".py")
        if len(relative.parts) > 1 and importer not in MAY_IMPORT:
            offences.append(f"{relative}:1: {importer} is not a room")
        for line, module in imported_modules(path, package):
            top, _, rest = module.partition(".")
            imported = rest.partition(".")[0]
            fault = None
            if top == "torch" and importer not in TORCH_ROOMS:
                fault = "torch stays in nets, infer and training"
            elif top == "redis" and importer != "bus":
                fault = "redis stays in bus"
            elif top in {"boto3", "botocore"} and importer not in S3_ROOMS:
                fault = "boto3 stays in remote and cloud"
            elif top == "troposphere" and importer != "cloud":
                fault = "troposphere stays in cloud"
            elif top == package.name and importer in MAY_IMPORT:
                shared = SHARED - ABOVE_GAMES if importer == "games" else SHARED
                if imported not in MAY_IMPORT[importer] | shared | {importer}:
                    fault = f"{importer} may not import {module}"
            elif top == package.name and importer in SHARED and imported not in SHARED:
                if importer in ABOVE_GAMES and imported == "games":
                    continue
                fault = f"{importer}.py is shared by all rooms and may not import {module}"
            if fault:
                offences.append(f"{relative}:{line}: {fault}")
    return offences


def cpp_offences(root: Path) -> list[str]:
    """The includes under a tree like cpp/ that break a rule, as `file:line: what is wrong`."""
    offences = []
    for path in sorted([*root.rglob("*.h"), *root.rglob("*.cc")]):
        relative = path.relative_to(root)
        room = relative.parts[0]
        if room not in CPP_ORDER:
            offences.append(f"{relative}:1: {room} is not a room")
            continue
        above = set(CPP_ORDER[: CPP_ORDER.index(room)]) - {"bind"}
        for line, text in enumerate(path.read_text().splitlines(), start=1):
            match = re.match(r'\s*#\s*include\s*["<]([^">]+)[">]', text)
            if not match:
                continue
            header = match[1]
            included = header.partition("/")[0]
            fault = None
            if ".." in Path(header).parts:
                fault = f"{header} is not named from the root of the tree"
            elif included in CPP_ORDER and included not in above | {room}:
                fault = f"{room} may not include {header}"
            elif included in {"Python.h", "nanobind"} and room != "bind":
                fault = "Python stays in bind"
            elif header in THREAD_HEADERS and room not in THREAD_ROOMS:
                fault = f"{room} has no threads"
            elif included == "torch" or header == "sys/socket.h":
                fault = "the core knows neither torch nor sockets"
            if fault:
                offences.append(f"{relative}:{line}: {fault}")
    return offences


def test_python_rooms_import_only_what_the_design_allows() -> None:
    assert python_offences(PROJECT / "src" / "zerofleet") == []


def test_cpp_rooms_include_only_those_above_them() -> None:
    assert cpp_offences(PROJECT / "cpp") == []


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    ("name", "text", "offence"),
    [
        (
            "games/a.py",
            "from zerofleet.search import analyse",
            "games may not import zerofleet.search",
        ),
        ("games/a.py", "from zerofleet import search", "games may not import zerofleet.search"),
        ("games/a.py", "from ..search import tree", "games may not import zerofleet.search.tree"),
        ("games/deep/a.py", "from ...search import tree", "games may not import zerofleet.search"),
        ("games/a.py", "import zerofleet", "games may not import zerofleet"),
        ("games/a.py", "from zerofleet import config", "games may not import zerofleet.config"),
        ("bus/a.py", "import zerofleet.games", "bus may not import zerofleet.games"),
        ("replay/a.py", "import zerofleet.signature", "replay may not import zerofleet.signature"),
        (
            "selfplay/a.py",
            "from zerofleet import training",
            "selfplay may not import zerofleet.training",
        ),
        ("training/a.py", "from zerofleet import arena", "training may not import zerofleet.arena"),
        ("arena/a.py", "from zerofleet import selfplay", "arena may not import zerofleet.selfplay"),
        ("fleet/a.py", "from zerofleet import cli", "fleet may not import zerofleet.cli"),
        ("errors.py", "from zerofleet import games", "errors.py is shared by all rooms"),
        ("cli/a.py", "def f():\n    import torch.nn", "torch stays in nets"),
        ("fleet/a.py", "from redis import Redis", "redis stays in bus"),
        ("runs/a.py", "from botocore.config import Config", "boto3 stays in remote"),
        ("remote/a.py", "import troposphere", "troposphere stays in cloud"),
        ("cloud/a.py", "from zerofleet import fleet", "cloud may not import zerofleet.fleet"),
        ("utils/a.py", "", "utils is not a room"),
    ],
)
def test_a_python_file_that_breaks_one_rule_is_named(
    tmp_path: Path, name: str, text: str, offence: str
) -> None:
    package = tmp_path / "zerofleet"
    write(package, name, text)
    (found,) = python_offences(package)
    assert found.startswith(f"{name}:")
    assert offence in found


def test_python_imports_that_the_rules_allow_are_not_named(tmp_path: Path) -> None:
    package = tmp_path / "zerofleet"
    write(package, "__init__.py", "from . import games, search")
    write(package, "plugins.py", "from zerofleet import games")
    write(package, "config/a.py", "from zerofleet import games")
    write(package, "games/a.py", "import numpy\nfrom . import b\nfrom zerofleet import _core")
    write(package, "search/a.py", "from ..games import get\nfrom zerofleet.games.text import show")
    write(package, "bus/a.py", "import redis")
    write(package, "nets/a.py", "import torch\nfrom torch import nn")
    write(package, "fleet/a.py", "from zerofleet import arena, selfplay, training")
    write(package, "cli/a.py", "from zerofleet.fleet import local")
    assert python_offences(package) == []


@pytest.mark.parametrize(
    ("name", "text", "offence"),
    [
        ("games/a.h", '#include "search/tree.h"', "games may not include search/tree.h"),
        ("games/a.h", "#  include <search/tree.h>", "games may not include search/tree.h"),
        ("games/deep/a.h", '#include "../../search/tree.h"', "is not named from the root"),
        ("base/a.h", '#include "tests/check.h"', "base may not include tests/check.h"),
        ("bind/a.cc", '#include "tests/check.h"', "bind may not include tests/check.h"),
        ("tests/a.cc", '#include "bind/a.h"', "tests may not include bind/a.h"),
        ("selfplay/a.h", '#include "bind/a.h"', "selfplay may not include bind/a.h"),
        ("tests/a.cc", "#include <nanobind/nanobind.h>", "Python stays in bind"),
        ("search/a.h", "#include <Python.h>", "Python stays in bind"),
        ("search/a.h", "#include <mutex>", "search has no threads"),
        ("solve/a.h", "#include <thread>", "solve has no threads"),
        ("selfplay/a.h", "#include <torch/torch.h>", "neither torch nor sockets"),
        ("utils/a.h", "", "utils is not a room"),
    ],
)
def test_a_cpp_file_that_breaks_one_rule_is_named(
    tmp_path: Path, name: str, text: str, offence: str
) -> None:
    write(tmp_path, name, text)
    (found,) = cpp_offences(tmp_path)
    assert found.startswith(f"{name}:1:")
    assert offence in found


def test_cpp_includes_that_the_rules_allow_are_not_named(tmp_path: Path) -> None:
    write(tmp_path, "base/a.h", "#include <vector>")
    write(tmp_path, "games/a.h", '#include "base/a.h"\n#include "games/b.h"')
    write(tmp_path, "selfplay/a.h", '#include <thread>\n#include "solve/a.h"')
    write(tmp_path, "bind/a.cc", '#include <nanobind/nanobind.h>\n#include "bind/b.h"')
    write(tmp_path, "tests/a.cc", '#include <thread>\n#include "selfplay/a.h"')
    assert cpp_offences(tmp_path) == []
