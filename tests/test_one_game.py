"""docs/one-game.md names files and functions that exist, and the path stays short."""

import re
from pathlib import Path

PROJECT = Path(__file__).parent.parent
PAGE = (PROJECT / "docs" / "one-game.md").read_text()
ROW = re.compile(r"^\|[^|]*\| `([^`]+)` \| `(\w+)` \|$", re.MULTILINE)

MAX_PYTHON_FILES, MAX_CPP_FILES, MAX_GPU_FILES = 16, 16, 6


def test_every_file_and_function_on_the_page_exists() -> None:
    rows = ROW.findall(PAGE)
    assert len(rows) == len(re.findall(r"^\| [A-Z].* \|$", PAGE, re.MULTILINE))
    for path, name in rows:
        text = (PROJECT / path).read_text()
        defined = re.search(rf"\b(def|class|struct) {name}\b|[\w>&\]] {name}\(|\"{name}\"", text)
        assert defined, f"{path} has no {name}"


def test_the_path_of_a_game_is_short() -> None:
    on_cpu, on_gpu = PAGE.split("## With a GPU")
    files = {path for path, _ in ROW.findall(on_cpu)}
    assert len({each for each in files if each.endswith(".py")}) <= MAX_PYTHON_FILES
    assert len({each for each in files if not each.endswith(".py")}) <= MAX_CPP_FILES
    assert len({path for path, _ in ROW.findall(on_gpu)} - files) <= MAX_GPU_FILES
