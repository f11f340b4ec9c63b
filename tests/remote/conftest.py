"""A bucket, and a run that was trained for a few steps."""

import shutil
from pathlib import Path

import pytest
from s3_servers import BUCKET, moto_server
from tiny_runs import TINY_RUN

import zerofleet as zf

URL = f"s3://{BUCKET}/runs"


@pytest.fixture(scope="session")
def moto():
    with moto_server() as variables:
        yield variables


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """The folder of a run of 20 steps with a checkpoint at every tenth."""
    folder = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ZEROFLEET_RUNS", str(folder))
        settings = [*TINY_RUN, "train.checkpoint_every_steps=10"]
        zf.train("tictactoe", preset="fast", run="ttt", steps=20, settings=settings)
    return folder


@pytest.fixture
def runs(tmp_path, trained, monkeypatch) -> Path:
    """A runs folder with a copy of that run."""
    folder = tmp_path / "runs"
    shutil.copytree(trained, folder)
    monkeypatch.setenv("ZEROFLEET_RUNS", str(folder))
    return folder


@pytest.fixture
def url(moto, request) -> str:
    """A folder of the bucket for one test."""
    return f"{URL}/{request.node.name}".replace("[", "-").replace("]", "")
