"""Runs that are saved in S3 while they train, and resumed from there."""

import shutil

import pytest
from tiny_runs import TINY_RUN

import zerofleet as zf
from zerofleet.bus import MemoryBus
from zerofleet.config import FleetConfig
from zerofleet.errors import Inconsistent
from zerofleet.remote import (
    RemoteRefused,
    RemoteUnreachable,
    RemoteWeights,
    SavedElsewhere,
    SavedRun,
    pull,
    uploader,
)
from zerofleet.remote.s3 import S3Folder
from zerofleet.runs.folder import config_for, find
from zerofleet.selfplay.fleet_feed import FleetWeightsFeed
from zerofleet.weights import WeightsStore, encoded_tensors

SETTINGS = [*TINY_RUN, "run.deterministic=true", "train.checkpoint_every_steps=10"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ZEROFLEET_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


def train(steps, *settings):
    preset = "fast" if "ttt" not in [run.name for run in zf.runs.list()] else None
    zf.train("tictactoe", preset, "ttt", steps=steps, settings=[*SETTINGS, *settings])


def last_weights():
    newest, _ = WeightsStore(find("ttt").weights).load_newest()
    return newest.version, encoded_tensors(newest.tensors)


def test_a_run_that_is_resumed_from_s3_equals_one_that_was_never_moved(folder, url):
    train(20, f"run.s3_url={url}")
    shutil.rmtree(folder)
    pull(url, "ttt")
    train(40, f"run.s3_url={url}")
    moved = last_weights()
    assert SavedRun(url, "ttt").newest()[1].step == moved[0]
    shutil.rmtree(folder)
    train(40)
    assert last_weights() == moved


def test_training_continues_while_s3_cannot_be_reached(folder, url, monkeypatch, capsys):
    put = S3Folder.put
    num_puts = 0

    def unreachable_at_first(self, name, data):
        nonlocal num_puts
        num_puts += 1
        if num_puts < 4:
            raise RemoteUnreachable("down")
        put(self, name, data)

    monkeypatch.setattr(S3Folder, "put", unreachable_at_first)
    monkeypatch.setattr(uploader, "RETRY_S", 0.05)
    train(20, f"run.s3_url={url}")
    said = capsys.readouterr().out
    assert "not uploaded: down; trying again" in said
    assert "uploaded step 2" in said
    assert SavedRun(url, "ttt").newest()[1].step == last_weights()[0]
    assert not (folder / "ttt" / ".s3").exists()


def test_a_run_that_ends_without_its_upload_says_where_it_is(folder, url, monkeypatch):
    def down(self, name, data):
        raise RemoteUnreachable("down")

    monkeypatch.setattr(S3Folder, "put", down)
    monkeypatch.setattr(uploader, "RETRY_S", 0.05)
    monkeypatch.setattr(uploader, "LAST_TRIES_S", 0.1)
    with pytest.raises(RemoteUnreachable, match=r"is not in S3: down\. It is in .*ttt"):
        train(20, f"run.s3_url={url}")
    assert last_weights()[0] >= 20


def test_a_run_whose_old_objects_may_not_be_deleted_is_saved(folder, url, monkeypatch, capsys):
    def refused(self, names):
        raise RemoteRefused("these credentials may not delete")

    monkeypatch.setattr(S3Folder, "delete", refused)
    train(10, f"run.s3_url={url}")
    said = capsys.readouterr().out
    assert "old objects were not deleted: these credentials may not delete" in said
    assert SavedRun(url, "ttt").newest()[1].step == last_weights()[0]


def test_a_run_that_was_continued_elsewhere_does_not_train(folder, url, tmp_path, monkeypatch):
    train(10, f"run.s3_url={url}")
    monkeypatch.setenv("ZEROFLEET_RUNS", str(tmp_path / "other"))
    pull(url, "ttt")
    train(20, f"run.s3_url={url}")
    monkeypatch.setenv("ZEROFLEET_RUNS", str(folder))
    before = last_weights()
    with pytest.raises(SavedElsewhere, match="was continued elsewhere"):
        train(30, f"run.s3_url={url}")
    assert last_weights() == before


def test_a_downloaded_run_uploads_nowhere_unless_the_user_says_so(folder, url):
    train(10, f"run.s3_url={url}")
    shutil.rmtree(folder)
    pull(url, "ttt")
    with pytest.raises(Inconsistent, match="is not trusted, and would upload the run to"):
        config_for("ttt", "tictactoe")
    assert config_for("ttt", "tictactoe", overrides=["run.s3_url=null"]).run.s3_url is None


def test_a_worker_gets_from_s3_the_weights_that_the_bus_names(url, trained):
    bus, saved = MemoryBus(), SavedRun(url, "ttt")
    tensors = WeightsStore(trained / "ttt" / "weights").load(20).tensors
    data, sha256 = encoded_tensors(tensors)
    said = []
    feed = FleetWeightsFeed(
        bus,
        0,
        lambda: False,
        lambda fault: None,
        FleetConfig(),
        said.append,
        fetch=RemoteWeights(url, "ttt", said.append),
    )
    bus.publish_weights(20, sha256, b"not the bytes: these are in S3", 1)
    with pytest.raises(RemoteUnreachable):
        feed._fetch_new()
    assert said == [
        f"new weights cannot be fetched: {url}/ttt/weights/{sha256} does not exist; trying again"
    ]
    saved.put_weights(sha256, data)
    feed._fetch_new()
    version, loaded = feed._newest
    assert version == 1
    assert encoded_tensors(loaded)[1] == sha256
