"""What can be made again and takes long to make, kept for later starts."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """$ZEROFLEET_CACHE, else zerofleet/ in the user's cache."""
    own = os.environ.get("ZEROFLEET_CACHE")
    users = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(own).absolute() if own else Path(users) / "zerofleet"


def put_in_cache(path: Path, data: bytes) -> None:
    """At once and whole: other processes may read it, or put it there too."""
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(data)
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
