"""Runs in S3: what is uploaded, when it becomes visible, who may write, what is downloaded."""

import hashlib
import json
import threading
from datetime import timedelta

import pytest

from zerofleet.errors import BadBytes, BadText, Inconsistent, TooLarge, Unsupported
from zerofleet.remote import RemoteRefused, SavedElsewhere, SavedRun, pull, saved_runs
from zerofleet.remote.s3 import NoSuchObject, RemoteUnreachable, S3Folder
from zerofleet.remote.snapshot import PART_BYTES, take_snapshot
from zerofleet.runs.folder import find


def files_of(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.parent.name != "tensorboard"
    }


def pushed(url, name="ttt"):
    run = find(name)
    snapshot = take_snapshot(run.folder, run.folder / ".s3")
    try:
        return SavedRun(url, name).push(run, snapshot)
    finally:
        snapshot.remove()


def names(url, below=""):
    return [each.name for each in S3Folder(f"{url}/ttt").names(below)]


def test_a_pulled_run_has_every_file_of_the_pushed_one(runs, url, tmp_path, monkeypatch):
    before = files_of(runs / "ttt")
    assert pushed(url)[0] == 1
    monkeypatch.setenv("ZEROFLEET_RUNS", str(tmp_path / "elsewhere"))
    pull(url, "ttt")
    after = files_of(tmp_path / "elsewhere" / "ttt")
    assert after.pop("unpacked").startswith(b"from s3://")
    assert json.loads(after.pop("s3.json"))["number"] == 1
    assert "checkpoints/000000020.safetensors" in after
    assert {name: before[name] for name in after} == after
    assert before.keys() - after.keys() <= {"run.lock"}


def test_blobs_are_named_by_their_hash_and_uploaded_once(runs, url):
    _, num_first = pushed(url)
    blobs = names(url, "blobs/")
    folder = S3Folder(f"{url}/ttt")
    for name in blobs:
        data = folder.get(name, PART_BYTES)
        assert name == f"blobs/{hashlib.sha256(data).hexdigest()}"
    assert num_first > 0
    with (runs / "ttt" / "metrics.jsonl").open("ab") as file:
        file.write(b"{}\n")
    number, num_new = pushed(url)
    assert number == 2
    assert num_new == (runs / "ttt" / "metrics.jsonl").stat().st_size
    assert len(names(url, "blobs/")) == len(blobs) + 1


def test_a_file_that_grows_uploads_only_its_last_part(runs, url):
    large = runs / "ttt" / "episodes" / "segment-x"
    large.write_bytes(bytes(PART_BYTES) + b"end")
    pushed(url)
    with large.open("ab") as file:
        file.write(b" and more")
    assert pushed(url)[1] == len(b"end and more")
    pull(url, "ttt", "again")
    assert (runs / "again" / "episodes" / "segment-x").read_bytes() == large.read_bytes()


def test_an_upload_that_is_interrupted_anywhere_is_not_visible(runs, url, monkeypatch):
    pushed(url)
    (runs / "ttt" / "checkpoints" / "extra").write_bytes(b"of the next upload")
    (runs / "ttt" / "weights" / "extra").write_bytes(b"of the next upload, too")
    put = S3Folder.put
    num_puts = 0

    def interrupted(self, name, data):
        nonlocal num_puts
        num_puts += 1
        if num_puts == 2:
            raise RemoteUnreachable("gone")
        put(self, name, data)

    monkeypatch.setattr(S3Folder, "put", interrupted)
    with pytest.raises(RemoteUnreachable):
        pushed(url)
    assert SavedRun(url, "ttt").newest()[0] == 1
    pull(url, "ttt", "torn")
    assert not (runs / "torn" / "checkpoints" / "extra").exists()
    assert pushed(url)[0] == 2
    pull(url, "ttt", "whole")
    assert (runs / "whole" / "weights" / "extra").read_bytes() == b"of the next upload, too"


def test_of_two_folders_of_a_run_only_one_can_continue_it(runs, url, tmp_path, monkeypatch):
    pushed(url)
    first = runs
    other = tmp_path / "other"
    monkeypatch.setenv("ZEROFLEET_RUNS", str(other))
    pull(url, "ttt")
    (other / "ttt" / "starts").write_text("7")
    assert pushed(url)[0] == 2
    monkeypatch.setenv("ZEROFLEET_RUNS", str(first))
    with pytest.raises(SavedElsewhere, match=r"continued elsewhere: its manifest 2 .* which has 1"):
        pushed(url)
    assert SavedRun(url, "ttt").newest()[0] == 2


def test_of_writers_at_the_same_moment_one_gets_the_number(runs, url, monkeypatch):
    """All have seen manifest 1 when they create manifest 2."""
    pushed(url)
    folder = S3Folder(f"{url}/ttt")
    together = threading.Barrier(4)
    results = []

    def write(number):
        together.wait()
        results.append(folder.create("manifests/000000002.json", b"%d" % number))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [False, False, False, True]


