"""Custom games, named by their location, wherever a game is named."""

from pathlib import Path

import pytest
from pick_source import PICK

import zerofleet as zf
from zerofleet import _core, config, nets
from zerofleet.cli import main
from zerofleet.config.presets import CUSTOM_GAME
from zerofleet.errors import BadText, Inconsistent, Unsupported
from zerofleet.runs.folder import config_for, create_or_open, find, keep_settings
from zerofleet.runs.game import default_name

LOSES = PICK.replace("self.picked == 1", "self.picked == 0")
"""The same with other rules: who picks 1 loses."""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "pick.py").write_text(PICK)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("ZEROFLEET_RUNS", str(tmp_path / "runs"))
    return folder


# ---- naming


def test_a_class_in_a_file_is_the_same_game_by_every_path(here: Path) -> None:
    game = zf.games.get("pick.py:Pick")
    assert game.in_python
    assert game == zf.games.get("./pick.py:Pick") == zf.games.get(f"{here}/pick.py:Pick")
    assert zf.search.analyse(game.new_position()).best_action == 1


def test_a_file_that_changed_is_read_again(here: Path) -> None:
    before = zf.games.get("pick.py:Pick")
    (here / "pick.py").write_text(LOSES)
    after = zf.games.get("pick.py:Pick")
    assert [zf.search.analyse(game.new_position()).best_action for game in (before, after)] == [
        1,
        0,
    ]
    assert before != after


def test_a_class_in_a_module_is_named_by_it(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "mygames").mkdir()
    (here / "mygames" / "choice.py").write_text(PICK)
    monkeypatch.syspath_prepend(here)
    assert zf.games.get("mygames.choice:Pick").name == "pick"


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("pick.py", r"pick\.py does not name the class of the game; write path/to/file\.py:Class"),
        ("pick.py:", r"does not name the class of the game"),
        ("pick.py:Take", r"pick\.py has no class Take; it has: Pick"),
        ("gone.py:Pick", r"gone\.py cannot be read: No such file or directory"),
        ("no.such.module:Pick", r"no\.such\.module cannot be imported: No module named 'no'"),
        ("broken.py:Pick", r"broken\.py:3: ZeroDivisionError: division by zero"),
        ("typo.py:Pick", r"typo\.py:2: SyntaxError"),
        ("taken.py:Pick", r"a built-in game is called gomoku; use another name"),
        ("wood.h:Pick", r"a header's class is always MyGame; write wood\.h"),
    ],
)
def test_a_source_that_is_no_game_is_refused_with_why(here: Path, source: str, error: str) -> None:
    (here / "broken.py").write_text("# ok\n\n1 / 0\n")
    (here / "typo.py").write_text("\nclass Pick\n")
    (here / "taken.py").write_text(PICK.replace('"pick"', '"gomoku"'))
    with pytest.raises((BadText, Unsupported), match=error):
        zf.games.get(source)


def test_a_game_in_python_has_no_options() -> None:
    with pytest.raises(Unsupported, match="a game written in Python has no options"):
        zf.games.get("pick.py:Pick", size=3)


