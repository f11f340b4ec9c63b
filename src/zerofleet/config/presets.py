"""The settings of a run: a preset or a file, with overrides on top.

    config = load("connect4", "fast", overrides=["search.num_simulations=64"])

A file holds only what differs from the defaults in zerofleet.config.sections, or from another file
in the same folder (`based_on: production`). zerofleet.config.text rejects unknown settings and
invalid values.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from zerofleet import games
from zerofleet.config.sections import (
    Config,
    GameConfig,
)
from zerofleet.config.text import (
    Override,
    build,
    override_of,
    parse_settings,
    put,
    read_settings,
    shown,
    source_of,
    unknown_name,
)
from zerofleet.errors import BadText, Inconsistent, Unsupported, ZerofleetError
from zerofleet.storage import packaged_folder

CUSTOM_GAME = "custom"
"""The folder of presets that all custom games share."""


# ---- sources


def presets_folder() -> Path:
    """The folder that holds one folder of presets per game."""
    return packaged_folder("configs", "configs", "presets")


def preset_names(game: str) -> list[str]:
    """The presets of a game. Custom games share one set."""
    if games.is_source(game):
        game = CUSTOM_GAME
    elif game not in [*trainable_games(), CUSTOM_GAME]:
        raise Unsupported(unknown_name("game", game, trainable_games()))
    return sorted(path.stem for path in (presets_folder() / game).glob("*.yaml"))


def trainable_games() -> list[str]:
    """The games that have presets: all built-in ones."""
    folders = (path.name for path in presets_folder().iterdir() if path.is_dir())
    return sorted(name for name in folders if name != CUSTOM_GAME)


def load(
    game: str,
    preset: str = "fast",
    path: Path | None = None,
    overrides: Sequence[str | Override] = (),
    options: Mapping[str, int | str] | None = None,
) -> Config:
    """The settings of a game's preset, or of the file at `path`, with overrides applied.

    An override is a text such as search.num_simulations=64, with a YAML value, or an Override that
    names its source. A file that names no game is for this one. `options` are game options; the
    returned config spells all of them out. `game` may be the source of a custom game; these use
    the presets in configs/custom.
    """
    is_custom = games.is_source(game)
    presets = preset_names(game)
    if path is None:
        if preset not in presets:
            raise Unsupported(unknown_name("preset", preset, presets))
        path = presets_folder() / (CUSTOM_GAME if is_custom else game) / f"{preset}.yaml"
    settings = read_settings(path)
    given = [override_of(text) for text in overrides] + [
        Override(("game", "options", name), value, f"--option {name}={value}")
        for name, value in (options or {}).items()
    ]
    for override in given:
        put(settings, override)
    if is_custom:
        _name_custom_game(settings, games.absolute(game), path)
    else:
        _name_game(settings, game)
    config = build(settings, path, given)
    if is_custom:
        return _for_custom_game(config)
    return _for_game(config, game, source_of(("game",), path, given))


def read(path: Path) -> Config:
    """The settings in a file, such as a run's config.yaml."""
    return build(read_settings(path), path, [])


def from_yaml(text: str, source: str) -> Config:
    """The settings in a text that `Config.to_yaml` wrote; errors call it by its source."""
    return build(parse_settings(text, source), source, [])


# ---- the game section


def _for_game(config: Config, game: str, source: str) -> Config:
    """Rejects settings for another game; spells out all options of this one."""
    name = games.get(game).name
    if config.game.name not in (name, game):
        raise Inconsistent(f"{source}: is for {config.game.name}, not for {game}")
    try:
        options = _as_settings(games.get(game, **config.game.options).options)
    except ZerofleetError as error:
        raise BadText(f"{source}: {error}") from None
    return config.model_copy(update={"game": GameConfig(name=name, options=options)})


def _name_game(settings: dict[str, Any], game: str) -> None:
    """Sets the game's name unless the settings name one."""
    section = settings.setdefault("game", {})
    if isinstance(section, dict):
        section.setdefault("name", game)


def _name_custom_game(settings: dict[str, Any], source: str, path: Path) -> None:
    """Sets the custom game's source; rejects settings for a built-in game."""
    section = settings.setdefault("game", {})
    if isinstance(section, dict):
        if not games.is_source(str(section.get("name", source))):
            raise Inconsistent(f"{shown(path)}: is for {section['name']}, not for {source}")
        section["name"] = source


def _for_custom_game(config: Config) -> Config:
    """Spells out all options of the game, and the fingerprint of its rules."""
    game = games.get(config.game.name, **config.game.options)
    section = GameConfig(
        name=config.game.name, options=_as_settings(game.options), rules=games.fingerprint(game)
    )
    return config.model_copy(update={"game": section})


def _as_settings(options: Mapping[str, str]) -> dict[str, int | str]:
    return {name: int(text) if text.isdigit() else text for name, text in options.items()}
