"""A run in S3: immutable blobs named by their SHA-256, then a manifest under the next number.

    s3://bucket/runs/c4/
      blobs/SHA256                 parts of files
      manifests/000000007.json     the files of the run and the blobs of each; the highest is newest
      weights/SHA256               weights that play now, for workers that fetch them from here

A manifest is created only if its number is free, after all its blobs are there. So an upload that
was interrupted is never visible, and of two writers one is told that the run was continued
elsewhere. A run folder knows which manifest it comes from (s3.json) and is the parent of the next
one; a folder that is behind cannot write.

A downloaded run is not trusted, like one from a pack: see zerofleet.runs.packs.
"""

import hashlib
import shutil
import socket
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from itertools import groupby
from pathlib import Path, PurePosixPath

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from zerofleet.errors import BadBytes, Inconsistent, TooLarge, Unsupported, ZerofleetError
from zerofleet.printing import size_text
from zerofleet.remote.s3 import NoSuchObject, RemoteRefused, RemoteUnreachable, S3Folder
from zerofleet.remote.snapshot import PART_BYTES, PartHashes, Snapshot
from zerofleet.runs.folder import FACTS, UNPACKED, Run, check_name, read_run, runs_folder
from zerofleet.runs.packs import DEFAULT_UNPACKED_BYTES, LEFT_OUT, S3_RECORD
from zerofleet.storage import write_whole

FORMAT = 1
BLOBS, MANIFESTS, WEIGHTS = "blobs", "manifests", "weights"
MAX_MANIFEST_BYTES = 64 << 20
NUM_MANIFESTS = 3
"""Kept in S3, with their blobs."""
NUM_WEIGHTS = 10
"""Versions of the weights that play which stay in S3: a slow worker may still fetch an old one."""
MAX_WEIGHTS_BYTES = 8 << 30
GRACE = timedelta(hours=1)
"""Blobs that no manifest names may belong to an upload that is going on, unless they are older."""
NUM_DOWNLOADS = 8
"""At once."""

Say = Callable[[str], None]


class SavedElsewhere(ZerofleetError):
    """Another machine has continued this run in S3."""


class SavedFile(BaseModel):
    """A file of a run: its blobs, in order."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    path: str
    num_bytes: int = Field(ge=0)
    parts: list[str]


class Manifest(BaseModel):
    """A run at one moment."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = FORMAT
    run: str
    run_id: str
    step: int = Field(ge=0)
    """Of the newest checkpoint."""
    writer: str
    """Random, drawn for each manifest before it is written: who wrote it can recognise it."""
    host: str
    program: str
    """The version of zerofleet."""
    created: AwareDatetime
    files: list[SavedFile]

    @property
    def blobs(self) -> set[str]:
        return {part for file in self.files for part in file.parts}

    @property
    def num_bytes(self) -> int:
        return sum(file.num_bytes for file in self.files)

    def __str__(self) -> str:
        return f"step {self.step:,}, {self.created:%Y-%m-%d %H:%M} UTC, by {self.host}"


