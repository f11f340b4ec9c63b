"""The file of a cluster: what it means, and what is refused in it."""

import shutil
from pathlib import Path

import pytest

from zerofleet.config.cluster import read_cluster
from zerofleet.errors import ZerofleetError

PROJECT = Path(__file__).parents[2]
SHIPPED = sorted(PROJECT.glob("configs/*.yaml"))
LEAST = "run: r\ngame: connect4\nroles: {trainer: {}}\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "own.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_every_shipped_cluster_can_be_read_and_has_workers(path: Path) -> None:
    assert read_cluster(path).roles["worker"]


def test_settings_go_over_the_preset(tmp_path: Path) -> None:
    cluster = read_cluster(written(tmp_path, LEAST + "settings: {search: {num_simulations: 7}}"))
    trained = cluster.training_config("own.yaml")
    assert trained.search.num_simulations == 7
    assert cluster.roles["trainer"].total == 1


def test_a_custom_game_is_named_by_the_path_that_every_node_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(PROJECT / "tests" / "support" / "nim.py", tmp_path / "nim.py")
    path = written(tmp_path, "run: r\ngame: nim.py:Nim\nroles: {trainer: {}}\n")
    assert read_cluster(path).game == f"{tmp_path}/nim.py:Nim"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("run: r\ngame: connect4\n", "roles: Field required"),
        (LEAST + "rols: {}", "unknown setting rols; did you mean roles?"),
        (
            "run: r\ngame: connect4\nroles: {trainer: {num_cpu: 2}}",
            "unknown setting roles.trainer.num_cpu; did you mean roles.trainer.num_cpus?",
        ),
        (
            "run: r\ngame: connect4\nroles: {trainer: {}, workers: {}}",
            "unknown role workers; did you mean worker? known: trainer, inference, worker, rater",
        ),
        ("run: r\ngame: connect4\nroles: {worker: {}}", "roles must have one trainer"),
        ("run: r\ngame: connect4\nroles: {trainer: {count: 2}}", "roles must have one trainer"),
        (
            "run: r\ngame: connect4\nroles: {trainer: {}, worker: {count: 2, per_node: 1}}",
            "roles.worker: count and per_node are both given; keep one",
        ),
        (
            LEAST + "environment: {REDIS_PASSWORD: secret}",
            "environment.REDIS_PASSWORD may hold a password, and Ray would store it; put it into a "
            "file on each node and name that: REDIS_PASSWORD_FILE",
        ),
        (
            LEAST + "settings: {search: {num_simulation: 7}}",
            "settings.search.num_simulation: unknown setting search.num_simulation; did you mean",
        ),
        ("run: r\ngame: gomku\nroles: {trainer: {}}", "unknown game gomku; did you mean gomoku?"),
    ],
)
def test_a_wrong_file_is_refused_with_what_would_be_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, text)
    with pytest.raises(ZerofleetError) as refused:
        read_cluster(Path("own.yaml"))
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
