"""Runs in S3: saved while they train, resumed on another machine. boto3 is imported on use."""

from zerofleet.remote.s3 import RemoteRefused, RemoteUnreachable, checked_url
from zerofleet.remote.saved_run import RemoteWeights, SavedElsewhere, SavedRun, pull, saved_runs
from zerofleet.remote.uploader import Uploader

__all__ = [
    "RemoteRefused",
    "RemoteUnreachable",
    "RemoteWeights",
    "SavedElsewhere",
    "SavedRun",
    "Uploader",
    "checked_url",
    "pull",
    "saved_runs",
]
