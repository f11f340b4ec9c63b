"""zerofleet report: the HTML report of a run."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from records import rating_values, status_values

from zerofleet import config
from zerofleet.cli import main
from zerofleet.games import Episode, get
from zerofleet.metrics import MetricsLog
from zerofleet.report.data import at_their_steps, collect, opening_tree, with_progress
from zerofleet.report.elo import elo_curve
from zerofleet.report.plots import losses
from zerofleet.runs.folder import create_or_open
from zerofleet.selfplay import play

PLOTS = {"strength", "losses", "game-length", "openings", "throughput"}
PNG = b"\x89PNG\r\n\x1a\n"


def reported(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> Any:
    with pytest.raises(SystemExit) as exited:
        main(["report", *arguments])
    assert exited.value.code == status
    return capsys.readouterr()


def test_a_trained_run_gives_a_page_that_needs_no_other_file(
    trained: Any,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("ZEROFLEET_RUNS", str(trained.runs))
    said = reported(capsys, "ttt", "--out", str(tmp_path / "out"))
    assert said.out == f"report of ttt: {tmp_path / 'out' / 'index.html'}\n"
    assert {path.stem for path in (tmp_path / "out").glob("*.png")} == PLOTS
    assert all(path.read_bytes().startswith(PNG) for path in (tmp_path / "out").glob("*.png"))
    page = (tmp_path / "out" / "index.html").read_text()
    sources = re.findall(r"(?:src|href)=[\"']?([^\"' >]+)", page)
    assert len(sources) == len(PLOTS)
    assert all(source.startswith("data:image/png;base64,") for source in sources)
    assert "@import" not in page
    assert "url(" not in page
    for text in ("gomoku size=3 line=3", "replay.min_rows", "against run:ttt", "1. "):
        assert text in page
    assert re.search(r"<td>random</td><td class=number>\d+\.\d%</td>", page)


def test_a_run_of_which_nothing_is_known_gives_a_page_that_says_what_is_missing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ZEROFLEET_RUNS", str(tmp_path))
    with create_or_open("new", config.load("beastybar")) as run:
        pass
    reported(capsys, "new")
    page = (run.folder / "report" / "index.html").read_text()
    for text in ("has no ratings yet", "No training step yet", "The log has no games"):
        assert text in page
    assert "<img" not in page


def test_the_page_has_the_means_of_a_gpus_figures(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ZEROFLEET_RUNS", str(tmp_path))
    with create_or_open("new", config.load("connect4")) as run, MetricsLog(run.folder) as log:
        for step, (busy, watts, gib) in enumerate([(0.9, 500.0, 10), (1.0, 700.0, 30)]):
            memory = {"gpu_memory_bytes": gib << 30, "gpu_memory_total_bytes": 139 << 30}
            gpu = {"gpu_busy": busy, "gpu_watts": watts, **memory}
            log.append("status", step, dict.fromkeys(status_values(), 5 * step) | gpu)
    reported(capsys, "new")
    page = (run.folder / "report" / "index.html").read_text()
    assert "95% busy, 600 W, 20.0 GiB of 139.0 GiB in use (means)" in page
    assert (run.folder / "report" / "throughput.png").read_bytes().startswith(PNG)


def test_what_a_run_is_called_and_says_is_only_text_on_the_page(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ZEROFLEET_RUNS", str(tmp_path))
    with create_or_open("new", config.load("connect4")) as run, MetricsLog(run.folder) as log:
        log.append("rating", 1, rating_values(opponent="<script>alert(1)</script>"))
    reported(capsys, "new")
    page = (run.folder / "report" / "index.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_time_is_counted_over_sessions_and_ratings_know_the_games_before_them() -> None:
    records = [
        {"kind": "status", "elapsed_s": 10, "games": 5},
        {"kind": "rating", "elapsed_s": 12, "games": 400},
        {"kind": "status", "elapsed_s": 3, "games": 9},
        {"kind": "train"},
    ]
    found = with_progress(records)
    assert [record["trained_s"] for record in found] == [10, 12, 15, 15]
    assert [record["run_games"] for record in found] == [5, 5, 9, 9]


def test_a_rating_stands_where_its_weights_were_made_and_those_of_step_0_at_minute_0() -> None:
    records = [
        {"kind": "status", "step": 0, "elapsed_s": 10, "games": 5},
        {"kind": "rating", "step": 0, "elapsed_s": 12},
        {"kind": "status", "step": 90, "elapsed_s": 20, "games": 9},
        {"kind": "status", "step": 200, "elapsed_s": 30, "games": 20},
        {"kind": "rating", "step": 90, "elapsed_s": 33},
        {"kind": "rating", "step": 300, "elapsed_s": 40},
    ]
    found = with_progress(records)
    kinds = ([each for each in found if each["kind"] == kind] for kind in ("rating", "status"))
    ratings = at_their_steps(*kinds)
    assert [each["trained_s"] for each in ratings] == [0, 20, 40]
    assert [each["run_games"] for each in ratings] == [0, 9, 20]


def rating_against(opponent: str, step: int) -> dict[str, Any]:
    score = {"games": 8, "score": 0.6, "low": 0.4, "high": 0.8, "pairs": [0, 1, 1, 1, 1]}
    progress = {"trained_s": 6.0 * step, "run_games": step, "points": 0.2}
    return {"opponent": opponent, "step": step, **score, **progress}


def test_the_elo_curve_begins_at_minute_0_with_the_first_weights() -> None:
    curve = elo_curve([rating_against(name, 10) for name in ("random", "start")])
    assert curve is not None
    assert [(each.step, each.trained_s, each.run_games) for each in curve.steps] == [
        (0, 0, 0),
        (10, 60, 10),
    ]
    assert curve.steps[0].elo == curve.opponents["start"]
    rated = elo_curve([rating_against(name, at) for name in ("random", "start") for at in (0, 9)])
    assert rated is not None
    assert [each.step for each in rated.steps] == [0, 9]


@pytest.mark.parametrize(("game", "unit"), [("beastybar", "reward"), ("backgammon", "points")])
def test_only_backgammon_has_points_per_game(
    game: str,
    unit: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("ZEROFLEET_RUNS", str(tmp_path))
    rating = {**rating_against("random", 1), "elapsed_s": 1}
    del rating["step"], rating["trained_s"], rating["run_games"]
    with create_or_open("new", config.load(game)) as run, MetricsLog(run.folder) as log:
        log.append("rating", 1, rating)
    reported(capsys, "new")
    page = (run.folder / "report" / "index.html").read_text()
    assert re.findall(r">(\w+) per game", page) == [unit]


def test_the_opening_tree_counts_games_by_how_they_began() -> None:
    game = get("connect4")
    episodes = [
        Episode.decode(data) for data in play(game, "playout", num_episodes=40, num_simulations=8)
    ]
    root = opening_tree(episodes, game, num_plies=2)
    assert root.num_games == 40
    for text, node in root.most_played():
        # A move's text is its column, counted from 1.
        alike = [each for each in episodes if each.events[0].id == int(text) - 1]
        rewards = [game.outcomes[each.outcome_first_player].reward for each in alike]
        assert (node.num_games, node.reward_beginner) == (len(alike), sum(rewards))
        assert sum(following.num_games for following in node.following.values()) == len(alike)
        assert all(following.following == {} for following in node.following.values())


def test_the_result_of_an_opening_is_that_of_who_moved_first() -> None:
    """In Beasty Bar the deal says who begins: here player 0 or 1, and the tree must not care."""
    game = get("beastybar")
    episodes = [
        Episode.decode(data) for data in play(game, "hash", num_episodes=20, num_simulations=2)
    ]
    beginners = [each.positions(game)[0].to_move for each in episodes]
    assert set(beginners) == {0, 1}
    expected = sum(
        each.positions(game)[-1].rewards()[beginner]
        for each, beginner in zip(episodes, beginners, strict=True)
    )
    assert opening_tree(episodes, game, num_plies=1).reward_beginner == expected


def test_bad_input_to_report_is_one_clear_line_and_exit_status_2(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ZEROFLEET_RUNS", str(tmp_path))
    assert reported(capsys, "no", status=2).err.startswith("zerofleet: unknown run no; known: none")
    with create_or_open("new", config.load("connect4")):
        pass
    (tmp_path / "file").write_text("")
    said = reported(capsys, "new", "--out", str(tmp_path / "file"), status=2)
    assert said.err == f"zerofleet: --out {tmp_path / 'file'} is not a folder; give another\n"


def test_the_example_in_the_help_of_report_runs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ZEROFLEET_RUNS", str(tmp_path / "runs"))
    with create_or_open("c4", config.load("connect4")):
        pass
    example = re.search(r"Example: zerofleet report (.+)", reported(capsys, "--help").out)
    assert example
    assert reported(capsys, *example[1].split()).out == "report of c4: c4-report/index.html\n"


def test_the_plot_of_losses_shows_every_term_also_a_negative_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZEROFLEET_RUNS", str(tmp_path))
    terms = {f"loss/term{number}": float(number) for number in range(9)} | {"loss/bonus": -3.0}
    records = [{"step": step, "loss": 1.0, **terms} for step in (1, 2)]
    with create_or_open("r", config.load("tictactoe")) as run:
        data = replace(collect(run), losses=records)
    (axes,) = losses(data).axes
    assert len(axes.lines) == 11
    assert axes.get_ylim()[0] <= -3
