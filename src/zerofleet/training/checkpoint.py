"""Checkpoints: an immutable file of tensors, then a manifest that names its hash.

A checkpoint counts only if its manifest is there and the file has that hash. A torn one is named
and skipped, and the one before it is used.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from zerofleet.files import write_whole


@dataclass(frozen=True)
class Checkpoint:
    """The tensors and everything else needed to go on from a step."""

    step: int
    tensors: dict[str, Tensor]
    rest: dict[str, Any]


class CheckpointStore:
    def __init__(self, folder: Path, keep: int) -> None:
        self.folder = folder
        self.keep = keep
        folder.mkdir(parents=True, exist_ok=True)

    def save(self, checkpoint: Checkpoint) -> None:
        data = save_tensors(
            {name: tensor.contiguous().cpu() for name, tensor in checkpoint.tensors.items()}
        )
        name = f"{checkpoint.step:09d}"
        write_whole(self.folder / f"{name}.safetensors", data)
        manifest = {
            "step": checkpoint.step,
            "sha256": hashlib.sha256(data).hexdigest(),
            "rest": checkpoint.rest,
        }
        write_whole(self.folder / f"{name}.json", json.dumps(manifest, sort_keys=True).encode())
        self._forget_old()

    def load_newest(self) -> tuple[Checkpoint | None, list[str]]:
        """The newest whole checkpoint, if there is one, and what was wrong with newer ones."""
        faults: list[str] = []
        for manifest_path in sorted(self.folder.glob("*.json"), reverse=True):
            try:
                return self._load(manifest_path), faults
            except (OSError, ValueError, KeyError, TypeError) as error:
                faults.append(f"checkpoint {manifest_path.stem} skipped: {error}")
        return None, faults

    def steps(self) -> list[int]:
        """Of the checkpoints that there are, ascending."""
        return sorted(int(path.stem) for path in self.folder.glob("*.json"))

    def oldest_rest(self) -> dict[str, Any]:
        """What the oldest checkpoint kept has beside its tensors. Needs one to be there."""
        manifest = json.loads(min(self.folder.glob("*.json")).read_bytes())
        rest: dict[str, Any] = manifest["rest"]
        return rest

    def _load(self, manifest_path: Path) -> Checkpoint:
        manifest = json.loads(manifest_path.read_bytes())
        data = manifest_path.with_suffix(".safetensors").read_bytes()
        got, expected = hashlib.sha256(data).hexdigest(), manifest["sha256"]
        if got != expected:
            raise ValueError(
                f"sha256 differs from its manifest (got {got[:8]}…, expected {expected[:8]}…)"
            )
        return Checkpoint(int(manifest["step"]), load_tensors(data), manifest["rest"])

    def _forget_old(self) -> None:
        for path in sorted(self.folder.glob("*.json"))[: -self.keep]:
            path.unlink()
            path.with_suffix(".safetensors").unlink(missing_ok=True)
