"""A short check of a custom game before it is trained: a broken one trains too, and learns nothing.

A run remembers the code that passed, so that it is checked once.
"""

import hashlib
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path

from zerofleet import games
from zerofleet.errors import ZerofleetError
from zerofleet.games.build import built_library
from zerofleet.games.check_apart import check_named
from zerofleet.games.sources import find_class
from zerofleet.runs.folder import Run, run_names, runs_folder

NUM_GAMES, MAX_S, SEED = 32, 1.0, 1
"""As many games as fit into that time."""

CHECKED = "checked"
"""The file of a run that names the code that passed."""


def check_first(
    source: str, options: Mapping[str, int | str], run: str, say: Callable[[str], None]
) -> str:
    """Checks a custom game, unless the run of that name knows that its code passed; gives what
    `remember` writes down. Our own games are never checked."""
    if not games.is_source(source):
        return ""
    digest = digest_of(source)
    path = runs_folder() / run / CHECKED
    if run in run_names() and path.exists() and path.read_text() == digest:
        return digest
    try:
        seen = check_named(source, options, NUM_GAMES, SEED, max_s=MAX_S)
    except ZerofleetError as error:
        raise type(error)(
            f"{error} (found by a check before training; --no-check leaves it out)"
        ) from error
    if seen.num_truncated == seen.num_games:
        say(
            f"{source}: {seen.num_games} random games were all truncated at max_plies "
            f"({seen.longest}); truncated games are not learnt from"
        )
    return digest


def remember(run: Run, digest: str) -> None:
    """Writes down that the code passed, where it was checked."""
    if digest:
        (run.folder / CHECKED).write_text(digest)


def digest_of(source: str) -> str:
    """Of the code of a custom game: a header with all that it includes, or the file of a class."""
    path = Path(source)
    if path.suffix == ".h":
        return built_library(path.absolute()).stem
    return hashlib.sha256(Path(inspect.getfile(find_class(source))).read_bytes()).hexdigest()