class Origin(BaseModel):
    """What s3.json says: the manifest that a run folder comes from, and the one being written."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    url: str
    number: int = Field(default=0, ge=0)
    """0: none yet."""
    next_writer: str = ""


class SavedRun:
    """The run of one name in a folder of S3."""

    def __init__(self, url: str, name: str) -> None:
        self.name = check_name(name)
        self.s3 = S3Folder(f"{url.rstrip('/')}/{name}")
        self._hashes = PartHashes()
        self._uploaded: set[str] = set()
        self._weights: list[str] = []
        """What was put by `put_weights` and is still there, oldest first."""

    # ---- reading

    def numbers(self) -> list[int]:
        """Of the manifests, ascending."""
        found = (Path(each.name).stem for each in self.s3.names(f"{MANIFESTS}/"))
        return sorted(int(stem) for stem in found if stem.isdecimal())

    def newest(self) -> tuple[int, Manifest] | None:
        """The newest manifest and its number; None where the run was never saved here."""
        while numbers := self.numbers():
            try:
                return numbers[-1], self.manifest(numbers[-1])
            except NoSuchObject:
                continue  # a newer one has replaced it meanwhile
        return None

    def manifest(self, number: int) -> Manifest:
        name = manifest_name(number)
        data = self.s3.get(name, MAX_MANIFEST_BYTES)
        try:
            manifest = Manifest.model_validate_json(data)
        except ValidationError:
            raise BadBytes(f"{self.s3.url}/{name} is damaged or no manifest") from None
        if manifest.format != FORMAT:
            raise Unsupported(
                f"{self.s3.url}/{name} has format {manifest.format}, by zerofleet "
                f"{manifest.program}; this zerofleet reads {FORMAT}"
            )
        return manifest

    def blob(self, sha256: str, folder: str = BLOBS, max_bytes: int = PART_BYTES) -> bytes:
        """A blob, whose hash is checked."""
        data = self.s3.get(f"{folder}/{sha256}", max_bytes)
        if (got := hashlib.sha256(data).hexdigest()) != sha256:
            raise BadBytes(
                f"{self.s3.url}/{folder}/{sha256[:8]}… is damaged: its sha256 is {got[:8]}…"
            )
        return data

    # ---- writing

    def parent_of(self, run: Run) -> tuple[int, Manifest | None]:
        """The manifest that a run folder comes from, and its number, 0 where it was never saved.
        SavedElsewhere unless it is the newest."""
        origin = read_origin(run, self.s3.url)
        newest = self.newest()
        if newest is None:
            return 0, None
        number, manifest = newest
        if manifest.run_id != run.facts.id:
            raise SavedElsewhere(
                f"{self.s3.url} holds another run ({manifest}); use another name or prefix"
            )
        is_own = number == origin.number + 1 and manifest.writer == origin.next_writer
        if number != origin.number and not is_own:
            raise SavedElsewhere(
                f"{self.s3.url} was continued elsewhere: its manifest {number} ({manifest}) does "
                f"not come from {run.folder}, which has {origin.number or 'none'}; remove that "
                f"folder (zerofleet runs rm {run.name}) and resume from S3, or save it under "
                "another prefix"
            )
        return newest

    def push(self, run: Run, snapshot: Snapshot) -> tuple[int, int]:
        """Uploads a snapshot: new blobs, then the manifest, unless the newest says the same.
        Returns its number and the bytes that were new. May be repeated after
        RemoteUnreachable."""
        parent, before = self.parent_of(run)
        present = self._uploaded | (before.blobs if before is not None else set())
        files, num_new_bytes = [], 0
        for file in snapshot.files:
            hashes = self._hashes.of(snapshot, file)
            files.append(SavedFile(path=file.path, num_bytes=file.num_bytes, parts=hashes))
            if present.issuperset(hashes):
                continue
            for sha256, part in zip(hashes, snapshot.parts(file), strict=True):
                if sha256 not in present:
                    self.s3.put(f"{BLOBS}/{sha256}", part)
                    present.add(sha256)
                    self._uploaded.add(sha256)
                    num_new_bytes += len(part)
        if before is not None and before.files == files:
            return parent, 0
        manifest = Manifest(
            run=run.name,
            run_id=run.facts.id,
            step=snapshot.step,
            writer=uuid.uuid4().hex,
            host=socket.gethostname(),
            program=version("zerofleet"),
            created=datetime.now(UTC).replace(microsecond=0),
            files=files,
        )
        self._write_manifest(run, parent + 1, manifest)
        self._uploaded.clear()  # the manifest names them
        return parent + 1, num_new_bytes

    def _write_manifest(self, run: Run, number: int, manifest: Manifest) -> None:
        url = self.s3.url
        write_origin(run, Origin(url=url, number=number - 1, next_writer=manifest.writer))
        if not self.s3.create(manifest_name(number), manifest.model_dump_json().encode()):
            self.parent_of(run)  # raises, unless an answer was lost and it is this one
        write_origin(run, Origin(url=url, number=number))

    def put_weights(self, sha256: str, data: bytes) -> None:
        """Makes weights that play available to workers; older ones are deleted."""
        self.s3.put(f"{WEIGHTS}/{sha256}", data)
        self._weights = [each for each in self._weights if each != sha256] + [sha256]
        if old := self._weights[:-NUM_WEIGHTS]:
            self.s3.delete(f"{WEIGHTS}/{each}" for each in old)
            self._weights = self._weights[-NUM_WEIGHTS:]

    def clean(self, grace: timedelta = GRACE) -> int:
        """Deletes old manifests, blobs that none of the others names, weights that no longer play
        and interrupted uploads; returns how many objects. Nothing that is younger than `grace`."""
        numbers = self.numbers()
        kept = numbers[-NUM_MANIFESTS:]
        named = {blob for number in kept for blob in self.manifest(number).blobs}
        objects = list(self.s3.names(f"{BLOBS}/"))
        weights = sorted(self.s3.names(f"{WEIGHTS}/"), key=lambda each: each.modified)
        before = datetime.now(UTC) - grace
        doomed = [each.name for each in objects if PurePosixPath(each.name).name not in named]
        doomed += [each.name for each in weights[:-NUM_WEIGHTS]]
        old = {each.name for each in [*objects, *weights] if each.modified < before}
        doomed = [manifest_name(number) for number in numbers[:-NUM_MANIFESTS]] + [
            name for name in doomed if name in old
        ]
        self.s3.delete(doomed)
        return len(doomed) + self.s3.abandon_uploads(before)


class RemoteWeights:
    """Fetches weights that play by their SHA-256: Redis names them, S3 has their bytes.

    Faults are reported once until it succeeds."""

    def __init__(self, url: str, run: str, say: Say) -> None:
        self._saved = SavedRun(url, run)
        self._say = say
        self._has_said = False

    def __call__(self, sha256: str) -> bytes:
        """The bytes, whose hash is right; RemoteUnreachable while they cannot be had. Who may not
        list a bucket is refused what is not there."""
        try:
            data = self._saved.blob(sha256, WEIGHTS, MAX_WEIGHTS_BYTES)
        except (RemoteRefused, RemoteUnreachable) as fault:
            if not self._has_said:
                self._say(f"new weights cannot be fetched: {fault}; trying again")
                self._has_said = True
            raise RemoteUnreachable(str(fault)) from None
        self._has_said = False
        return data


def manifest_name(number: int) -> str:
    return f"{MANIFESTS}/{number:09d}.json"


def read_origin(run: Run, url: str) -> Origin:
    """What a run folder knows of itself in S3; nothing where it was saved at another URL."""
    path = run.folder / S3_RECORD
    if not path.exists():
        return Origin(url=url)
    try:
        origin = Origin.model_validate_json(path.read_bytes())
    except ValidationError:
        raise BadBytes(f"{path} is damaged; remove it and pull the run from S3 again") from None
    return origin if origin.url == url else Origin(url=url)


def write_origin(run: Run, origin: Origin) -> None:
    write_whole(run.folder / S3_RECORD, f"{origin.model_dump_json()}\n".encode())


# ---- downloading


def saved_runs(url: str) -> Iterator[tuple[str, int, Manifest]]:
    """The runs in a folder of S3: name, number and manifest."""
    for name in S3Folder(url).folders():
        if (found := SavedRun(url, name).newest()) is not None:
            yield name, *found


def pull(
    url: str,
    name: str,
    as_name: str | None = None,
    say: Say = print,
    max_bytes: int = DEFAULT_UNPACKED_BYTES,
) -> Run:
    """Downloads the newest state of a run under its own or another name.

    Every blob is checked, and the run is moved into place when it is complete.
    """
    folder = runs_folder() / check_name(as_name or name)
    if folder.exists():
        raise Inconsistent(f"{folder} already exists; remove it, or pull under another name")
    saved = SavedRun(url, name)
    found = saved.newest()
    if found is None:
        raise Unsupported(f"{saved.s3.url} holds no run; `zerofleet runs list --s3 {url}`")
    number, manifest = found
    say(f"{saved.s3.url}: {manifest}, {size_text(manifest.num_bytes)}")
    beside = runs_folder() / f".pulling-{uuid.uuid4().hex}"
    beside.mkdir(parents=True)
    try:
        refuse_too_large(saved, manifest, beside, max_bytes)
        download(saved, manifest, beside, say)
        if not (beside / FACTS).is_file():
            raise BadBytes(f"{saved.s3.url}: its manifest {number} names no {FACTS}")
        run = read_run(beside)
        if folder.name == manifest.run == name:  # under another name it is a run of its own
            write_origin(run, Origin(url=saved.s3.url, number=number))
        write_whole(beside / UNPACKED, f"from {saved.s3.url}\n".encode())
        beside.rename(folder)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
    return read_run(folder)


def refuse_too_large(saved: SavedRun, manifest: Manifest, folder: Path, max_bytes: int) -> None:
    num_bytes, free_bytes = manifest.num_bytes, shutil.disk_usage(folder).free
    if num_bytes > max_bytes:
        raise TooLarge(
            f"{saved.s3.url} has {num_bytes:,} bytes; {max_bytes:,} are allowed, and --max-bytes "
            "allows more"
        )
    if num_bytes > free_bytes:
        raise TooLarge(f"{saved.s3.url} has {num_bytes:,} bytes; {free_bytes:,} are free")


def download(saved: SavedRun, manifest: Manifest, folder: Path, say: Say) -> None:
    """Writes the files of a manifest below a folder, and nothing outside it."""
    names = [inside_run(saved, file) for file in manifest.files]
    for name, _ in groupby(sorted(names)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)

    def fetch(numbered: tuple[PurePosixPath, SavedFile]) -> None:
        name, file = numbered
        data = [saved.blob(part) for part in file.parts]
        if sum(map(len, data)) != file.num_bytes:
            raise BadBytes(f"{saved.s3.url}: {file.path} differs in size from its manifest")
        with (folder / name).open("xb") as target:
            target.writelines(data)

    num_done, num_said = 0, 0
    with ThreadPoolExecutor(NUM_DOWNLOADS) as pool:
        for _ in pool.map(fetch, zip(names, manifest.files, strict=True)):
            num_done += 1
            if (tenth := 10 * num_done // len(names)) > num_said and len(names) >= 100:
                num_said = tenth
                say(f"{num_done} of {len(names)} files")


def inside_run(saved: SavedRun, file: SavedFile) -> PurePosixPath:
    """The path of a file in the run folder."""
    name = PurePosixPath(file.path)
    is_inside = name.parts and not name.is_absolute() and ".." not in name.parts
    if not is_inside or "\0" in file.path or name.parts[0] in LEFT_OUT:
        raise BadBytes(f"{saved.s3.url}: {file.path!r} is no file of a run")
    return name
