"""Packs: a run is restored unchanged from files of bounded size, or not at all."""

import gzip
import io
import json
import os
import random
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from zerofleet import config
from zerofleet.errors import BadBytes, BadText, Inconsistent, TooLarge, Unsupported
from zerofleet.runs import packs
from zerofleet.runs.folder import Run, create_or_open, remove
from zerofleet.runs.lock import RunInUse
from zerofleet.runs.packs import S3_SNAPSHOTS, pack, unpack, wanted_files

MIB = 1 << 20


@pytest.fixture(autouse=True)
def runs_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ZEROFLEET_RUNS", raising=False)
    return tmp_path / "runs"


def fake_run(*sizes: int) -> Run:
    """A run with files of so many bytes that do not get smaller."""
    with create_or_open("c4", config.load("connect4")) as run:
        for folder in (run.episodes, run.checkpoints, run.weights, run.folder / "tensorboard"):
            folder.mkdir()
        (run.folder / "tensorboard" / "events").write_bytes(b"noise")
        (run.checkpoints / "half.json.new").write_bytes(b"half")
        for number, size in enumerate(sizes):
            (run.episodes / f"segment-{number:08d}.zfl").write_bytes(
                random.Random(number).randbytes(size)
            )
    return run


def content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_run_of_40_mib_goes_through_files_of_at_most_16_mib() -> None:
    run = fake_run(25 * MIB, 15 * MIB)
    before = content(run.folder)
    paths = pack(run, Path("packs"))
    assert [path.name for path in paths] == [
        "c4.pack.json",
        "c4.pack-0001",
        "c4.pack-0002",
        "c4.pack-0003",
    ]
    assert sorted(Path("packs").iterdir()) == sorted(paths)
    assert all(path.stat().st_size <= 16 * MIB for path in paths)

    remove("c4")
    assert unpack(paths[0]) == replace(run, is_foreign=True)
    after = content(run.folder)
    assert after.pop("unpacked") == b"from c4.pack.json\n"
    for left_out in ("run.lock", "tensorboard/events", "checkpoints/half.json.new"):
        assert before.pop(left_out) is not None
    assert after == before


def test_a_run_is_unpacked_under_another_name_beside_the_first() -> None:
    list_path = pack(fake_run(100), Path("packs"))[0]
    with pytest.raises(Inconsistent, match="runs/c4 already exists; unpack under another name"):
        unpack(list_path)
    assert unpack(list_path, "again").name == "again"
    with create_or_open("again", config.load("connect4")):
        pass  # it can be resumed


def test_files_that_are_not_wanted_stay_behind() -> None:
    run = fake_run(10, 20)
    list_path = pack(run, Path("packs"), leave_out={run.episodes / "segment-00000000.zfl"})[0]
    (left,) = unpack(list_path, "again").episodes.iterdir()
    assert left.name == "segment-00000001.zfl"


def test_a_run_that_a_process_has_is_not_packed() -> None:
    run = fake_run(10)
    with create_or_open("c4", config.load("connect4")), pytest.raises(RunInUse):
        pack(run, Path("packs"))
    assert list(Path("packs").iterdir()) == []


def test_a_pack_is_not_written_over_another() -> None:
    run = fake_run(10)
    pack(run, Path("packs"))
    before = content(Path("packs"))
    with pytest.raises(Inconsistent, match=r"packs/c4.pack.json already exists; remove that pack"):
        pack(run, Path("packs"))
    assert content(Path("packs")) == before


def test_a_link_in_a_run_is_named_not_followed() -> None:
    run = fake_run(10)
    (run.folder / "secret").symlink_to("/etc/passwd")
    with pytest.raises(Inconsistent, match="runs/c4/secret is a link; a pack holds regular files"):
        pack(run, Path("packs"))
    assert list(Path("packs").iterdir()) == []


def test_parts_that_would_be_tiny_are_refused() -> None:
    with pytest.raises(BadText, match="a part must have at least 65536 bytes, got 10"):
        pack(fake_run(10), Path("packs"), max_bytes=10)


# ---- what arrives is checked


@pytest.fixture
def list_path() -> Path:
    """Of a pack of three parts, whose run is gone."""
    path = pack(fake_run(150_000), Path("packs"), max_bytes=1 << 16)[0]
    remove("c4")
    return path


