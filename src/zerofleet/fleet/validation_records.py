"""What a validation gave before: weights hashes by platform, and scores of the fixed match.

    records = read_records()
    records.sha256(key, platform)    # None where nobody has recorded that platform

The file lies in the package. `zerofleet validate --record` adds an entry in a checkout. An entry
is of one game and one set of settings: other settings have no entry, and say so.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from zerofleet.arena.statistics import Estimate
from zerofleet.arena.two_samples import Values, t_quantile
from zerofleet.config import Config
from zerofleet.errors import BadBytes, first_fault
from zerofleet.storage import write_whole

RECORDS = Path(__file__).with_name("validation_records.json")
SECTIONS = ("game", "search", "selfplay", "network", "replay", "train")
"""Of the settings, those that change what a deterministic run computes; its seed does too."""


@dataclass(frozen=True)
class Record:
    """What was recorded of one game with one set of settings."""

    settings: str
    """Their digest."""
    weights: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of the last weights, by platform."""
    score: tuple[float, float] | None = None
    """Where the score of the match lies with other seeds: a 99 % prediction interval."""


Records = dict[str, Record]
"""By name: a game and a scale."""

_RECORDS: TypeAdapter[Records] = TypeAdapter(Records)


def read_records(path: Path = RECORDS) -> Records:
    try:
        return _RECORDS.validate_json(path.read_bytes()) if path.exists() else {}
    except ValidationError as error:
        raise BadBytes(f"{path} is damaged: {first_fault(error)}") from None


def record_of(records: Records, name: str, config: Config) -> Record:
    """The entry of these settings; an empty one where there is none."""
    settings = digest_of(config)
    found = records.get(name)
    return found if found is not None and found.settings == settings else Record(settings)


def write_record(name: str, record: Record, path: Path = RECORDS) -> None:
    """Adds an entry, or replaces the one of that name."""
    records = read_records(path) | {name: record}
    text = json.dumps(_RECORDS.dump_python(records, mode="json"), indent=1, sort_keys=True)
    write_whole(path, f"{text}\n".encode())


def digest_of(config: Config) -> str:
    """Of what decides the weights of a deterministic run, beside the platform."""
    settings = config.model_dump(mode="json", include=set(SECTIONS)) | {
        "seed": config.run.seed,
        "steps": config.stop.steps,
    }
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]


def prediction_interval(scores: Values) -> Estimate:
    """Where one more value of the same kind lies with 99 % probability (Student)."""
    num = len(scores)
    half_width = t_quantile(num - 1, 0.99) * float(scores.std(ddof=1)) * (1 + 1 / num) ** 0.5
    mean = float(scores.mean())
    return Estimate(mean, max(0.0, mean - half_width), min(1.0, mean + half_width))


def short(sha256: str) -> str:
    return f"{sha256[:8]}…"
