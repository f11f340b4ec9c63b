"""Files of a user's own code that register custom networks and loss terms.

A file is run only where a person names it, on the command line or in a call. Nothing that is read
from a run folder, a pack or a config names one: these hold the names that it registers, and a name
that nobody has registered is an error.
"""

from pathlib import Path

from zerofleet.games.sources import import_file

_loaded: list[str] = []


def load(path: Path) -> None:
    """Runs a file of Python, once as long as it does not change; an error names file and line."""
    import_file(path)
    if (text := str(path.absolute())) not in _loaded:
        _loaded.append(text)


def loaded() -> list[str]:
    """The files that were run, in order: what another process of this run needs too."""
    return list(_loaded)
