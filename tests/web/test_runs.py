"""Runs, curves, ratings, events and games, asked of a real server about real runs."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import zerofleet as zf
from zerofleet.metrics import DamagedRecords, MetricsLog
from zerofleet.web.episode_index import EpisodeIndex
from zerofleet.web.events import faults
from zerofleet.web.ladder import reachable
from zerofleet.web.records import RunRecords, table

PROJECT = Path(__file__).parents[2]


def get(api: httpx.Client, path: str, **query: Any) -> Any:
    answer = api.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def complete(api: httpx.Client, path: str, **query: Any) -> Any:
    """A page of episodes once the index is built."""
    end_s = time.monotonic() + 20
    while not (page := get(api, path, **query))["is_complete"]:
        assert time.monotonic() < end_s
    return page


@pytest.mark.skipif(
    not (PROJECT / "web" / "node_modules").exists()
    and not os.environ.get("ZEROFLEET_REQUIRE_TOOLS"),
    reason="the tools of web/ are missing; make web",
)
def test_the_types_of_the_pages_are_those_of_the_server() -> None:
    script = PROJECT / "scripts" / "write-api-types"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_runs_are_listed_newest_first_with_their_progress(api: httpx.Client) -> None:
    lines = get(api, "/runs")
    assert [line["name"] for line in lines] == ["bar", "ttt"]
    (ttt,) = (line for line in lines if line["name"] == "ttt")
    assert ttt["game"] == "gomoku"
    assert ttt["options"] == {"size": "3", "line": "3", "rule": "freestyle"}
    assert ttt["num_games"] >= 150
    assert ttt["num_steps"] > 0
    assert not ttt["is_training"]
    assert ttt["fault"] == ""


def test_a_damaged_run_is_listed_with_its_fault(api: httpx.Client, runs: Path) -> None:
    broken = runs / "broken"
    shutil.copytree(runs / "ttt", broken)
    try:
        (broken / "run.json").write_text("{")
        lines: dict[str, Any] = {}
        end_s = time.monotonic() + 10  # the list is kept for some seconds
        while "broken" not in lines and time.monotonic() < end_s:
            lines = {line["name"]: line for line in get(api, "/runs")}
            time.sleep(0.2)
        assert "is damaged" in lines["broken"]["fault"]
        answer = api.get("/runs/broken")
        assert answer.status_code == 409
        assert answer.json()["code"] == "bad_bytes"
    finally:
        shutil.rmtree(broken)


def test_a_run_tells_its_settings_and_what_differs_from_its_preset(api: httpx.Client) -> None:
    run = get(api, "/runs/ttt")
    assert run["preset"] == "fast"
    differs = {each["name"]: each for each in run["differs_from_preset"]}
    assert differs["search.num_simulations"]["value"] == 8
    assert "train.warmup_steps" not in differs, (
        "of tictactoe's preset, which is gomoku with options"
    )
    assert run["config"]["search"]["num_simulations"] == 8
    assert run["totals"]["games"] >= 150
    assert run["version"] == run["totals"]["steps"]
    assert [stage["name"] for stage in run["stages"]] == [
        "self-play",
        "inference",
        "intake",
        "training",
        "rating",
    ]
    assert run["machine"]["num_cpus"] >= 1


def test_curves_have_equal_columns_and_at_most_the_points_asked_for(api: httpx.Client) -> None:
    for kind in ("train", "status"):
        found = get(api, "/runs/ttt/metrics", kind=kind, max_points=2)
        columns = found["columns"]
        assert {"time", "trained_s", "step", "games"} <= columns.keys()
        assert {len(column) for column in columns.values()} == {min(2, found["num_records"])}
    assert "loss" in get(api, "/runs/ttt/metrics", kind="train")["columns"]
    busy = get(api, "/runs/ttt/metrics", kind="status")["columns"]["cpu_busy"]
    assert all(share is None or 0 <= share <= 1 for share in busy)
    assert any(share is not None for share in busy)
    last = get(api, "/runs/ttt")["totals"]["steps"]
    assert get(api, "/runs/ttt/metrics", kind="train", after_step=last)["num_records"] == 0


def test_ratings_have_elo_and_the_ladder_has_every_player(api: httpx.Client) -> None:
    ratings = get(api, "/runs/ttt/ratings")
    assert {each["opponent"] for each in ratings} == {"random", "start"}
    for each in ratings:
        assert each["elo_low"] < each["elo"] < each["elo_high"]
        assert each["num_games"] == 20
    (ladder,) = get(api, "/ladder", run="ttt")
    step = ratings[0]["step"]
    names = {player["name"] for player in ladder["players"]}
    assert names == {"random", "run:ttt@0", f"run:ttt@{step}"}
    assert ladder["anchor"] == "random"
    (me,) = (each for each in ladder["players"] if each["name"] == f"run:ttt@{step}")
    assert me["elo"] == pytest.approx(ratings[0]["elo"])
    assert len(ladder["pairs"]) == 2


def test_events_are_newest_first_and_name_start_checkpoint_weights_and_ratings(
    api: httpx.Client,
) -> None:
    events = get(api, "/runs/ttt/events")
    assert [each["time"] for each in events] == sorted(
        (each["time"] for each in events), reverse=True
    )
    assert {"created", "start", "checkpoint", "weights", "rating"} <= {
        each["kind"] for each in events
    }
    assert len(get(api, "/runs/ttt/events", limit=2)) == 2


def test_refused_weights_and_faults_that_a_role_recorded_are_events(tmp_path: Path) -> None:
    with MetricsLog(tmp_path) as log:
        log.append("weights_refused", 7, {"text": "worker w1 on box refused weights 7"})
        log.append("fault", 8, {"text": "weights 8 refused: sha256 differs from its manifest"})
    found = [(each.kind, each.step, each.text) for each in faults(RunRecords(tmp_path).refresh())]
    assert found == [
        ("refused", 7, "worker w1 on box refused weights 7"),
        ("fault", 8, "weights 8 refused: sha256 differs from its manifest"),
    ]


def test_games_are_paged_in_every_order(api: httpx.Client) -> None:
    games = list(zf.runs.games("ttt"))
    first = complete(api, "/runs/ttt/episodes", limit=7)
    assert first["total"] == first["num_indexed"] == first["num_played"] == len(games)
    assert [each["number"] for each in first["episodes"]] == [
        game.number for game in reversed(games[-7:])
    ]
    second = get(api, "/runs/ttt/episodes", limit=7, offset=7)
    assert second["episodes"][0]["number"] == first["episodes"][-1]["number"] - 1
    assert get(api, "/runs/ttt/episodes", offset=10**9)["episodes"] == []
    for order, field in (
        ("longest", "num_plies"),
        ("surprising", "surprise"),
        ("upset", "favourite_lost"),
    ):
        values = [each[field] for each in get(api, "/runs/ttt/episodes", order=order)["episodes"]]
        assert values == sorted(values, reverse=True)
        assert values[0] > 0


def test_a_line_of_the_list_says_what_the_episode_says(api: httpx.Client) -> None:
    games = {game.id: game for game in zf.runs.games("ttt")}
    for line in complete(api, "/runs/ttt/episodes", order="upset")["episodes"][:20]:
        game = games[line["id"]]
        assert line["num_plies"] == game.num_plies
        assert line["result_first_player"] == game.result
        assert line["version"] == game.version
        surprises = [each.surprise for each in game.decisions() if each.surprise is not None]
        assert line["surprise"] == pytest.approx(max(surprises, default=0), abs=1e-5)
        assert line["favourite_lost"] == pytest.approx(favourite_lost(game), abs=1e-5)


def favourite_lost(game: zf.runs.LoggedGame) -> float:
    """Derived from positions and events one by one."""
    if game.result not in ("win", "loss"):
        return 0.0
    loser = 1 if game.result == "win" else 0
    best = 0.0
    for position, event in zip(game.positions(), game.episode.events, strict=False):
        if event.num_simulations:
            win, _, loss = event.outcomes_to_move
            best = max(best, win if position.to_move == loser else loss)
    return best


def test_games_are_filtered_by_version_and_worker(api: httpx.Client) -> None:
    every = complete(api, "/runs/ttt/episodes")
    version = every["versions"][0]
    found = get(api, "/runs/ttt/episodes", version=version, limit=200)
    assert found["total"] > 0
    assert {each["version"] for each in found["episodes"]} == {version}
    (worker,) = every["workers"]
    assert get(api, "/runs/ttt/episodes", worker=worker)["total"] == every["total"]
    assert get(api, "/runs/ttt/episodes", worker="abc")["total"] == 0


def test_an_episode_is_shown_ply_by_ply(api: httpx.Client) -> None:
    game = next(reversed(zf.runs.games("ttt")))
    found = get(api, f"/runs/ttt/episodes/{game.id}")
    assert found == get(api, f"/runs/ttt/episodes/{game.number}")
    assert len(found["positions"]) == len(found["plies"]) + 1
    assert found["positions"][0]["board"] == ["...", "...", "..."]
    assert found["policy_is"] == "visits"  # its root is PUCT
    assert found["positions"][-1]["to_move"] == "over"
    for ply, decision in zip(found["plies"], game.decisions(), strict=True):
        assert ply["text"] == decision.position.action_text(decision.action)
        sign = 1 if decision.position.to_move == 0 else -1
        if decision.value_to_move is not None:
            assert ply["value_first_player"] == pytest.approx(
                sign * decision.value_to_move, abs=1e-4
            )
        policy = {each["action"]: each["probability"] for each in ply["policy"]}
        assert policy == pytest.approx(decision.policy, abs=1e-5)


def test_a_position_of_an_episode_can_be_analysed(api: httpx.Client) -> None:
    path = "/runs/ttt/episodes/3/analysis"
    found = api.post(path, json={"ply": 1, "num_simulations": 20}).json()
    assert found["num_simulations"] == 20
    assert found["player"].startswith("run:ttt@")
    assert found["player_title"].startswith("ttt, step ")
    assert sum(each["visits"] for each in found["actions"]) == 20
    assert found["to_move"] == 1
    answer = api.post(path, json={"ply": 99})
    assert answer.status_code == 404
    assert "there is no position 99" in answer.json()["message"]


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/runs/nope", 404, "unknown run nope; known: bar, ttt"),
        ("/runs/..", 404, "there is no"),
        ("/runs/%2e%2e%2fttt", 404, ""),
        ("/runs/ttt/episodes/99999999", 404, "no game 99999999 in run:ttt"),
        ("/runs/ttt/episodes/..%2f..%2fetc", 404, ""),
        ("/runs/ttt/episodes/abc", 404, "an episode is named WORKER-SEQUENCE"),
        ("/runs/ttt/metrics?kind=nope", 422, "kind: Input should be 'train' or 'status'"),
        ("/runs/ttt/episodes?limit=1000000", 422, "limit: Input should be less than or equal"),
        ("/fleet?run=..", 400, "a run cannot be called '..'"),
        ("/nope", 404, "there is no /api/v1/nope"),
    ],
)
def test_bad_requests_get_the_words_of_the_command_line(
    api: httpx.Client, path: str, status: int, words: str
) -> None:
    answer = api.get(path)
    assert answer.status_code == status, answer.text
    found = answer.json()
    assert found.keys() == {"code", "message"}
    assert words in found["message"]


def test_a_run_without_a_fleet_says_so(api: httpx.Client) -> None:
    fleet = get(api, "/fleet", run="ttt")
    assert not fleet["is_reachable"]
    assert "no fleet" in fleet["reason"]


# ---- parts


def write_records(folder: Path, first: int, end: int) -> None:
    with MetricsLog(folder) as log:
        for step in range(first, end):
            log.append("train", step, {"loss": float(step)})


def test_only_new_records_are_read_and_a_rewritten_file_is_read_again(tmp_path: Path) -> None:
    write_records(tmp_path, 0, 10)
    records = RunRecords(tmp_path).refresh()
    assert len(records.train) == 10
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"time": 1.0, "step": 10, "kind": "tra')
    assert len(records.refresh().train) == 10  # a line that is still being written
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('in", "loss": 10.0}\nnot json\n')
    assert [each["loss"] for each in records.refresh().train][-2:] == [9.0, 10.0]
    with MetricsLog(tmp_path) as log, pytest.warns(DamagedRecords):
        log.rewind(3)
    assert [each["step"] for each in records.refresh().train] == [0, 1, 2, 3]


def test_thinned_curves_keep_their_means_and_their_end(tmp_path: Path) -> None:
    write_records(tmp_path, 0, 100)
    records = RunRecords(tmp_path).refresh().train
    found = table(records, "train", -1, 10)
    assert found.columns["loss"][0] == pytest.approx(np.mean(range(10)))
    assert found.columns["step"][-1] == 99
    assert found.num_records == 100


def test_rates_of_new_records_count_from_the_record_before(tmp_path: Path) -> None:
    names = ("inference_s", "search_s", "waiting_to_play_s", "training_s", "intake_s")
    with MetricsLog(tmp_path) as log:
        for number in range(4):
            values = {"elapsed_s": 5.0 * number, "games": 100 * number, "rows": 0}
            seconds = dict.fromkeys(names, 0.0) | {"waiting_to_train_s": 0.0}
            log.append("status", number, values | seconds)
    records = RunRecords(tmp_path).refresh().status
    assert table(records, "status", -1, 10).columns["games_per_s"] == [None, 20, 20, 20]
    assert table(records, "status", 1, 10).columns["games_per_s"] == [20, 20]


def test_an_index_follows_a_log_that_grows_and_forgets_what_is_deleted(
    runs: Path, tmp_path: Path
) -> None:
    (source,) = sorted((runs / "ttt" / "episodes").glob("segment-*.zfl"))
    copy = tmp_path / source.name
    data = source.read_bytes()
    game = zf.games.get("tictactoe")
    copy.write_bytes(data[: len(data) // 2])  # the last record is torn
    index = EpisodeIndex(tmp_path, game)
    half = index.rows(wait_s=10)[0]
    whole = EpisodeIndex(source.parent, game).rows(wait_s=10)[0]
    assert 0 < len(half) < len(whole)
    assert json.dumps(half.tolist()) == json.dumps(whole[: len(half)].tolist())
    copy.write_bytes(data)
    end_s = time.monotonic() + 10
    while len(index.rows(wait_s=0.1)[0]) < len(whole) and time.monotonic() < end_s:
        pass
    assert index.rows()[0].tolist() == whole.tolist()
    copy.unlink()
    while len(index.rows(wait_s=0.1)[0]) > 0 and time.monotonic() < end_s:
        pass
    assert len(index.rows()[0]) == 0


def test_players_are_connected_through_others() -> None:
    pairs = [("a", "random"), ("b", "a"), ("c", "d")]
    assert reachable("random", pairs) == {"random", "a", "b"}
