"""Weights for browsers: each version as one ONNX file, with rows to check a browser's answers by.

Versions that browsers were given stay on disk as long as games by them may come back, so that
these can be searched again after the bus has dropped them or the gateway was restarted.
"""

import hashlib
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from zerofleet import _core
from zerofleet.bus import Bus, PublishedWeights
from zerofleet.errors import Unsupported
from zerofleet.games import Episode, Game
from zerofleet.infer.onnx_evaluator import OnnxEvaluator
from zerofleet.infer.onnx_file import onnx_with_weights
from zerofleet.storage import write_whole
from zerofleet.web.lend.messages import WEIGHTS_PATH, CheckRows, WeightsUpdate
from zerofleet.weights import Graph, checked_tensors
from zerofleet.weights.spec import NetworkSpec, refuse_mismatch

NUM_CHECK_ROWS = 16
NUM_IN_MEMORY = 4
KEPT_S = 2 * 24 * 3600.0
"""On disk, at least."""


@dataclass(frozen=True)
class LentVersion:
    """One version, ready for browsers and for searching again."""

    version: int
    onnx: bytes
    sha256: str
    check: CheckRows
    evaluator: OnnxEvaluator
    tensors_sha256: str
    """As they were published."""

    def update(self) -> WeightsUpdate:
        url = f"{WEIGHTS_PATH}/{self.version}.onnx"
        return WeightsUpdate(self.version, url, self.sha256, len(self.onnx), self.check)


class LentWeights:
    """The versions of one run. All methods may be called from any thread."""

    def __init__(self, bus: Bus, run: str, game: Game, folder: Path, first: PublishedWeights):
        published = bus.graph()
        if published is None:
            raise Unsupported(f"run {run} has a network that only torch evaluates; browsers cannot")
        self._bus, self._folder = bus, folder
        self._graph = Graph.decode(published, f"the graph of run {run}")
        refuse_mismatch(NetworkSpec.from_dict(self._graph.spec), game)
        folder.mkdir(parents=True, exist_ok=True)
        # Once: a game with its search takes 25 MB, which the allocator would keep for each version.
        self._rows = check_rows(game)
        self._lock = threading.Lock()
        self._known: OrderedDict[int, LentVersion] = OrderedDict()
        self.current = self._adopt(first)

    def refresh(self) -> bool:
        """Makes the newest published weights the current ones; False where they are. BadWeights
        refuses damaged ones."""
        found = self._bus.other_weights(self.current.version)
        if found is None:
            return False
        self.current = self._adopt(found)
        return True

    def get(self, version: int) -> LentVersion | None:
        """A version that browsers were given; None where it is gone."""
        with self._lock:
            if version in self._known:
                self._known.move_to_end(version)
                return self._known[version]
        found = self._read(version) or self._bus.weights(version)
        return self._adopt(found) if found is not None else None

    def _adopt(self, weights: PublishedWeights) -> LentVersion:
        name = f"weights {weights.version}"
        tensors = checked_tensors(weights.data, weights.sha256, name)
        path = self._folder / f"{weights.version}-{weights.sha256}.safetensors"
        if not path.exists():
            write_whole(path, weights.data)
            self._prune()
        evaluator = OnnxEvaluator(self._graph, tensors, version=weights.version)
        data = onnx_with_weights(self._graph, tensors, weights.version)
        rows = self._rows
        logits_KA, outcomes_KO = evaluator(rows)
        check = CheckRows(
            len(rows),
            rows.tobytes(),
            logits_KA.astype("<f4").tobytes(),
            outcomes_KO.astype("<f4").tobytes(),
        )
        made = LentVersion(
            weights.version,
            data,
            hashlib.sha256(data).hexdigest(),
            check,
            evaluator,
            weights.sha256,
        )
        with self._lock:
            self._known[weights.version] = made
            while len(self._known) > NUM_IN_MEMORY:
                self._known.popitem(last=False)
        return made

    def _read(self, version: int) -> PublishedWeights | None:
        for path in self._folder.glob(f"{version}-*.safetensors"):
            sha256 = path.stem.partition("-")[2]
            return PublishedWeights(version, 0, sha256, path.read_bytes())
        return None

    def _prune(self) -> None:
        oldest = time.time() - KEPT_S
        for path in self._folder.glob("*.safetensors"):
            if path.stat().st_mtime < oldest:
                path.unlink()


def check_rows(game: Game) -> "np.ndarray[tuple[int, int], np.dtype[np.uint8]]":
    """Observations [K, N] of a fixed game."""
    settings: dict[str, object] = {"num_simulations": 4, "reuse_tree": False}
    driver = _core.SelfPlay(game, settings, 1, 1, 0, "uniform", 1, 0, None, 0, 0, 1)
    while not driver.finished:
        driver.wait_for_episodes(1, 1.0)
    (data,) = driver.take_episodes()
    driver.stop()
    rows_RN, _, _ = Episode.decode(data).observations(game)
    chosen = np.linspace(0, len(rows_RN) - 1, min(NUM_CHECK_ROWS, len(rows_RN))).astype(int)
    return np.ascontiguousarray(rows_RN[chosen])
