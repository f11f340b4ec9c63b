"""One of the processes that train along: python -m zerofleet.training.rank FOLDER RANK

In the folder is a checkpoint with all that it begins with. Each line of standard input is a step,
whose rows come from process 0; where the lines end, so does it, be it that process 0 was killed.
"""

import json
import sys
from pathlib import Path

import torch

from zerofleet import nets, plugins
from zerofleet.config import TrainConfig
from zerofleet.training.checkpoint import CheckpointStore
from zerofleet.training.group import Member, joined, ready_file
from zerofleet.training.torch_setup import set_up_torch
from zerofleet.training.trainer import Trainer


def main(folder: Path, rank: int) -> None:
    checkpoint, _ = CheckpointStore(folder, keep=1).load_newest()
    assert checkpoint is not None, f"{folder} has no checkpoint to begin with"
    start = checkpoint.rest
    for path in start["plugins"]:
        plugins.load(Path(path))
    num_processes, device = len(start["devices"]), torch.device(start["devices"][rank])
    set_up_torch(start["seed"] + rank, start["num_threads"], deterministic=False)
    spec = nets.NetworkSpec.from_dict(start["spec"])
    network, settings = nets.from_spec(spec), TrainConfig(**start["settings"])
    trainer = Trainer(network, settings, device, start["compiles"])
    trainer.restore(checkpoint.tensors, start["trainer"])
    member = Member(num_processes)
    trainer.group = member
    ready_file(folder, rank).touch()
    with joined(folder, rank, num_processes, device):
        for line in sys.stdin:
            step = json.loads(line)
            with trainer.on_own_stream():
                rows = member.receive(spec, step["num_rows"], device)
                trainer.step_on(rows, step["progress"])
            trainer.drop_reports()  # process 0 has them, and refuses what is not finite


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
