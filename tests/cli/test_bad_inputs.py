"""Bad input of every verb is one clear line and exit status 2: no traceback, nothing half done."""

import subprocess
import sys
from pathlib import Path

import pytest
from command_line import ZEROFLEET, Ran

import zerofleet as zf
from zerofleet.errors import BadText, ZerofleetError


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ZEROFLEET_RUNS", raising=False)
    Path("own.yaml").write_text("search: {num_simulations: 8}\nstop: {steps: -1}\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("train connect4 --minutes -1", "--minutes -1.0: stop.minutes must be greater than 0"),
        ("train connect4 --steps 0", "--steps 0: stop.steps must be greater than or equal to 1"),
        ("train connect4 --seed -1", "--seed -1: run.seed must be greater than or equal to 0"),
        ("train connect4 --set run.seed=-1", "--set run.seed=-1: run.seed must be greater than"),
        ("train connect4 --run=", "a run cannot be called ''"),
        ("train connect4 --run= --config own.yaml", "a run cannot be called ''"),
        ("train connect4 --run= --preset fast", "a run cannot be called ''"),
        (
            "train connect4 --config own.yaml --preset fast",
            "settings come from a preset or a file, not from both: fast and own.yaml; name one",
        ),
        ("train connect4 --config own.yaml", "own.yaml: stop.steps must be greater than or equal"),
        (
            "train connect4 --set selfplay.games_per_group=100000000",
            "--set selfplay.games_per_group=100000000: selfplay.games_per_group must be less than",
        ),
        (
            "train connect4 --set train.batch_size=1000000000",
            "--set train.batch_size=1000000000: train.batch_size must be less than or equal to 1",
        ),
        (
            "train connect4 --preset fast --set replay.capacity_rows=4000000000",
            "replay.capacity_rows=4000000000: these rows of connect4 take ",
        ),
        (
            "train connect4 --training-devices ,,",
            "--training-devices must be devices such as cuda:",
        ),
        ("train connect4 --minutes nan", "--minutes nan: stop.minutes must be a finite number"),
        ("train connect4 --run ../x", "a run cannot be called '../x'"),
        ("train connect4 --preset fast --from nosuch", "'nosuch' names no weights; write best, "),
        ("train connect4 --set search=3", "--set search=3: search must be a section of settings"),
        ("train connect4 --set a.b.c.d=1", "--set a.b.c.d=1: unknown setting a; known: game, se"),
        ("train tictactoe --preset fast --option size=5", "--option size=5: tictactoe: size must"),
        ("gate random random --game connect4 --elo1 inf", "elo1 must be from -3000 to 3000, got"),
        ("gate random random --game connect4 --elo0 nan", "elo0 must be from -3000 to 3000, got"),
        ("gate random random --game connect4 --alpha 0", "alpha must be between 0 and 0.5, got 0"),
        ("gate random random --game connect4 --max-games 3", "games are played in pairs: max_gam"),
        ("gate random random", "neither player is a run, so the game is unknown; add --game GAME"),
        ("match connect4 random random --games 3", "games are played in pairs: num_games must be"),
        ("match connect4 random playout-0 --games 2", "player 'playout-0': playout-N must be an"),
        (
            "match connect4 random run:x@y --games 2",
            "player 'run:x@y': @STEP needs a step: an integ",
        ),
        ("match connect4 random file:own.yaml --games 2", "own.yaml refused: "),
        (
            "match connect4 random random --save x/y",
            "x/y cannot be written: x must be a writable folder",
        ),
        ("rate connect4 random", "a rating needs a player besides random"),
        ("rate connect4 heuristic heuristic", "a player is listed twice: heuristic, heuristic"),
        ("match connect4 random file:x.safetensors --games 2", "x.safetensors refused: x.safete"),
        ("train connect4 --preset fast --from file:x.safetensors", "x.safetensors refused: x.sa"),
        ("train connect4 --preset fast --set rating.opponents=[nosuch]", "unknown player 'nosuch"),
        ("gomocup nosuch", "unknown player 'nosuch' of gomoku; known: "),
        ("gomocup run:nosuch", "unknown run nosuch; known: none (in runs)"),
        ("check noclass.py", "noclass.py does not name the class of the game"),
        ("check nosuch.py:G", "nosuch.py cannot be read: No such file or directory"),
        ("check os:path", "os has no class path; it has: "),
        ("check gomoku --option =3", "gomoku: unknown option ; known: line, rule, size"),
        ("check own.yaml:G", "own.yaml cannot be imported: No module named 'own'"),
        ("show backgammon xxx", "'xxx' is no position ID; one has 14 characters"),
        ("analyse connect4 --player run:x", "unknown run x; known: none (in runs)"),
        ("analyse connect4 --player best,seconds=nan", "player 'best,seconds=nan': seconds=S mus"),
        ("export x x.onnx", "unknown run x; known: none (in runs)"),
        ("play connect4 --load nosuch", "nosuch cannot be read: "),
        ("play connect4 --load own.yaml", "own.yaml: a saved game has lines game, options, "),
        ("play connect4 --against gomocup:/x", "gomocup:/x plays gomoku, not connect4"),
        ("report x", "unknown run x; known: none (in runs)"),
        ("runs show x", "unknown run x; known: none (in runs)"),
        ("runs pack x out", "unknown run x; known: none (in runs)"),
        ("show connect4 \udcff", "'\\udcff' is not UTF-8"),
        ("show connect\udcff", "'connect\\udcff' is not UTF-8"),
        ("show gomoku --option size=\udcff", "'\\udcff' is not UTF-8"),
        ("show gomoku --option size=9 --option size=15", "--option size is given twice: 9 and 15"),
        (f"match connect4 random playout-{'9' * 5000}", "player 'playout-999"),
        (f"match connect4 random run:x@{'9' * 5000}", "player 'run:x@999"),
        (f"train connect4 --from run:x@{'9' * 5000}", "'run:x@999"),
        ("runs unpack own.yaml", "own.yaml is not the list of a pack; give the file that ends in"),
        ("runs rm ../x --yes", "unknown run ../x; known: none (in runs)"),
        ("episodes list run:x", "unknown run x; known: none (in runs)"),
        ("review own.yaml", "own.yaml: a saved game has lines game, options, "),
        ("match connect4 random random --games 10000000000", "--games 10,000,000,000 is over 1,0"),
        ("rate connect4 heuristic --games 10000000000", "--games 10,000,000,000 is over 1,000,0"),
    ],
)
def test_bad_input_is_one_line_that_names_it(
    capsys: pytest.CaptureFixture[str], arguments: str, message: str
) -> None:
    ran = Ran(capsys, *arguments.split())
    assert ran.errors.splitlines()[-1].startswith(f"zerofleet: {message}")
    assert ran.errors.count("\n") == 1
    assert ran.status == 2
    assert [path.name for path in Path().iterdir()] == ["own.yaml"]


