"""Compiles a custom game from a C++ header.

    game = zf.games.build("sticks.h")

The header defines a class MyGame, or `using MyGame = Sticks;`, that satisfies the contract of
games/game.h; games/custom.h is a base class with defaults. The package ships both headers on the
include path. The result is as fast as a built-in game.

The library is cached. The key covers the header, its includes, the compiler and zerofleet.
"""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from zerofleet import _core
from zerofleet._core import Game
from zerofleet.errors import BadText, Inconsistent, Unsupported
from zerofleet.storage import cache_folder, key_of, put_in_cache

COMPILERS = ("c++", "g++", "clang++")
"""Tried in this order, after $CXX."""

CORE_ROOMS = ("games", "record", "search")
"""Folders whose sources every game links with, as in CMakeLists.txt."""

CONTRACT = """#include "games/game.h"
#include "{header}"
static_assert(zf::Game<MyGame>, "MyGame does not meet the contract of games/game.h");
"""
GLUE = """#include "{header}"
#include "bind/built_game.h"
extern "C" __attribute__((visibility("default"))) zf::BuiltGame zerofleet_game() {{
    return zf::built_game<MyGame>("{headers_hash}");
}}
"""
MAX_LINES = 12
"""Lines of compiler output that an error shows."""


def build(header: str | Path, /, **options: int | str) -> Game:
    """The game in a header, with these options; omitted ones have their defaults.

    The first build takes about ten seconds of compilation. The very first one takes a little longer
    because it also compiles and caches the core.
    """
    path = Path(header).absolute()
    try:
        code = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadText(f"{header} cannot be read: {error}") from None
    if not re.search(r"\bMyGame\b", code):
        raise BadText(
            f"{header} defines no class MyGame; give its class that name, or add: "
            "using MyGame = YourClass;"
        )
    given = [(option, str(value)) for option, value in options.items()]
    return _core.load_game(str(built_library(path)), given)


def built_library(header: Path) -> Path:
    """The shared library of a header, from the cache or compiled."""
    compile_with = compile_command()
    version = [*compile_with, compiler_version(compile_with[0])]
    glue = GLUE.format(header=header, headers_hash=headers_hash())
    with tempfile.TemporaryDirectory() as scratch:
        contract_path, glue_path = Path(scratch, "contract.cc"), Path(scratch, "glue.cc")
        contract_path.write_text(CONTRACT.format(header=header))
        glue_path.write_text(glue)
        # The preprocessed source is the cache key: any change in an include changes it.
        text = run_compiler([*compile_with, "-E", "-P", str(glue_path)], header)
        library = cache_folder() / f"{header.stem}-{key_of([*version, text])}.so"
        if not library.exists():
            run_compiler([*compile_with, "-fsyntax-only", str(contract_path)], header)
            sources = [str(glue_path), str(core_object(compile_with, version))]
            compile_to(library, [*compile_with, "-shared", *sources], header)
    return library


def core_object(compile_with: list[str], version: list[str]) -> Path:
    """The object file of the core's non-template code, from the cache or compiled."""
    kept = cache_folder() / f"core-{key_of([*version, headers_hash()])}.o"
    if not kept.exists():
        with tempfile.TemporaryDirectory() as scratch:
            all_path = Path(scratch, "core.cc")
            all_path.write_text("".join(f'#include "{source}"\n' for source in core_sources()))
            compile_to(kept, [*compile_with, "-c", str(all_path)], headers_folder())
    return kept


def compile_command() -> list[str]:
    """The compiler with the flags of the core, so that searches are bit-identical."""
    return [find_compiler(), *_core.FLAGS.split(), f"-I{headers_folder()}"]


def compile_to(kept: Path, command: list[str], source: Path) -> None:
    """Runs the compiler and caches its output."""
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch, kept.name)
        run_compiler([*command, "-o", str(made)], source)
        try:
            put_in_cache(kept, made.read_bytes())
        except OSError as error:
            raise Unsupported(
                f"{kept.parent} cannot cache the compiled game: {error.strerror}; "
                "set ZEROFLEET_CACHE to another folder"
            ) from None


def headers_folder() -> Path:
    """The headers of the core: in the package, or in a checkout."""
    package = Path(__file__).parents[1]
    for folder in (package / "include", package.parents[1] / "cpp"):
        if (folder / "games" / "game.h").is_file():
            return folder
    raise Unsupported(f"{package}: its C++ headers are missing; install zerofleet again")


def core_sources() -> list[Path]:
    folder = headers_folder()
    return [path for room in CORE_ROOMS for path in sorted((folder / room).glob("*.cc"))]


def headers_hash() -> str:
    """The hash of the headers, as CMakeLists.txt computes it; must equal that of the core."""
    folder = headers_folder()
    shipped = [
        path
        for path in folder.rglob("*.h")
        if not re.match(r"tests/|bind/python", path.relative_to(folder).as_posix())
    ]
    hashes = [hashlib.sha256(path.read_bytes()).hexdigest() for path in [*shipped, *core_sources()]]
    found = hashlib.sha256(";".join(sorted(hashes)).encode()).hexdigest()
    if found != _core.HEADERS:
        raise Inconsistent(
            f"the headers in {folder} differ from those that zerofleet was built with; install it "
            "again (in a checkout: make venv)"
        )
    return found


def find_compiler() -> str:
    """The path of a C++20 compiler: $CXX, else the first one installed."""
    wanted = os.environ.get("CXX")
    found = [path for name in ([wanted] if wanted else COMPILERS) if (path := shutil.which(name))]
    if not found:
        what = f"$CXX is {wanted}, which does not exist" if wanted else "no C++ compiler was found"
        raise Unsupported(
            f"{what}: a game in C++ needs a C++20 compiler, such as g++ 12 or clang++ 15 "
            "(Debian: apt install g++)"
        )
    return found[0]


def compiler_version(compiler: str) -> str:
    return subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout


def run_compiler(command: list[str], source: Path) -> str:
    """Runs the compiler and returns its output; an error shows its diagnostics."""
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}
    )
    if done.returncode != 0:
        raise BadText(f"{source} does not compile:\n{first_lines(done.stderr)}")
    return done.stdout


def first_lines(output: str) -> str:
    """Errors and notes, without the compiler's quotations of the code."""
    diagnostics = [
        line for line in output.splitlines() if re.search(r": (fatal )?error: |: note: ", line)
    ]
    lines = diagnostics or output.splitlines()
    more = [f"  … {len(lines) - MAX_LINES} more lines"] if len(lines) > MAX_LINES else []
    return "\n".join([f"  {line}" for line in lines[:MAX_LINES]] + more)
