"""Opponents of self-play: frozen weights that a run exploits, or earlier weights of the run itself.

Frozen weights are copied into the run folder, and their hash is a setting of the run: a session
plays against exactly these, or not at all.
"""

import random
import shutil
from collections.abc import Sequence

from zerofleet import _core
from zerofleet.config import Config
from zerofleet.config.core_sections import SearchConfig
from zerofleet.errors import Inconsistent
from zerofleet.games import Game
from zerofleet.infer import Evaluator, make_evaluator, make_pipeline
from zerofleet.infer.load import network_of
from zerofleet.runs.folder import Run
from zerofleet.selfplay.opponent import Opponent, Pick
from zerofleet.weights import BadWeights, Weights, WeightsStore, encoded_tensors

PATIENCE = 10
"""Kept versions that are tried before an opponent keeps what it has."""


def opponent_settings(config: Config) -> dict[str, object] | None:
    """How the opponent plays its seat, as the core takes it; None without opponents.

    Its search is that of a match, within the memory that self-play has for a tree.
    """
    if config.opponent.share == 0:
        return None
    as_in_matches = {
        name: value
        for name, value in _core.analysis_settings().items()
        if name in SearchConfig.model_fields and name != "max_bytes"
    }
    return {
        **config.for_core(),
        **as_in_matches,
        "root": "puct",
        "num_simulations": config.opponent.simulations,
        "full_search_probability": 1.0,
        "turn_ahead_probability": 0.0,
        "reuse_tree": False,
        "temperature": config.opponent.temperature,
        "final_temperature": 0.0,
    }


# ---- frozen weights


def keep_frozen(run: Run, weights: Weights) -> None:
    """Copies weights into the run folder, in place of others that lie there."""
    shutil.rmtree(run.opponent, ignore_errors=True)
    WeightsStore(run.opponent).publish(weights)


def frozen_weights(run: Run, config: Config) -> Weights:
    """The weights that the run exploits, which must have the hash that its settings name."""
    store, source = WeightsStore(run.opponent), config.opponent.source
    again = f"`zerofleet exploit {source} --run {run.name}` copies them again"
    if not store.versions():
        raise Inconsistent(f"{run.opponent} lacks the weights of {source}; {again}")
    weights = store.load(store.versions()[-1])
    if (found := sha256_of(weights)) != config.opponent.sha256:
        raise Inconsistent(
            f"{run.opponent} has weights with the SHA-256 {found[:8]}…, and the run exploits "
            f"{source} with {config.opponent.sha256[:8]}…; {again}"
        )
    return weights


def sha256_of(weights: Weights) -> str:
    """Of the file that `keep_frozen` writes."""
    return encoded_tensors(weights.tensors)[1]


def frozen_player(run: Run, config: Config) -> str:
    """The frozen opponent as a player of matches, verified."""
    version = frozen_weights(run, config).version
    path = WeightsStore(run.opponent).tensors_path(version)
    return f"file:{path},sims={config.opponent.simulations}"


# ---- evaluators


def frozen_evaluator(
    run: Run, config: Config, game: Game, device: str, compiles: bool
) -> Evaluator:
    network, version = network_of(frozen_weights(run, config), game)
    kind = config.run.own_evaluator
    return make_evaluator(network, kind, device, num_threads=1, version=version, compiles=compiles)


def make_opponent(
    run: Run, config: Config, evaluator: Evaluator, num_slots: int, rows_per_slot: int, seed: int
) -> Opponent:
    """The opponent of one worker, with an evaluator that nothing else uses."""
    pick = None if config.opponent.source else past_weights(WeightsStore(run.weights), seed)
    return Opponent(make_pipeline(evaluator, num_slots, rows_per_slot), pick)


def past_weights(store: WeightsStore, seed: int) -> Pick:
    """Picks among the versions that the run has kept, each with the same probability."""
    rng = random.Random(seed)

    def pick() -> Weights | None:
        for _ in range(PATIENCE):
            versions: Sequence[int] = store.versions()
            if not versions:
                return None
            try:
                return store.load(rng.choice(versions))
            except BadWeights:  # removed meanwhile by the trainer, or damaged
                continue
        return None

    return pick
