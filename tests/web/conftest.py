"""Real short runs and a real server that shows them."""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from command_line import ZEROFLEET
from tiny_runs import TINY_RUN
from web_client import Post, wait_until_up

from zerofleet.web.server import Server

RATED = ["rating.final_games=20", "rating.simulations=4"]
QUICK = ["search.num_simulations=4", "rating.final_games=0", "replay.min_rows=100"]


def train(runs: Path, game: str, name: str, num_games: int, settings: list[str]) -> None:
    words = [word for setting in settings for word in ("--set", setting)]
    subprocess.run(
        [ZEROFLEET, "train", game, "--run", name, "--games", str(num_games), "--no-dash", *words],
        env={**os.environ, "ZEROFLEET_RUNS": str(runs)},
        check=True,
        capture_output=True,
        timeout=120,
    )


@pytest.fixture(scope="session")
def trained_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a rated run of tic-tac-toe, `ttt`, and one of Beasty Bar, `bar`.

    They are trained once for all workers of pytest -n; each has its own copy.
    """
    base = tmp_path_factory.getbasetemp()
    made = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "web-runs"
    made.mkdir(exist_ok=True)
    with (made / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (made / "bar").exists():
            train(made, "tictactoe", "ttt", 150, [*TINY_RUN, *RATED])
            train(made, "beastybar", "bar", 20, QUICK)
    return Path(shutil.copytree(made, tmp_path_factory.mktemp("web") / "runs"))


@pytest.fixture(scope="module")
def runs(trained_runs: Path) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ZEROFLEET_RUNS", str(trained_runs))
        patch.delenv("REDIS_URL", raising=False)
        yield trained_runs


@pytest.fixture(scope="module")
def server(runs: Path) -> Iterator[Server]:
    made = Server(port=0, run="ttt")
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def api(server: Server) -> Iterator[httpx.Client]:
    """A client of the API, as a program that is no browser."""
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}/api/v1", timeout=30) as client:
        wait_until_up(client)
        yield client


@pytest.fixture
def post(api: httpx.Client) -> Post:
    """Posts a JSON body and returns the answer, which must have the wanted status."""

    def posted(path: str, body: object = None, status: int = 200) -> Any:
        answer = api.post(path) if body is None else api.post(path, json=body)
        assert answer.status_code == status, answer.text
        return answer.json()

    return posted
