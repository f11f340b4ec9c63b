"""Training: losses, steps, the EMA of the weights, checkpoints, the trainer role."""

from zerofleet.training.checkpoint import Checkpoint, CheckpointStore
from zerofleet.training.data_parallel import ProcessLost, train_together
from zerofleet.training.loop import IntakeThread, RunCounters, TrainingLoop, WeightsPublisher
from zerofleet.training.loss import (
    LossTerm,
    PackedBatch,
    TensorBatch,
    Unpacker,
    compute_losses,
    find_loss_terms,
    register_loss_term,
    total_loss,
)
from zerofleet.training.trainer import NotFinite, StepReport, Trainer, set_up_torch

__all__ = [
    "Checkpoint",
    "CheckpointStore",
    "IntakeThread",
    "LossTerm",
    "NotFinite",
    "PackedBatch",
    "ProcessLost",
    "RunCounters",
    "StepReport",
    "TensorBatch",
    "Trainer",
    "TrainingLoop",
    "Unpacker",
    "WeightsPublisher",
    "compute_losses",
    "find_loss_terms",
    "register_loss_term",
    "set_up_torch",
    "total_loss",
    "train_together",
]
