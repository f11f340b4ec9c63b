"""Compiles a custom game, written as a header of C++.

    game = zf.games.build("sticks.h")

The header defines a class MyGame, or `using MyGame = Sticks;`, that meets the contract of
games/game.h; games/custom.h has what most games can inherit. Both are found by these names: the
package carries the headers of its core. What comes back is a game like those that come with
zerofleet, and as fast.

What was compiled is kept in a cache, and found there as long as neither the header, nor what it
includes, nor the compiler or zerofleet changes.
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
"""Whose sources every game is linked with, as CMakeLists.txt has it too."""

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
"""Of what a compiler says that are shown."""


def build(header: str | Path, /, **options: int | str) -> Game:
    """The game in a header, with these options; those not given have their defaults.

    The first time takes as long as the compiler does, some ten seconds; the first game of all a
    little longer, since the core's own part is compiled for it and kept.
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
    """The shared object of a header: from the cache, or compiled now."""
    compile_with = compile_command()
    version = [*compile_with, compiler_version(compile_with[0])]
    glue = GLUE.format(header=header, headers_hash=headers_hash())
    with tempfile.TemporaryDirectory() as scratch:
        contract_path, glue_path = Path(scratch, "contract.cc"), Path(scratch, "glue.cc")
        contract_path.write_text(CONTRACT.format(header=header))
        glue_path.write_text(glue)
        # All that will be compiled, includes and all: whatever changes, it is another text.
        text = run_compiler([*compile_with, "-E", "-P", str(glue_path)], header)
        library = cache_folder() / f"{header.stem}-{key_of([*version, text])}.so"
        if not library.exists():
            run_compiler([*compile_with, "-fsyntax-only", str(contract_path)], header)
            sources = [str(glue_path), str(core_object(compile_with, version))]
            compile_to(library, [*compile_with, "-shared", *sources], header)
    return library


def core_object(compile_with: list[str], version: list[str]) -> Path:
    """The part of the core that is no template, the same in all games: from the cache, or made."""
    kept = cache_folder() / f"core-{key_of([*version, headers_hash()])}.o"
    if not kept.exists():
        with tempfile.TemporaryDirectory() as scratch:
            all_path = Path(scratch, "core.cc")
            all_path.write_text("".join(f'#include "{source}"\n' for source in core_sources()))
            compile_to(kept, [*compile_with, "-c", str(all_path)], headers_folder())
    return kept


def compile_command() -> list[str]:
    """The compiler with the flags of the core: searches come out the same by bits."""
    return [find_compiler(), *_core.FLAGS.split(), f"-I{headers_folder()}"]


def compile_to(kept: Path, command: list[str], source: Path) -> None:
    """Runs a compiler, and keeps what it makes in the cache."""
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch, kept.name)
        run_compiler([*command, "-o", str(made)], source)
        try:
            put_in_cache(kept, made.read_bytes())
        except OSError as error:
            raise Unsupported(
                f"{kept.parent} cannot keep what was compiled: {error.strerror}; "
                "ZEROFLEET_CACHE can name another folder"
            ) from None


def headers_folder() -> Path:
    """The headers of the core: in the package, or in a checkout."""
    package = Path(__file__).parents[1]
    for folder in (package / "include", package.parents[1] / "cpp"):
        if (folder / "games" / "game.h").is_file():
            return folder
    raise Unsupported(f"{package}: the headers that belong to it are missing; install it again")


def core_sources() -> list[Path]:
    folder = headers_folder()
    return [path for room in CORE_ROOMS for path in sorted((folder / room).glob("*.cc"))]


def headers_hash() -> str:
    """As CMakeLists.txt computes it for the core, which must have been built with the same ones."""
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
            f"the headers in {folder} are not those that zerofleet was built with; install it again"
            " (in a checkout: make venv)"
        )
    return found


def find_compiler() -> str:
    """A compiler of C++20, as $CXX says or else the first there is."""
    wanted = os.environ.get("CXX")
    found = [path for name in ([wanted] if wanted else COMPILERS) if (path := shutil.which(name))]
    if not found:
        what = f"$CXX is {wanted}, which is not there" if wanted else "no C++ compiler was found"
        raise Unsupported(
            f"{what}: a game in C++ needs one that knows C++20, such as g++ 12 or clang++ 15 "
            "(Debian: apt install g++)"
        )
    return found[0]


def compiler_version(compiler: str) -> str:
    return subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout


def run_compiler(command: list[str], source: Path) -> str:
    """What it printed; an error shows what it had to say about the source."""
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}
    )
    if done.returncode != 0:
        raise BadText(f"{source} does not compile:\n{first_lines(done.stderr)}")
    return done.stdout


def first_lines(said: str) -> str:
    """The faults and what explains them, without the compiler's quotations of the code."""
    telling = [
        line for line in said.splitlines() if re.search(r": (fatal )?error: |: note: ", line)
    ]
    lines = telling or said.splitlines()
    more = [f"  … {len(lines) - MAX_LINES} more lines"] if len(lines) > MAX_LINES else []
    return "\n".join([f"  {line}" for line in lines[:MAX_LINES]] + more)
