"""An untrusted run, saved game or settings file executes no code unasked.

Each attack has code that would create a file; every verb is followed by a check for that file.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from command_line import Ran
from pick_source import PICK

import zerofleet as zf
from zerofleet import config, nets
from zerofleet.errors import BadText, Inconsistent, ZerofleetError
from zerofleet.infer.load import load_network
from zerofleet.runs.folder import config_for, create_or_open, find, keep_settings, read_run
from zerofleet.runs.packs import pack, unpack
from zerofleet.weights import Weights, WeightsStore

HEADER = """
#include <cstdio>
static const bool was_run = std::fclose(std::fopen("{sentinel}", "w")) == 0;
struct MyGame {};
"""


@dataclass(frozen=True)
class Place:
    """A folder with the user's own pick.py, their runs, and what an attack would leave."""

    folder: Path
    rules: str
    """The fingerprint of Pick."""

    @property
    def runs(self) -> Path:
        return self.folder / "runs"

    @property
    def sentinel(self) -> Path:
        return self.folder / "was-run"

    def evil(self, path: Path, code: str = PICK) -> Path:
        """The same game as the user's, by someone who does more."""
        path.parent.mkdir(parents=True, exist_ok=True)
        leaves = f"import pathlib; pathlib.Path({str(self.sentinel)!r}).touch()\n"
        path.write_text(leaves + code)
        return path


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A run of the user's custom game, with weights and records."""
    folder = tmp_path_factory.mktemp("template")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("ZEROFLEET_RUNS", "runs")
        Path("pick.py").write_text(PICK)
        with create_or_open("x", config_for("x", "pick.py:Pick")) as run:
            network = nets.build(run.game(), "tiny")
            tensors = {name: each.numpy() for name, each in network.state_dict().items()}
            WeightsStore(run.weights).publish(Weights(0, network.spec.to_dict(), tensors))
        yield Place(folder, run.facts.rules)


