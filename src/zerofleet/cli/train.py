"""zerofleet train"""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from zerofleet import metrics, plugins
from zerofleet.cli.arguments import GameOptions, option_values
from zerofleet.cli.live import LiveScreen
from zerofleet.cli.output import TextConsole, print_table
from zerofleet.config import Config, Device, Override
from zerofleet.errors import BadText, ZerofleetError
from zerofleet.fleet.first_check import check_first
from zerofleet.fleet.machine import name_and_preset
from zerofleet.fleet.screen import PlainScreen, Screen
from zerofleet.metrics import Tracker
from zerofleet.printing import say
from zerofleet.program import program_name
from zerofleet.report import write_report
from zerofleet.report.data import last_of_each_opponent
from zerofleet.runs.folder import Run, check_name, config_for
from zerofleet.runs.game import default_name


def train(
    game: Annotated[
        str,
        typer.Argument(
            metavar="GAME",
            help="connect4, gomoku, backgammon, beastybar, tictactoe, or a custom game: "
            "file.py:Class or file.h.",
        ),
    ],
    preset: Annotated[
        str | None,
        typer.Option(
            help="fast (two CPU cores), standard (a GPU) or production (a large GPU); most games "
            "also have h100, h200, h200_8min, h200_long and h100_8gpu. Default: the one that fits "
            "this machine."
        ),
    ] = None,
    run: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the run. Default: GAME-PRESET.")
    ] = None,
    config_file: Annotated[
        Path | None, typer.Option("--config", help="A settings file (YAML) instead of a preset.")
    ] = None,
    start_from: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="WEIGHTS",
            help="Start a new run from these weights: best, run:NAME[@STEP] or file:PATH.",
        ),
    ] = None,
    restart: Annotated[
        bool,
        typer.Option(
            "--restart",
            help="Start the run again at step 0: keeps its games, removes checkpoints and weights.",
        ),
    ] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="E.g. search.num_simulations=64; may be repeated."
        ),
    ] = None,
    option: GameOptions = None,
    minutes: Annotated[
        float | None, typer.Option(help="Stop after this many minutes of this session.")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(help="Stop when the run has this many training steps.")
    ] = None,
    games: Annotated[
        int | None, typer.Option(help="Stop when the run has this many games.")
    ] = None,
    rows: Annotated[
        int | None, typer.Option(help="Stop when the run has this many training rows.")
    ] = None,
    device: Annotated[
        Device | None, typer.Option(help="Device of the network. auto: the best available.")
    ] = None,
    inference_devices: Annotated[
        str | None,
        typer.Option(
            metavar="LIST", help="Inference GPUs, such as cuda:1,cuda:2. Default: --device."
        ),
    ] = None,
    training_devices: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Training devices, such as cuda:0. Default: --device."),
    ] = None,
    deterministic: Annotated[
        bool | None,
        typer.Option("--deterministic/--no-deterministic", help="Bitwise reproducible, but slow."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Random seed of the run.")] = None,
    checks: Annotated[
        bool, typer.Option("--check/--no-check", help="Check a custom game before training.")
    ] = True,
    track: Annotated[
        Tracker, typer.Option(help="Experiment tracker; TensorBoard events are always written.")
    ] = "tensorboard",
) -> None:
    """Train a network by self-play, or resume an existing run.

    Without --preset, a new run takes the preset that fits this machine and prints its name. An
    existing run keeps its settings except those given here. Ctrl-C stops after the current step (a
    deterministic run: after the steps of its round) and saves a checkpoint. The same command
    resumes the run.

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
    }
    overrides: list[str | Override] = [
        *(settings or []),
        *(option_of(name, value) for name, value in given.items() if value is not None),
    ]
    if config_file:
        name = default_name(game, config_file.stem) if run is None else check_name(run)
    else:
        name, preset = name_and_preset(game, run, preset, overrides)
    options = option_values(option)
    checked = check_first(game, options, name, say) if checks else ""
    config = config_for(name, game, preset, config_file, overrides, options)

    # Imported here: it loads torch.
    from zerofleet.fleet.api import train_run

    trained = train_run(
        name, config, [track], screen_for(name, config), start_from, restart, checked=checked
    )
    print_next_steps(trained, game)


def option_of(setting: str, value: object) -> Override:
    """The setting behind an option such as --minutes or --inference-devices."""
    section, name = setting.split(".")
    return Override((section, name), value, f"--{name.replace('_', '-')} {value}")


def listed(option: str, names: str | None) -> list[str] | None:
    """cuda:1,cuda:2 as a list."""
    if names is None:
        return None
    if not all(names.split(",")):
        raise BadText(f"{option} must be devices such as cuda:1,cuda:2; got {names!r}")
    return names.split(",")


def screen_for(name: str, config: Config) -> Screen:
    """A live table on a terminal, lines elsewhere."""
    console = TextConsole()
    return LiveScreen(name, config, console) if console.is_terminal else PlainScreen()


def print_next_steps(run: Run, game: str) -> None:
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
    say(f"resume with: {program_name()} train {game} --run {run.name}{named}")
    say(f"play with:   {program_name()} play {game} --against run:{run.name}")
    try:
        say(f"report:      {write_report(run)}")
    except ZerofleetError as error:
        say(f"no report:   {error}")
