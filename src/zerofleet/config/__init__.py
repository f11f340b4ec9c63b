"""The settings of a run: their declarations, presets, files and overrides."""

from zerofleet.config.core_sections import SearchConfig
from zerofleet.config.presets import (
    from_yaml,
    load,
    preset_names,
    presets_folder,
    read,
    trainable_games,
)
from zerofleet.config.sections import (
    MAX_SEED,
    Config,
    Device,
    FleetConfig,
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
    "MAX_SEED",
    "Config",
    "Device",
    "FleetConfig",
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
    "from_yaml",
    "game_text",
    "load",
    "override_of",
    "preset_names",
    "presets_folder",
    "read",
    "trainable_games",
    "unknown_name",
]
