"""A custom game in C++: compiled and loaded, or refused with a clear message."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from command_line import Ran

import zerofleet as zf
from zerofleet import _core
from zerofleet.errors import BadBytes, BadText, Inconsistent, RulesFailed, Unsupported
from zerofleet.games.build import cache_folder, find_compiler

TUTORIAL = Path(__file__).parents[2] / "docs" / "7-custom-games.md"
found = re.search(r"```cpp\n(.*?)```", TUTORIAL.read_text(), re.DOTALL)
assert found
STICKS = found[1]
"""Take one, two or three of 21 sticks, but not as many as were just taken; who is stuck loses."""


@pytest.fixture(scope="module")
def header(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("own") / "sticks.h"
    path.write_text(STICKS)
    return path


@pytest.fixture(scope="module")
def sticks(header: Path) -> zf.games.Game:
    return zf.games.build(header)


def changed(folder: Path, old: str, new: str) -> Path:
    assert old in STICKS
    path = folder / "changed.h"
    path.write_text(STICKS.replace(old, new))
    return path


# ---- what a built game can do


def test_a_built_game_keeps_the_contract(sticks: zf.games.Game) -> None:
    assert (sticks.name, sticks.num_actions, sticks.options) == ("sticks", 3, {})
    assert not sticks.in_python
    assert zf.games.check(sticks, num_games=200).longest <= 21


@pytest.mark.long
def test_a_player_is_shown_its_observation_where_something_is_hidden(tmp_path: Path) -> None:
    plain = "return zf::custom_facts("
    hidden = "zf::Facts facts = zf::custom_facts("
    path = changed(tmp_path, plain, hidden)
    text = path.read_text().replace("3, 3, 21);", "3, 3, 21); facts.hidden = true; return facts;")
    path.write_text(text)
    position = zf.games.build(path).from_text("6 1 0")
    assert position.describe(0) == {"observation": [6, 1, 1]}
    assert position.describe() == {"text": "6 1 0"}


def test_a_lost_number_of_sticks_is_left_to_the_other(sticks: zf.games.Game) -> None:
    # From 0 sticks up: with 4 left and 3 just taken, taking 1 leaves 3 of which 3 wins for the
    # other, taking 2 leaves 2 of which 1 wins; so 4 is lost, and 6 is won by taking 2.
    analysis = zf.search.analyse(sticks.from_text("6 1 0"), num_simulations=500)
    assert (analysis.best_action, analysis.value_to_move) == (1, 1)
    assert zf.search.analyse(sticks.from_text("4 0 1"), num_simulations=500).value_to_move == -1


def test_threads_play_it_and_its_episodes_are_replayed(sticks: zf.games.Game) -> None:
    episodes = [
        zf.games.Episode.decode(data)
        for data in zf.selfplay.play(sticks, num_episodes=20, num_threads=2, num_simulations=16)
    ]
    assert len(episodes) == 20
    for episode in episodes:
        episode.verify(sticks)
        assert episode.rows(sticks).observations.shape[1] == 3


def test_errors_of_a_built_game_say_what_is_legal(sticks: zf.games.Game) -> None:
    position = sticks.from_text("2 1 0")
    with pytest.raises(zf.errors.IllegalAction, match=r"'0' is not legal here; legal: 1 \(sticks"):
        position.action_from_text("0")
    with pytest.raises(BadText, match="must be sticks left, last taken and mover"):
        sticks.from_text("many")


def test_it_may_outlive_its_game(header: Path) -> None:
    position = zf.games.build(header).new_position()
    assert np.array_equal(position.observe(0), [21, 0, 1])


# ---- the cache


@pytest.mark.long
def test_a_header_is_compiled_again_only_when_what_it_includes_changes(tmp_path: Path) -> None:
    numbers = tmp_path / "numbers.h"
    including = changed(tmp_path, "left = 21", "left = kSticks")
    including.write_text('#include "numbers.h"\n' + including.read_text())
    before = set(cache_folder().glob("changed-*.so"))
    for num_sticks, num_built in ((19, 1), (19, 1), (18, 2)):
        numbers.write_text(f"inline constexpr int kSticks = {num_sticks};\n")
        game = zf.games.build(including)
        assert game.new_position().observe(0)[0] == num_sticks
        assert len(set(cache_folder().glob("changed-*.so")) - before) == num_built


def test_what_was_built_is_found_again(
    header: Path, sticks: zf.games.Game, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert zf.games.build(header) == zf.games.get(str(header)) == sticks
    for path in cache_folder().glob("sticks-*.so"):  # other tests may be compiling into that cache
        shutil.copy(path, tmp_path)
    monkeypatch.setenv("ZEROFLEET_CACHE", str(tmp_path))
    made = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    zf.games.build(header)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == made


# ---- options


@pytest.fixture(scope="module")
def with_options(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same game with an option: how many sticks and plies it has."""
    return changed(
        tmp_path_factory.mktemp("options"),
        """\
    static zf::Facts facts(const Options&) { return zf::custom_facts("sticks", 3, 3, 21); }
    static MyGame start(const Options&, zf::Rng&) { return {}; }
""",
        """    struct Options {
        int plies;
    };
    static std::vector<zf::OptionSpec> option_specs() {
        return {{"plies", "21", {"21", "20", "0"}}};
    }
    static zf::Result<Options> parse_options(const zf::OptionValues& values) {
        return Options{std::stoi(values[0].second)};
    }
    static zf::Facts facts(const Options& options) {
        return zf::custom_facts("sticks", 3, 3, options.plies);
    }
    static MyGame start(const Options& options, zf::Rng&) {
        MyGame position;
        position.left = options.plies;
        return position;
    }
""",
    )


