"""Uploads a run to S3 while it trains: each checkpoint, and everything at the end.

    with Uploader(run, url, say, on_fault) as uploader:
        ...
        uploader.save()         # after each checkpoint, in the trainer's thread

Uploads happen in a thread of their own; of several checkpoints that wait, only the newest is
uploaded. While S3 cannot be reached or refuses, training continues and the upload is tried again.
A run that was continued elsewhere ends by `on_fault`: its steps would be lost.
"""

import shutil
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from zerofleet.errors import ZerofleetError
from zerofleet.printing import size_text
from zerofleet.remote.s3 import RemoteRefused, RemoteUnreachable
from zerofleet.remote.saved_run import SavedElsewhere, SavedRun, Say
from zerofleet.remote.snapshot import Snapshot, take_snapshot
from zerofleet.runs.folder import Run
from zerofleet.runs.packs import S3_SNAPSHOTS

RETRY_S = 10.0
LAST_TRIES_S = 120.0
"""For S3 to become reachable again at the end of a run."""
UPLOADS_PER_CLEANING = 10


class Uploader:
    """Of one run, whose lock the caller holds."""

    def __init__(
        self, run: Run, url: str, say: Say, on_fault: Callable[[BaseException], None]
    ) -> None:
        """Raises where S3 refuses, or has a newer state of the run than its folder."""
        self._run, self._say, self._on_fault = run, say, on_fault
        self._staging = run.folder / S3_SNAPSHOTS
        shutil.rmtree(self._staging, ignore_errors=True)  # of a session that was killed
        self.saved = SavedRun(url, run.name)
        self.saved.parent_of(run)
        self.num_uploads = 0
        self.uploaded_step = 0
        """Of the newest checkpoint in S3, uploaded by this session."""
        self._waiting: Snapshot | None = None
        self._changed = threading.Condition()
        self._is_ending = False
        self._fault: BaseException | None = None
        self._thread = threading.Thread(target=self._run_guarded, name="uploader", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Uploads the run as it is at the end, unless a second Ctrl-C or a bug ended it."""
        uploads = kind is None or issubclass(kind, ZerofleetError)
        if uploads and self._fault is None:
            self._hand_over(take_snapshot(self._run.folder, self._staging), is_last=True)
            self._thread.join()
        shutil.rmtree(self._staging, ignore_errors=True)
        if kind is None and self._fault is not None:
            raise self._fault

    def save(self) -> None:
        """Takes a snapshot to upload."""
        self._hand_over(take_snapshot(self._run.folder, self._staging), is_last=False)

    def _hand_over(self, snapshot: Snapshot, is_last: bool) -> None:
        with self._changed:
            if self._waiting is not None:
                self._waiting.remove()
            self._waiting = snapshot
            self._is_ending = is_last
            self._changed.notify()

    def _run_guarded(self) -> None:
        try:
            while (snapshot := self._next()) is not None:
                self._upload(snapshot)
                snapshot.remove()
        except BaseException as fault:
            self._fault = fault
            if not self._is_ending:
                self._on_fault(fault)

    def _next(self) -> Snapshot | None:
        """Waits for a snapshot; None at the end."""
        with self._changed:
            while self._waiting is None and not self._is_ending:
                self._changed.wait()
            snapshot, self._waiting = self._waiting, None
            return snapshot

    def _upload(self, snapshot: Snapshot) -> None:
        """Tries until it is done or a newer snapshot waits."""
        is_first_try = True
        give_up_at_s = None
        while True:
            try:
                number, num_bytes = self.saved.push(self._run, snapshot)
                self.num_uploads += 1
                self.uploaded_step = snapshot.step
                break
            except SavedElsewhere:
                raise
            except (RemoteUnreachable, RemoteRefused) as fault:
                if self._is_ending:
                    give_up_at_s = give_up_at_s or time.monotonic() + LAST_TRIES_S
                    if time.monotonic() >= give_up_at_s or isinstance(fault, RemoteRefused):
                        raise type(fault)(
                            f"step {snapshot.step} is not in S3: {fault}. It is in "
                            f"{self._run.folder}; the same command uploads it"
                        ) from None
                if is_first_try:
                    self._say(f"not uploaded: {fault}; trying again every {RETRY_S:g} s")
                    is_first_try = False
                with self._changed:
                    if self._waiting is None:
                        self._changed.wait(RETRY_S)
                    if self._waiting is not None:
                        return  # newer
        if not is_first_try or self._is_ending or self.num_uploads == 1:
            where = self.saved.s3.url
            self._say(
                f"uploaded step {snapshot.step:,} to {where}: manifest {number}, "
                f"{size_text(num_bytes)} new"
            )
        if self.num_uploads % UPLOADS_PER_CLEANING == 0 or self._is_ending:
            self._clean()

    def _clean(self) -> None:
        """What it leaves costs a little and hides nothing, so a fault here ends no run."""
        try:
            self.saved.clean()
        except (RemoteUnreachable, RemoteRefused) as fault:
            self._say(f"old objects were not deleted: {fault}")
