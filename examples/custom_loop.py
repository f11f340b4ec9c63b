"""A custom training loop, from the components of `zf.train`.

AlphaZero on Connect Four in one thread: self-play, replay buffer, training steps, new weights.

    python examples/custom_loop.py
"""

import tempfile
from pathlib import Path

import zerofleet as zf
from zerofleet.config import ReplayConfig, TrainConfig


def train(
    game: zf.games.Game, folder: Path, num_iterations: int = 20, games_per_iteration: int = 64
) -> zf.infer.Evaluator:
    zf.training.set_up_torch(seed=1, num_threads=1, deterministic=False)

    # The network that learns, and the evaluator that answers the leaves of a search.
    network = zf.nets.build(game, "tiny")
    evaluator = zf.infer.make_evaluator(network, device="cpu")
    settings = TrainConfig(batch_size=256, learning_rate=2e-3, warmup_steps=20)
    trainer = zf.training.Trainer(network, settings, zf.infer.pick_device("cpu"))

    # The replay buffer: a log on disk, the newest rows in memory, a sampler and a rate limiter.
    replay_settings = ReplayConfig(capacity_rows=50_000, min_rows=500)
    replay = zf.replay.Replay(folder / "episodes", game, replay_settings, seed=1)
    store = zf.weights.WeightsStore(folder / "weights")

    for iteration in range(num_iterations):
        # Self-play yields encoded episodes. Their id is (worker, game number).
        episodes = zf.selfplay.play(
            game,
            evaluator,
            num_episodes=games_per_iteration,
            games_per_group=games_per_iteration // 2,
            worker=iteration,
            root="gumbel",
            num_simulations=16,
        )
        replay.accept(list(episodes))

        # Training: as many samples as the rate limiter allows for the games so far.
        while replay.limiter.may_train(settings.batch_size):
            trainer.step(replay.sampler.sample(settings.batch_size))
            replay.limiter.trained(settings.batch_size)
        reports = trainer.take_reports()

        # New weights (their exponential moving average): for self-play, and on disk.
        evaluator.load(trainer.ema, trainer.step_count)
        store.publish(trainer.weights())
        if reports:
            losses = {name: round(value, 3) for name, value in reports[-1].values.items()}
            print(f"iteration {iteration}, step {trainer.step_count}: {losses}")
    replay.close()
    return evaluator


if __name__ == "__main__":
    connect4 = zf.games.get("connect4")
    with tempfile.TemporaryDirectory() as name:
        trained = train(connect4, Path(name))

    def new_player() -> zf.arena.Player:  # one for each thread of the match
        return zf.arena.SearchPlayer("trained", trained, num_simulations=64)

    print(zf.arena.match(connect4, new_player, "random", num_games=100))
