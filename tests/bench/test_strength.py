"""bench/strength: each measurement is written immediately and once, and can be plotted."""

import importlib.util
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch
from command_line import ran_script
from records import status_values

from zerofleet import config, nets
from zerofleet.metrics import MetricsLog
from zerofleet.runs.folder import create_or_open
from zerofleet.weights import Weights, WeightsStore

STRENGTH = Path(__file__).parents[2] / "bench" / "strength"


def ran(script: str, *arguments: object, runs: Path | None = None, status: int = 0) -> str:
    done = ran_script(STRENGTH / script, *arguments, ZEROFLEET_RUNS=str(runs))
    assert done.returncode == status, done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of Connect Four with weights of three steps, the second of about half the time."""
    monkeypatch.setenv("ZEROFLEET_RUNS", str(tmp_path / "runs"))
    with create_or_open("c4", config.load("connect4")) as run, MetricsLog(run.folder) as log:
        for step, minute in ((0, 0.5), (40, 2), (100, 4)):
            log.append("status", step, status_values(elapsed_s=60.0 * minute, games=10 * step))
            torch.manual_seed(step)
            network = nets.build(run.game(), "tiny")
            tensors = {name: value.numpy() for name, value in network.state_dict().items()}
            WeightsStore(run.weights).publish(Weights(step, network.spec.to_dict(), tensors))
    return tmp_path / "runs"


def test_a_run_is_measured_once_and_each_measurement_has_its_minute(
    runs: Path, tmp_path: Path
) -> None:
    out = tmp_path / "strength-connect4-1.json"
    quick = ("c4", "--curve", "--simulations", 2, "--games", 4, "--games", "self=2")
    quick += ("--games", "half=6", "--games", "policy=8", "--out", out)
    ran("rate.py", *quick, runs=runs)
    text = out.read_text()
    result = json.loads(text)
    matches = {
        each["opponent"]: (each["count"], sum(each["won_drawn_lost"]))
        for each in result["measured"]
        if each["kind"] == "match"
    }
    assert matches == {
        "self@100,sims=0": (2, 2),
        "self@100,greedy": (2, 2),
        "self@0,sims=2": (2, 2),
        "self@40,sims=2": (6, 6),
        "self@40,sims=0": (8, 8),
        "random": (4, 4),
        "heuristic": (4, 4),
    }
    curve = [
        (each["step"], each["minutes"])
        for each in result["measured"]
        if each["kind"] == "perfect" and each["how"] == "sims=2"
    ]
    assert sorted(curve) == [(0, 0), (40, 2), (100, 4)]
    again = ran("rate.py", *quick, runs=runs)
    assert again.count(": already measured") == len(result["measured"]) == 12
    assert out.read_text() == text

    ran("plot.py", *("--results", tmp_path, "--docs", tmp_path, "--weights", tmp_path))
    assert "4 minutes, 1,000 games, 100 steps" in (tmp_path / "strength.md").read_text()


def test_a_result_of_an_earlier_version_is_resumed(runs: Path, tmp_path: Path) -> None:
    """Records had no commit once, and a network's options stood in another order."""
    out = tmp_path / "strength-connect4-1.json"
    quick = ("c4", "--simulations", 2, "--games", 0, "--out", out)
    ran("rate.py", *quick, runs=runs)
    result = json.loads(out.read_text())
    for record in result["measured"]:
        del record["commit"]
    result["run"]["network"] = "board (num_blocks=1 channels=8)"
    out.write_text(json.dumps(result))
    assert ran("rate.py", *quick, runs=runs).count(": already measured") == 3

    said = ran("rate.py", *quick, "--only-curve", runs=runs)
    assert "already measured" not in said
    added = json.loads(out.read_text())["measured"][3:]
    assert [each["step"] for each in added] == [0, 40]

    result["run"]["step"] = 40
    out.write_text(json.dumps(result))
    assert "is of another run or step" in ran("rate.py", *quick, runs=runs, status=1)


