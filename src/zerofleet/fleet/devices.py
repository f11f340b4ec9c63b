"""Which devices of this machine answer leaves, and which train."""

from collections.abc import Sequence
from dataclasses import dataclass

from zerofleet.config import Config
from zerofleet.errors import BadText, Inconsistent, Unsupported
from zerofleet.infer import pick_device

INFERENCE, TRAINING = "run.inference_devices", "run.training_devices"


@dataclass(frozen=True)
class DevicePlan:
    """Devices by name: cpu, cuda:0. The first that trains has the trainer's own process."""

    inference: tuple[str, ...]
    training: tuple[str, ...]

    @property
    def inference_kind(self) -> str:
        """cpu, cuda or mps: they are all of one kind."""
        return kind_of(self.inference[0])

    def __str__(self) -> str:
        if self.inference == self.training:
            return ", ".join(self.inference)
        return f"{', '.join(self.inference)} for inference, {', '.join(self.training)} for training"


def plan_devices(config: Config) -> DevicePlan:
    """What the settings ask for. What is not there, or cannot work together, is refused."""
    run = config.run
    inference = picked(INFERENCE, run.inference_devices, run.device)
    training = picked(TRAINING, run.training_devices, run.device)
    if len(inference) > 1 and kind_of(inference[0]) != "cuda":
        raise BadText(
            f"{INFERENCE}: several must be GPUs, such as cuda:0, cuda:1; on a CPU "
            "run.inference_threads says how many play"
        )
    if config.train.batch_size % len(training):
        raise Inconsistent(
            f"train.batch_size ({config.train.batch_size}) must be a multiple of the number of "
            f"{TRAINING} ({len(training)}), which share each batch evenly"
        )
    if run.deterministic and len(inference) + len(training) > 2:
        raise Inconsistent(
            f"a deterministic run has one device that plays and one that trains; {INFERENCE} has "
            f"{len(inference)}, {TRAINING} {len(training)}"
        )
    return DevicePlan(inference, training)


def picked(setting: str, names: Sequence[str], otherwise: str) -> tuple[str, ...]:
    """The devices of a setting; where it names none, the other device."""
    if not names:
        return (str(pick_device(otherwise)),)
    try:
        devices = [pick_device(name) for name in names]
    except Unsupported as error:
        raise Unsupported(f"{setting}: {error}") from None
    full_names = tuple(
        f"cuda:{device.index or 0}" if device.type == "cuda" else device.type for device in devices
    )
    if len({device.type for device in devices}) > 1:
        raise BadText(f"{setting}: {', '.join(full_names)} are not of one kind: take GPUs or CPUs")
    for name in full_names:
        if name != "cpu" and full_names.count(name) > 1:
            raise BadText(f"{setting}: {name} is there twice; name each device once")
    return full_names


def kind_of(device: str) -> str:
    return device.partition(":")[0]
