"""The settings of a run, from a preset or a file, with what is set over them.

    config = load("connect4", "fast", overrides=["search.num_simulations=64"])

A file holds only what differs from the defaults in zerofleet.config.sections, or from another file
beside it (`based_on: production`). What cannot be set is refused by zerofleet.config.text.
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
    put,
    read_settings,
    shown,
    source_of,
    unknown_name,
)
from zerofleet.errors import BadText, Inconsistent, Unsupported, ZerofleetError
from zerofleet.storage import own_folder

CUSTOM_GAME = "custom"
"""The folder of presets that every custom game has."""


# ---- where they come from


def presets_folder() -> Path:
    """The folder with a folder of presets per game: in the package, or in a checkout."""
    return own_folder("configs", "configs", "presets")


def preset_names(game: str) -> list[str]:
    """The presets of a game; custom games share theirs."""
    if games.is_source(game):
        game = CUSTOM_GAME
    elif game not in [*trainable_games(), CUSTOM_GAME]:
        raise Unsupported(unknown_name("game", game, trainable_games()))
    return sorted(path.stem for path in (presets_folder() / game).glob("*.yaml"))


def trainable_games() -> list[str]:
    """The games that have presets: all that come with zerofleet."""
    folders = (path.name for path in presets_folder().iterdir() if path.is_dir())
    return sorted(name for name in folders if name != CUSTOM_GAME)


def load(
    game: str,
    preset: str = "fast",
    path: Path | None = None,
    overrides: Sequence[str | Override] = (),
    options: Mapping[str, int | str] | None = None,
) -> Config:
    """The settings of a preset of a game, or of the file at `path`, with what is set over them.

    An override is a text such as search.num_simulations=64, its value written as in YAML; or one
    that says where else it was given. A file that does not name its game is for this one.
    `options` are options of the game. The config that comes back has all of these written out.
    `game` may say where a custom game is; those share the presets in configs/custom.
    """
    own = games.is_source(game)
    presets = preset_names(game)
    if path is None:
        if preset not in presets:
            raise Unsupported(unknown_name("preset", preset, presets))
        path = presets_folder() / (CUSTOM_GAME if own else game) / f"{preset}.yaml"
    settings = read_settings(path)
    given = [override_of(text) for text in overrides] + [
        Override(("game", "options", name), value, f"--option {name}={value}")
        for name, value in (options or {}).items()
    ]
    for override in given:
        put(settings, override)
    if own:
        _name_custom_game(settings, games.absolute(game), path)
    else:
        _name_game(settings, game)
    config = build(settings, path, given)
    if own:
        return _for_custom_game(config)
    return _for_game(config, game, source_of(("game",), path, given))


def read(path: Path) -> Config:
    """The settings in a file, such as that of a run."""
    return build(read_settings(path), path, [])


# ---- the game that they are for


def _for_game(config: Config, game: str, source: str) -> Config:
    """Refuses settings for another game; writes all options of this one out."""
    name = games.get(game).name
    if config.game.name not in (name, game):
        raise Inconsistent(f"{source}: is for {config.game.name}, not for {game}")
    try:
        options = _as_settings(games.get(game, **config.game.options).options)
    except ZerofleetError as error:
        raise BadText(f"{source}: {error}") from None
    return config.model_copy(update={"game": GameConfig(name=name, options=options)})


def _name_game(settings: dict[str, Any], game: str) -> None:
    """Lets settings that do not name their game be for this one of ours."""
    section = settings.setdefault("game", {})
    if isinstance(section, dict):
        section.setdefault("name", game)


def _name_custom_game(settings: dict[str, Any], source: str, path: Path) -> None:
    """Lets the settings be for the game at a source; those for one of our games are refused."""
    section = settings.setdefault("game", {})
    if isinstance(section, dict):
        if not games.is_source(str(section.get("name", source))):
            raise Inconsistent(f"{shown(path)}: is for {section['name']}, not for {source}")
        section["name"] = source


def _for_custom_game(config: Config) -> Config:
    """Writes out all options of the game, and its rules as they are now."""
    game = games.get(config.game.name, **config.game.options)
    section = GameConfig(
        name=config.game.name, options=_as_settings(game.options), rules=games.fingerprint(game)
    )
    return config.model_copy(update={"game": section})


def _as_settings(options: Mapping[str, str]) -> dict[str, int | str]:
    return {name: int(text) if text.isdigit() else text for name, text in options.items()}
