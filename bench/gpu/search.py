"""Search alone on all cores: the threads of one process against as many one-thread processes.

The hash evaluator answers the leaves. games/s count whole games of the size that they have with the
uniform evaluator (whole_games.py), at the throughput of the threads.
"""

import functools
import os
import subprocess
import sys
from pathlib import Path

from gpu.selfplay import RANDOM
from gpu.whole_games import size_of_a_game

import zerofleet as zf

OURS = Path(__file__).parents[1] / "core" / "ours.py"


def measure(game, num_simulations, seconds):
    num_cores = os.cpu_count() or 1
    command = [sys.executable, str(OURS), str(seconds), game, str(num_simulations)]
    apart = [
        subprocess.Popen([*command, "1"], stdout=subprocess.PIPE, text=True)
        for _ in range(num_cores)
    ]
    by_processes = sum(float(process.communicate()[0]) for process in apart)
    together = subprocess.run([*command, str(num_cores)], stdout=subprocess.PIPE, text=True)
    by_threads = float(together.stdout)
    whole = size_of_a_game(zf.games.get(game), {"num_simulations": num_simulations, **RANDOM})
    return {
        "threads_over_processes": by_threads / by_processes,
        "simulations_per_s_by_threads": by_threads,
        "simulations_per_s_by_processes": by_processes,
        "games_per_s_by_threads": by_threads / whole.simulations,
        "decisions_per_game": whole.decisions,
        "simulations_per_game": whole.simulations,
        "threads": num_cores,
    }


MEASUREMENTS = {
    "search backgammon 100": functools.partial(measure, "backgammon", 100),
    "search beastybar 200": functools.partial(measure, "beastybar", 200),
}
