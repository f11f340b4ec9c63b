"""Weights that play, from S3 instead of Redis: Redis names them, S3 has their bytes."""

from zerofleet.remote.s3 import NoSuchObject, RemoteUnreachable
from zerofleet.remote.saved_run import WEIGHTS, SavedRun, Say

MAX_WEIGHTS_BYTES = 8 << 30


class RemoteWeights:
    """Fetches weights of a run by their SHA-256. Faults are reported once until it succeeds."""

    def __init__(self, url: str, run: str, say: Say) -> None:
        self._saved = SavedRun(url, run)
        self._say = say
        self._has_said = False

    def __call__(self, sha256: str) -> bytes:
        """The bytes, whose hash is right; RemoteUnreachable while they cannot be had."""
        try:
            data = self._saved.blob(sha256, WEIGHTS, MAX_WEIGHTS_BYTES)
        except (NoSuchObject, RemoteUnreachable) as fault:
            if not self._has_said:
                self._say(f"new weights cannot be fetched: {fault}; trying again")
                self._has_said = True
            raise RemoteUnreachable(str(fault)) from None
        self._has_said = False
        return data