def test_a_game_file_that_exits_is_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    Path("ends.py").write_text("import sys\nsys.exit(3)\n")
    ran = Ran(capsys, "check", "ends.py:G")
    assert (ran.status, ran.errors) == (2, "zerofleet: ends.py:2: SystemExit: 3\n")


def test_a_config_with_only_what_differs_is_for_the_game_of_the_command_line() -> None:
    Path("few.yaml").write_text("search: {num_simulations: 8}\n")
    loaded = zf.config.load("tictactoe", path=Path("few.yaml"))
    assert loaded.game.name == "gomoku"
    assert loaded.game.options == {"size": 3, "line": 3, "rule": "freestyle"}
    assert loaded.search.num_simulations == 8


def test_a_misspelt_argument_of_train_is_not_blamed_on_the_command_line() -> None:
    with pytest.raises(ZerofleetError, match=r"^minuts=1 .* did you mean minutes\?"):
        zf.train("connect4", preset="fast", minuts=1)
    with pytest.raises(BadText, match=r"^minutes=-1: stop\.minutes must be greater than 0"):
        zf.train("connect4", preset="fast", minutes=-1)


def without(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line where a module is not installed."""
    code = f"import sys; sys.modules[{module!r}] = None; from zerofleet.cli import main; main()"
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)


@pytest.mark.parametrize(
    "arguments", ["train connect4 --preset fast", "export c4 c4.onnx"], ids=["train", "export"]
)
def test_without_the_train_extra_it_says_what_to_install(arguments: str) -> None:
    ran = without("torch", *arguments.split())
    assert ran.stderr.splitlines()[-1].endswith("; pip install 'zerofleet[train]'")
    assert ran.stderr.startswith("zerofleet: ")
    assert ran.stderr.count("\n") == 1
    assert ran.returncode == 2


def test_without_the_ray_extra_it_says_what_to_install(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text("run: r\ngame: connect4\nroles: {trainer: {}}\n")
    for arguments in (["up", str(file)], ["scale", "--run", "r"], ["down", "--run", "r"]):
        ran = without("ray", "fleet", *arguments)
        assert ran.stderr.endswith("; pip install 'zerofleet[ray]'\n")
        assert ran.returncode == 2


def test_the_traceback_is_shown_where_it_is_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZEROFLEET_DEBUG", "1")
    ran = Ran(capsys, "check", "gomku")
    assert ran.errors.startswith("Traceback (most recent call last):\n")
    assert ran.errors.splitlines()[-1].startswith("zerofleet: unknown game gomku")


def test_a_fault_of_the_system_is_one_line_with_its_path(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("file").touch()
    monkeypatch.setenv("ZEROFLEET_RUNS", "file/runs")
    ran = Ran(capsys, "train", "connect4", "--preset", "fast", "--steps", "1")
    assert "file/runs/connect4-fast exists and is not a folder" in ran.errors
    assert ran.status == 2


def test_hints_name_the_command_as_it_was_typed() -> None:
    by_path = subprocess.run([ZEROFLEET, "show"], capture_output=True, text=True)
    assert by_path.stderr.startswith(f"Usage: {ZEROFLEET} show")
    as_module = subprocess.run(
        [sys.executable, "-m", "zerofleet", "show"], capture_output=True, text=True
    )
    assert as_module.stderr.startswith(f"Usage: {sys.executable} -m zerofleet show")
    here = subprocess.run(
        ["bin/zerofleet", "show"], cwd=ZEROFLEET.parent.parent, capture_output=True, text=True
    )
    assert here.stderr.startswith("Usage: bin/zerofleet show")


def test_a_reader_that_leaves_is_no_error() -> None:
    ran = subprocess.run(f"{ZEROFLEET} games | true", shell=True, capture_output=True, text=True)
    assert ran.stderr == ""
