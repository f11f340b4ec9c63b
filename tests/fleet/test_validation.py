"""Each check of a validation passes on a real run, and fails once the thing it checks is broken."""

import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

import pytest
import torch
from inference_servers import Serving
from records import status_values

from zerofleet.arena.match import match
from zerofleet.bus import InferenceOffer, RoleEntry
from zerofleet.bus.memory import MemoryBus
from zerofleet.errors import EngineFailed, Unsupported
from zerofleet.fleet import validation, validation_kinds
from zerofleet.fleet.throughput import GROWING
from zerofleet.fleet.validation import CHECKS, NAMES, Check, Validation
from zerofleet.fleet.validation_checks import (
    Finding,
    expected_score,
    finite_publications,
    recorded_throughput,
    same_after_reload,
    same_counts,
    same_fleet_counts,
    same_learning,
    same_loaded_weights,
    same_play,
    same_throughput,
    same_weights,
    weights_hash,
)
from zerofleet.fleet.validation_fleet import REASON, WORKERS, QuietFleet, cause_in, quiet_fleet
from zerofleet.fleet.validation_kinds import Kind, games_by
from zerofleet.fleet.validation_records import Record, digest_of, read_records
from zerofleet.fleet.validation_runs import FULL, QUICK, Scale, ValidationRuns, runs_in
from zerofleet.fleet.worker_evaluation import Evaluation, Served, remote_evaluation
from zerofleet.games import get
from zerofleet.infer.evaluator import Evaluator, Observations, Rows, State
from zerofleet.infer.load import load
from zerofleet.infer.wire import WireGame
from zerofleet.metrics import MetricsLog
from zerofleet.metrics import latest as latest_metrics
from zerofleet.runs.folder import Run, find
from zerofleet.training import register_loss_term
from zerofleet.weights import WeightsStore

SCALE = Scale(
    name="tiny",
    deterministic_steps=8,
    publications=60,
    match_games=40,
    compared_games=200,
    held_out_games=40,
    throughput_s=1,
    settings=(
        "search.num_simulations=4",
        "selfplay.games_per_group=16",
        "replay.min_rows=100",
        "replay.capacity_rows=5000",
        "replay.samples_per_row=1",
        "train.batch_size=64",
        "run.num_threads=2",
    ),
    concurrent=(),
)
PLATFORM = "this one"
UNRECORDED = Record("settings")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ValidationRuns]:
    """Runs that are made once for all tests here, in a folder of their own."""
    with runs_in(tmp_path_factory.mktemp("validation")):
        yield ValidationRuns("tictactoe", SCALE)


def copy_of(run: Run, name: str) -> Run:
    """For a test to spoil."""
    shutil.copytree(run.folder, run.folder.with_name(name))
    return find(name)


def judged(runs: ValidationRuns, folder: Path, check: str) -> str:
    """The verdict of a check, as a validation gives it."""
    (result,) = Validation(runs, folder).results([check])
    return result.verdict


# ---- weights and checkpoints


def test_equal_seeds_pass_and_another_seed_fails(runs: ValidationRuns) -> None:
    other = runs.deterministic("other", seed=2)
    step = SCALE.deterministic_steps
    assert same_weights(runs.first, runs.second, step, UNRECORDED, PLATFORM).passed
    assert not same_weights(runs.first, other, step, UNRECORDED, PLATFORM).passed


def test_weights_must_equal_what_is_recorded_for_the_platform(runs: ValidationRuns) -> None:
    step = SCALE.deterministic_steps

    def found(weights: dict[str, str]) -> Finding:
        return same_weights(runs.first, runs.second, step, Record("", weights), PLATFORM)

    right = weights_hash(runs.first, step)
    assert found({PLATFORM: right}).passed
    assert not found({PLATFORM: right[::-1]}).passed
    elsewhere = found({"another": right[::-1]})
    assert elsewhere.passed
    assert "none is recorded" in elsewhere.figures[1]


