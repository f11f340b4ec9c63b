"""Runs that begin, learn a little and end within seconds."""

TINY_RUN = [
    "search.num_simulations=8",
    "selfplay.num_groups=1",
    "selfplay.games_per_group=16",
    "network.preset=tiny",
    "replay.min_rows=200",
    "replay.capacity_rows=1000",
    "train.batch_size=32",
    "train.checkpoint_every_minutes=null",
    "run.num_threads=2",
    "rating.interval_minutes=0",
    "rating.final_games=0",
]
"""Settings for tic-tac-toe; checkpoints by steps alone, no ratings."""
