"""Checkpoints: an immutable file of tensors, then a manifest that names its hash.

A checkpoint counts only if its manifest exists and the file has that hash. A damaged one is
reported, and the previous one is used. If none is intact, that is an error, not a fresh start.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from zerofleet.errors import BadBytes
from zerofleet.storage import write_whole

DAMAGE = (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError)
"""What reading a damaged checkpoint may raise."""


@dataclass(frozen=True)
class Checkpoint:
    """The tensors and everything else needed to resume from a step."""

    step: int
    tensors: dict[str, Tensor]
    rest: dict[str, Any]


class CheckpointStore:
    """The newest checkpoints of a run, in a folder."""

    def __init__(self, folder: Path, keep: int) -> None:
        self.folder = folder
        self.keep = keep
        folder.mkdir(parents=True, exist_ok=True)

    def save(self, checkpoint: Checkpoint) -> None:
        """Writes it whole, then deletes the oldest and those of later steps, now obsolete."""
        data = save_tensors(
            {name: tensor.contiguous().cpu() for name, tensor in checkpoint.tensors.items()}
        )
        manifest_path = self.folder / f"{checkpoint.step:09d}.json"
        write_whole(manifest_path.with_suffix(".safetensors"), data)
        manifest = {
            "step": checkpoint.step,
            "sha256": hashlib.sha256(data).hexdigest(),
            "rest": checkpoint.rest,
        }
        write_whole(manifest_path, json.dumps(manifest, sort_keys=True).encode())
        self._keep_up_to(manifest_path)

    def load_newest(self) -> tuple[Checkpoint | None, list[str]]:
        """The newest intact checkpoint, and what was wrong with newer ones. None if there are none
        at all; BadBytes if none is intact.
        """
        faults: list[str] = []
        for manifest_path in reversed(self._manifests()):
            try:
                return self._load(manifest_path), faults
            except DAMAGE as error:
                faults.append(f"checkpoint {manifest_path.stem} skipped: {error}")
        if faults:
            raise BadBytes(
                f"{self.folder}: no checkpoint is intact, so the run cannot resume "
                f"({'; '.join(faults)}); put a copy of one there, or use another name"
            )
        return None, []

    def steps(self) -> list[int]:
        """Steps of the checkpoints on disk, ascending."""
        return [int(path.stem) for path in self._manifests()]

    def oldest_rest(self) -> dict[str, Any]:
        """What the oldest checkpoint has beside its tensors; unreadable manifests do not count.

        Precondition: there is one.
        """
        return next(self._rests())

    def _rests(self) -> Iterator[dict[str, Any]]:
        for path in self._manifests():
            with suppress(*DAMAGE):
                yield json.loads(path.read_bytes())["rest"]

    def _load(self, manifest_path: Path) -> Checkpoint:
        manifest = json.loads(manifest_path.read_bytes())
        data = manifest_path.with_suffix(".safetensors").read_bytes()
        got, expected = hashlib.sha256(data).hexdigest(), manifest["sha256"]
        if got != expected:
            raise ValueError(
                f"sha256 differs from its manifest (got {got[:8]}…, expected {expected[:8]}…)"
            )
        return Checkpoint(int(manifest["step"]), load_tensors(data), manifest["rest"])

    def _manifests(self) -> list[Path]:
        """In the order of their steps."""
        return sorted(path for path in self.folder.glob("*.json") if path.stem.isdecimal())

    def _keep_up_to(self, newest: Path) -> None:
        manifests = self._manifests()
        kept = [path for path in manifests if path <= newest][-self.keep :]
        for path in set(manifests) - set(kept):
            path.unlink()
            path.with_suffix(".safetensors").unlink(missing_ok=True)