def test_what_was_recorded_here_is_found_again(
    runs: ValidationRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(validation, "RECORDED_SEEDS", (1, 2))
    path = tmp_path / "records.json"
    Validation(runs, tmp_path, records=path).add_record()
    found = Validation(runs, tmp_path, records=path).deterministic()
    assert found.passed
    assert "equals" in found.figures[1]
    other = replace(runs, settings=["train.learning_rate=1e-3"])
    assert Validation(other, tmp_path, records=path).record.weights == {}


def test_the_records_of_the_package_are_of_the_settings_that_a_validation_has() -> None:
    records = read_records()
    for scale in (QUICK, FULL):
        runs = ValidationRuns("tictactoe", scale)
        config = runs.deterministic_config(scale.deterministic_steps)
        recorded = records[f"tictactoe, {scale.name}"].settings
        assert recorded == digest_of(config), "zerofleet validate --record records them anew"


def test_a_checkpoint_with_a_flipped_byte_fails(runs: ValidationRuns, tmp_path: Path) -> None:
    step = SCALE.deterministic_steps
    assert same_after_reload(runs.first, runs.resumed, step, tmp_path / "a").passed
    spoiled = copy_of(runs.first, "flipped")
    path = spoiled.checkpoints / f"{step:09d}.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    check = Check("", "", lambda _: same_after_reload(spoiled, runs.resumed, step, tmp_path / "b"))
    result = Validation(runs, tmp_path).result_of(check)
    assert result.verdict == "fail"
    assert "sha256 differs" in result.figures[0]


def test_a_resumed_run_that_ends_elsewhere_fails(runs: ValidationRuns, tmp_path: Path) -> None:
    step = SCALE.deterministic_steps
    other = copy_of(runs.first, "elsewhere")
    store = WeightsStore(other.weights)
    store.publish(replace(store.load(0), version=step))
    assert not same_after_reload(runs.first, other, step, tmp_path / "c").passed


def test_a_loss_that_is_not_finite_or_a_missing_publication_fails(runs: ValidationRuns) -> None:
    made, wanted = runs.embedded, SCALE.publications
    assert finite_publications(made, wanted).passed
    nan = replace(made, losses=[*made.losses[:-1], float("nan")])
    assert not finite_publications(nan, wanted).passed
    assert not finite_publications(replace(made, published=made.published[1:]), wanted).passed


def test_a_run_whose_loss_explodes_fails_the_checks_that_need_it(tmp_path: Path) -> None:
    @register_loss_term("explodes")
    def explodes(output, batch):  # type: ignore[no-untyped-def]
        return torch.tensor(float("inf"))

    with runs_in(tmp_path):
        runs = ValidationRuns("tictactoe", SCALE, settings=["train.loss_terms={explodes: 1}"])
        results = list(Validation(runs, tmp_path).results(["publications", "counts"]))
    assert [each.verdict for each in results] == ["fail", "fail"]
    assert "not finite" in results[0].figures[0]
    assert results[1].figures == ["needs the run that failed in the check publications"]


def test_an_error_that_nobody_foresaw_fails_its_check_and_is_in_the_log(
    runs: ValidationRuns, tmp_path: Path
) -> None:
    def judge(_: Validation) -> Finding:
        raise RuntimeError("no kernel image is available")

    lines: list[str] = []
    result = Validation(replace(runs, say=lines.append), tmp_path).result_of(Check("a", "", judge))
    assert result.verdict == "fail"
    assert result.figures == ["RuntimeError: no kernel image is available"]
    assert "in judge" in lines[0]


# ---- counts


def test_a_metrics_file_with_one_game_too_many_fails(runs: ValidationRuns) -> None:
    run = runs.embedded.run
    assert same_counts(run).passed
    status = latest_metrics(run.folder)["status"]
    for number, name in enumerate(("games", "rows", "buffer_rows")):
        spoiled = copy_of(run, f"miscounted-{number}")
        with MetricsLog(spoiled.folder) as log:
            log.append("status", status["step"], status | {name: status[name] + 1})
        assert not same_counts(spoiled).passed


def test_a_log_that_lost_its_last_game_fails(runs: ValidationRuns) -> None:
    spoiled = copy_of(runs.embedded.run, "shortened")
    segment = max(spoiled.episodes.glob("*.zfl"))
    segment.write_bytes(segment.read_bytes()[:-40])
    assert not same_counts(spoiled).passed


def quiet(**changes: object) -> QuietFleet:
    """A fleet of which everything agrees, but for the changes."""
    agreeing = QuietFleet("9f3c", {"a": "9f3c", "b": "9f3c"}, {"worker-0": 7}, 7, 0)
    return replace(agreeing, **changes)  # type: ignore[arg-type]


def test_a_game_that_a_fleet_played_and_did_not_log_fails(runs: ValidationRuns) -> None:
    run = runs.embedded.run
    assert quiet().agrees
    assert same_fleet_counts(run, quiet()).passed
    assert not same_fleet_counts(run, quiet(logged=6)).passed
    assert not same_fleet_counts(run, quiet(waiting=1)).passed
    assert not same_fleet_counts(run, None).passed


def test_a_worker_of_which_no_game_was_logged_fails(runs: ValidationRuns) -> None:
    silent = quiet(played={"worker-0": 7, "worker-remote": 0})
    assert silent.agrees
    assert not same_fleet_counts(runs.embedded.run, silent).passed


def test_a_worker_with_other_weights_than_the_published_ones_fails() -> None:
    assert same_loaded_weights(quiet()).passed
    for loaded in ({"a": "9f3c", "b": "77ab"}, {"a": "9f3c", "b": ""}, {}):
        assert not same_loaded_weights(quiet(loaded=loaded)).passed
    assert not same_loaded_weights(None).passed


def test_a_worker_that_asks_a_server_has_the_weights_of_that_server() -> None:
    bus = MemoryBus()
    bus.publish_weights(1, "9f3c", b"", at_least=1)

    def register(role_id: str, kind: str, device: str, sha256: str, num_games: int = 0) -> None:
        bus.register(
            RoleEntry(
                id=role_id,
                kind=kind,
                host="h",
                device=device,
                started=0.0,
                doing=REASON,
                weights_sha256=sha256,
                counters={"games": num_games},
            )
        )

    register("trainer", "trainer", "cpu", "", 9)
    for worker_id, evaluator in WORKERS.items():
        is_remote = evaluator == "remote"
        device, sha256 = ("remote", "") if is_remote else ("cpu", "9f3c")
        register(worker_id, "worker", device, sha256, 3)
    register("inference", "inference", "cpu", "9f3c")
    seen = quiet_fleet(bus, threading.Event())
    assert seen is not None
    assert seen.agrees
    assert set(seen.loaded) == {"worker-onnx", "worker-torch", "inference"}
    assert seen.played == {"worker-onnx": 3, "worker-torch": 3, "worker-remote": 3}


def test_the_error_about_a_fleet_has_the_lines_of_the_role_that_failed() -> None:
    lines = [
        "trainer   step 1",
        "worker-1  no such device",
        "worker-0  plays",
        "worker-1 ended with status 1: ending the fleet",
        "trainer   stopping",
    ]
    assert cause_in(lines) == ["worker-1  no such device"]
    assert cause_in(lines[:3]) == lines[:3]


def test_no_redis_user_or_key_of_the_environment_reaches_the_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("REDIS_URL", "REDIS_USER", "REDIS_PASSWORD_FILE", "ZEROFLEET_CURVE_KEY_FILE")
    for name in names:
        monkeypatch.setenv(name, "of another fleet")
    with runs_in(tmp_path):
        assert not any(name in os.environ for name in names)
    assert all(os.environ[name] == "of another fleet" for name in names)


# ---- play


@dataclass
class Altered:
    """An evaluator whose outcomes are changed."""

    evaluate: Evaluator
    change: Callable[[Rows], Rows]

    @property
    def version(self) -> int:
        return self.evaluate.version

    def __call__(self, observations_BN: Observations, /) -> tuple[Rows, Rows]:
        logits_BA, outcomes_BO = self.evaluate(observations_BN)
        return logits_BA, self.change(outcomes_BO)

    def load(self, state: State, version: int) -> None:
        self.evaluate.load(state, version)


def sure(outcomes_BO: Rows) -> Rows:
    """As sure of them as a network that has learnt for longer."""
    powers_BO = outcomes_BO**8
    return powers_BO / powers_BO.sum(axis=1, keepdims=True)


def asking(run: Run, change: Callable[[Rows], Rows]) -> Kind:
    """Workers whose inference server changes the outcomes."""

    @contextmanager
    def opened(served: Served, device: str) -> Iterator[Evaluation]:
        wire = WireGame.of(served.game, served.facts.run_id)
        with Serving(Altered(load(run.name), change), wire) as server:
            served.bus.offer_inference(InferenceOffer(server.at.id, server.at.address))
            evaluation = remote_evaluation(served, device, 1, falls_back=False)
            try:
                yield evaluation
            finally:
                evaluation.close()

    return opened


def test_every_kind_of_worker_plays_alike(runs: ValidationRuns, tmp_path: Path) -> None:
    (result,) = Validation(runs, tmp_path).results(["kinds"])
    assert result.verdict == "pass", result.figures
    assert result.figures[0] == "onnx 200 games, torch 200 games"
    assert result.figures[2] == "onnx 200 games, remote 200 games"


def test_an_inference_server_with_a_sign_error_fails(
    runs: ValidationRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = runs.embedded.run
    kinds = {"sure": asking(run, sure), "reversed": asking(run, lambda each: sure(each)[:, ::-1])}
    monkeypatch.setattr(validation, "KINDS", kinds)
    assert judged(runs, tmp_path, "kinds") == "fail"


def test_a_worker_whose_servers_are_gone_fails_with_what_it_waits_for(
    runs: ValidationRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def alone(served: Served, device: str) -> Iterator[Evaluation]:
        evaluation = remote_evaluation(served, device, 1, falls_back=False)
        try:
            yield evaluation
        finally:
            evaluation.close()

    monkeypatch.setattr(validation_kinds, "PATIENCE_S", 0.5)
    with pytest.raises(EngineFailed, match="no inference server is registered"):
        games_by(alone, runs.embedded.run, "cpu", 1, seed=1)


def test_a_kind_that_cannot_run_here_skips_the_comparison(
    runs: ValidationRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(served: Served, device: str) -> NoReturn:
        raise Unsupported("it needs what is not here")

    monkeypatch.setattr(validation, "KINDS", {**validation_kinds.KINDS, "other": opened})
    assert judged(runs, tmp_path, "kinds") == "skipped"


def test_too_few_games_to_tell_kinds_apart_fail(runs: ValidationRuns) -> None:
    run, kind = runs.embedded.run, validation_kinds.KINDS["onnx"]
    found = same_play({str(seed): games_by(kind, run, "cpu", 3, seed) for seed in (1, 2)})
    assert not found.passed
    assert "too few games" in found.figures[1]


def test_a_player_that_is_no_better_than_its_opponent_fails() -> None:
    game = get("tictactoe")
    strong = match(game, "playout-20", "random", 60)
    assert expected_score(strong, UNRECORDED).passed
    assert not expected_score(match(game, "random", "random", 60), UNRECORDED).passed
    assert expected_score(strong, replace(UNRECORDED, score=(0.6, 1.0))).passed
    assert not expected_score(strong, replace(UNRECORDED, score=(0.51, 0.55))).passed


def test_a_fleet_that_has_not_learnt_fails(runs: ValidationRuns) -> None:
    run = runs.embedded.run
    alike = copy_of(run, "alike")
    assert same_learning(run, alike, runs.points, SCALE.held_out_games).passed
    stuck = copy_of(run, "stuck")
    store = WeightsStore(stuck.weights)
    store.publish(replace(store.load(0), version=runs.points[-1]))
    found = same_learning(run, stuck, runs.points, SCALE.held_out_games)
    assert not found.passed
    assert list(found.curves) == ["embedded", "stuck"]


# ---- throughput


def test_a_machine_that_is_slower_than_recorded_fails(tmp_path: Path) -> None:
    record = {"processor": "P", "cores": 2, "found": [{"game": "connect4", "games_per_s": 30.0}]}
    (tmp_path / "train-20260101-0000.json").write_text(json.dumps(record))
    assert recorded_throughput(tmp_path, "connect4", "P", 2, "") == (
        30.0,
        "train-20260101-0000.json",
    )
    for other in (("gomoku", "P", 2, ""), ("connect4", "Q", 2, ""), ("connect4", "P", 2, "H200")):
        assert recorded_throughput(tmp_path, *other) is None

    run = Run(tmp_path, None)  # type: ignore[arg-type]
    with MetricsLog(tmp_path) as log:
        for step, games, elapsed_s in ((1, 100, 10.0), (9, 400, 20.0)):
            values = dict.fromkeys(GROWING, 0) | {"step": step, "games": games}
            log.append("status", step, status_values(**values) | {"elapsed_s": elapsed_s})
    assert same_throughput(run, 30.0, "a").passed
    assert not same_throughput(run, 60.0, "a").passed


# ---- what cannot run


def test_a_fleet_without_a_redis_server_is_skipped_with_the_reason(
    runs: ValidationRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for check in ("fleet-weights", "fleet-counts", "fleet-curve"):
        (result,) = Validation(runs, tmp_path).results([check])
        assert result.verdict == "skipped"
        assert "no Redis server is installed" in result.figures[0]


def test_every_check_has_a_name_and_a_promise_of_its_own() -> None:
    assert len(set(NAMES)) == len({check.promise for check in CHECKS}) == len(CHECKS)
