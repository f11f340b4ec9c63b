"""Runs in S3 on Ceph's gateway, which checks signatures and really stores parts."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path

import boto3
import pytest
from cloud_accounts import plan_of
from command_line import ZEROFLEET
from network_hosts import Network
from redis_server import RedisServer, needs_redis
from s3_servers import BUCKET, environment, needs_ceph, radosgw
from tiny_runs import TINY_RUN

from zerofleet.cloud.prices import Prices
from zerofleet.cloud.stack import template
from zerofleet.remote import RemoteRefused, SavedElsewhere, SavedRun, pull
from zerofleet.remote.s3 import MULTIPART_BYTES, S3Folder
from zerofleet.remote.snapshot import take_snapshot
from zerofleet.runs.folder import find, read_run
from zerofleet.weights import WeightsStore, encoded_tensors

pytestmark = [pytest.mark.long, needs_ceph]

URL = f"s3://{BUCKET}/runs"
ROLES = ("trainer", "worker")
"""Users that may do what the stack of the cloud allows machines of that role."""
PATIENCE_S = 300


@pytest.fixture(scope="module")
def ceph(tmp_path_factory):
    with radosgw(tmp_path_factory.mktemp("ceph"), *ROLES) as variables:
        yield variables


@pytest.fixture
def url(ceph, request):
    return f"{URL}/{request.node.name}"


def pushed(url, name="ttt"):
    run = find(name)
    snapshot = take_snapshot(run.folder, run.folder / ".s3")
    try:
        return SavedRun(url, name).push(run, snapshot)
    finally:
        snapshot.remove()


def eventually(read, what):
    end_s = time.monotonic() + PATIENCE_S
    while not (found := read()):
        assert time.monotonic() < end_s, what()
        time.sleep(0.1)
    return found


def test_a_wrong_secret_is_refused_and_appears_in_no_message(url, runs, monkeypatch):
    pushed(url)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-wrong-secret")
    with pytest.raises(RemoteRefused, match="SignatureDoesNotMatch; the secret is wrong") as fault:
        pull(url, "ttt", "again")
    assert "a-wrong-secret" not in str(fault.value)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "stranger")
    with pytest.raises(RemoteRefused, match="InvalidAccessKeyId; the access key is unknown"):
        pull(url, "ttt", "again")


def test_what_was_pushed_is_pulled(url, runs):
    (runs / "ttt" / "weights" / "large").write_bytes(os.urandom(3 * MULTIPART_BYTES))
    pushed(url)
    pull(url, "ttt", "again")
    for path in (runs / "again").rglob("*"):
        if path.is_file() and path.name not in ("unpacked", "s3.json"):
            relative = path.relative_to(runs / "again")
            assert path.read_bytes() == (runs / "ttt" / relative).read_bytes()


UPLOAD_FOR_EVER = """
import os, sys
from zerofleet.remote.s3 import MULTIPART_BYTES, S3Folder
folder = S3Folder(sys.argv[1])
for number in range(1000):
    folder.put(f"blobs/{number}", os.urandom(8 * MULTIPART_BYTES))
