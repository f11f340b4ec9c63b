"""A short check of a custom game before training: a broken game would train and learn nothing.

The run stores the digest of the code that passed, so that each version is checked once.
"""

import hashlib
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path

from zerofleet import games
from zerofleet.errors import ZerofleetError
from zerofleet.games.build import built_library
from zerofleet.games.check_in_child import check_named
from zerofleet.games.sources import find_class
from zerofleet.runs.folder import Run, run_names, runs_folder

NUM_GAMES, MAX_S, SEED = 32, 1.0, 1
"""Limits of the check: games and seconds."""

CHECKED = "checked"
"""The file in a run folder with the digest of the code that passed."""


def check_first(
    source: str, options: Mapping[str, int | str], run: str, say: Callable[[str], None]
) -> str:
    """Checks a custom game, unless its code already passed for this run; returns the digest for
    `remember`. Built-in games are not checked."""
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
            f"{error} (found by the check before training; --no-check skips it)"
        ) from error
    if seen.num_truncated == seen.num_games:
        say(
            f"{source}: {seen.num_games} random games were all truncated at max_plies "
            f"({seen.longest}); truncated games are not trained on"
        )
    return digest


def remember(run: Run, digest: str) -> None:
    """Stores the digest of the code that passed, if any was checked."""
    if digest:
        (run.folder / CHECKED).write_text(digest)


def digest_of(source: str) -> str:
    """The digest of a custom game's code: a header with its includes, or the file of a class."""
    path = Path(source)
    if path.suffix == ".h":
        return built_library(path.absolute()).stem
    return hashlib.sha256(Path(inspect.getfile(find_class(source))).read_bytes()).hexdigest()
