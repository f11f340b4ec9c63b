"""The images of infra/images: linted, confined; built with buildah and run as a fleet that trains.

The long test needs no registry: it makes the base from Debian's packages, under the name that the
Dockerfiles have, and gives pip the wheels that this environment can get. With chroot isolation the
containers share the host's network, so each gets a port of its own.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml
from tiny_runs import TINY_RUN

from zerofleet.fleet.local_redis import free_port

PROJECT = Path(__file__).parents[2]
IMAGES = PROJECT / "infra" / "images"
DOCKERFILES = sorted(IMAGES.glob("*.Dockerfile"))
COMPOSE = yaml.safe_load((PROJECT / "infra" / "compose.yaml").read_text())
PATIENCE_S = 600

needs_buildah = pytest.mark.skipif(
    not all(map(shutil.which, ("buildah", "mmdebstrap")))
    and not os.environ.get("ZEROFLEET_REQUIRE_TOOLS"),
    reason="buildah or mmdebstrap is missing; scripts/install-debian-packages images",
)


# ---- the files


def test_hadolint_has_no_remark():
    program = Path(sys.executable).parent / "hadolint"
    linted = subprocess.run([program, *DOCKERFILES], capture_output=True, text=True)
    assert (linted.returncode, linted.stdout) == (0, "")


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.stem)
def test_an_image_is_pinned_runs_as_nobody_special_and_says_whether_it_is_well(path):
    text = path.read_text()
    assert re.search(r"^ARG BASE=debian:\d+\.\d+-slim$", text, re.M)
    assert set(re.findall(r"^FROM (\S+)", text, re.M)) == {"${BASE}"}
    assert re.search(r"^USER 10001$", text, re.M)
    assert re.search(r"^HEALTHCHECK ", text, re.M)
    if "zerofleet" in text.split("ENTRYPOINT")[1]:  # built apart from what it runs with
        assert len(re.findall("^FROM ", text, re.M)) == 2
        assert "-c /wheel/constraints.txt" in text


def test_compose_has_the_roles_and_opens_no_door():
    services = COMPOSE["services"]
    assert services.keys() >= {"redis", "trainer", "worker", "dashboard"}
    for name, service in services.items():
        assert service["cap_drop"] == ["ALL"], name
        assert service["read_only"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", [])), name
        for variable in service["environment"]:
            assert "PASSWORD" not in variable or variable.endswith("_FILE"), name
            assert "TOKEN" not in variable or variable.endswith("_FILE"), name
        if "build" in service:
            assert (PROJECT / service["build"]["dockerfile"]).exists()
    assert [name for name, service in services.items() if "ports" in service] == ["dashboard"]


# ---- built and run


class Buildah:
    """Images and containers in a folder of their own."""

    def __init__(self, folder):
        self.folder = folder
        self._store = ["--root", str(folder / "store"), "--runroot", str(folder / "run")]

    def __call__(self, *arguments):
        done = subprocess.run(
            self.command(*arguments), capture_output=True, text=True, timeout=3 * PATIENCE_S
        )
        assert done.returncode == 0, (done.stdout + done.stderr)[-5000:]
        return done.stdout.strip()

    def command(self, *arguments):
        return ["buildah", *self._store, "--storage-driver", "vfs", *map(str, arguments)]

    def build(self, dockerfile, context, tag, *more):
        options = ["--isolation", "chroot", "--format", "docker", "--pull-never", "--quiet", *more]
        self("bud", *options, "-t", tag, "-f", dockerfile, context)

    def config(self, image):
        found = json.loads(self("inspect", "--type", "image", image))
        return found["Docker"]["config"]


@pytest.fixture(scope="module")
def buildah(tmp_path_factory):
    """With the images of all roles. ZEROFLEET_IMAGES names a folder where they are kept."""
    kept = os.environ.get("ZEROFLEET_IMAGES")
    folder = Path(kept) if kept else tmp_path_factory.mktemp("images")
    folder.mkdir(parents=True, exist_ok=True)
    buildah = Buildah(folder)
    if not (folder / "built").exists():
        build_all(buildah, folder)
        (folder / "built").touch()
    return buildah


def run(*command, **more):
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=3 * PATIENCE_S, **more
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-5000:]


def build_all(buildah, folder):
    (base_name,) = {
        re.search(r"^ARG BASE=(\S+)$", path.read_text(), re.M)[1] for path in DOCKERFILES
    }
    run(
        "mmdebstrap", "--variant=minbase", "--include=ca-certificates", "bookworm", folder / "b.tar"
    )
    (folder / "Base").write_text("FROM scratch\nADD b.tar /\n")
    buildah.build(folder / "Base", folder, f"docker.io/library/{base_name}")

    context, wheels = folder / "context", folder / "wheels"
    (context / "dist").mkdir(parents=True)
    shutil.copytree(PROJECT / "infra", context / "infra")
    shutil.copy(PROJECT / "constraints.txt", context)
    pip = [sys.executable, "-m", "pip"]
    run(*pip, "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", context / "dist", PROJECT)
    (wheel,) = (context / "dist").glob("*.whl")
    constraints = ["-c", context / "constraints.txt"]
    # Debian's Python 3.11.2 needs a package that a newer one does not.
    run(
        *pip, "download", "-q", *constraints, "-d", wheels, f"{wheel}[cloud,train]", "async-timeout"
    )
    (folder / "pip.conf").write_text("[global]\nno-index = true\nfind-links = /wheels\n")
    offline = ["--volume", f"{wheels}:/wheels:ro"]
    offline += ["--volume", f"{folder / 'pip.conf'}:/etc/pip.conf:ro"]
    for path in DOCKERFILES:
        buildah.build(path, context, f"zerofleet-{path.stem}", *offline)


class Container:
    """A service of compose.yaml or another image, with its entry point, user and health check."""

    def __init__(self, buildah, name, command, environment, volumes, log, stack):
        service = COMPOSE["services"].get(name, {"image": f"zerofleet-{name}"})
        image = f"localhost/{service['image']}"
        self._config = buildah.config(image)
        self._buildah = buildah
        self.log = log
        self._id = buildah("from", "--pull-never", image)
        stack.callback(buildah, "rm", self._id)
        for target in self._config.get("Volumes") or []:
            # Else buildah mounts a volume of its own over what is mounted there.
            buildah("config", "--volume", f"{target}-", self._id)
        options = ["--isolation", "chroot"]
        for variable, value in environment.items():
            options += ["--env", f"{variable}={value}"]
        for source, target in volumes.items():
            options += ["--volume", f"{source}:{target}"]
        self._options = options
        entry = service.get("entrypoint") or self._config["Entrypoint"]
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                buildah.command("run", *options, self._id, "--", *entry, *command),
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        stack.callback(self.stop)

    def run(self, *command):
        """Runs another command in it; its exit status. buildah may lose what it prints."""
        done = subprocess.run(
            self._buildah.command("run", *self._options, self._id, "--", *command),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        return done.returncode

    def is_well(self, port):
        """The health check of its image, at the port that it has here."""
        kind, *check = self._config["Healthcheck"]["Test"]
        assert kind == "CMD"
        check = [part.replace("9470", str(port)).replace("8080", str(port)) for part in check]
        return self.run(*check) == 0

    def stop(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, 15)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, 9)
                self.process.wait()


HEALTHY = ("trainer", "worker", "inference", "asking worker")
"""Roles of the fleet with a health check on a port of their own."""


def eventually(read, *containers):
    end_s = time.monotonic() + PATIENCE_S
    while not (found := read()):
        said = "\n".join(each.log.read_text()[-2000:] for each in containers)
        assert time.monotonic() < end_s, said
        time.sleep(1)
    return found


@pytest.mark.long
@needs_buildah
def test_a_fleet_of_containers_trains(buildah, tmp_path):
    ports = {name: free_port() for name in ("redis", "dashboard", *HEALTHY)}
    secrets, runs, data, spool = (tmp_path / name for name in ("secrets", "runs", "data", "spool"))
    for folder in (secrets, runs, data, spool):
        folder.mkdir(mode=0o755)
        os.chown(folder, 10001, 10001)
    for name in ("redis", "dash"):
        (secrets / name).write_text(f"only-of-this-test-{name}")
    settings = [part for each in TINY_RUN for part in ("--set", each)]
    environment = {
        "REDIS_URL": f"redis://127.0.0.1:{ports['redis']}",
        "REDIS_PORT": str(ports["redis"]),
        "REDIS_PASSWORD_FILE": "/run/secrets/redis",
        "ZEROFLEET_DASH_TOKEN_FILE": "/run/secrets/dash",
    }
    with ExitStack() as stack:

        def start(name, command, volumes, label=None):
            volumes = {str(source): target for source, target in volumes.items()}
            volumes |= {str(secrets): "/run/secrets:ro"}
            log = tmp_path / f"{label or name}.log"
            return Container(buildah, name, command, environment, volumes, log, stack)

        redis = start("redis", [], {data: "/data"})
        eventually(lambda: redis.is_well(ports["redis"]), redis)
        health = {name: ["--health-port", str(ports[name])] for name in HEALTHY}
        home = "/var/lib/zerofleet"
        game = ["tictactoe", "--run", "ttt", "--preset", "fast", "--minutes", "2", *settings]
        trainer = start("trainer", [*game, *health["trainer"]], {runs: home})
        worker = start("worker", ["--run", "ttt", *health["worker"]], {spool: home})
        served = ["--run", "ttt", "--server-id", "s", "--host", "127.0.0.1", "--device", "cpu"]
        inference = start("inference", [*served, *health["inference"]], {})
        asking = ["--run", "ttt", "--worker-id", "asking", "--evaluator", "remote"]
        asker = start("worker", [*asking, *health["asking worker"]], {spool: home}, "asking worker")
        roles = dict(zip(HEALTHY, (trainer, worker, inference, asker), strict=True))
        for name, role in roles.items():
            eventually(lambda name=name, role=role: role.is_well(ports[name]), *roles.values())
        for each in (redis, *roles.values()):
            assert each.run("sh", "-c", 'test "$(id -u)" = 10001') == 0
        assert worker.run("python3", "-c", "import torch") != 0  # it plays without

        shown = ["--port", str(ports["dashboard"])]
        dashboard = start("dashboard", shown, {runs: home})
        eventually(lambda: dashboard.is_well(ports["dashboard"]), dashboard)
        assert trainer.process.wait(PATIENCE_S) == 0, trainer.log.read_text()
        for each in (worker, inference, asker):  # they end with the run
            assert each.process.wait(PATIENCE_S) == 0, each.log.read_text()
        url = f"http://127.0.0.1:{ports['dashboard']}/api/v1/runs"
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(url)
        cookie = {"Cookie": "zerofleet-token=only-of-this-test-dash"}
        with urllib.request.urlopen(urllib.request.Request(url, headers=cookie)) as answer:
            assert "ttt" in answer.read().decode()
    ended = re.search(r"^ttt: ([\d,]+) steps, ([\d,]+) games$", trainer.log.read_text(), re.M)
    assert ended, trainer.log.read_text()
    assert min(int(each.replace(",", "")) for each in ended.groups()) > 0
    assert any((runs / "runs" / "ttt" / "checkpoints").glob("*.safetensors"))
    for each in (worker, asker):
        played = re.search(r"([\d,]+) games played", each.log.read_text())
        assert played, each.log.read_text()
        assert played[1] != "0"
    for log in tmp_path.glob("*.log"):
        assert "only-of-this-test" not in log.read_text()


@pytest.mark.long
@needs_buildah
def test_the_image_of_an_inference_server_has_torch_and_asks_for_gpus(buildah):
    config = buildah.config("localhost/zerofleet-inference")
    assert "NVIDIA_VISIBLE_DEVICES=all" in config["Env"]
    container = buildah("from", "--pull-never", "localhost/zerofleet-inference")
    try:
        for command in (["zerofleet", "inference", "--help"], ["python3", "-c", "import torch"]):
            buildah("run", "--isolation", "chroot", container, "--", *command)
    finally:
        buildah("rm", container)


@pytest.mark.long
@needs_buildah
@pytest.mark.skipif(
    "ZEROFLEET_CUDA_WHEELS" not in os.environ,
    reason="ZEROFLEET_CUDA_WHEELS names no folder; `pip download torch` fills one, 3 GB",
)
@pytest.mark.parametrize("role", ["inference", "trainer"])
def test_the_images_of_roles_with_gpus_are_built_with_cuda(buildah, role):
    wheels = buildah.folder / "wheels-with-cuda"
    shutil.rmtree(wheels, ignore_errors=True)
    wheels.mkdir()
    others = [each for each in (buildah.folder / "wheels").iterdir() if "torch-" not in each.name]
    for wheel in [*others, *Path(os.environ["ZEROFLEET_CUDA_WHEELS"]).glob("*.whl")]:
        if not (wheels / wheel.name).exists():
            os.link(wheel, wheels / wheel.name)
    offline = ["--volume", f"{wheels}:/wheels:ro"]
    offline += ["--volume", f"{buildah.folder / 'pip.conf'}:/etc/pip.conf:ro"]
    context = buildah.folder / "context"
    image = f"localhost/zerofleet-{role}-cuda"
    buildah.build(IMAGES / f"{role}.Dockerfile", context, image, *offline)
    container = buildah("from", "--pull-never", image)
    try:
        checks = "import torch; assert torch.version.cuda and torch.backends.cudnn.version()"
        for command in (["python3", "-c", checks], ["zerofleet", role, "--help"]):
            buildah("run", "--isolation", "chroot", container, "--", *command)
    finally:
        buildah("rm", container)
        buildah("rmi", image)  # it is large
