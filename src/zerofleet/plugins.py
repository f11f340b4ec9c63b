"""Plugins: Python files of the user that register custom networks and loss terms.

A file runs only if the user names it, on the command line or in a call. Run folders, packs and
configs never name a file: they hold the names that it registers, and an unregistered name is an
error.
"""

from pathlib import Path

from zerofleet.games.sources import import_file

_loaded: list[str] = []


def load(path: Path) -> None:
    """Runs a Python file, and again only after it has changed. Errors name file and line."""
    import_file(path)
    if (text := str(path.absolute())) not in _loaded:
        _loaded.append(text)


def loaded() -> list[str]:
    """The loaded files in order, for other processes of the same run."""
    return list(_loaded)
