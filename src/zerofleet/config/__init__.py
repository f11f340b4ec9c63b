"""The settings of a run: what can be set, presets, files, and what is set over them."""

from zerofleet.config.core_sections import SearchConfig
from zerofleet.config.presets import load, preset_names, presets_folder, read, trainable_games
from zerofleet.config.sections import (
    MOST_SEED,
    Config,
    Device,
    GameConfig,
    NetworkConfig,
    RatingConfig,
    ReplayConfig,
    RunConfig,
    SelfPlayConfig,
    StopConfig,
    TrainConfig,
    differences,
    game_text,
)
from zerofleet.config.text import Override, override_of, unknown_name

__all__ = [
    "MOST_SEED",
    "Config",
    "Device",
    "GameConfig",
    "NetworkConfig",
    "Override",
    "RatingConfig",
    "ReplayConfig",
    "RunConfig",
    "SearchConfig",
    "SelfPlayConfig",
    "StopConfig",
    "TrainConfig",
    "differences",
    "game_text",
    "load",
    "override_of",
    "preset_names",
    "presets_folder",
    "read",
    "trainable_games",
    "unknown_name",
]