def test_options_are_as_in_games_of_the_core(with_options: Path) -> None:
    game = zf.games.build(with_options, plies=20)
    assert game.options == {"plies": "20"}
    assert game.new_position().observe(0)[0] == 20
    with pytest.raises(Unsupported, match="sticks: plies must be 21, 20 or 0, got 5"):
        zf.games.build(with_options, plies=5)
    with pytest.raises(Unsupported, match="sticks: unknown option size"):
        zf.games.build(with_options, size=9)


def test_impossible_facts_are_refused_when_the_game_is_loaded(with_options: Path) -> None:
    with pytest.raises(Inconsistent, match=r"facts: max_plies must be in 1\.\.65536, got 0"):
        zf.games.build(with_options, plies=0)


def test_two_builds_of_one_name_are_two_games_of_the_same_rules(
    with_options: Path, sticks: zf.games.Game
) -> None:
    other = zf.games.build(with_options)
    assert other.name == sticks.name
    assert other != sticks
    with pytest.raises(zf.errors.IllegalAction, match="the position is of"):
        sticks.play_from_text(other.new_position(), "0")
    shorter = zf.games.build(with_options, plies=20)
    assert zf.games.fingerprint(other) == zf.games.fingerprint(sticks)
    assert zf.games.fingerprint(shorter) != zf.games.fingerprint(sticks)


# ---- what is refused


def test_a_mistake_is_shown_with_its_line(tmp_path: Path) -> None:
    line = 1 + STICKS[: STICKS.index("left -= last")].count("\n")
    wrong = changed(tmp_path, "left -= last;", "left -= lst;")
    with pytest.raises(BadText, match=rf"does not compile:\n.*changed\.h:{line}:\d+: error: .*lst"):
        zf.games.build(wrong)


def test_a_class_that_breaks_the_contract_is_refused_with_what_it_lacks(tmp_path: Path) -> None:
    wrong = changed(tmp_path, "int outcome(", "int result(")
    with pytest.raises(BadText) as caught:
        zf.games.build(wrong)
    assert "MyGame does not meet the contract of games/game.h" in str(caught.value)
    assert "c.outcome(player)" in str(caught.value)


def test_a_header_without_the_class_is_refused_with_the_expected_name(tmp_path: Path) -> None:
    wrong = tmp_path / "other.h"
    wrong.write_text(STICKS.replace("MyGame", "Sticks"))
    with pytest.raises(BadText, match=r"defines no class MyGame; .* using MyGame = YourClass;"):
        zf.games.build(wrong)
    with pytest.raises(BadText, match=r"missing\.h cannot be read"):
        zf.games.build(tmp_path / "missing.h")


def test_without_a_compiler_it_says_what_to_install(
    header: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(Unsupported, match=r"no C\+\+ compiler was found: .* apt install g\+\+"):
        zf.games.build(header)
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(Unsupported, match=r"\$CXX is no-such-compiler, which does not exist"):
        zf.games.build(header)


def test_a_library_built_with_other_headers_is_refused(tmp_path: Path) -> None:
    source, library = tmp_path / "old.cc", tmp_path / "old.so"
    source.write_text(
        "struct Built { const char* headers; const char* library; const void* entry; };\n"
        'extern "C" Built zerofleet_game() { return {"of before", "libstdc++", nullptr}; }\n'
    )
    command = [find_compiler(), "-shared", "-fPIC", "-o", str(library), str(source)]
    subprocess.run(command, check=True)
    with pytest.raises(Unsupported, match="was built with other headers than this zerofleet"):
        _core.load_game(str(library), [])
    (tmp_path / "torn.so").write_bytes(library.read_bytes()[:100])
    with pytest.raises(BadBytes, match=r"torn\.so cannot be loaded"):
        _core.load_game(str(tmp_path / "torn.so"), [])


# ---- code that fails


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Throws at ply 2, or crashes there where the environment says so."""
    begin = "void play(zf::Action action) {"
    fault = (
        'if (left < 18 && std::getenv("CRASH")) { volatile int* none = nullptr; *none = 1; }'
        'if (left < 18) throw std::runtime_error("out of sticks");'
    )
    path = tmp_path_factory.mktemp("failing") / "failing.h"
    includes = "#include <cstdlib>\n#include <stdexcept>\n"
    path.write_text(includes + STICKS.replace(begin, begin + fault))
    return path


@pytest.mark.long
def test_what_its_code_throws_is_named_with_game_and_ply(
    failing: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = Ran(capsys, "check", str(failing))
    assert ran.status == 2
    thrown = r"the game's own code threw out of sticks"
    assert re.fullmatch(rf"zerofleet: sticks: game 0, ply \d+: {thrown}\n", ran.errors)
    with pytest.raises(RulesFailed, match=rf"^sticks: {thrown}"):
        list(zf.selfplay.play(zf.games.build(failing), num_episodes=1, num_threads=1))
    with pytest.raises(RulesFailed, match=rf"^{thrown}"):
        zf.search.analyse(zf.games.build(failing).from_text("17 1 0"), num_simulations=8)


@pytest.mark.long
@pytest.mark.parametrize("verb", ["check", "train"])
def test_a_crash_of_its_code_is_named_with_game_ply_and_signal(
    failing: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    verb: str,
) -> None:
    monkeypatch.setenv("CRASH", "1")
    ran = Ran(capsys, verb, str(failing))
    assert ran.status == 2
    assert re.match(
        rf"zerofleet: {failing}: game 0, ply \d+: the game's own code crashed \(SIGSEGV\); the "
        "check had seed 1",
        ran.errors,
    )
