"""What runs on a machine: the watcher for interruptions, and the script of its role.

The script runs in bash with a `docker` and an `aws` that record what they are asked; the metadata
service is a real server on loopback. What was asked is compared with the permissions of the role.
"""

import hashlib
import json
import os
import re
import shlex
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from cloud_accounts import Server, launch, plan_of
from command_line import Ran
from metadata_server import MetadataServer, metadata_server
from moto import mock_aws

from zerofleet.cloud import boot, shutdown
from zerofleet.cloud.prices import Prices
from zerofleet.cloud.stack import template
from zerofleet.remote import RemoteWeights, SavedRun, s3

PATIENCE_S = 120
WATCHER = Path(boot.__file__).with_name("interruption.py")
RESOURCES = template(plan_of("test"), Prices.read())["Resources"]
IMAGE = "123456789012.dkr.ecr.us-east-1.amazonaws.com/zerofleet-worker:1"

DOCKER = """#!/bin/bash
call=$(printf '%q ' docker "$@"); echo "$call" >> "$RECORD"  # at once: a pipe has two of these
case $1 in
  run)
    : > "$RECORD.running"
    while [[ ! -e $RECORD.stop && ! -e $RECORD.done ]]; do sleep 0.05; done
    ;;
  stop) : > "$RECORD.stop" ;;
  login) cat > /dev/null ;;
esac
"""
AWS = """#!/bin/bash
call=$(printf '%q ' aws "$@"); echo "$call" >> "$RECORD"  # at once: a pipe has two of these
case "$1 $2" in
  "secretsmanager get-secret-value")
    if [[ ! -e $RECORD.asked ]]; then : > "$RECORD.asked"; exit 254; fi  # not there yet
    echo "the secret value"
    ;;
  "ecr get-login-password") echo "a password" ;;
esac
"""
CHOWN = "#!/bin/bash\n"
SLEEP = "#!/bin/bash\nexec /bin/sleep 0.05\n"


@pytest.fixture
def metadata() -> Iterator[MetadataServer]:
    with metadata_server() as server:
        yield server


