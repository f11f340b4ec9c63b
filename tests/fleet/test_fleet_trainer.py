"""A fleet's trainer of two processes, whose metrics also go to TensorBoard and W&B."""

import re
import subprocess
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import fleet_processes
import pytest
from fleet_processes import RUN, Fleet
from fleet_spoils import add_to_path
from redis_server import RedisServer, needs_redis

from zerofleet import metrics
from zerofleet.metrics import Record
from zerofleet.training.data_parallel import RUN_RANK

pytestmark = needs_redis

STAND_IN = Path(fleet_processes.__file__).with_name("wandb_stand_in")
"""W&B's own package is used where it is installed."""
MIN_RECORDS = 3


@dataclass
class Observed:
    """What a fleet did, from outside."""

    folder: Path
    num_logged: int
    ranks: list[int]
    """The trainer's other processes, while it trained."""
    ranks_after: list[int]
    trainers: list[str]
    """Ids in the registry."""
    trained: list[Record]


def ranks_of(pid: int) -> list[int]:
    """Processes of a trainer that train with it."""
    found = subprocess.run(
        ["ps", "-ww", "-o", "pid=", "-o", "args=", "--ppid", str(pid)],
        stdout=subprocess.PIPE,
        text=True,
    )
    return [int(line.split()[0]) for line in found.stdout.splitlines() if RUN_RANK in line]


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> Observed:
    folder = tmp_path_factory.mktemp("fleet")
    (folder / "redis").mkdir()
    with RedisServer(folder / "redis") as server, Fleet(folder, server) as fleet:
        run = fleet.runs / RUN
        trainer = fleet.trainer(
            partial(add_to_path, STAND_IN),
            options=["--training-devices", "cpu,cpu", "--track", "wandb"],
            environment={"WANDB_MODE": "offline", "WANDB_SILENT": "true"},
        )
        worker = fleet.worker()

        def trained() -> list[Record]:
            return [each for each in metrics.read(run) if each["kind"] == "train"]

        fleet.wait_for(
            lambda: (run / "metrics.jsonl").exists() and len(trained()) >= MIN_RECORDS,
            "metrics of training",
        )
        ranks = ranks_of(trainer.pid)
        trainers = [role.id for role in fleet.roles().values() if role.kind == "trainer"]
        worker.stop()
        trainer.stop()
        return Observed(run, fleet.finish(), ranks, ranks_of(trainer.pid), trainers, trained())


def test_two_training_processes_are_one_trainer_and_no_rivals_for_games(observed: Observed) -> None:
    assert len(observed.ranks) == 1
    assert observed.ranks_after == []
    assert observed.trainers == ["trainer"]
    assert observed.num_logged > 0


def test_tensorboard_shows_the_losses_of_a_fleets_trainer(observed: Observed) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    shown = EventAccumulator(str(observed.folder / "tensorboard"))
    shown.Reload()
    found = [(each.step, each.value) for each in shown.Scalars("train/loss")]
    assert found == [
        (each["step"], pytest.approx(each["loss"], rel=1e-6)) for each in observed.trained
    ]


def test_wandb_gets_the_losses_of_a_fleets_trainer(observed: Observed) -> None:
    (path,) = (observed.folder / "wandb").glob("offline-run-*/run-*.wandb")
    found = re.findall(rb"train/loss\W+(\d+\.\d+(?:e-\d+)?)", path.read_bytes())
    losses = dict.fromkeys(float(each) for each in found)  # the package writes some twice
    assert list(losses) == [each["loss"] for each in observed.trained]
