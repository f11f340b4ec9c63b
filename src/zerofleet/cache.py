"""What can be made again and takes long to make, kept for later starts."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path


def cache_folder() -> Path:
    """$ZEROFLEET_CACHE, else zerofleet/ in the user's cache."""
    own = os.environ.get("ZEROFLEET_CACHE")
    users = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(own).absolute() if own else Path(users) / "zerofleet"


def key_of(texts: Iterable[str], *packages: Path) -> str:
    """A name that changes with each of the texts, and with every source file of the packages."""
    sources = [path for package in packages for path in sorted(package.glob("*.py"))]
    parts = [*(text.encode() for text in texts), *(path.read_bytes() for path in sources)]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:32]


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
