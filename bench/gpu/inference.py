"""Inference alone: correctness and throughput.

"bare" pipelines batches of one size from memory, as self-play does but without games: the upper
bound for self-play. "one by one" waits for each batch.
"""

import functools
import time

import numpy as np
import torch

import zerofleet as zf
from zerofleet import nets
from zerofleet.infer import CudaEvaluator
from zerofleet.infer.calibration import NUM_SLOTS, throughput_of
from zerofleet.nets.network import FINAL_STD

PRESETS = {
    "beastybar": [
        "large",
        "pooled-large",
        "cards-medium",
        "cards-small",
        "places-large",
        "places-medium",
    ],
    "gomoku": ["small", "medium", "large"],
    "backgammon": ["large"],
    "connect4": ["small"],
}
BATCH_SIZES = [1024, 2048, 4096, 8192]

MAX_MEAN_OUTCOME_ERROR = 0.01
MAX_MEAN_DIVERGENCE = 0.002
LOGIT_SPREAD = 1.5
"""Standard deviation of the logits. The policy of an untrained network is nearly uniform; its last
layers are scaled so that logits spread as in a trained one and errors show."""

compiles = True


def batch_size(game_name, preset):
    """Batch size of self-play: enough to fill the GPU, and no more, so that games end soon."""
    return 2048 if preset.startswith("places") or game_name == "backgammon" else 1024


def use_compiler(on):
    global compiles
    compiles = on


@functools.cache
def positions(game_name):
    """Observations of several thousand real positions, in random order."""
    game = zf.games.get(game_name)
    rows = [
        zf.games.Episode.decode(data).observations(game)[0]
        for data in zf.selfplay.play(game, "uniform", num_episodes=120, num_simulations=8)
    ]
    return np.random.default_rng(1).permutation(np.concatenate(rows))


def batch_of(game_name, size):
    rows = positions(game_name)
    return np.resize(rows, (size, rows.shape[1]))


def network_of(game_name, preset):
    torch.manual_seed(1)
    network = nets.build(zf.games.get(game_name), preset).eval()
    last_layers = [
        module
        for module in network.modules()
        if isinstance(module, (torch.nn.Linear, torch.nn.Conv2d))
        and module.weight.std() < 1.25 * FINAL_STD
    ]
    with torch.no_grad():
        logits = network(torch.from_numpy(batch_of(game_name, 64))).policy_logits_BA
        for layer in last_layers:
            layer.weight *= LOGIT_SPREAD / logits.std(dim=1).mean()
    return network


def evaluator_of(network):
    return CudaEvaluator(network, torch.device("cuda"), compiles=compiles)


def bare(game_name, preset, size, seconds):
    evaluator = evaluator_of(network_of(game_name, preset))
    start = time.perf_counter()
    pipeline = evaluator.pipeline(NUM_SLOTS, size)
    ready_s = time.perf_counter() - start
    batch = batch_of(game_name, size)
    per_s = throughput_of(pipeline, batch, seconds)
    evaluator(batch)
    num_batches, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds / 4:
        evaluator(batch)
        num_batches += 1
    one_by_one = num_batches * size / (time.perf_counter() - start)
    return {
        "inferences_per_s": per_s,
        "one_by_one_per_s": one_by_one,
        "ready_s": ready_s,
    }


@torch.no_grad()
def answers_of(network, batch):
    """Policy logits and outcomes of the reference network on the CPU."""
    output = network(torch.from_numpy(batch))
    return output.policy_logits_BA.numpy(), output.outcome_logits_BO.softmax(1).numpy()


def errors_of(got, wanted):
    """The deviation of answers from the reference."""
    logits, outcomes = (torch.tensor(each).double() for each in got)
    right_logits, right_outcomes = (torch.tensor(each).double() for each in wanted)
    logs, right_logs = logits.log_softmax(1), right_logits.log_softmax(1)
    divergences = (right_logs.exp() * (right_logs - logs)).sum(1)
    return {
        "mean_outcome_error": (outcomes - right_outcomes).abs().mean().item(),
        "max_outcome_error": (outcomes - right_outcomes).abs().max().item(),
        "mean_divergence": divergences.mean().item(),
        "max_divergence": divergences.max().item(),
        "max_probability_error": (logs.exp() - right_logs.exp()).abs().max().item(),
        "same_best_action": (logits.argmax(1) == right_logits.argmax(1)).double().mean().item(),
        "spread_of_logits": right_logits.std(1).mean().item(),
    }


def check(game_name, preset, seconds):
    """Compares the answers of the pipeline and of the callable evaluator with the reference network
    in float32 on the CPU."""
    network = network_of(game_name, preset)
    size = batch_size(game_name, preset)
    batch = batch_of(game_name, size)
    wanted = answers_of(network, batch)
    evaluator = evaluator_of(network)
    pipeline = evaluator.pipeline(1, size)
    pipeline.submit(0, batch)
    answered = pipeline.collect()
    found = errors_of((answered.policy_logits_BA, answered.outcomes_BO), wanted)
    called = errors_of(evaluator(batch), wanted)
    for errors in (found, called):
        if not (
            errors["mean_outcome_error"] < MAX_MEAN_OUTCOME_ERROR
            and errors["mean_divergence"] < MAX_MEAN_DIVERGENCE
        ):
            raise AssertionError(f"answers deviate from the reference network: {errors}")
    return found


MEASUREMENTS = {
    f"check {game} {preset}": functools.partial(check, game, preset)
    for game, presets in PRESETS.items()
    for preset in presets
} | {
    f"bare {game} {preset} {size}": functools.partial(bare, game, preset, size)
    for game, presets in PRESETS.items()
    for preset in presets
    for size in BATCH_SIZES
}