class RoleScript:
    """role.sh of one role, as it is stored for machines, in a process."""

    def __init__(
        self, folder: Path, metadata: MetadataServer, number: str = "0", **given: str
    ) -> None:
        programs = folder / "bin"
        programs.mkdir()
        for name, text in (("docker", DOCKER), ("aws", AWS), ("chown", CHOWN), ("sleep", SLEEP)):
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        settings = dict.fromkeys(boot.VARIABLES, "")
        settings |= {"REGION": "us-east-1", "RUN": "c4", "GAME": "connect4", "PRESET": "fast"}
        settings |= {"NUM_GPUS": "0", "IMAGE": IMAGE, "LOG_GROUP": "/zerofleet/c4", **given}
        (folder / "conf").write_text(
            "".join(f"{name}={shlex.quote(value)}\n" for name, value in settings.items())
        )
        (folder / "role.sh").write_text(boot.program("role.sh"))
        self.record = folder / "record"
        self.secrets = folder / "secrets"
        self.secrets.mkdir()
        self.process = subprocess.Popen(
            ["bash", folder / "role.sh", number],
            env={
                **os.environ,
                "PATH": f"{programs}:{os.environ['PATH']}",
                "RECORD": str(self.record),
                "ZEROFLEET_CONF": str(folder / "conf"),
                "RUNTIME_DIRECTORY": str(self.secrets),
                "ZEROFLEET_METADATA_URL": metadata.url,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def wait_until_running(self) -> None:
        deadline_s = time.monotonic() + PATIENCE_S
        while not self.record.with_name("record.running").exists():
            assert self.process.poll() is None, self.process.stdout and self.process.stdout.read()
            assert time.monotonic() < deadline_s
            time.sleep(0.02)

    def finish_run(self) -> None:
        self.record.with_name("record.done").touch()

    def ended(self) -> tuple[int, str]:
        output, _ = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, output

    def calls(self, program: str) -> list[list[str]]:
        lines = [shlex.split(line) for line in self.record.read_text().splitlines()]
        return [line[1:] for line in lines if line[0] == program]

    def command(self) -> list[str]:
        """What the container was told to run."""
        (run,) = (call for call in self.calls("docker") if call[0] == "run")
        return run[run.index(IMAGE) + 1 :]


def test_a_notice_drains_the_worker_and_nothing_else_ends(
    tmp_path: Path, metadata: MetadataServer
) -> None:
    secret = {"REDIS_SECRET": "redis-arn", "CURVE_SECRET": "curve-arn"}
    role = RoleScript(
        tmp_path, metadata, ROLE="worker", ROLE_OPTIONS="--evaluator remote", **secret
    )
    role.wait_until_running()
    watcher = subprocess.Popen(
        [sys.executable, "-I", WATCHER, "kill", "-TERM", str(role.process.pid)],
        env={"ZEROFLEET_METADATA_URL": metadata.url, "ZEROFLEET_METADATA_POLL_S": "0.05"},
        stdout=subprocess.PIPE,
        text=True,
    )
    deadline_s = time.monotonic() + PATIENCE_S
    while metadata.asked.count("spot/instance-action") < 3:
        assert time.monotonic() < deadline_s
        time.sleep(0.02)
    assert role.process.poll() is None  # no notice, no drain
    metadata.interrupt()
    said, _ = watcher.communicate(timeout=PATIENCE_S)
    assert (watcher.returncode, said) == (0, "terminate at 2026-11-18T12:00:00Z: draining\n")
    status, output = role.ended()
    assert status == 0
    assert ["stop", "--time", "100", "zerofleet-0"] in role.calls("docker")
    assert not any(call[0] == "lambda" for call in role.calls("aws"))

    assert role.command()[:5] == ["worker", "--run", "c4", "--worker-id", "i-0123456789"]
    (started,) = (call for call in role.calls("docker") if call[0] == "run")
    assert {"REDIS_USER=zf-c4-worker", "REDIS_PASSWORD_FILE=/run/secrets/redis"} <= set(started)
    assert "AWS_DEFAULT_REGION=us-east-1" in started  # boto3 reads no other variable
    assert stat.S_IMODE((role.secrets / "redis").stat().st_mode) == 0o600
    assert (role.secrets / "curve").read_text() == "the secret value\n"
    assert (
        "the secret value" not in output + role.record.read_text() + (tmp_path / "conf").read_text()
    )


def test_the_watcher_survives_a_metadata_service_that_does_not_answer(tmp_path: Path) -> None:
    with metadata_server() as server:
        url = server.url
    watcher = subprocess.Popen(
        [sys.executable, "-I", WATCHER, "true"],
        env={"ZEROFLEET_METADATA_URL": url, "ZEROFLEET_METADATA_POLL_S": "0.05"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert watcher.stdout is not None
    assert "asking again" in watcher.stdout.readline()
    assert watcher.poll() is None
    watcher.kill()
    watcher.communicate()


@pytest.mark.parametrize("role_name", ["trainer", "single"])
def test_a_trainer_whose_run_is_done_ends_what_is_paid_by_the_hour(
    tmp_path: Path, metadata: MetadataServer, role_name: str
) -> None:
    role = RoleScript(tmp_path, metadata, ROLE=role_name, SHUTDOWN_FUNCTION="end-it")
    role.wait_until_running()
    role.finish_run()
    assert role.ended()[0] == 0
    phases = [json.loads(call[-2]) for call in role.calls("aws") if call[0] == "lambda"]
    assert phases == [{"phase": "groups"}, {"phase": "rest"}]


def test_the_dashboard_logs_in_to_redis_as_one_who_only_looks(
    tmp_path: Path, metadata: MetadataServer
) -> None:
    given = {f"{whose}_SECRET": f"of {whose}" for whose in ("REDIS", "VIEWER")}
    role = RoleScript(tmp_path, metadata, "dash", ROLE="trainer", DASH_IMAGE=IMAGE, **given)
    role.wait_until_running()
    role.finish_run()
    role.ended()
    (started,) = (call for call in role.calls("docker") if call[0] == "run")
    assert {"REDIS_USER=zf-c4-viewer", "REDIS_PASSWORD_FILE=/run/secrets/redis"} <= set(started)
    asked = {
        call[call.index("--secret-id") + 1] for call in role.calls("aws") if "--secret-id" in call
    }
    assert asked == {"of VIEWER"}


def test_a_trainer_that_is_stopped_has_not_finished_its_run(
    tmp_path: Path, metadata: MetadataServer
) -> None:
    role = RoleScript(tmp_path, metadata, ROLE="trainer", SHUTDOWN_FUNCTION="end-it")
    role.wait_until_running()
    role.process.send_signal(signal.SIGTERM)
    assert role.ended()[0] == 0
    assert not any(call[0] == "lambda" for call in role.calls("aws"))


@pytest.mark.parametrize("role_name", ["worker", "inference", "trainer", "single"])
def test_the_command_of_a_role_has_only_options_that_its_verb_knows(
    tmp_path: Path,
    metadata: MetadataServer,
    role_name: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    size = "single" if role_name == "single" else "test"
    resources = template(plan_of(size), Prices.read())["Resources"]
    title = "Trainer" if role_name == "single" else role_name.capitalize()
    parts = resources[f"{title}Template"]["Properties"]["LaunchTemplateData"]["UserData"]
    joined = parts["Fn::Base64"]["Fn::Join"][1]
    options = joined[joined.index("ROLE_OPTIONS='") + 1]
    text = options if isinstance(options, str) else options["Fn::Sub"][0]
    role = RoleScript(tmp_path, metadata, ROLE=role_name, ROLE_OPTIONS=text)
    role.wait_until_running()
    role.finish_run()
    role.ended()
    command = role.command()
    known = Ran(capsys, command[0], "--help").output
    for option in (part for part in command if part.startswith("--")):
        assert option in known


# ---- permissions

CALLED_BY_DOCKER = {
    "logs:CreateLogStream",  # its log driver
    "logs:PutLogEvents",
    "ecr:BatchCheckLayerAvailability",  # its pull
    "ecr:BatchGetImage",
    "ecr:GetDownloadUrlForLayer",
}
ACTIONS = {
    ("secretsmanager", "get-secret-value"): "secretsmanager:GetSecretValue",
    ("ecr", "get-login-password"): "ecr:GetAuthorizationToken",
    ("lambda", "invoke"): "lambda:InvokeFunction",
}


BUCKET_ACTIONS = {
    "abort_multipart_upload": "s3:AbortMultipartUpload",
    "delete_objects": "s3:DeleteObject",
    "get_object": "s3:GetObject",
    "list_multipart_uploads": "s3:ListBucketMultipartUploads",
    "list_objects_v2": "s3:ListBucket",
    "put_object": "s3:PutObject",
    "upload_fileobj": "s3:PutObject",
}


def called_on_buckets() -> set[str]:
    """What the code that saves runs in S3 asks of its client."""
    source = Path(s3.__file__).read_text()
    calls = re.findall(r"client\.(?!get_paginator|meta)(\w+)\(", source)
    calls += re.findall(r'_pages\("(\w+)"', source)
    return {BUCKET_ACTIONS[each] for each in calls}


def statements_of(role: str, resources: dict[str, Any] = RESOURCES) -> list[dict[str, Any]]:
    (policy,) = resources[f"{role}Role"]["Properties"]["Policies"]
    found: list[dict[str, Any]] = policy["PolicyDocument"]["Statement"]
    return found


def allowed(role: str, resources: dict[str, Any] = RESOURCES) -> set[str]:
    """What the policies of a role allow."""
    return {action for each in statements_of(role, resources) for action in each["Action"]}


@pytest.mark.parametrize("weights_from", ["redis", "s3"])
@pytest.mark.parametrize("role_name", ["worker", "inference", "trainer"])
def test_a_role_may_do_what_its_machine_calls_and_nothing_else(
    tmp_path: Path, metadata: MetadataServer, role_name: str, weights_from: str
) -> None:
    role = RoleScript(
        tmp_path, metadata, ROLE=role_name, REDIS_SECRET="redis", SHUTDOWN_FUNCTION="end-it"
    )
    role.wait_until_running()
    role.finish_run()
    assert role.ended()[0] == 0
    called = {ACTIONS[call[0], call[1]] for call in role.calls("aws")}
    resources = template(plan_of("test", weights_from=weights_from), Prices.read())["Resources"]
    granted = allowed(role_name.capitalize(), resources)
    of_bucket: set[str] = set()
    if role_name == "trainer":
        of_bucket = called_on_buckets()
    elif weights_from == "s3":
        of_bucket = called_for_weights()
    assert granted == called | CALLED_BY_DOCKER | of_bucket


def called_for_weights() -> set[str]:
    """What a worker that fetches weights asks of S3."""
    called: set[str] = set()
    with mock_aws():
        made = boto3.client("s3", region_name="us-east-1")
        made.create_bucket(Bucket="bucket")
        writer = SavedRun("s3://bucket/runs", "c4")
        sha256 = hashlib.sha256(b"weights").hexdigest()
        writer.put_weights(sha256, b"weights")
        fetch = RemoteWeights("s3://bucket/runs", "c4", print)

        def record(model: Any, params: dict[str, Any], **_: object) -> None:
            called.add(f"s3:{model.name}")
            assert params["url_path"] == f"/runs/c4/weights/{sha256}"

        events = fetch._saved.s3._client.meta.events
        events.register("before-call", record)
        assert fetch(sha256) == b"weights"
    return called


def test_a_role_reads_the_secrets_and_the_objects_of_its_own_run_and_role_alone() -> None:
    resources = template(plan_of("test", weights_from="s3"), Prices.read())["Resources"]

    def on(role: str, action: str) -> Any:
        (found,) = (each for each in statements_of(role, resources) if action in each["Action"])
        return found["Resource"]

    def secrets(role: str) -> set[str]:
        return {each["Ref"] for each in on(role, "secretsmanager:GetSecretValue")}

    assert secrets("Worker") == {"WorkerPassword", "WorkerKey"}
    assert secrets("Inference") == {"InferencePassword", "ServerKey"}
    assert secrets("Trainer") == {"TrainerPassword", "ViewerPassword"}
    bucket = "arn:${AWS::Partition}:s3:::${Bucket}"
    for role in ("Worker", "Inference"):
        assert on(role, "s3:GetObject")["Fn::Sub"][0] == f"{bucket}/runs/${{RunName}}/weights/*"
    assert on("Trainer", "s3:PutObject")["Fn::Sub"][0] == f"{bucket}/runs/${{RunName}}/*"
    (listing,) = (each for each in statements_of("Trainer") if each["Action"] == ["s3:ListBucket"])
    assert listing["Condition"] == {"StringLike": {"s3:prefix": {"Fn::Sub": "runs/${RunName}/*"}}}


def test_the_shutdown_function_may_do_what_it_calls_and_nothing_else(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch(plan_of())
    variables = boto3.client("lambda").get_function(FunctionName="zerofleet-c4-shutdown")
    for name, value in variables["Configuration"]["Environment"]["Variables"].items():
        monkeypatch.setenv(name, value)
    called: set[str] = set()
    session = boto3._get_default_session()

    def record(model: Any, **_: object) -> None:
        called.add(f"{model.service_model.endpoint_prefix}:{model.name}")

    session.events.register("before-call", record)
    try:
        shutdown.handler({"phase": "groups"})
        shutdown.handler({"phase": "rest"})
    finally:
        session.events.unregister("before-call", record)
    own_logs = {"logs:CreateLogStream", "logs:PutLogEvents"}
    assert allowed("Shutdown") == called | own_logs
