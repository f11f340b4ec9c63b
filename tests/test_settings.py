"""Settings are declared once: everything generated from the declarations is up to date and
agrees."""

import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

import zerofleet as zf
from zerofleet import _core
from zerofleet.config import Config, GameConfig, SearchConfig, SelfPlayConfig
from zerofleet.errors import BadText, Unsupported

PROJECT = Path(__file__).parent.parent
PAGE = (PROJECT / "docs" / "settings.md").read_text()

BACKGAMMON = zf.games.get("backgammon")
CONNECT4 = zf.games.get("connect4")
OF_SEARCH = [(setting, SearchConfig) for setting in _core.search_settings() if setting.selfplay]
OF_SELFPLAY = [(setting, SelfPlayConfig) for setting in _core.selfplay_settings()]


def test_what_is_made_from_the_declarations_is_up_to_date() -> None:
    script = [sys.executable, PROJECT / "scripts" / "write-settings", "--check"]
    checked = subprocess.run(script, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_the_page_names_every_setting() -> None:
    for section, values in Config.model_json_schema()["$defs"].items():
        prefix = section.removesuffix("Config").lower()
        for name in values["properties"]:
            assert f"| `{prefix}.{name}` |" in PAGE


# ---- of search and self-play


def core_takes(name: str, value: object) -> bool:
    try:
        settings = {"afterstates": True, name: value}  # some settings need them
        _core.SelfPlay(BACKGAMMON, settings, 1, 1, 0, "uniform", 1, 0).stop()
    except BadText:
        return False
    return True


def config_takes(section: type[SearchConfig | SelfPlayConfig], name: str, value: object) -> bool:
    try:
        section.model_validate({name: value})
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize(
    ("setting", "section"), [*OF_SEARCH, *OF_SELFPLAY], ids=lambda each: getattr(each, "name", "")
)
def test_config_and_core_take_the_same_values(
    setting: _core.Setting, section: type[SearchConfig | SelfPlayConfig]
) -> None:
    low, high = setting.min, setting.max
    values: list[object] = [setting.default, *setting.choices, "no such choice", True]
    if setting.kind == "int":
        values += [int(low) - 1, int(low), int(low) + 1, int(high) + 1, 0.5]
    if setting.kind == "float":
        values += [low - 0.1, low, (low + high) / 2, high, high + 0.1, float("nan")]
    taken = [core_takes(setting.name, value) for value in values]
    assert taken == [config_takes(section, setting.name, value) for value in values]
    assert True in taken
    assert False in taken


def test_self_play_has_the_defaults_of_training() -> None:
    defaults = Config(game=GameConfig(name="connect4")).for_core()
    assert defaults["dirichlet_epsilon"] > 0
    played = {"num_episodes": 4, "num_threads": 0, "games_per_group": 2}
    bare, stated = (
        list(zf.selfplay.play(CONNECT4, "hash", **played, **settings))
        for settings in ({}, defaults)
    )
    assert bare == stated


def test_every_setting_of_the_core_is_a_keyword_of_self_play() -> None:
    settings = [setting for setting, _ in [*OF_SEARCH, *OF_SELFPLAY]]
    assert set(zf.selfplay.SelfPlaySettings.__annotations__) == {each.name for each in settings}


def test_self_play_refuses_a_setting_that_it_does_not_read() -> None:
    with pytest.raises(Unsupported, match="unknown self-play setting max_leaves"):
        list(zf.selfplay.play(CONNECT4, "hash", num_episodes=1, max_leaves=8))  # type: ignore[call-arg]
