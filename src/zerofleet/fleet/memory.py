"""What a run is sure to need, so that one that cannot fit is refused before it begins."""

import os

from zerofleet.config import Config
from zerofleet.errors import TooLarge
from zerofleet.games import Game
from zerofleet.replay.buffer import row_dtype


def refuse_too_large(config: Config, game: Game) -> None:
    """Raises TooLarge where the rows of the replay's buffer, or of a batch, are more than all of
    the memory; networks and search trees come on top of them."""
    memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    row_bytes = row_dtype(game).itemsize
    for setting, num_rows in (
        ("replay.capacity_rows", config.replay.capacity_rows),
        ("train.batch_size", config.train.batch_size),
    ):
        if num_rows * row_bytes > memory_bytes:
            raise TooLarge(
                f"{setting}={num_rows}: so many rows of {game.name} take "
                f"{num_rows * row_bytes / 2**30:,.0f} GiB, and this machine has "
                f"{memory_bytes / 2**30:,.0f} GiB; at most {memory_bytes // row_bytes} would fit"
            )
