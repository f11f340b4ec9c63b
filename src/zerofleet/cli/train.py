"""zerofleet train"""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from typing import Annotated

import typer

from zerofleet import metrics, plugins
from zerofleet.cli.arguments import GameOptions
from zerofleet.cli.live import LiveScreen
from zerofleet.cli.output import TextConsole, print_table
from zerofleet.cli.train_arguments import (
    Checks,
    ConfigFile,
    Dash,
    Device,
    Minutes,
    NewRun,
    NumGames,
    NumRows,
    Preset,
    Restart,
    RunSeed,
    S3Url,
    Settings,
    StartFrom,
    Steps,
    Track,
    TrainedGame,
    TrainingDevices,
    asked_run,
    listed,
)
from zerofleet.config import Config
from zerofleet.errors import ZerofleetError
from zerofleet.fleet.screen import PlainScreen, Screen
from zerofleet.games import is_source
from zerofleet.printing import say
from zerofleet.program import program_name
from zerofleet.report import write_report
from zerofleet.report.data import last_of_each_opponent
from zerofleet.runs.folder import Run


def train(
    game: TrainedGame,
    preset: Preset = None,
    run: NewRun = None,
    config_file: ConfigFile = None,
    start_from: StartFrom = None,
    restart: Restart = False,
    s3: S3Url = None,
    settings: Settings = None,
    option: GameOptions = None,
    minutes: Minutes = None,
    steps: Steps = None,
    games: NumGames = None,
    rows: NumRows = None,
    device: Device = None,
    inference_devices: Annotated[
        str | None,
        typer.Option(
            metavar="LIST", help="Inference GPUs, such as cuda:1,cuda:2. Default: --device."
        ),
    ] = None,
    training_devices: TrainingDevices = None,
    deterministic: Annotated[
        bool | None,
        typer.Option("--deterministic/--no-deterministic", help="Bitwise reproducible, but slow."),
    ] = None,
    seed: RunSeed = None,
    checks: Checks = True,
    track: Track = "tensorboard",
    dash: Dash = True,
) -> None:
    """Train a network by self-play, or resume an existing run.

    Without --preset, a new run takes the preset that fits this machine and prints its name. An
    existing run keeps its settings except those given here. Ctrl-C stops after the current step (a
    deterministic run: after the steps of its round) and saves a checkpoint. The same command
    resumes the run. Meanwhile it shows the run in a browser, at the address that it prints.

    Example: zerofleet train connect4 --preset fast --run c4 --minutes 30
    """
    given = {
        "stop.minutes": minutes,
        "stop.steps": steps,
        "stop.games": games,
        "stop.rows": rows,
        "run.device": device,
        "run.inference_devices": listed("--inference-devices", inference_devices),
        "run.training_devices": listed("--training-devices", training_devices),
        "run.deterministic": deterministic,
        "run.seed": seed,
        "run.s3_url": s3,
    }
    asked = asked_run(game, preset, run, config_file, settings, given, option, checks)

    # Imported here: it loads torch.
    from zerofleet.fleet.api import train_run

    with dashboard_of(asked.name, game) if dash else nullcontext():
        trained = train_run(
            asked.name,
            asked.config,
            [track],
            screen_for(asked.name, asked.config),
            start_from,
            restart,
            checked=asked.checked,
        )
    print_next_steps(trained, game)


@contextmanager
def dashboard_of(run: str, game: str) -> Iterator[None]:
    """Serves the run's dashboard; without the libraries for it, says so."""
    missing = [each for each in ("fastapi", "uvicorn", "websockets") if find_spec(each) is None]
    if missing:
        say(f"no dashboard: {missing[0]} is not installed; pip install 'zerofleet[web]'")
        yield
        return
    # Imported here: it needs the extra `web`.
    from zerofleet.web.server import serve_beside_training

    server = serve_beside_training(run, [game] if is_source(game) else [], say)
    try:
        yield
    finally:
        if server is not None:
            server.stop()


def screen_for(name: str, config: Config) -> Screen:
    """A live table on a terminal, lines elsewhere."""
    console = TextConsole()
    return LiveScreen(name, config, console) if console.is_terminal else PlainScreen()


def print_next_steps(run: Run, game: str, verb: str = "train") -> None:
    """Prints the last ratings, how to resume and play the run, and where the report is."""
    records = metrics.read(run.folder)
    ratings = last_of_each_opponent(each for each in records if each["kind"] == "rating")
    if ratings:
        print_table(
            ("against", "games", "score", "95 % interval", "step"),
            [
                (
                    record["opponent"],
                    f"{record['games']:,}",
                    f"{record['score']:.1%}",
                    f"{record['low']:.1%} to {record['high']:.1%}",
                    f"{record['step']:,}",
                )
                for record in ratings
            ],
            numbers=("games", "score", "step"),
        )
    named = "".join(f" --plugin {shlex.quote(path)}" for path in plugins.loaded())
    say(f"resume with: {program_name()} {verb} {game} --run {run.name}{named}")
    say(f"play with:   {program_name()} play {game} --against run:{run.name}")
    try:
        say(f"report:      {write_report(run)}")
    except ZerofleetError as error:
        say(f"no report:   {error}")