def test_a_manifest_whose_answer_was_lost_is_recognised(runs, url, monkeypatch):
    create = S3Folder.create

    def answer_lost(self, name, data):
        create(self, name, data)
        raise RemoteUnreachable("the answer was lost")

    monkeypatch.setattr(S3Folder, "create", answer_lost)
    with pytest.raises(RemoteUnreachable):
        pushed(url)
    monkeypatch.setattr(S3Folder, "create", create)
    assert pushed(url) == (1, 0)

    def sent_twice(self, name, data):
        create(self, name, data)
        return create(self, name, data)

    monkeypatch.setattr(S3Folder, "create", sent_twice)  # as a retry inside boto3 does
    (runs / "ttt" / "starts").write_text("7")
    assert pushed(url)[0] == 2


def test_another_run_of_the_name_is_not_overwritten(runs, url):
    pushed(url)
    facts = runs / "ttt" / "run.json"
    found = json.loads(facts.read_text())
    facts.write_text(json.dumps(found | {"id": "0" * 32}))
    with pytest.raises(SavedElsewhere, match="holds another run"):
        pushed(url)


def test_a_damaged_blob_is_named_and_nothing_is_written(runs, url):
    pushed(url)
    folder = S3Folder(f"{url}/ttt")
    folder.put(names(url, "blobs/")[0], b"something else")
    with pytest.raises(BadBytes, match="is damaged"):
        pull(url, "ttt", "again")
    assert sorted(path.name for path in runs.iterdir()) == ["ttt"]


@pytest.mark.parametrize("path", ["../escaped", "/etc/escaped", "run.lock", ".s3/x", "redis/x"])
def test_a_manifest_that_names_files_elsewhere_is_refused(runs, url, path):
    pushed(url)
    saved = SavedRun(url, "ttt")
    number, manifest = saved.newest()
    file = manifest.files[0].model_copy(update={"path": path})
    evil = manifest.model_copy(update={"files": [*manifest.files, file]})
    saved.s3.create(f"manifests/{number + 1:09d}.json", evil.model_dump_json().encode())
    with pytest.raises(BadBytes, match="is no file of a run"):
        pull(url, "ttt", "again")


def test_old_manifests_and_what_only_they_name_are_deleted(runs, url):
    for text in "abcde":
        (runs / "ttt" / "starts").write_text(text)
        pushed(url)
    saved = SavedRun(url, "ttt")
    saved.s3.put("blobs/orphan", b"of an upload that was killed")
    num_blobs = len(names(url, "blobs/"))
    saved.clean()  # all are younger than the grace period
    assert len(names(url, "blobs/")) == num_blobs
    assert saved.numbers() == [3, 4, 5]
    assert saved.clean(grace=timedelta(0)) == 3  # a, b, orphan
    pull(url, "ttt", "again")
    assert (runs / "again" / "starts").read_text() == "e"


def test_weights_that_play_are_there_by_their_hash_and_old_ones_are_deleted(url, runs):
    saved = SavedRun(url, "ttt")
    hashes = []
    for number in range(13):
        data = b"weights %d" % number
        hashes.append(hashlib.sha256(data).hexdigest())
        saved.put_weights(hashes[-1], data)
    assert sorted(names(url, "weights/")) == sorted(f"weights/{each}" for each in hashes[3:])
    assert saved.blob(hashes[-1], "weights") == b"weights 12"
    with pytest.raises(NoSuchObject):
        saved.blob(hashes[0], "weights")


def test_runs_in_a_folder_are_listed(runs, url):
    assert list(saved_runs(url)) == []
    pushed(url)
    ((name, number, manifest),) = saved_runs(url)
    assert (name, number, manifest.step) == ("ttt", 1, 20)


def test_what_cannot_be_pulled_is_named(runs, url):
    with pytest.raises(Unsupported, match="holds no run"):
        pull(url, "nobody")
    pushed(url)
    with pytest.raises(Inconsistent, match="already exists"):
        pull(url, "ttt")
    with pytest.raises(TooLarge, match="--max-bytes"):
        pull(url, "ttt", "small", max_bytes=1000)
    with pytest.raises(RemoteRefused, match="NoSuchBucket; create the bucket first"):
        pull("s3://no-such-bucket/runs", "ttt", "other")


def test_without_credentials_the_error_says_where_they_come_from(url, monkeypatch):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(RemoteRefused, match="no credentials; set AWS_ACCESS_KEY_ID"):
        SavedRun(url, "ttt").newest()


def test_a_server_that_is_not_there_is_unreachable(url, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9")
    monkeypatch.setattr("zerofleet.remote.s3.NUM_TRIES", 1)
    with pytest.raises(RemoteUnreachable, match="cannot be reached"):
        SavedRun(url, "ttt").newest()


@pytest.mark.parametrize("url", ["bucket/runs", "s3://", "s3://B", "s3://bucket/a//b", "s3://a b"])
def test_a_url_that_is_none_is_refused(url):
    with pytest.raises(BadText, match="is no folder in S3"):
        S3Folder(url)
