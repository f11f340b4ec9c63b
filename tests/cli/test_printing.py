"""Untrusted text in runs and games is escaped: it cannot control the terminal."""

import json
import re
from pathlib import Path

import pytest
from command_line import Ran
from records import rating_values
from rich.text import Text

from zerofleet import config
from zerofleet.cli.output import TextConsole
from zerofleet.metrics import MetricsLog
from zerofleet.printing import printable
from zerofleet.runs.folder import create_or_open
from zerofleet.runs.packs import pack

TITLE = "\x1b]0;owned\x07"
SHOWN = r"\x1b]0;owned\x07"
RED = "\x1b[31m"
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ZEROFLEET_RUNS", "runs")


def test_control_and_unprintable_characters_are_escaped() -> None:
    assert printable(f"a{TITLE}\u202eb\ud800\x9bc\r") == rf"a{SHOWN}\u202eb\ud800\x9bc\r"
    assert printable("déjà\tvu ●\n") == "déjà\tvu ●\n"


def test_text_of_an_untrusted_run_cannot_control_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with create_or_open("theirs", config.load("connect4")) as run, MetricsLog(run.folder) as log:
        log.append("note", 3, {f"measured{TITLE}": f"value{TITLE}"})
        log.append("rating", 3, rating_values(opponent=f"somebody{TITLE}"))
    facts = json.loads((run.folder / "run.json").read_text())
    facts |= {"game": f"connect4{TITLE}", "id": TITLE, "options": {TITLE: TITLE}}
    (run.folder / "run.json").write_text(json.dumps(facts))
    run.config_path.write_text(f'{{"game": {{"name": {json.dumps(f"connect4{TITLE}")}}}}}')
    packed, _ = pack(run, Path("packs"))
    for arguments, status in [
        (f"runs unpack {packed} --run x", 0),
        ("runs show x", 0),
        ("runs list", 0),
        ("report x", 2),
        ("episodes list run:x", 2),
        ("play connect4 --against run:x", 2),
        ("train connect4 --run x", 2),
    ]:
        ran = Ran(capsys, *arguments.split())
        said = ran.output + ran.errors
        assert ran.status == status, said
        assert CONTROL.findall(said) == []
        assert SHOWN in said or "unpack" in arguments


def test_names_in_an_untrusted_game_cannot_control_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("g.sgf").write_text(f"(;GM[4]SZ[15]PB[b{RED}]PW[w{RED}]C[{RED}];B[hh];W[ii])")
    for arguments in ("convert g.sgf", "convert g.sgf --to sgf", "review g.sgf --player playout-2"):
        ran = Ran(capsys, *arguments.split())
        assert ran.status == 0, ran.errors
        assert CONTROL.findall(ran.output + ran.errors) == []
        assert r"b\x1b[31m" in ran.output


def test_a_console_escapes_untrusted_text(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    console = TextConsole()
    console.print(f"plain{TITLE}")
    console.print(Text(f"text{RED}", style="bold"))
    written = capsys.readouterr().out
    assert f"plain{SHOWN}\n" in written
    assert "\x1b[1mtext\\x1b[31m\x1b[0m\n" in written
