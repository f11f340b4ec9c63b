"""Training: losses, one step, the moving average, checkpoints, the trainer role."""

from zerofleet.training.checkpoint import Checkpoint, CheckpointStore
from zerofleet.training.loop import TrainingLoop
from zerofleet.training.parallel import ProcessLost, train_together
from zerofleet.training.torch_setup import set_up_torch
from zerofleet.training.trainer import NotFinite, StepReport, Trainer

__all__ = [
    "Checkpoint",
    "CheckpointStore",
    "NotFinite",
    "ProcessLost",
    "StepReport",
    "Trainer",
    "TrainingLoop",
    "set_up_torch",
    "train_together",
]
