"""Checkpoints: intact ones are found again, damaged ones are reported and skipped."""

import pytest
import torch

from zerofleet.errors import BadBytes
from zerofleet.training import Checkpoint, CheckpointStore


def save(store, *steps):
    for step in steps:
        store.save(Checkpoint(step, {"a": torch.full((4,), float(step))}, {"of_step": step}))


def cut(folder, step):
    path = folder / f"{step:09d}.safetensors"
    path.write_bytes(path.read_bytes()[:-3])


def empty_manifest(folder, step):
    (folder / f"{step:09d}.json").write_bytes(b"")


def test_a_torn_checkpoint_is_named_and_the_one_before_is_used(tmp_path):
    store = CheckpointStore(tmp_path, keep=3)
    save(store, 10, 20)
    cut(tmp_path, 20)
    found, faults = store.load_newest()
    assert found is not None
    assert found.step == 10
    assert len(faults) == 1
    assert "checkpoint 000000020 skipped: sha256 differs" in faults[0]


def test_without_an_intact_one_opening_is_an_error_and_not_a_fresh_start(tmp_path):
    store = CheckpointStore(tmp_path, keep=3)
    assert store.load_newest() == (None, [])
    save(store, 10, 20)
    cut(tmp_path, 10)
    empty_manifest(tmp_path, 20)
    with pytest.raises(BadBytes, match=r"no checkpoint is intact.*000000020.*000000010.*copy"):
        store.load_newest()


def test_only_the_newest_checkpoints_stay(tmp_path):
    store = CheckpointStore(tmp_path, keep=2)
    save(store, 1, 2, 3, 4, 5)
    assert store.steps() == [4, 5]
    assert len(list(tmp_path.iterdir())) == 4


def test_checkpoints_of_repeated_steps_are_deleted_and_the_one_just_saved_stays(tmp_path):
    store = CheckpointStore(tmp_path, keep=2)
    save(store, 100, 200, 300)
    cut(tmp_path, 300)
    save(store, 250)
    assert store.steps() == [200, 250]
    found, faults = store.load_newest()
    assert found is not None
    assert (found.step, faults) == (250, [])


def test_a_damaged_manifest_among_the_older_ones_is_passed_over(tmp_path):
    store = CheckpointStore(tmp_path, keep=3)
    save(store, 100, 200, 300)
    empty_manifest(tmp_path, 200)
    save(store, 400)
    assert store.oldest_rest() == {"of_step": 300}


def test_files_of_other_names_are_no_checkpoints_and_an_endless_step_is_skipped(tmp_path):
    store = CheckpointStore(tmp_path, keep=3)
    save(store, 10, 20)
    (tmp_path / "20abc.json").write_text("{}")
    path = tmp_path / "000000020.json"
    path.write_text(path.read_text().replace('"step": 20', '"step": Infinity'))
    found, faults = store.load_newest()
    assert found is not None
    assert found.step == 10
    assert len(faults) == 1
    assert store.steps() == [10, 20]
