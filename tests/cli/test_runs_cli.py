"""zerofleet runs and zerofleet train, as their users see them."""

import shlex
import subprocess
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import ZEROFLEET, Ran, example_of
from played_games import entries
from records import rating_values, status_values

from zerofleet import config, metrics
from zerofleet.cli.runs import old_segments
from zerofleet.config import Config
from zerofleet.fleet.screen import Screen
from zerofleet.games import Episode, get
from zerofleet.metrics import MetricsLog, Sink
from zerofleet.replay import EpisodeLog
from zerofleet.runs.folder import Run, create_or_open, find, keep_settings
from zerofleet.selfplay import play


@pytest.fixture(autouse=True)
def runs_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ZEROFLEET_RUNS", raising=False)
    return tmp_path / "runs"


def made(name: str = "c4", game: str = "connect4") -> Run:
    with create_or_open(name, config.load(game)) as run, MetricsLog(run.folder) as log:
        log.append("status", 100, status_values(games=40, waiting="trainer"))
        log.append("train", 120, {"loss": 1.23456789})
    return run


# ---- runs


def test_list_shows_every_run(capsys: pytest.CaptureFixture[str]) -> None:
    with MetricsLog(made("c4").folder) as log:
        log.append("rating", 120, rating_values(games=1000))  # not games of the run
    (made("bad", "gomoku").folder / "run.json").write_text("{")
    header, bad, good = Ran(capsys, "runs", "list").output.splitlines()
    assert header.split() == ["run", "game", "steps", "games", "age", "size", "fault"]
    assert "runs/bad/run.json is damaged" in bad
    assert good.split()[:4] == ["c4", "connect4", "120", "40"]


def test_list_of_no_runs_is_a_header(capsys: pytest.CaptureFixture[str]) -> None:
    ran = Ran(capsys, "runs", "list")
    assert (ran.status, ran.output.count("\n")) == (0, 1)


def test_show_prints_the_latest_metrics(capsys: pytest.CaptureFixture[str]) -> None:
    run = made()
    output = Ran(capsys, "runs", "show", "c4").output
    assert output.startswith("run c4: connect4\nfolder runs/c4, ")
    assert run.facts.id in output
    assert "120 steps, 40 games" in output
    rows = [line.split() for line in output.splitlines()]
    assert ["train", "120", "loss", "1.2346"] in rows
    assert ["status", "100", "waiting", "trainer"] in rows


def test_rm_asks_first(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, runs_here: Path
) -> None:
    made()
    for answer, is_left in (("n\n", True), ("", True), ("y\n", False)):
        monkeypatch.setattr("sys.stdin", TextAsTyped(answer))
        ran = Ran(capsys, "runs", "rm", "c4")
        assert "Remove run c4 (" in ran.output
        assert ran.status == (1 if is_left else 0)
        assert (runs_here / "c4").exists() == is_left


