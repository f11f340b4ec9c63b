"""The README's Python blocks run as they stand; only the game and length of the loop are cut."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"
SHORTER = {'zf.games.get("connect4")': 'zf.games.get("tictactoe")', "range(20)": "range(2)"}


def test_the_training_loop_of_the_readme_trains_and_publishes_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    names: dict[str, object] = {}
    for block in blocks:
        for long, short in SHORTER.items():
            block = block.replace(long, short)
        exec(compile(block, str(README), "exec"), names)
    assert len(blocks) == 2
    assert list(tmp_path.glob("loop/weights/*.safetensors"))