def refuses(list_path: Path, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        unpack(list_path)
    assert list(Path("runs").iterdir()) == []


def test_missing_parts_are_named(list_path: Path) -> None:
    Path("packs/c4.pack-0001").unlink()
    Path("packs/c4.pack-0003").unlink()
    refuses(
        list_path,
        BadBytes,
        r"packs/c4.pack.json: 2 of 3 parts missing: c4.pack-0001, c4.pack-0003$",
    )


@pytest.mark.parametrize("change", ["flip", "cut"])
def test_a_damaged_part_is_named(list_path: Path, change: str) -> None:
    path = Path("packs/c4.pack-0002")
    data = bytearray(path.read_bytes())
    if change == "flip":
        data[1000] ^= 1
    else:
        del data[-1]
    path.write_bytes(data)
    refuses(list_path, BadBytes, r"packs/c4.pack-0002 is damaged: sha256 differs from c4.pack.json")


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("{", BadBytes, "is damaged or not the list of a pack"),
        ('{"format": 1}', BadBytes, "is damaged or not the list of a pack"),
        (
            '{"format": 2, "run": "c4", "unpacked_bytes": 0, "parts": []}',
            Unsupported,
            "has format 2; this zerofleet reads 1",
        ),
        (
            '{"format": 1, "run": "../../c4", "unpacked_bytes": 0, "parts": []}',
            BadText,
            "a run cannot be called",
        ),
        (
            '{"format": 1, "run": "c4", "unpacked_bytes": 0, "parts": []}',
            BadBytes,
            "its parts do not make a run",
        ),
    ],
)
def test_a_wrong_list_is_refused(
    list_path: Path, text: str, error: type[Exception], message: str
) -> None:
    list_path.write_text(text)
    refuses(list_path, error, message)


def test_something_else_than_a_list_is_refused(list_path: Path) -> None:
    refuses(Path("packs/c4.pack-0001"), BadText, "is not the list of a pack; give the file that")
    refuses(Path("packs/x.pack.json"), BadText, "x.pack.json cannot be read: No such file")


def evil_pack(*members: tarfile.TarInfo, unpacked_bytes: int = 1000) -> Path:
    """A pack with right checksums that holds members of someone's making, full of zeros."""
    Path("packs").mkdir()
    Path("runs").mkdir()
    part = Path("packs/c4.pack-0001")
    with tarfile.open(part, "w:gz", format=tarfile.GNU_FORMAT) as tar:
        for member in members:
            tar.addfile(member, io.BytesIO(bytes(member.size)))
    return listed(part, unpacked_bytes)


def listed(part: Path, unpacked_bytes: int = 1000) -> Path:
    """The list of a pack of one part."""
    path = Path("packs/c4.pack.json")
    described = packs.part_of(part).model_dump()
    path.write_text(
        json.dumps(
            {"format": 1, "run": "c4", "unpacked_bytes": unpacked_bytes, "parts": [described]}
        )
    )
    return path


@pytest.mark.parametrize("name", ["../evil", "a/../../evil", "/tmp/zerofleet-evil"])
def test_a_file_that_would_land_outside_the_run_is_refused(name: str, tmp_path: Path) -> None:
    path = evil_pack(tarfile.TarInfo(name))
    refuses(path, BadBytes, "is not a regular file inside the run")
    assert not (tmp_path / "evil").exists()
    assert not (tmp_path / "runs" / "evil").exists()
    assert not Path("/tmp/zerofleet-evil").exists()


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_a_member_that_is_no_plain_file_is_refused(kind: bytes) -> None:
    member = tarfile.TarInfo("link")
    member.type, member.linkname = kind, "/etc/passwd"
    refuses(evil_pack(member), BadBytes, "'link' is not a regular file inside the run")


def test_a_pack_that_holds_more_than_it_says_is_refused() -> None:
    member = tarfile.TarInfo("run.json")
    member.size = 10_000
    refuses(evil_pack(member), TooLarge, "holds more than it declares")


def test_the_size_that_a_pack_declares_is_checked_against_the_limit_and_the_disk() -> None:
    path = evil_pack(tarfile.TarInfo("run.json"), unpacked_bytes=10**15)
    refuses(
        path, TooLarge, "declares 1,000,000,000,000,000 bytes; 17,179,869,184 are allowed, and --"
    )
    with pytest.raises(TooLarge, match=r"000 bytes; runs has [\d,]+ free$"):
        unpack(path, max_bytes=10**16)
    with pytest.raises(TooLarge, match="; 999,999 are allowed"):
        unpack(path, max_bytes=999_999)


