"""A custom game is checked before it is trained, and a run that cannot learn says why."""

import json
from pathlib import Path

import pytest
from command_line import Ran
from tiny_runs import TINY_RUN

import zerofleet as zf
from zerofleet import metrics
from zerofleet.errors import Inconsistent
from zerofleet.fleet import first_check
from zerofleet.games.check_in_child import check_in_child

GAMES = """
import zerofleet as zf
from nim import Nim

class BothWin(Nim):
    name = "both win"
    def rewards(self):
        return [1, 1]

class Endless(Nim):
    name = "endless"
    max_plies = 6
    def play(self, action):
        self.player = 1 - self.player

class Fails(Nim):
    name = "fails"
    def play(self, action):
        if self.left < 8:
            raise KeyError("no stick")
        super().play(action)

class Good(Nim):
    name = "good"

class Prints(Nim):
    name = "prints"
    def play(self, action):
        print("x" * 1000, flush=True)
        super().play(action)
"""


@pytest.fixture(autouse=True)
def games_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "support")
    path = tmp_path / "games.py"
    path.write_text(GAMES)
    return path


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("BothWin", "both win: game 0, end: the players' outcomes are not each other's opposite"),
        ("Endless", "endless: game 0, end: the game is not over after max_plies"),
        ("Fails", "fails: game 0, ply 2: KeyError: 'no stick' ("),
    ],
)
def test_a_broken_game_is_refused_before_there_is_a_run(capsys, tmp_path, name, message):
    ran = Ran(capsys, "train", f"games.py:{name}", "--preset", "fast", "--steps", "1")
    assert ran.errors.startswith(f"zerofleet: {message}")
    assert ran.errors.endswith(" (found by the check before training; --no-check skips it)\n")
    assert ran.status == 2
    assert not (tmp_path / "runs").exists()


def test_what_a_game_raises_later_is_one_line_with_its_place(capsys, games_file):
    ran = Ran(capsys, "show", "games.py:Fails", "0 0 0 0")
    assert ran.errors.startswith(f"zerofleet: {games_file}:")
    assert ran.errors.endswith(": KeyError: 'no stick'\n")
    assert ran.status == 2


def test_a_run_whose_games_are_all_truncated_says_so_in_its_lines_and_metrics(capsys, tmp_path):
    settings = [*TINY_RUN, "stop.games=40"]
    zf.train("games.py:Endless", preset="fast", run="e", settings=settings, check=False)
    *_, status = (
        record for record in metrics.read(tmp_path / "runs" / "e") if record["kind"] == "status"
    )
    assert status["truncated"] == status["games"] >= 40
    reason = f"{status['games']:,} games, all truncated at max_plies 6: nothing to train on"
    assert status["stall"] == reason
    assert f"{status['games']:,} truncated, waiting: trainer; {reason}" in capsys.readouterr().out
    assert json.loads((tmp_path / "runs" / "e" / "run.json").read_text())["game"]


def test_code_that_passed_is_not_checked_again_until_it_changes(tmp_path, games_file, monkeypatch):
    def train():
        zf.train("games.py:Good", preset="fast", run="g", steps=1, settings=TINY_RUN)

    train()

    def refuse(*arguments, **options):
        raise Inconsistent("checked again")

    monkeypatch.setattr(first_check, "check_named", refuse)
    train()
    games_file.write_text(GAMES + "# changed")
    with pytest.raises(Inconsistent, match="checked again"):
        train()
    zf.train("games.py:Good", preset="fast", run="g", steps=1, settings=TINY_RUN, check=False)


def test_what_a_game_prints_disturbs_no_check_in_a_process_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1] / "support"))
    seen = check_in_child("games.py:Prints", {}, 64, 1, lambda num_games: None, None)
    assert seen.num_games == 64