@pytest.fixture
def place(template: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    folder = tmp_path / "here"
    shutil.copytree(template.folder, folder)
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("ZEROFLEET_RUNS", "runs")
    return Place(folder, template.rules)


def planted(place: Place, source: str, rules: str | None = None) -> Path:
    """The run x, as if its maker had named that code."""
    path = place.runs / "x" / "run.json"
    facts = json.loads(path.read_text())
    path.write_text(json.dumps(facts | {"game": source, "rules": rules or ""}))
    return path.parent


def carried(place: Place) -> None:
    """The run x goes through a pack."""
    list_path = pack(read_run(place.runs / "x"), Path("packs"))[0]
    shutil.rmtree(place.runs / "x")
    unpack(list_path)


# ---- ways to name code, each from the place that it is planted in

Attack = Callable[[Place], object]


def in_run_without_rules(place: Place) -> None:
    planted(place, f"{place.evil(place.runs / 'x' / 'evil.py')}:Pick")


def relative_without_rules(place: Place) -> None:
    place.evil(place.runs / "x" / "evil.py")
    planted(place, "runs/x/evil.py:Pick")


def relative_with_rules(place: Place) -> None:
    place.evil(place.runs / "x" / "evil.py")
    planted(place, "runs/x/evil.py:Pick", place.rules)


def in_run_with_the_right_rules(place: Place) -> None:
    planted(place, f"{place.evil(place.runs / 'x' / 'evil.py')}:Pick", place.rules)


def in_another_run(place: Place) -> None:
    planted(place, f"{place.evil(place.runs / 'other' / 'evil.py')}:Pick", place.rules)


def by_dots(place: Place) -> None:
    place.evil(place.runs / "x" / "evil.py")
    (place.folder / "elsewhere").mkdir()
    planted(place, f"{place.folder}/elsewhere/../runs/x/evil.py:Pick", place.rules)


def by_a_link(place: Place) -> None:
    evil = place.evil(place.runs / "x" / "evil.py")
    (place.folder / "link.py").symlink_to(evil)
    planted(place, f"{place.folder}/link.py:Pick", place.rules)


def header_without_rules(place: Place) -> None:
    path = place.runs / "x" / "evil.h"
    path.write_text(HEADER.replace("{sentinel}", str(place.sentinel)))
    planted(place, str(path))


def header_with_rules(place: Place) -> None:
    path = place.runs / "x" / "evil.h"
    path.write_text(HEADER.replace("{sentinel}", str(place.sentinel)))
    planted(place, str(path), place.rules)


def module_in_run_without_rules(place: Place) -> None:
    place.evil(place.runs / "x" / "evil.py")
    planted(place, "runs.x.evil:Pick")


def module_in_run_with_rules(place: Place) -> None:
    place.evil(place.runs / "x" / "evil.py")
    planted(place, "runs.x.evil:Pick", place.rules)


def package_around_the_module(place: Place) -> None:
    place.evil(place.runs / "x" / "__init__.py", code="")
    (place.runs / "x" / "pick.py").write_text(PICK)
    planted(place, "runs.x.pick:Pick", place.rules)


def module_by_a_link(place: Place) -> None:
    place.evil(place.runs / "x" / "evil.py")
    (place.folder / "linked").symlink_to(place.runs / "x")
    planted(place, "linked.evil:Pick", place.rules)


IN_A_RUN: list[Attack] = [
    in_run_without_rules,
    relative_without_rules,
    relative_with_rules,
    in_run_with_the_right_rules,
    in_another_run,
    by_dots,
    by_a_link,
    header_without_rules,
    header_with_rules,
    module_in_run_without_rules,
    module_in_run_with_rules,
    package_around_the_module,
    module_by_a_link,
]


def elsewhere_with_the_right_rules(place: Place) -> None:
    planted(place, f"{place.evil(place.folder / 'downloads' / 'evil.py')}:Pick", place.rules)


def elsewhere_with_other_rules(place: Place) -> None:
    evil = place.evil(place.folder / "downloads" / "evil.py")
    planted(place, f"{evil}:Pick", "0123456789abcdef")


def elsewhere_without_rules(place: Place) -> None:
    planted(place, f"{place.evil(place.folder / 'downloads' / 'evil.py')}:Pick")


def module_of_a_package_elsewhere(place: Place) -> None:
    place.evil(place.folder / "downloads" / "evil.py")
    planted(place, "downloads.evil:Pick", place.rules)


def settings_that_say_another_game(place: Place) -> None:
    evil = place.evil(place.folder / "downloads" / "evil.py")
    planted(place, "connect4")
    path = place.runs / "x" / "config.yaml"
    path.write_text(path.read_text().replace(f"{place.folder}/pick.py", str(evil)))


ELSEWHERE: list[Attack] = [
    elsewhere_with_the_right_rules,
    elsewhere_with_other_rules,
    elsewhere_without_rules,
    module_of_a_package_elsewhere,
    settings_that_say_another_game,
]

VERBS = [
    ("runs list", 0),
    ("runs show x", 0),
    ("episodes list run:x", 2),
    ("report x", 2),
    ("gate run:x random --max-games 2", 2),
    ("match connect4 run:x random --games 2", 2),
    ("rate connect4 run:x --games 2", 2),
    ("play connect4 --against run:x", 2),
    ("judge run:x", 2),
    ("analyse connect4 --player run:x", 2),
    ("review run:x#0", 2),
    ("export x x.onnx", 2),
    ("train connect4 --run x --steps 1", 2),
]


def refuses_all(place: Place, capsys: pytest.CaptureFixture[str], verbs: list[tuple[str, int]]):
    for verb, status in verbs:
        ran = Ran(capsys, *verb.split())
        assert ran.status == status, (verb, ran.output, ran.errors)
        assert ran.errors.count("\n") == (status != 0), (verb, ran.errors)
        assert not place.sentinel.exists(), verb
    with pytest.raises(ZerofleetError):
        load_network("x")
    assert not place.sentinel.exists()


@pytest.mark.parametrize("attack", [*IN_A_RUN, *ELSEWHERE], ids=lambda attack: attack.__name__)
def test_a_run_out_of_a_pack_executes_nothing_unasked(
    place: Place, capsys: pytest.CaptureFixture[str], attack: Attack
) -> None:
    attack(place)
    carried(place)
    verbs = dict(VERBS)
    if attack is settings_that_say_another_game:  # they do not count: it is a run of connect4
        verbs |= {"episodes list run:x": 0, "report x": 0}
    refuses_all(place, capsys, list(verbs.items()))


@pytest.mark.parametrize("attack", IN_A_RUN, ids=lambda attack: attack.__name__)
def test_code_among_the_runs_is_not_executed_however_it_came_there(
    place: Place, capsys: pytest.CaptureFixture[str], attack: Attack
) -> None:
    attack(place)
    refuses_all(place, capsys, [("report x", 2), ("export x x.onnx", 2)])


def test_a_run_folder_that_is_a_link_is_a_run_folder_too(place: Place) -> None:
    medium = place.folder / "medium"
    evil = place.evil(medium / "x" / "evil.py")
    planted(place, f"{evil}:Pick", place.rules)
    shutil.copytree(place.runs / "x", medium / "x", dirs_exist_ok=True)
    shutil.rmtree(place.runs / "x")
    (place.runs / "x").symlink_to(medium / "x")
    with pytest.raises(Inconsistent, match="is in a run folder"):
        find("x").game()
    assert not place.sentinel.exists()


# ---- with the user's word


def test_the_game_that_the_user_names_is_played_and_no_other(
    place: Place,
) -> None:
    elsewhere_with_the_right_rules(place)
    carried(place)
    game = zf.games.get("pick.py:Pick")
    network, _ = load_network("x", game=game)  # as match, rate and play load it
    assert network.spec.game == "pick"
    assert find("x").game(game) == game
    assert not place.sentinel.exists()


@pytest.mark.parametrize("how", ["runs source x pick.py:Pick", "train"])
def test_a_game_that_was_named_once_is_then_known(
    place: Place, capsys: pytest.CaptureFixture[str], how: str
) -> None:
    elsewhere_with_the_right_rules(place)
    carried(place)
    assert Ran(capsys, "report", "x").status == 2
    if how == "train":  # by what `zerofleet train pick.py:Pick --run x` does before the first game
        settings = config_for("x", "pick.py:Pick")
        with create_or_open("x", settings) as run:
            assert run.game().name == "pick"
            keep_settings(run, settings)
    else:
        assert Ran(capsys, *how.split()).output == f"x plays {place.folder}/pick.py:Pick\n"
    assert Ran(capsys, "report", "x").status == 0
    assert find("x").facts.game == f"{place.folder}/pick.py:Pick"
    assert not place.sentinel.exists()


def test_another_game_than_the_runs_is_refused_as_its_game(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    carried(place)
    (place.folder / "loses.py").write_text(PICK.replace("self.picked == 1", "self.picked == 0"))
    evil = place.evil(place.runs / "x" / "evil.py")
    for source, said in [
        ("loses.py:Pick", "have changed since runs/x was started"),
        (f"{evil}:Pick", "is in a run folder"),
        ("connect4", "only a custom game has a source"),
    ]:
        ran = Ran(capsys, "runs", "source", "x", source)
        assert ran.status == 2
        assert said in ran.errors
    assert find("x").is_foreign
    assert not place.sentinel.exists()


def test_a_pack_cannot_claim_not_to_be_one(place: Place) -> None:
    carried(place)
    shutil.rmtree("packs")
    carried(place)
    assert find("x").is_foreign


# ---- programs


@pytest.fixture
def program(place: Place) -> Path:
    path = place.folder / "program"
    path.write_text(f"#!/bin/sh\ntouch {place.sentinel}\n")
    path.chmod(0o755)
    return path


def test_opponents_in_settings_out_of_a_pack_start_no_program(
    place: Place, capsys: pytest.CaptureFixture[str], program: Path
) -> None:
    opponents = f"rating.opponents=[random,gomocup:{program}]"
    with create_or_open("g", config.load("gomoku", overrides=[opponents])) as run:
        pass
    list_path = pack(run, Path("packs"))[0]
    unpack(list_path, "again")
    ran = Ran(capsys, "train", "gomoku", "--run", "again")
    assert ran.status == 2
    assert f"rating.opponents would start gomocup:{program}; name the opponents" in ran.errors
    assert not place.sentinel.exists()
    assert config_for("again", "gomoku", overrides=[opponents]).rating.opponents[1]
    assert config_for("g", "gomoku").rating.opponents[1]


def test_opponents_in_a_file_of_settings_start_no_program(
    place: Place, capsys: pytest.CaptureFixture[str], program: Path
) -> None:
    Path("own.yaml").write_text(f"rating: {{opponents: ['gomocup:{program}']}}\n")
    ran = Ran(capsys, "train", "gomoku", "--config", "own.yaml")
    assert ran.status == 2
    assert ran.errors.startswith("zerofleet: own.yaml is not trusted, and its rating.opponents ")
    assert not place.sentinel.exists()
    opponents = f"rating.opponents=[random,gomocup:{program}]"
    given = config_for("g", "gomoku", path=Path("own.yaml"), overrides=[opponents])
    assert given.rating.opponents[1]


def test_a_saved_game_starts_its_program_only_when_that_is_named(
    place: Place, capsys: pytest.CaptureFixture[str], program: Path
) -> None:
    Path("saved.txt").write_text(
        "game: gomoku\noptions: size=15 line=5 rule=freestyle\nseat: first\n"
        f"against: gomocup:{program}\nstart:\nmoves: \n"
    )
    ran = Ran(capsys, "play", "gomoku", "--load", "saved.txt")
    assert ran.status == 2
    assert ran.errors == (
        "zerofleet: saved.txt: its opponent is a program; to start it, add "
        f"--against gomocup:{program}\n"
    )
    assert not place.sentinel.exists()
    Ran(capsys, *f"play gomoku --load saved.txt --against gomocup:{program} --seat second".split())
    assert place.sentinel.exists()


def test_a_saved_game_does_not_choose_whose_code_is_loaded(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = place.evil(place.folder / "evil.py")
    Path("saved.txt").write_text(
        f"game: {evil}:Pick\noptions:\nseat: first\nagainst: random\nstart:\nmoves:\n"
    )
    ran = Ran(capsys, "play", "connect4", "--load", "saved.txt")
    assert ran.status == 2
    assert not place.sentinel.exists()


# ---- settings and weights


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("based_on: ../../evil\n", r"unknown based_on \.\./\.\./evil; known: "),
        ("based_on: /etc/evil\n", "unknown based_on /etc/evil; known: "),
        (f"based_on: {'x' * 300}\n", "unknown based_on xxx"),
        ("based_on: [a, b]\n", r"unknown based_on \['a', 'b'\]"),
        ("based_on: own\n", "circular based_on: own → own"),
        ("a: &a [1, 1]\nb: &b [*a, *a]\ngame: {name: *b}\n", r"own\.yaml:2: \*a is an alias"),
        (f"game: {'[' * 5000}{']' * 5000}\n", "lists or sections are nested too deeply"),
        (f"game: {'x' * (1 << 16)}\n", "a settings file has at most 65536 bytes"),
        (f"game: {{name: [{'1, ' * 20_000}]}}\n", r"game\.name must be a valid string, got \[1, "),
        ("game: !!python/object/apply:os.system [touch was-run]\n", "could not determine a constr"),
    ],
    ids=["dots", "root", "long", "list", "itself", "bomb", "deep", "large", "wide", "python"],
)
def test_settings_that_would_run_code_or_use_up_memory_are_one_line(
    place: Place, text: str, said: str
) -> None:
    path = place.folder / "own.yaml"
    path.write_text(text)
    with pytest.raises(BadText, match=said) as refused:
        config.read(path)
    assert len(str(refused.value)) < 400
    assert "\n" not in str(refused.value)
    assert not place.sentinel.exists()


@pytest.mark.parametrize("named", ["game", "kind"])
def test_what_weights_say_of_themselves_is_not_executed(
    place: Place, capsys: pytest.CaptureFixture[str], named: str
) -> None:
    evil = place.evil(place.folder / "downloads" / "evil.py")
    path = place.runs / "x" / "weights" / "000000000.json"
    manifest = json.loads(path.read_text())
    manifest["spec"][named] = f"{evil}:Pick"
    path.write_text(json.dumps(manifest))
    ran = Ran(capsys, "export", "x", "x.onnx")
    assert (ran.status, ran.errors.count("\n")) == (2, 1)
    assert not place.sentinel.exists()


def test_the_location_of_code_is_found_without_running_it(place: Place) -> None:
    place.evil(place.folder / "package" / "__init__.py", code="")
    place.evil(place.folder / "package" / "inner" / "pick.py")
    tried = subprocess.run(
        [
            sys.executable,
            "-c",
            "from zerofleet.games import code_places\n"
            "print(*code_places('package.inner.pick:Pick'), sep='\\n')",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(place.folder / "package" / "inner" / "pick.py") in tried.stdout.splitlines()
    assert not place.sentinel.exists()
