"""Real runs of tic-tac-toe, trained and rated within seconds, to be looked at."""

from tiny_runs import TINY_RUN

RUNS = {
    "first": ["rating.final_games=20"],
    "second": ["rating.final_games=20", "search.num_simulations=4"],
}
"""Settings of each run beside those of every tiny run."""
NUM_STEPS = 200


def train_command(name: str, *more: str) -> list[str]:
    settings = [f"--set={each}" for each in (*TINY_RUN, *RUNS.get(name, []))]
    return ["train", "tictactoe", "--preset", "fast", "--run", name, *settings, *more]
