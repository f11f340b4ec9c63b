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
            help="fast (two CPU cores), standard (a GPU) or production (a big one); most games "
            "have h100, h200, h200_8min, h200_long and h100_8gpu too. Else the one that "
            "fits this machine."
        ),
    ] = None,
    run: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of the run; else GAME-PRESET.")
    ] = None,
    config_file: Annotated[
        Path | None, typer.Option("--config", help="Your own file of settings instead of a preset.")
    ] = None,
    start_from: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="WEIGHTS",
            help="Begin a new run with these weights: best, run:NAME[@STEP] or file:PATH.",
        ),
    ] = None,
    restart: Annotated[
        bool,
        typer.Option(
            "--restart",
            help="Begin the run again at step 0: its games stay, checkpoints and weights go.",
        ),
    ] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting; may be repeated."),
    ] = None,
    option: GameOptions = None,
    minutes: Annotated[float | None, typer.Option(help="Stop after so long.")] = None,
    steps: Annotated[int | None, typer.Option(help="Stop after so many steps of the run.")] = None,
    games: Annotated[int | None, typer.Option(help="Stop after so many games of the run.")] = None,
    rows: Annotated[
        int | None, typer.Option(help="Stop after so many training rows of the run.")
    ] = None,
    device: Annotated[
        Device | None, typer.Option(help="What the network runs on. auto: the best there is.")
    ] = None,
    inference_devices: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="GPUs that play, such as cuda:1,cuda:2; else --device."),
    ] = None,
    training_devices: Annotated[
        str | None, typer.Option(metavar="LIST", help="What trains, such as cuda:0; else --device.")
    ] = None,
    deterministic: Annotated[
        bool | None,
        typer.Option("--deterministic/--no-deterministic", help="Slow, but repeatable by bits."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Other seeds, other runs.")] = None,
    checks: Annotated[
        bool, typer.Option("--check/--no-check", help="A custom game is checked first.")
    ] = True,
    track: Annotated[
        Tracker, typer.Option(help="Where curves are drawn; TensorBoard has them in any case.")
    ] = "tensorboard",
) -> None:
    """Train a network by self-play, or resume a run that exists.

    Without --preset a new run takes the one that fits this machine, and says so. A run that exists
    keeps its settings, but for those given here. Ctrl-C ends it after the step at hand, a
    deterministic one after the steps of its round; the same command resumes it.

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

    # Only now: it loads torch.
    from zerofleet.fleet.api import train_run

    trained = train_run(
        name, config, [track], screen_for(name, config), start_from, restart, checked=checked
    )
    say_what_now(trained, game)


def option_of(setting: str, value: object) -> Override:
    """A setting that an option of its own gives: --minutes, --inference-devices."""
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
    """A table on a terminal, lines elsewhere."""
    console = TextConsole()
    return LiveScreen(name, config, console) if console.is_terminal else PlainScreen()


def say_what_now(run: Run, game: str) -> None:
    """The last ratings, how to play and go on, and where the report is."""
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
    say(f"go on with: {program_name()} train {game} --run {run.name}{named}")
    say(f"play it:    {program_name()} play {game} --against run:{run.name}")
    try:
        say(f"report:     {write_report(run)}")
    except ZerofleetError as error:
        say(f"no report:  {error}")
