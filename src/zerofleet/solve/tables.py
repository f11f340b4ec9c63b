"""Tables of solvers, kept in the cache folder.

A file holds a SHA-256 and the table's bytes; its name holds the version of the table. A damaged
file is reported and counts as missing, so that the table is built again.
"""

import hashlib
import warnings
from pathlib import Path

from zerofleet.storage import cache_folder, put_in_cache

DIGEST_BYTES = 32


class TableWarning(UserWarning):
    """A table could not be read from the cache, or not be kept there."""


def path_of(name: str, version: int) -> Path:
    return cache_folder() / "tables" / f"{name}-v{version}.table"


def read(name: str, version: int) -> bytes | None:
    """The bytes of a table; None where the cache has none, or a damaged one."""
    path = path_of(name, version)
    try:
        kept = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        warnings.warn(TableWarning(f"{path}: not read ({error}); built again"), stacklevel=2)
        return None
    digest, table = kept[:DIGEST_BYTES], kept[DIGEST_BYTES:]
    if hashlib.sha256(table).digest() != digest:
        warnings.warn(
            TableWarning(f"{path}: damaged, its SHA-256 differs; built again"), stacklevel=2
        )
        return None
    return table


def write(name: str, version: int, table: bytes) -> None:
    """Keeps a table. Where it cannot be kept that is reported, and the next process builds it."""
    path = path_of(name, version)
    try:
        put_in_cache(path, hashlib.sha256(table).digest() + table)
    except OSError as error:
        warnings.warn(TableWarning(f"{path}: not kept ({error})"), stacklevel=2)
