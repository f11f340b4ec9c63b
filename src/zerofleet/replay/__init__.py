"""The replay: an episode log on disk, the newest rows in memory, batches, and a rate limiter.

    replay = Replay(folder, game, config, seed=1)
    replay.accept(episodes)
    if replay.limiter.may_train(1024):
        step(replay.sampler.sample(1024))
        replay.limiter.trained(1024)

Samples are uniform over rows, not games, so long games weigh more. Rows are derived from an episode
once, when it arrives, by replaying it in the core, and can always be derived again.
"""

from zerofleet.replay.buffer import Batch, ReplayBuffer, RowFormat, Sampler
from zerofleet.replay.intake import Intake, IntakeCounts
from zerofleet.replay.log import EpisodeLog, LogFull, LogInUse
from zerofleet.replay.recovery import LogPosition, RecoveryReport
from zerofleet.replay.replay import Buffered, LimiterState, RateLimiter, Replay

__all__ = [
    "Batch",
    "Buffered",
    "EpisodeLog",
    "Intake",
    "IntakeCounts",
    "LimiterState",
    "LogFull",
    "LogInUse",
    "LogPosition",
    "RateLimiter",
    "RecoveryReport",
    "Replay",
    "ReplayBuffer",
    "RowFormat",
    "Sampler",
]