def test_a_page_says_what_passed_its_mark_and_the_newest_result_counts(tmp_path: Path) -> None:
    def match(step: int, opponent: str, score: float, low: float) -> dict[str, object]:
        values = {"score": score, "low": low, "high": 1.0, "count": 40}
        values |= {"minutes": step / 100, "run_games": 9000 * step // 800}
        return {"kind": "match", "step": step, "how": "sims=9", "opponent": opponent, **values}

    result = {
        "date": "2026-11-15T09:00:00+00:00",
        "commit": "1a2b3c4",
        "variant": "beastybar",
        "run": {"step": 800, "minutes": 8.0, "run_games": 9000, "network": "n", "parameters": 7},
        "measured": [
            match(800, "heuristic", 0.9, 0.8),
            match(800, "playout-5000", 0.54, 0.5),
            match(800, "self@800,greedy", 0.6, 0.51),
            match(800, "self@400,sims=9", 0.6, 0.49),
            match(400, "heuristic", 0.7, 0.6),
        ],
    }
    (tmp_path / "strength-beastybar-2.json").write_text(json.dumps(result))
    older = {**result, "date": "2026-11-14T09:00:00+00:00", "measured": []}
    (tmp_path / "strength-beastybar-3.json").write_text(json.dumps(older))
    ran("plot.py", *("--results", tmp_path, "--docs", tmp_path / "docs", "--weights", tmp_path))
    text = (tmp_path / "docs" / "strength.md").read_text()
    assert "Against its own half time (step 400): sims=9 level with it." in text
    rows = text.splitlines()[-4:]
    verdicts = [row.split("|")[-2].strip() for row in rows]
    assert verdicts == ["passed", "missed", "passed", "missed"]
    assert "sims=9 of step 400 (half time)" in rows[3]
    picture = (tmp_path / "docs" / "strength" / "beastybar.svg").read_text()
    assert ElementTree.fromstring(picture).tag.endswith("svg")
    assert all(f"<!-- {label} -->" in picture for label in ("minutes of training", "8", "9 k"))


def test_a_goal_stands_beside_its_mark_and_weights_of_another_run_have_rows(tmp_path: Path) -> None:
    def judged(step: int, error: float) -> dict[str, object]:
        values = {"error": error, "low": error - 1, "high": error + 1}
        values |= {"minutes": step / 100, "run_games": 9000 * step // 800}
        return {
            "kind": "judge",
            "step": step,
            "how": "sims=9",
            "opponent": "",
            "count": 40,
        } | values

    run = {"step": 800, "minutes": 8.0, "run_games": 9000, "network": "n", "parameters": 7}
    result = {
        "date": "2026-11-15T09:00:00+00:00",
        "commit": "1a2b3c4",
        "variant": "backgammon",
        "run": run,
        "measured": [judged(400, 30.0), judged(800, 5.0)],
    }
    (tmp_path / "strength-backgammon-1.json").write_text(json.dumps(result))
    ran("plot.py", *("--results", tmp_path, "--docs", tmp_path, "--weights", tmp_path))
    row = (tmp_path / "strength.md").read_text().splitlines()[-1]
    assert row.endswith("| below 10.00; goal: below 4.00 | passed; goal: missed |")

    shipped = {"run_id": "of another", "minutes": 3.0, "games": 500, "steps": 70, "from": "run x"}
    (tmp_path / "backgammon").mkdir()
    about = tmp_path / "backgammon" / "about.json"
    about.write_text(json.dumps(shipped | {"measured": [judged(70, 3.5)]}))
    (tmp_path / "strength-backgammon-1.json").write_text(
        json.dumps(result | {"run": {**run, "id": "of this"}})
    )
    ran("plot.py", *("--results", tmp_path, "--docs", tmp_path, "--weights", tmp_path))
    text = (tmp_path / "strength.md").read_text()
    assert "of another run: 3 minutes, 500 games,\n70 steps, from run x." in text
    assert text.splitlines()[-1].endswith("| passed; goal: passed |")


def test_only_moves_that_keep_what_a_position_is_worth_are_perfect() -> None:
    spec = importlib.util.spec_from_file_location("perfect", STRENGTH / "perfect_moves.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    cases = [json.loads(line) for line in module.ORACLE.read_text().splitlines()]

    class ByScores:
        """Plays the action whose score `pick` picks."""

        def __init__(self, pick):
            self.pick = pick

        def choose_many(self, positions, seeds):
            scores = [
                {action: score for action, score in enumerate(case["scores"]) if score is not None}
                for case in cases
            ]
            return [self.pick(each, key=each.__getitem__) for each in scores]

    best, worst = (module.perfect_moves(ByScores(pick), 1) for pick in (max, min))
    assert {each["score"] for each in best.values()} == {1.0}
    assert sum(each["positions"] for each in best.values()) == 300
    assert worst["Begin-Hard"]["score"] < 1
    share = module.share(8, 10)  # Wilson's interval, as tables have it
    assert (round(share["low"], 3), round(share["high"], 3)) == (0.49, 0.943)
    assert module.share(20, 20)["high"] == 1
    assert module.share(0, 20)["low"] == 0


def test_runs_that_exist_are_not_taken_for_equal_games(runs: Path) -> None:
    (runs / "c4").rename(runs / "tiny-2")
    said = ran("equal_games.py", "connect4", "small", "tiny", runs=runs, status=2)
    assert "already" in said
    assert "tiny-2" in said
    assert not (runs / "small-1").exists()
