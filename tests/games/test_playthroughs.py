"""A recorded game of each kind is reproduced, so that no rule changes unnoticed."""

import difflib
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[1] / "golden" / "playthroughs"
LINES_SHOWN = 30


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


record = load(FOLDER / "record.py")


def difference(recorded: str, played: str) -> str:
    """The first lines that differ, in short, and what to do."""
    lines = list(
        difflib.unified_diff(
            recorded.splitlines(), played.splitlines(), "recorded", "played now", n=1, lineterm=""
        )
    )
    shown = [line if len(line) <= 120 else line[:117] + "..." for line in lines[:LINES_SHOWN]]
    if len(lines) > LINES_SHOWN:
        shown.append(f"... {len(lines) - LINES_SHOWN} more lines")
    advice = "If a rule, a text or an observation is meant to change: scripts/record-playthroughs"
    return "\n".join([*shown, advice])


@pytest.mark.parametrize("name", record.PLAYTHROUGHS)
def test_the_recorded_game_comes_out_as_it_was(name: str) -> None:
    recorded = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    played = record.text_of(record.PLAYTHROUGHS[name])
    if played != recorded:
        pytest.fail(difference(recorded, played), pytrace=False)


def test_every_recorded_game_is_compared() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(record.PLAYTHROUGHS)


def test_a_difference_is_short_and_says_how_to_record_again() -> None:
    recorded = (FOLDER / "connect4.txt").read_text(encoding="utf-8")
    told = difference(recorded, recorded.replace("ply 3:", "ply three:")).splitlines()
    assert [line for line in told if line.startswith("+ply")] != []
    assert len(told) < 10
    assert "scripts/record-playthroughs" in told[-1]
    assert len(difference(recorded, recorded.replace(".", "_")).splitlines()) < LINES_SHOWN + 3


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (b"", ""),
        (b"\1\2\3", "010203"),
        (b"\1\2\3\4\5\6", "01020304 0506"),
        (b"\0\0\0\0", "00000000"),
        (b"\0\0\0\0\0", "00x5"),
        (b"\7" + b"\0" * 112 + b"\n\n", "07 00x112 0a0a"),
    ],
)
def test_bytes_are_written_as_hex_with_long_runs_counted(row: bytes, text: str) -> None:
    assert record.hex_of(row) == text
