"""A folder of versions: one safetensors file and one manifest each, the manifest written last.

A version without a manifest was never published. A file whose hash differs from its manifest, or
with a number that is not finite, is refused by name; a load of the newest version then returns an
older good one, with the warning OlderWeights.
"""

import hashlib
import json
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from zerofleet.errors import BadBytes, ZerofleetError
from zerofleet.storage import write_whole

Tensors = dict[str, NDArray[Any]]
"""Arrays by name."""


class BadWeights(ZerofleetError, ValueError):
    """Weights that must not be used; the message names the version and the fault."""


class OlderWeights(ZerofleetError, UserWarning):
    """The newest weights are damaged; the message names the older ones in use. A warning, and an
    error within `refusing_older_weights`."""


@contextmanager
def refusing_older_weights() -> Iterator[None]:
    """Makes OlderWeights an error, for results that must be of the weights that they name."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", OlderWeights)
        yield


@dataclass(frozen=True)
class Weights:
    """One version, with its NetworkSpec as a dict."""

    version: int
    spec: dict[str, Any]
    tensors: Tensors


class WeightsStore:
    """A folder of versions, with the ratings of each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def publish(self, weights: Weights) -> None:
        """Writes a version, then its manifest. Replaces the version of a step that is done again
        after a resume."""
        self.folder.mkdir(parents=True, exist_ok=True)
        data, sha256 = encoded_tensors(weights.tensors)
        write_whole(self.tensors_path(weights.version), data)
        manifest = {
            "version": weights.version,
            "sha256": sha256,
            "num_bytes": len(data),
            "spec": weights.spec,
        }
        text = json.dumps(manifest, indent=1, sort_keys=True) + "\n"
        write_whole(self._manifest_path(weights.version), text.encode())

    def versions(self) -> list[int]:
        """The published versions, ascending."""
        stems = (path.stem for path in self.folder.glob("[0-9]*.json"))
        return sorted(int(stem) for stem in stems if stem.isdecimal())

    def load(self, version: int) -> Weights:
        """A version, verified: hash and finite numbers. BadWeights names the fault."""
        if version not in self.versions():
            known = ", ".join(map(str, self.versions())) or "none"
            raise BadWeights(f"{self.folder} has no weights of step {version}; it has: {known}")
        weights = read_weights(self.tensors_path(version), f"weights {version}")
        if weights.version != version:
            raise BadWeights(f"weights {version} refused: they say that they are {weights.version}")
        return weights

    def load_newest(self) -> tuple[Weights | None, list[str]]:
        """The newest good version, if any, and the faults of newer ones."""
        faults: list[str] = []
        for version in reversed(self.versions()):
            try:
                return self.load(version), faults
            except BadWeights as fault:
                faults.append(str(fault))
        return None, faults

    def keep(self, version: int) -> None:
        """Protects a version from `forget_all_but`. Its ratings stay."""
        if not self._rating_path(version).exists():
            self._write_ratings(version, [])

    def add_rating(self, version: int, result: Mapping[str, Any]) -> None:
        """Appends the result of a match to the ratings of a version."""
        self._write_ratings(version, [*self.ratings(version), result])

    def ratings(self, version: int) -> list[dict[str, Any]]:
        """The results of matches of a version, in order; empty if it was never rated."""
        path = self._rating_path(version)
        try:
            results: list[dict[str, Any]] = json.loads(path.read_bytes()) if path.exists() else []
        except ValueError as error:
            raise BadBytes(f"{path} is damaged: {error}; remove it") from None
        return results

    def forget_all_but(self, keep: Collection[int]) -> None:
        """Removes versions, except rated ones and those to keep."""
        for version in set(self.versions()) - set(keep):
            if not self._rating_path(version).exists():
                self._manifest_path(version).unlink()
                self.tensors_path(version).unlink()

    def forget_after(self, version: int) -> None:
        """Removes all later versions, rated or not: a resumed run does their steps again."""
        for later in self.versions():
            if later > version:
                self._manifest_path(later).unlink()
                self.tensors_path(later).unlink(missing_ok=True)
                self._rating_path(later).unlink(missing_ok=True)

    def tensors_path(self, version: int) -> Path:
        return self.folder / f"{version:09d}.safetensors"

    def _write_ratings(self, version: int, results: Sequence[Mapping[str, Any]]) -> None:
        write_whole(self._rating_path(version), (json.dumps(results, indent=1) + "\n").encode())

    def _rating_path(self, version: int) -> Path:
        return self.folder / f"{version:09d}.rating"

    def _manifest_path(self, version: int) -> Path:
        return self.folder / f"{version:09d}.json"


def read_weights(path: Path, name: str) -> Weights:
    """Reads a safetensors file with its manifest (.json) beside it. Errors call it `name`."""
    if path.exists() and not path.is_file():
        raise BadWeights(f"{name} refused: {path} is no file")  # a device may never end
    try:
        data = path.read_bytes()
        manifest = json.loads(path.with_suffix(".json").read_text())
        version, spec = int(manifest["version"]), dict(manifest["spec"])
        expected = str(manifest["sha256"])
    except OSError as error:
        raise BadWeights(
            f"{name} refused: {error.filename}: {error.strerror}; weights are a .safetensors file "
            "with its manifest beside it, of the same name and .json"
        ) from None
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise BadWeights(f"{name} refused: {error}") from error
    return Weights(version, spec, checked_tensors(data, expected, name))


def encoded_tensors(tensors: Tensors) -> tuple[bytes, str]:
    """Tensors as safetensors, and the SHA-256 of these bytes."""
    # safetensors writes memory as it lies, and a convolution's kernel may lie channels last.
    data = save_tensors({name: np.asarray(each, order="C") for name, each in tensors.items()})
    return data, hashlib.sha256(data).hexdigest()


def checked_tensors(data: bytes, sha256: str, name: str) -> Tensors:
    """Tensors whose hash is right and whose numbers are finite. BadWeights calls them `name`."""
    got = hashlib.sha256(data).hexdigest()
    if got != sha256:
        raise BadWeights(
            f"{name} refused: sha256 differs from its manifest "
            f"(got {got[:8]}…, expected {sha256[:8]}…)"
        )
    try:
        tensors = load_tensors(data)
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise BadWeights(f"{name} refused: no safetensors: {error}") from None
    for tensor_name, tensor in tensors.items():
        if np.issubdtype(tensor.dtype, np.floating) and not np.isfinite(tensor).all():
            raise BadWeights(f"{name} refused: {tensor_name} has a number that is not finite")
    return tensors
