"""How many games a group has: as the settings say, or as suits what answers them."""

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
"""Of each thread, while search is measured."""


def refuse_unsaid_size(config: Config) -> None:
    """A deterministic run cannot have a size that is measured: it differs from time to time."""
    if config.run.deterministic and not config.selfplay.games_per_group:
        raise Inconsistent(
            "a deterministic run needs a number in selfplay.games_per_group, such as 64; "
            "0 is measured at each start"
        )


def games_per_group(
    config: Config,
    game: Game,
    network: Network,
    device: str,
    plan: ThreadPlan,
    say: Callable[[str], None],
) -> int:
    """The number of the settings; where that is 0, one that is measured, and said."""
    refuse_unsaid_size(config)
    if config.selfplay.games_per_group:
        return config.selfplay.games_per_group
    found = calibrate(game, network, config.run.evaluator, device)
    if plan.search == 0:  # search and inference take turns, so neither holds up the other
        size = found.size_for()
        say(f"games per group: {size:,} ({found})")
        return size
    leaves_per_s = search_rate(config, game, plan.search)
    size = found.size_for(leaves_per_s)
    say(f"games per group: {size:,} ({found}; search {throughput_text(leaves_per_s)})")
    return size


def search_rate(config: Config, game: Game, num_threads: int) -> float:
    """Leaves that so many threads find in a second where each is answered at once."""
    driver = _core.SelfPlay(
        game, config.for_core(), num_threads, SEARCHED_GAMES, num_threads, "uniform", 1, 0
    )
    time.sleep(WARM_UP_S)
    num_before, start_s = driver.counts().num_leaves, time.perf_counter()
    time.sleep(MEASURED_S)
    rate = (driver.counts().num_leaves - num_before) / (time.perf_counter() - start_s)
    driver.stop()
    return rate
