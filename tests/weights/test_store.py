"""Weights are published atomically, and only good ones are loaded."""

import hashlib
import json
import pickle

import numpy as np
import pytest

from zerofleet.errors import BadBytes
from zerofleet.weights import (
    BadWeights,
    Weights,
    WeightsStore,
    checked_tensors,
    encoded_tensors,
    read_weights,
)

SPEC = {"kind": "board"}


def weights(version, value=1.0):
    return Weights(version, SPEC, {"a": np.full((3, 2), value, np.float32)})


def test_what_was_published_is_loaded(tmp_path):
    store = WeightsStore(tmp_path)
    store.publish(weights(7, 2.5))
    loaded = store.load(7)
    assert loaded.version == 7
    assert loaded.spec == SPEC
    assert (loaded.tensors["a"] == 2.5).all()
    assert store.versions() == [7]


@pytest.mark.parametrize("at", [0, 20, -1])
def test_a_damaged_file_is_refused_by_name_and_the_version_before_is_used(tmp_path, at):
    store = WeightsStore(tmp_path)
    store.publish(weights(40))
    store.publish(weights(41))
    path = tmp_path / "000000041.safetensors"
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
    with pytest.raises(BadWeights, match="weights 41 refused: sha256 differs"):
        store.load(41)
    newest, faults = store.load_newest()
    assert newest is not None
    assert newest.version == 40
    assert len(faults) == 1
    assert "weights 41" in faults[0]


def test_numbers_that_are_not_finite_are_refused(tmp_path):
    store = WeightsStore(tmp_path)
    store.publish(weights(3, np.nan))
    with pytest.raises(BadWeights, match="weights 3 refused: a has a number that is not finite"):
        store.load(3)


@pytest.mark.parametrize("rubbish", [pickle.dumps({"a": 1}), b"", bytes(100)])
def test_garbage_whose_hash_matches_is_refused_by_name(tmp_path, rubbish):
    store = WeightsStore(tmp_path)
    store.publish(weights(3))
    (tmp_path / "000000003.safetensors").write_bytes(rubbish)
    path = tmp_path / "000000003.json"
    manifest = json.loads(path.read_text()) | {"sha256": hashlib.sha256(rubbish).hexdigest()}
    path.write_text(json.dumps(manifest))
    with pytest.raises(BadWeights, match="weights 3 refused: no safetensors: "):
        store.load(3)


def test_a_step_without_weights_is_refused_with_those_that_there_are(tmp_path):
    store = WeightsStore(tmp_path)
    store.publish(weights(0))
    store.publish(weights(200))
    with pytest.raises(BadWeights, match=r"has no weights of step 5; it has: 0, 200"):
        store.load(5)


def test_a_version_without_its_manifest_was_never_published(tmp_path):
    store = WeightsStore(tmp_path)
    store.publish(weights(1))
    store.publish(weights(2))
    (tmp_path / "000000002.json").unlink()
    newest, faults = store.load_newest()
    assert newest is not None
    assert newest.version == 1
    assert faults == []


def test_a_file_that_is_missing_is_named_with_what_must_lie_beside_it(tmp_path):
    path = tmp_path / "x.safetensors"
    with pytest.raises(BadWeights, match=r"^mine refused: .*x\.safetensors: No such file"):
        read_weights(path, "mine")
    path.write_bytes(b"")
    beside = (
        r"x\.json: No such file or directory; weights are a \.safetensors file with its manifest"
    )
    with pytest.raises(BadWeights, match=beside):
        read_weights(path, "mine")


def test_a_torn_manifest_is_named(tmp_path):
    store = WeightsStore(tmp_path)
    store.publish(weights(5))
    path = tmp_path / "000000005.json"
    path.write_text(json.dumps(json.loads(path.read_text()))[:20])
    assert store.load_newest()[0] is None
    with pytest.raises(BadWeights, match="weights 5 refused"):
        store.load(5)


def test_the_rating_of_a_match_is_added_to_earlier_ones(tmp_path):
    store = WeightsStore(tmp_path)
    store.publish(weights(7))
    assert store.ratings(7) == []
    for opponent, score in (("random", 0.9), ("start", 0.6), ("random", 0.95)):
        store.keep(7)
        store.add_rating(7, {"opponent": opponent, "score": score})
    assert [(each["opponent"], each["score"]) for each in store.ratings(7)] == [
        ("random", 0.9),
        ("start", 0.6),
        ("random", 0.95),
    ]


def test_a_damaged_rating_is_named(tmp_path):
    store = WeightsStore(tmp_path)
    (tmp_path / "000000007.rating").write_text("[{")
    with pytest.raises(BadBytes, match=r"000000007\.rating is damaged"):
        store.add_rating(7, {"opponent": "random", "score": 0.9})


def test_old_versions_are_let_go_but_not_rated_or_kept_ones(tmp_path):
    store = WeightsStore(tmp_path)
    for version in range(5):
        store.publish(weights(version))
    store.add_rating(2, {"opponent": "random", "score": 0.9})
    rated = (tmp_path / "000000002.rating").read_text()
    for version in (2, 3):
        store.keep(version)
    store.forget_all_but({1, 4})
    assert store.versions() == [1, 2, 3, 4]
    assert len(list(tmp_path.iterdir())) == 10
    assert (tmp_path / "000000002.rating").read_text() == rated


def test_weights_renamed_to_another_version_are_refused(tmp_path):
    store = WeightsStore(tmp_path)
    store.publish(weights(1))
    for ending in ("json", "safetensors"):
        (tmp_path / f"000000001.{ending}").rename(tmp_path / f"000000009.{ending}")
    with pytest.raises(BadWeights, match="weights 9 refused: they say that they are 1"):
        store.load(9)


def test_files_of_other_names_are_no_versions_and_an_endless_version_is_refused(tmp_path):
    store = WeightsStore(tmp_path)
    store.publish(weights(3))
    for name in ("12abc.json", "1²3.json"):
        (tmp_path / name).write_text("{}")
    assert store.versions() == [3]
    path = tmp_path / "000000003.json"
    path.write_text(path.read_text().replace('"version": 3', '"version": Infinity'))
    with pytest.raises(BadWeights, match="weights 3 refused: cannot convert float infinity"):
        store.load(3)


def test_tensors_come_back_as_they_were_however_they_lie_in_memory():
    kernel = np.arange(24, dtype=np.float32).reshape(2, 3, 4).transpose(2, 0, 1)
    data, sha256 = encoded_tensors({"kernel": kernel})
    assert np.array_equal(checked_tensors(data, sha256, "weights 1")["kernel"], kernel)
