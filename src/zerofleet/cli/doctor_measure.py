"""Quick measurements: self-play, inference and training, about a second each."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from zerofleet import _core, nets
from zerofleet.config import ReplayConfig, RunConfig, TrainConfig
from zerofleet.fleet.hardware import plan_threads
from zerofleet.games import Game, get
from zerofleet.infer import make_evaluator, pick_device
from zerofleet.replay import Replay
from zerofleet.selfplay import play
from zerofleet.training import Trainer, set_up_torch

GAME, NETWORK = "connect4", "tiny"
BATCH_SIZE = 256
NUM_GAMES = 16
"""Games to train on."""
STEPS_AT_ONCE = 8
"""Steps before each synchronisation with the GPU."""
REPLAY = ReplayConfig(capacity_rows=4096, min_rows=1)


def measurements(seconds: float) -> dict[str, str]:
    """Results by name; each measurement takes `seconds`."""
    game = get(GAME)
    return {
        "self-play, core's own evaluator": self_play(game, seconds),
        f"inference, {NETWORK} network": inference(game, seconds),
        f"training, batches of {BATCH_SIZE}": training(game, seconds),
    }


def self_play(game: Game, seconds: float) -> str:
    driver = _core.SelfPlay(game, {"num_simulations": 32}, 2, 32, 1, "hash", 1, 0)
    start = time.perf_counter()
    while (elapsed_s := time.perf_counter() - start) < seconds:
        driver.wait_for_episodes(1, seconds - elapsed_s)
        driver.take_episodes()
    num_simulations = driver.counts().num_simulations
    driver.stop()
    return f"{num_simulations / elapsed_s:,.0f} simulations/s on one thread"


def inference(game: Game, seconds: float) -> str:
    evaluator = make_evaluator(nets.build(game, NETWORK).eval())
    observation = game.new_position().observe(0)
    observations_BN = observation[None].repeat(BATCH_SIZE, axis=0)
    batches_per_s = calls_per_s(lambda: evaluator(observations_BN), seconds)
    return f"{batches_per_s * BATCH_SIZE:,.0f} positions/s ({type(evaluator).__name__})"


def training(game: Game, seconds: float) -> str:
    device = pick_device()
    num_threads = plan_threads(RunConfig(), device.type).training
    set_up_torch(seed=1, num_threads=num_threads, deterministic=False)
    with tempfile.TemporaryDirectory() as folder:
        replay = Replay(Path(folder), game, REPLAY, seed=1)
        replay.accept(list(play(game, "hash", num_episodes=NUM_GAMES, num_simulations=8)))
        settings = TrainConfig(batch_size=BATCH_SIZE)
        trainer = Trainer(nets.build(game, NETWORK), settings, device, compiles=False)

        def steps() -> None:
            for _ in range(STEPS_AT_ONCE):
                trainer.step(replay.sampler.sample(BATCH_SIZE))
            trainer.wait()

        steps_per_s = STEPS_AT_ONCE * calls_per_s(steps, seconds)
        replay.close()
    return f"{steps_per_s:,.1f} steps/s, {steps_per_s * BATCH_SIZE:,.0f} samples/s on {device}"


def calls_per_s(work: Callable[[], object], seconds: float) -> float:
    """Throughput of `work`; the first call, a warm-up, does not count."""
    work()
    num_done = 0
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        work()
        num_done += 1
    return num_done / (time.perf_counter() - start)