class TextAsTyped:
    """Standard input with one line in it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def readline(self, size: int = -1) -> str:
        return self.text


def test_a_run_in_use_is_neither_removed_nor_packed(
    capsys: pytest.CaptureFixture[str], runs_here: Path
) -> None:
    made()
    with create_or_open("c4", config.load("connect4")):
        for arguments in (["rm", "c4", "--yes"], ["pack", "c4", "packs"]):
            ran = Ran(capsys, "runs", *arguments)
            assert ran.status == 2
            assert ran.errors.startswith("zerofleet: runs/c4 is in use by process ")
    assert (runs_here / "c4" / "run.json").exists()


def test_pack_says_how_to_unpack_and_that_works(capsys: pytest.CaptureFixture[str]) -> None:
    run = made()
    ran = Ran(capsys, "runs", "pack", "c4", "packs")
    packed, unpack = ran.output.splitlines()
    assert packed.startswith("packed c4: 1 parts, ")
    Ran(capsys, "runs", "rm", "c4", "--yes")
    ran = Ran(capsys, *shlex.split(unpack.removeprefix("unpack with: zerofleet ")))
    assert ran.output == "unpacked c4: runs/c4\n"
    assert find("c4") == replace(run, is_foreign=True)
    assert [record["step"] for record in metrics.read(run.folder)] == [100, 120]


def test_pack_leaves_out_what_is_not_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    run = made()
    for folder in (run.episodes, run.checkpoints, run.weights):
        folder.mkdir()
        (folder / "file").write_text("content")
    wanted = ["--without-games", "--without-checkpoints"]
    assert Ran(capsys, "runs", "pack", "c4", "packs", *wanted).status == 0
    Ran(capsys, "runs", "unpack", "packs/c4.pack.json", "--run", "carried")
    arrived = find("carried")
    assert (arrived.weights / "file").read_text() == "content"
    assert not arrived.episodes.exists()
    assert not arrived.checkpoints.exists()


def test_pack_leaves_out_games_that_are_older_than_two_buffers() -> None:
    game = get("gomoku", size=3, line=3)
    small = ["replay.capacity_rows=30", "replay.min_rows=1", "replay.segment_bytes=1024"]
    settings = config.load("tictactoe", overrides=small)
    with create_or_open("ttt", settings) as run:
        with closing(EpisodeLog(run.episodes, game, settings.replay)) as log:
            for data in play(game, "uniform", num_episodes=60, num_simulations=4):
                log.append(entries([Episode.decode(data)], [5]))
            num_before, window = log.newest(30)
            expected = num_before, list(window)
        segments = sorted(run.episodes.glob("*.zfl"))
        old = old_segments(run)
        assert 0 < len(old) < len(segments)
        assert old == set(segments[: len(old)])
        for path in old:
            path.unlink()
        with closing(EpisodeLog(run.episodes, game, settings.replay)) as log:
            assert log.report.damage == ()
            num_before, window = log.newest(30)
            assert (num_before, list(window)) == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "c5"], "unknown run c5; known: c4 (in runs)"),
        (["rm", "c5", "--yes"], "unknown run c5; known: c4 (in runs)"),
        (["pack", "c5", "packs"], "unknown run c5; known: c4 (in runs)"),
        (["pack", "c4", "packs", "--max-bytes", "9"], "a part must have at least 65536 bytes"),
        (["pack", "c4", "runs/c4/run.json"], "runs/c4/run.json cannot be created: File exists"),
        (["unpack", "packs/x.pack.json"], "packs/x.pack.json cannot be read: No such file"),
        (["unpack", "packs"], "packs is not the list of a pack; give the file that ends in"),
    ],
)
def test_bad_input_to_runs_is_one_clear_line_and_exit_status_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    made()
    ran = Ran(capsys, "runs", *arguments)
    assert ran.status == 2
    assert ran.errors.startswith(f"zerofleet: {message}")
    assert ran.errors.count("\n") == 1


def test_the_examples_in_the_help_of_runs_work_one_after_another(
    capsys: pytest.CaptureFixture[str],
) -> None:
    made()
    for verb in ("list", "show", "pack", "unpack", "rm"):
        example = example_of(capsys, "runs", verb)
        assert Ran(capsys, *example).status == 0


# ---- train


class FakeFleet:
    """Stands where zerofleet.fleet.embedded stands, and remembers what it was to train."""

    def __init__(self) -> None:
        self.asked: list[tuple[Config, str, list[str]]] = []

    def train(
        self, config: Config, run: Run, sinks: Sequence[Sink], screen: Screen, *_: object
    ) -> None:
        self.asked.append((config, run.name, [type(sink).__name__ for sink in sinks]))
        keep_settings(run, config, screen.say)
        with MetricsLog(run.folder, sinks) as log:
            log.append("train", 1, {"loss": 1.0})


@pytest.fixture
def fleet(monkeypatch: pytest.MonkeyPatch) -> FakeFleet:
    fake = FakeFleet()
    monkeypatch.setattr("zerofleet.fleet.api.train_here", fake.train)
    return fake


def test_train_passes_its_options_on_and_resumes_with_them(
    capsys: pytest.CaptureFixture[str], fleet: FakeFleet
) -> None:
    first = (
        "train connect4 --preset fast --run c4 --minutes 30 --device cpu --deterministic --no-dash"
    )
    ran = Ran(capsys, *first.split(), "--set", "search.num_simulations=64", "--seed", "7")
    assert (ran.status, ran.errors) == (0, "")
    assert ran.output.splitlines() == [
        "resume with: zerofleet train connect4 --run c4",
        "play with:   zerofleet play connect4 --against run:c4",
        "report:      runs/c4/report/index.html",
    ]
    settings = config.load(
        "connect4",
        "fast",
        overrides=[
            "search.num_simulations=64",
            "stop.minutes=30",
            "run.device=cpu",
            "run.deterministic=true",
            "run.seed=7",
        ],
    )
    assert fleet.asked == [(settings, "c4", ["TensorBoard"])]
    assert config.read(find("c4").config_path) == settings
    assert len(list((find("c4").folder / "tensorboard").iterdir())) == 1

    second = "train connect4 --run c4 --steps 9 --no-deterministic --no-dash"
    ran = Ran(capsys, *second.split())
    assert ran.output.startswith(
        "runs/c4: stop.steps was None, is now 9\n"
        "runs/c4: run.deterministic was True, is now False\n"
        "resume with: "
    )
    assert fleet.asked[1][0].search.num_simulations == 64


def test_a_run_without_a_name_is_named_after_game_and_preset(
    capsys: pytest.CaptureFixture[str], fleet: FakeFleet
) -> None:
    Path("own.yaml").write_text("game: {name: gomoku, options: {size: 7}}\nnetwork: {preset: tiny}")
    for arguments in (
        ["tictactoe"],
        ["connect4", "--preset", "standard"],
        ["gomoku", "--config", "own.yaml", "--option", "line=4"],
    ):
        assert Ran(capsys, "train", *arguments).status == 0
    assert [name for _, name, _ in fleet.asked] == [
        "tictactoe-fast",
        "connect4-standard",
        "gomoku-own",
    ]
    assert fleet.asked[2][0].game.options == {"size": 7, "line": 4, "rule": "freestyle"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["conect4"], "unknown game conect4; did you mean connect4? known: "),
        (["connect4", "--preset", "fats"], "unknown preset fats; did you mean fast? known: "),
        (
            ["connect4", "--set", "search.num_simulation=9"],
            "--set search.num_simulation=9: unknown setting search.num_simulation; did you mean "
            "search.num_simulations?",
        ),
        (["connect4", "--set", "search.prove"], "--set must be NAME=VALUE, such as search."),
        (["connect4", "--minutes", "-1"], "--minutes -1.0: stop.minutes must be greater"),
        (["gomoku", "--option", "size=99"], "--option size=99: gomoku: size must be"),
        (["connect4", "--config", "no.yaml"], "no.yaml: cannot be read"),
        (["connect4", "--set", "network.preset=tny"], "unknown preset of a network for connect4"),
        (["connect4", "--set", "network.options.depth=3"], "unknown option of a board network"),
        (["connect4", "--run", "../c4"], "a run cannot be called '../c4'"),
    ],
)
def test_bad_input_to_train_is_one_clear_line_and_leaves_no_run(
    capsys: pytest.CaptureFixture[str],
    fleet: FakeFleet,
    runs_here: Path,
    arguments: list[str],
    message: str,
) -> None:
    ran = Ran(capsys, "train", *arguments)
    assert ran.status == 2
    assert ran.errors.startswith(f"zerofleet: {message}")
    assert ran.errors.count("\n") == 1
    assert fleet.asked == []
    assert not runs_here.exists()


def test_the_help_of_train_has_an_example_that_runs(
    capsys: pytest.CaptureFixture[str], fleet: FakeFleet
) -> None:
    example = example_of(capsys, "train")
    assert Ran(capsys, *example).status == 0
    assert fleet.asked[0][0].stop.minutes == 30


@pytest.mark.parametrize("verb", ["runs show", "report"])
def test_a_damaged_line_of_metrics_is_reported_and_blocks_nothing(verb: str) -> None:
    with create_or_open("c4", config.load("connect4")) as run, MetricsLog(run.folder) as log:
        log.append("rating", 120, rating_values())
    path = run.folder / metrics.FILE_NAME
    path.write_bytes(path.read_bytes().replace(b"score", b"scorf") + b"\x00rubbish\n")
    ran = subprocess.run([ZEROFLEET, *verb.split(), "c4"], capture_output=True, text=True)
    assert ran.returncode == 0
    assert ran.stderr == (
        "zerofleet: runs/c4/metrics.jsonl: 2 invalid lines skipped (score: Field required)\n"
    )