"""


def test_a_killed_upload_in_parts_leaves_nothing_visible_and_is_cleaned(url, runs):
    pushed(url)
    before = [each.name for each in S3Folder(f"{url}/ttt").names()]
    client = boto3.session.Session().client("s3")

    def uploads():
        found = client.list_multipart_uploads(Bucket=BUCKET)
        return [each["Key"] for each in found.get("Uploads", [])]

    victim = subprocess.Popen([sys.executable, "-c", UPLOAD_FOR_EVER, f"{url}/ttt"])
    eventually(uploads, lambda: f"no upload in parts began: {victim.poll()}")
    victim.kill()
    victim.wait()
    left = uploads()
    visible = [each.name for each in S3Folder(f"{url}/ttt").names()]
    for key in left:  # S3 shows an object once all its parts are there, or never
        assert key.removeprefix("runs/") not in visible
    saved = SavedRun(url, "ttt")
    assert saved.newest()[0] == 1
    saved.clean(grace=timedelta(0))
    assert uploads() == []
    assert [each.name for each in S3Folder(f"{url}/ttt").names()] == before


def test_of_concurrent_writers_one_continues_the_run_and_nothing_is_torn(url, runs, tmp_path):
    """Four folders of one run push at once, again and again: each number has one writer."""
    pushed(url)
    folders = []
    for number in range(4):
        shutil.copytree(runs / "ttt", tmp_path / str(number) / "ttt")
        folders.append(tmp_path / str(number) / "ttt")
    together = threading.Barrier(len(folders))
    outcomes = {}

    def push_three_times(number):
        run = read_run(folders[number])
        saved = SavedRun(url, "ttt")
        try:
            for turn in range(3):
                (run.folder / "starts").write_text(f"{number}{turn}")
                snapshot = take_snapshot(run.folder, run.folder / ".s3")
                together.wait(PATIENCE_S) if turn == 0 else None
                outcomes[number] = saved.push(run, snapshot)[0]
        except SavedElsewhere as fault:
            outcomes[number] = fault

    threads = [threading.Thread(target=push_three_times, args=(each,)) for each in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    winners = [number for number, outcome in outcomes.items() if isinstance(outcome, int)]
    assert len(winners) == 1, outcomes
    assert outcomes[winners[0]] == 4
    assert SavedRun(url, "ttt").numbers() == [1, 2, 3, 4]
    pull(url, "ttt", "again")
    assert (runs / "again" / "starts").read_text() == f"{winners[0]}2"


# ---- a run that moves


def settings_of(*changed):
    return [part for each in (*TINY_RUN, *changed) for part in ("--set", each)]


def last_weights(runs_folder):
    newest, _ = WeightsStore(runs_folder / "ttt" / "weights").load_newest()
    return newest.version, encoded_tensors(newest.tensors)[1]


def test_a_run_moves_between_machines_in_the_middle_of_training_and_loses_nothing(tmp_path):
    """Three hosts that share no disk: S3, and two that train the run one after the other. The
    weights are bit for bit those of a run that was never moved."""
    if shutil.which("ip") is None:
        pytest.skip("network namespaces need iproute2")
    command = [str(ZEROFLEET), "train", "tictactoe", "--run", "ttt", "--s3", URL, "--no-dash"]
    steps = ["--steps", "400", "--deterministic"]
    options = ["--preset", "fast", *settings_of("train.checkpoint_every_steps=20")]
    with Network(["s3", "first", "second"]) as network:
        address = network.addresses["s3"]
        server = in_namespace(network, "s3", tmp_path / "ceph", address)
        try:
            variables = environment(server["endpoint"], "tester", "of-this-test-alone")

            def start(host, *more):
                runs = {"ZEROFLEET_RUNS": str(tmp_path / host), "ZEROFLEET_CACHE": str(tmp_path)}
                log = tmp_path / f"{host}.log"
                return network.start(host, [*command, *steps, *more], variables | runs, log)

            first = start("first", *options)
            said = tmp_path / "first.log"
            manifests = tmp_path / "first" / "ttt" / "s3.json"
            number = re.compile(r'"number":([3-9]|\d\d)')
            eventually(
                lambda: manifests.exists() and number.search(manifests.read_text()),
                lambda: said.read_text(),
            )
            first.send_signal(signal.SIGTERM)
            assert first.wait(PATIENCE_S) == 0, said.read_text()
            stopped_at, _ = last_weights(tmp_path / "first")
            assert 0 < stopped_at < 400, said.read_text()
            shutil.rmtree(tmp_path / "first")  # the machine is gone

            second = start("second")
            assert second.wait(PATIENCE_S) == 0, (tmp_path / "second.log").read_text()
            assert f"resuming at step {stopped_at}" in (tmp_path / "second.log").read_text()
        finally:
            server["close"]()
    undisturbed = [str(ZEROFLEET), "train", "tictactoe", "--run", "ttt", "--no-dash", *steps]
    subprocess.run(
        [*undisturbed, *options],
        env=os.environ | {"ZEROFLEET_RUNS": str(tmp_path / "alone")},
        check=True,
        timeout=PATIENCE_S,
        capture_output=True,
    )
    assert last_weights(tmp_path / "second") == last_weights(tmp_path / "alone")
    games = {
        host: b"".join(
            path.read_bytes() for path in sorted((tmp_path / host / "ttt/episodes").glob("*.zfl"))
        )
        for host in ("second", "alone")
    }
    assert games["second"] == games["alone"]
    text = "".join(path.read_text() for path in tmp_path.glob("*.log"))
    assert "of-this-test-alone" not in text
    config = (tmp_path / "second" / "ttt" / "config.yaml").read_text()
    assert URL in config
    assert "of-this-test-alone" not in config


def in_namespace(network, host, folder, address):
    """Ceph on a host, with a bucket; its endpoint, and what ends it."""
    script = (
        "import sys; from pathlib import Path; import boto3; from s3_servers import *\n"
        "server = Radosgw(Path(sys.argv[1]), sys.argv[2])\n"
        "server.add_user('tester', 'of-this-test-alone')\n"
        "os.environ |= environment(server.endpoint, 'tester', 'of-this-test-alone')\n"
        "boto3.client('s3').create_bucket(Bucket=BUCKET)\n"
        "print(server.endpoint, flush=True); sys.stdin.read(); server.close()\n"
    )
    python_path = {"PYTHONPATH": str(Path(__file__).parents[1] / "support")}
    process = network.start(
        host,
        [sys.executable, "-c", script, str(folder), address],
        python_path,
        folder.with_suffix(".log"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    endpoint = process.stdout.readline().decode().strip()

    def close():
        process.stdin.close()
        process.wait()
        process.stdout.close()

    if not endpoint:
        close()
        pytest.fail(folder.with_suffix(".log").read_text())
    return {"endpoint": endpoint, "close": close}


# ---- with the permissions of the stack


@pytest.fixture
def permissions_of_the_stack(ceph):
    """Each role may do in the bucket what the stack of a run ttt allows it."""
    plan = plan_of("test", run="ttt", weights_from="s3")
    resources = template(plan, Prices.read())["Resources"]
    statements = []
    for role in ROLES:
        (policy,) = resources[f"{role.capitalize()}Role"]["Properties"]["Policies"]
        for statement in policy["PolicyDocument"]["Statement"]:
            if all(action.startswith("s3:") for action in statement["Action"]):
                user = {"Principal": {"AWS": [f"arn:aws:iam:::user/{role}"]}}
                given = replaced(statement) | user
                if "s3:DeleteObject" in given["Action"]:
                    # Ceph 16 wants it on the bucket too, to delete several objects at once.
                    given["Resource"] = [given["Resource"], f"arn:aws:s3:::{BUCKET}"]
                statements.append(given)
    document = {"Version": "2012-10-17", "Statement": statements}
    client = boto3.session.Session().client("s3")
    client.put_bucket_policy(Bucket=BUCKET, Policy=json.dumps(document))
    yield
    client.delete_bucket_policy(Bucket=BUCKET)


def replaced(part):
    """A part of a template with what CloudFormation replaces."""
    if isinstance(part, list):
        return [replaced(each) for each in part]
    if not isinstance(part, dict):
        return part
    if "Fn::Sub" not in part:
        return {key: replaced(each) for key, each in part.items()}
    text = part["Fn::Sub"] if isinstance(part["Fn::Sub"], str) else part["Fn::Sub"][0]
    values = {"AWS::Partition": "aws", "Bucket": BUCKET, "RunName": "ttt"}
    return re.sub(r"\$\{([\w:]+)\}", lambda found: values[found[1]], text)


def test_a_role_of_the_stack_is_refused_what_is_not_its_own(
    runs, monkeypatch, permissions_of_the_stack
):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "trainer")
    own, other = SavedRun(URL, "ttt"), SavedRun(URL, "other")
    pushed(URL)
    own.put_weights("77ab", b"weights")
    own.s3.delete(["blobs/none"])
    assert own.clean() == 0
    for attempt in (other.newest, lambda: other.put_weights("77ab", b"weights")):
        with pytest.raises(RemoteRefused, match="AccessDenied"):
            attempt()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "worker")
    own = SavedRun(URL, "ttt")
    assert own.s3.get("weights/77ab", 100) == b"weights"
    for attempt in (
        own.newest,
        lambda: own.manifest(1),
        lambda: own.put_weights("77ab", b"others"),
        lambda: own.s3.delete(["weights/77ab"]),
        lambda: list(own.s3.names("weights/")),
    ):
        with pytest.raises(RemoteRefused, match="AccessDenied"):
            attempt()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "tester")
    SavedRun(URL, "ttt").s3.delete([each.name for each in SavedRun(URL, "ttt").s3.names()])


@needs_redis
def test_a_fleet_takes_its_weights_from_s3_and_its_trainer_moves(tmp_path, ceph, url):
    """Workers fetch new weights from S3; a trainer that is killed, with its disk, is replaced by
    one that resumes from S3, and what the workers still have is not lost."""
    redis = RedisServer(tmp_path)
    changed = ["fleet.weights_from=s3", "train.checkpoint_every_steps=20"]
    changed += ["train.publish_every_steps=5", "fleet.trainer_timeout_s=3"]
    variables = (
        os.environ
        | ceph
        | {
            "REDIS_URL": f"redis://127.0.0.1:{redis.port}",
            "ZEROFLEET_SPOOL": str(tmp_path / "spool"),
        }
    )
    processes = []

    def start(name, *arguments, **more):
        output = (tmp_path / f"{name}.log").open("wb")
        process = subprocess.Popen(
            [str(ZEROFLEET), *arguments],
            stdout=output,
            stderr=subprocess.STDOUT,
            env=variables | more,
        )
        output.close()
        processes.append(process)
        return process

    def said(name):
        return (tmp_path / f"{name}.log").read_text()

    saved = SavedRun(url, "ttt")
    trainer = ["trainer", "tictactoe", "--run", "ttt", "--s3", url]
    options = ["--preset", "fast", *settings_of(*changed)]
    try:
        first = start("first", *trainer, *options, ZEROFLEET_RUNS=str(tmp_path / "first"))
        worker = ["worker", "--run", "ttt", "--worker-id", "w", "--processes", "1"]
        start("worker", *worker)
        eventually(
            lambda: (newest := saved.newest()) and newest[1].step >= 40,
            lambda: said("first") + said("worker"),
        )
        first.kill()
        first.wait()
        shutil.rmtree(tmp_path / "first")
        step = saved.newest()[1].step
        more = ["--steps", str(step + 40)]
        second = start("second", *trainer, *more, ZEROFLEET_RUNS=str(tmp_path / "second"))
        assert second.wait(PATIENCE_S) == 0, said("second")
        assert f"resuming at step {step}" in said("second")
        assert saved.newest()[1].step >= step + 40
        weights = list(saved.s3.names("weights/"))
        assert weights
        assert "cannot be fetched" not in said("worker")
        assert "refused" not in said("worker")
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()
        redis.close()
