"""How many games a group has: as the settings say, or as suits what answers them."""

from collections.abc import Callable

from zerofleet.config import Config
from zerofleet.errors import Inconsistent
from zerofleet.games import Game
from zerofleet.infer.calibration import calibrate
from zerofleet.nets import Network


def refuse_unsaid_size(config: Config) -> None:
    """A deterministic run cannot have a size that is measured: it differs from time to time."""
    if config.run.deterministic and not config.selfplay.games_per_group:
        raise Inconsistent(
            "a deterministic run needs a number in selfplay.games_per_group, such as 64; "
            "0 is measured at each start"
        )


def games_per_group(
    config: Config, game: Game, network: Network, device: str, say: Callable[[str], None]
) -> int:
    """The number of the settings; where that is 0, one that is measured, and said."""
    refuse_unsaid_size(config)
    if config.selfplay.games_per_group:
        return config.selfplay.games_per_group
    found = calibrate(game, network, config.run.evaluator, device)
    say(f"games per group: {found}")
    return found.size
