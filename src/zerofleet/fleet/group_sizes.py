"""The number of games per group: from the settings, or calibrated for the evaluator."""

import time
from collections.abc import Callable

from zerofleet import _core
from zerofleet.config import Config
from zerofleet.errors import Inconsistent
from zerofleet.fleet.hardware import ThreadPlan
from zerofleet.games import Game
from zerofleet.infer.calibration import calibrate, throughput_text
from zerofleet.nets import Network

WARM_UP_S, MEASURED_S = 0.1, 0.4
SEARCHED_GAMES = 64
"""Per thread, while search throughput is measured."""


def refuse_measured_size(config: Config) -> None:
    """Raises Inconsistent for a deterministic run with a measured size, which varies."""
    if config.run.deterministic and not config.selfplay.games_per_group:
        raise Inconsistent(
            "a deterministic run needs a number in selfplay.games_per_group, such as 64; "
            "0 measures one at each start"
        )


def games_per_group(
    config: Config,
    game: Game,
    network: Network,
    device: str,
    plan: ThreadPlan,
    say: Callable[[str], None],
) -> int:
    """The configured number; if that is 0, a measured one, which is printed."""
    refuse_measured_size(config)
    if config.selfplay.games_per_group:
        return config.selfplay.games_per_group
    found = calibrate(game, network, config.run.own_evaluator, device)
    if plan.search == 0:  # one thread alternates search and inference, so neither starves
        size = found.size_for()
        say(f"games per group: {size:,} ({found})")
        return size
    leaves_per_s = search_throughput(config, game, plan.search)
    size = found.size_for(leaves_per_s)
    say(f"games per group: {size:,} ({found}; search {throughput_text(leaves_per_s)})")
    return size


def search_throughput(config: Config, game: Game, num_threads: int) -> float:
    """Leaves/s of this many search threads with an immediate evaluator."""
    driver = _core.SelfPlay(
        game, config.for_core(), num_threads, SEARCHED_GAMES, num_threads, "uniform", 1, 0
    )
    time.sleep(WARM_UP_S)
    num_before, start_s = driver.counts().num_leaves, time.perf_counter()
    time.sleep(MEASURED_S)
    leaves_per_s = (driver.counts().num_leaves - num_before) / (time.perf_counter() - start_s)
    driver.stop()
    return leaves_per_s