def test_bytes_are_counted_as_they_are_written() -> None:
    large = tarfile.TarInfo("run.json")
    large.size = 2 * MIB
    Path("packs").mkdir()
    Path("runs").mkdir()
    part = Path("packs/c4.pack-0001")
    part.write_bytes(gzip.compress(large.tobuf() + bytes(large.size) + bytes(1024)))
    refuses(listed(part, MIB), TooLarge, "holds more than it declares")


@pytest.mark.parametrize("version", ["GNU.sparse.map", "GNU.sparse.major"])
def test_a_sparse_file_as_pax_has_it_is_refused_before_its_map_is_read(version: str) -> None:
    """The map may be as long as the pack, which is short when compressed."""
    headers = {
        "GNU.sparse.map": {"GNU.sparse.map": "0,1", "GNU.sparse.size": "9"},
        "GNU.sparse.major": {"GNU.sparse.major": "1", "GNU.sparse.minor": "0"},
    }
    sparse = tarfile.TarInfo("run.json")
    sparse.pax_headers = headers[version]
    Path("packs").mkdir()
    Path("runs").mkdir()
    part = Path("packs/c4.pack-0001")
    part.write_bytes(gzip.compress(sparse.tobuf(tarfile.PAX_FORMAT) + bytes(1024)))
    refuses(listed(part, 10**6), BadBytes, "a pack holds no sparse files|is not a regular file")


def test_a_sparse_file_as_gnu_has_it_is_refused() -> None:
    """512 bytes of the tar may say that a gigabyte of zeros is to come."""
    Path("packs").mkdir()
    Path("runs").mkdir()
    header = bytearray(tarfile.TarInfo("run.json").tobuf(tarfile.GNU_FORMAT))
    header[156:157] = tarfile.GNUTYPE_SPARSE
    header[386:410] = b"%011o\0%011o\0" % (2**30, 0)
    header[483:495] = b"%011o\0" % 2**30
    header[148:156] = b"%06o\0 " % (sum(header) - sum(header[148:156]) + 8 * ord(" "))
    part = Path("packs/c4.pack-0001")
    part.write_bytes(gzip.compress(bytes(header) + bytes(1024)))
    refuses(listed(part, 10**6), BadBytes, "a pack holds no sparse files")


def test_a_name_that_would_fill_the_memory_is_refused() -> None:
    member = tarfile.TarInfo("name")
    member.type, member.size = tarfile.GNUTYPE_LONGNAME, 10 << 20
    refuses(evil_pack(member), BadBytes, "no tar header of 10,485,760 bytes")


def test_files_that_take_no_bytes_are_counted_too(monkeypatch: pytest.MonkeyPatch) -> None:
    path = evil_pack(*(tarfile.TarInfo(f"{number}/empty") for number in range(50)))
    with pytest.raises(TooLarge, match="holds too many files"):
        unpack(path, max_bytes=99 * packs.MIN_FILE_BYTES)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["run.json", "run.json"], "run.json is there twice"),
        (["weights", "weights/0"], "is there twice"),
        (["weights/0", "weights"], "weights is there twice"),
        (["x" * 300], "xxx… is too long"),
        (["a/" * 3000 + "b"], "is too long"),
        (["."], "'.' is not a regular file inside the run"),
        ([""], "is not a regular file inside the run"),
        (["run.lock"], "'run.lock' is not a regular file inside the run"),
        (["unpacked"], "'unpacked' is not a regular file inside the run"),
        (["wandb/settings"], "'wandb/settings' is not a regular file inside the run"),
    ],
)
def test_members_that_cannot_be_files_of_a_run_are_one_line(names: list[str], message: str) -> None:
    refuses(evil_pack(*map(tarfile.TarInfo, names)), BadBytes, message)


def test_a_pack_without_a_run_in_it_is_refused() -> None:
    refuses(
        evil_pack(tarfile.TarInfo("readme")),
        BadBytes,
        r"c4\.pack\.json: the pack holds no run\.json",
    )


def test_what_is_left_out_is_not_looked_into(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An upload to S3 removes its snapshots while the next one is taken."""
    for name in (S3_SNAPSHOTS, "weights"):
        (tmp_path / name / "1").mkdir(parents=True)
        (tmp_path / name / "1" / "file").touch()
    looked_into: list[Path] = []
    scandir = os.scandir

    def recorded(path: Path) -> object:
        looked_into.append(path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", recorded)
    assert list(wanted_files(tmp_path)) == [tmp_path / "weights" / "1" / "file"]
    assert tmp_path / "weights" / "1" in looked_into
    assert not any(S3_SNAPSHOTS in path.parts for path in looked_into)
