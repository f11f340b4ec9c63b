"""Which devices play and train; a run that trains in two processes, its stop and its loss."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from command_line import ZEROFLEET
from tiny_runs import TINY_RUN

from zerofleet.config import RunConfig, load
from zerofleet.errors import ZerofleetError
from zerofleet.fleet.hardware import DevicePlan, plan_devices, plan_threads


def plan(*overrides):
    return plan_devices(load("tictactoe", overrides=overrides))


def test_one_device_plays_and_trains_by_default():
    assert plan("run.device=cpu") == DevicePlan(("cpu",), ("cpu",))
    assert str(plan("run.device=cpu")) == "cpu"


def test_several_processes_may_train_on_a_cpu():
    found = plan("run.device=cpu", "run.training_devices=[cpu, cpu]")
    assert found == DevicePlan(("cpu",), ("cpu", "cpu"))
    assert str(found) == "cpu for inference, cpu, cpu for training"


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            ["run.training_devices=[cuda:99]"],
            "^run.training_devices: device cuda:99 is not availab",
        ),
        (["run.inference_devices=[gpu]"], "^run.inference_devices: unknown device gpu; known: "),
        (
            ["run.inference_devices=[cpu, cpu]"],
            "^run.inference_devices: several devices must be GPUs, ",
        ),
        (["run.inference_devices=cpu"], "run.inference_devices must be a valid list, got .cpu.$"),
        (
            ["run.training_devices=[cpu, cpu, cpu]", "train.batch_size=32"],
            r"^train.batch_size \(32\) must be a multiple of the number of run.training_devices",
        ),
        (
            ["run.training_devices=[cpu, cpu]", "run.deterministic=true"],
            "^a deterministic run has one device for inference and one for .*; .* has 1, .* 2$",
        ),
    ],
)
def test_devices_that_cannot_be_used_are_refused_by_setting(overrides, message):
    with pytest.raises(ZerofleetError, match=message):
        plan(*overrides)


def machine_with_two_gpus(monkeypatch):
    """Nothing is run on them; torch only says that they are there."""
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)


def test_gpus_are_named_in_full_and_once(monkeypatch):
    machine_with_two_gpus(monkeypatch)
    assert plan() == DevicePlan(("cuda",), ("cuda",))
    found = plan("run.inference_devices=[cuda:1]", "run.training_devices=[cuda]")
    assert str(found) == "cuda:1 for inference, cuda:0 for training"
    for setting in ("run.inference_devices", "run.training_devices"):
        with pytest.raises(ZerofleetError, match=f"^{setting}: cuda:0 is named twice"):
            plan(f"{setting}=[cuda, cuda:0]")
        with pytest.raises(ZerofleetError, match=f"^{setting}: cuda:0, cpu are not of one kind"):
            plan(f"{setting}=[cuda:0, cpu]")


@pytest.mark.parametrize(
    ("kind", "num_inference", "num_training", "text"),
    [
        ("cpu", 1, 1, "threads: 12 for search and inference, 4 for training"),
        ("cpu", 1, 2, "threads: 12 for search and inference, 2 for training"),
        ("cuda", 1, 1, "threads: 14 for search, 1 for inference, 1 for training"),
        ("cuda", 7, 1, "threads: 7 for search, 7 for inference, 1 for training"),
        ("cuda", 2, 2, "threads: 12 for search, 2 for inference, 1 for training"),
    ],
)
def test_search_threads_are_split_among_the_devices(kind, num_inference, num_training, text):
    settings = RunConfig(num_threads=16)
    found = plan_threads(settings, kind, False, num_inference, num_training)
    assert str(found) == text
    assert found.num_workers == (12 if kind == "cpu" else num_inference)


# ---- a whole run


def start(runs, *arguments):
    settings = [word for setting in TINY_RUN for word in ("--set", setting)]
    return subprocess.Popen(
        [
            ZEROFLEET,
            "train", "tictactoe", "--run", "r", *settings,
            "--device", "cpu", "--training-devices", "cpu,cpu", *arguments,
        ],
        env={"ZEROFLEET_RUNS": str(runs), "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )  # fmt: skip


def children_of(pid):
    """The processes that another has started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(parent) == pid and state != "Z":
            found.append(int(path.parent.name))
    return found


def wait_for_steps(process, run):
    """Until weights after the first step are being played with: every process trains by then."""
    give_up_s = time.monotonic() + 120
    while time.monotonic() < give_up_s and process.poll() is None:
        metrics = run / "metrics.jsonl"
        if metrics.exists() and '"kind": "train"' in metrics.read_text():
            return
        time.sleep(0.1)
    raise AssertionError(process.communicate())


def test_ctrl_c_stops_all_processes_and_the_run_resumes(tmp_path):
    process = start(tmp_path)
    wait_for_steps(process, tmp_path / "r")
    (other,) = children_of(process.pid)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the whole group
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "on cpu for inference, cpu, cpu for training; threads: " in output
    assert not Path(f"/proc/{other}").exists()
    (checkpoint,) = (tmp_path / "r" / "checkpoints").glob("*.json")
    steps = int(checkpoint.stem)
    output, errors = start(tmp_path, "--steps", str(steps + 5)).communicate(timeout=120)
    assert f"resuming at step {steps}" in output, errors
    assert f"r: {steps + 5:,} steps" in output


def test_a_training_process_that_is_killed_ends_the_run_with_one_line_and_a_checkpoint(tmp_path):
    process = start(tmp_path)
    wait_for_steps(process, tmp_path / "r")
    (other,) = children_of(process.pid)
    os.kill(other, signal.SIGKILL)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert errors == "zerofleet: training process 1 (cpu) was killed by signal 9: no output\n"
    (checkpoint,) = (tmp_path / "r" / "checkpoints").glob("*.json")
    assert int(checkpoint.stem) > 0