def test_every_verb_that_takes_a_game_takes_a_custom_game(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for verb in (["check", "--games", "16"], ["show"], ["analyse"]):
        with pytest.raises(SystemExit) as ended:
            main([verb[0], "./pick.py:Pick", *verb[1:]])
        assert ended.value.code == 0, capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(["show", "./pick.py:Take"])
    assert ended.value.code == 2
    assert capsys.readouterr().err == "zerofleet: ./pick.py has no class Take; it has: Pick\n"


# ---- fingerprints


def test_a_fingerprint_is_of_the_rules_and_not_of_how_they_are_written(here: Path) -> None:
    def fingerprint(code: str) -> str:
        (here / "pick.py").write_text(code)
        return zf.games.fingerprint(zf.games.get("pick.py:Pick"))

    drawn = PICK + "\n    def __str__(self):\n        return 'a picture'  # and a comment\n"
    assert fingerprint(PICK) == fingerprint(drawn)
    others = [LOSES, PICK.replace("[self.to_move == player]", "[2 * (self.to_move == player)]")]
    assert len({fingerprint(code) for code in [PICK, *others]}) == 3


def test_a_game_that_is_never_the_same_has_no_fingerprint(here: Path) -> None:
    (here / "pick.py").write_text(
        PICK.replace("class Pick", "import random\n\n\nclass Pick").replace(
            "self.picked == 1", "random.random() < 0.5"
        )
    )
    with pytest.raises(Inconsistent, match="the same seed and actions gave a different game"):
        zf.games.fingerprint(zf.games.get("pick.py:Pick"))


# ---- runs


def begun(source: str = "pick.py:Pick", name: str = "mine") -> None:
    settings = config_for(name, source)
    with create_or_open(name, settings) as run:
        keep_settings(run, settings, say=lambda text: None)


def test_a_run_has_a_name_that_a_folder_can_have() -> None:
    assert default_name("../a b/my game.py:Pick", "fast") == "my-game-fast"
    assert default_name("mygames.choice:Pick", "fast") == "choice-fast"
    assert default_name("wood.h", "standard") == "wood-standard"
    assert default_name("connect4", "fast") == "connect4-fast"


def test_a_custom_game_has_the_presets_and_settings_of_others() -> None:
    fast = config.load("pick.py:Pick", overrides=["search.num_simulations=7"])
    assert fast.search.num_simulations == 7
    assert fast.network.preset == "tiny"
    game = zf.games.get("pick.py:Pick")
    for preset in config.preset_names(CUSTOM_GAME):
        loaded = config.load("pick.py:Pick", preset)
        _core.SelfPlay(game, loaded.for_core(), 1, 1, 0, "uniform", 1, 0).stop()
        assert loaded.network.preset in nets.presets(game.name)
    with pytest.raises(
        Unsupported, match="unknown preset quick; known: fast, production, standard"
    ):
        config.load("pick.py:Pick", "quick")


def test_settings_of_another_game_are_refused(here: Path) -> None:
    (here / "other.yaml").write_text("game: {name: gomoku}\n")
    with pytest.raises(Inconsistent, match=r"other\.yaml: is for gomoku, not for .*pick\.py:Pick"):
        config.load("pick.py:Pick", path=here / "other.yaml")


def test_a_run_finds_its_game_from_every_folder(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun()
    monkeypatch.chdir(tmp_path)
    assert find("mine").facts.game == f"{here}/pick.py:Pick"
    assert find("mine").game().name == "pick"
    begun("here/pick.py:Pick")


def test_a_game_that_moved_is_named_once_and_then_known(here: Path) -> None:
    begun()
    (here / "deep").mkdir()
    (here / "pick.py").rename(here / "deep" / "choice.py")
    with pytest.raises(Inconsistent, match=r"cannot be loaded: .*runs source mine PLACE`"):
        find("mine").game()
    begun("deep/choice.py:Pick")
    assert find("mine").facts.game == f"{here}/deep/choice.py:Pick"
    assert find("mine").game().name == "pick"


def test_a_run_refuses_its_game_when_the_rules_have_changed(here: Path) -> None:
    begun()
    (here / "pick.py").write_text(LOSES)
    for refused in (begun, find("mine").game):
        with pytest.raises(Inconsistent, match=r"have changed since .*mine was started"):
            refused()
    (here / "pick.py").write_text(PICK)
    begun()


def test_a_run_is_not_resumed_with_another_game(here: Path) -> None:
    begun()
    (here / "loses.py").write_text(LOSES)
    with pytest.raises(Inconsistent, match=r"is a run of .*pick\.py:Pick, not of .*loses\.py:Pick"):
        begun("loses.py:Pick")
    with pytest.raises(Inconsistent, match=r"is for .*pick\.py:Pick, not for connect4"):
        begun("connect4")


def test_rules_inside_a_run_folder_are_not_executed(here: Path, tmp_path: Path) -> None:
    begun()
    (tmp_path / "runs" / "other").mkdir()
    planted = tmp_path / "runs" / "other" / ".." / "mine" / "planted.py"
    planted.write_text("raise SystemExit('was run')\n")
    facts = find("mine").folder / "run.json"
    facts.write_text(facts.read_text().replace(f"{here}/pick.py", str(planted)))
    with pytest.raises(Inconsistent, match="is in a run folder"):
        find("mine").game()


def test_an_option_may_have_the_name_of_an_argument() -> None:
    with pytest.raises(Unsupported, match="name"):
        zf.games.get("connect4", name="gomoku")
