"""What the verbs that train a run have in common: their options, and the settings that result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from zerofleet.cli.arguments import option_values
from zerofleet.config import Config, Override
from zerofleet.config import Device as DeviceName
from zerofleet.errors import BadText
from zerofleet.fleet.first_check import check_first
from zerofleet.fleet.machine import name_and_preset
from zerofleet.metrics import Tracker
from zerofleet.printing import say
from zerofleet.runs.folder import check_name, config_for, run_names
from zerofleet.runs.game import default_name

TrainedGame = Annotated[
    str,
    typer.Argument(
        metavar="GAME",
        help="connect4, gomoku, backgammon, beastybar, tictactoe, or a custom game: "
        "file.py:Class or file.h.",
    ),
]
Preset = Annotated[
    str | None,
    typer.Option(
        help="fast (two CPU cores), standard (a GPU) or production (a large GPU); most games "
        "also have h100, h200, h200_8min, h200_long and h100_8gpu, Beasty Bar h100_maxout, "
        "h100_8gpu_maxout and published_run. Default: the one that fits this machine."
    ),
]
NewRun = Annotated[
    str | None, typer.Option(metavar="NAME", help="Name of the run. Default: GAME-PRESET.")
]
ConfigFile = Annotated[
    Path | None, typer.Option("--config", help="A settings file (YAML) instead of a preset.")
]
StartFrom = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="WEIGHTS",
        help="Start a new run from these weights: best, run:NAME[@STEP] or file:PATH.",
    ),
]
Restart = Annotated[
    bool,
    typer.Option(
        "--restart",
        help="Start the run again at step 0: keeps its games, removes checkpoints and weights.",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A setting, such as search.num_simulations=64; may be repeated.",
    ),
]
S3Url = Annotated[
    str | None,
    typer.Option(
        "--s3",
        metavar="URL",
        help="Save the run in S3 at each checkpoint, below s3://BUCKET/PREFIX, and resume it from "
        "there if it is not on this machine. Credentials come from the environment.",
    ),
]
Minutes = Annotated[
    float | None, typer.Option(help="Stop after this many minutes of this session.")
]
Steps = Annotated[int | None, typer.Option(help="Stop when the run has this many training steps.")]
NumGames = Annotated[
    int | None, typer.Option("--games", help="Stop when the run has this many games.")
]
NumRows = Annotated[int | None, typer.Option(help="Stop when the run has this many training rows.")]
Device = Annotated[
    DeviceName | None, typer.Option(help="Device of the network. auto: the best available.")
]
TrainingDevices = Annotated[
    str | None,
    typer.Option(metavar="LIST", help="Training devices, such as cuda:0. Default: --device."),
]
RunSeed = Annotated[int | None, typer.Option(help="Random seed of the run.")]
Checks = Annotated[
    bool, typer.Option("--check/--no-check", help="Check a custom game before training.")
]
Track = Annotated[
    Tracker, typer.Option(help="Experiment tracker; TensorBoard events are always written.")
]
Dash = Annotated[
    bool,
    typer.Option("--dash/--no-dash", help="Show the run in a browser while it trains (port 8080)."),
]


@dataclass(frozen=True)
class Asked:
    """A run as the command line asks for it."""

    name: str
    preset: str | None
    """None with a settings file, and for a run that exists and has its settings."""
    config: Config
    checked: str
    """Digest of a custom game that passed its check."""


def asked_run(
    game: str,
    preset: str | None,
    run: str | None,
    config_file: Path | None,
    settings: Sequence[str] | None,
    given: Mapping[str, object],
    options: Sequence[str] | None,
    checks: bool,
) -> Asked:
    """`given` are options that stand for settings, such as stop.minutes; None where not given."""
    if (url := given.get("run.s3_url")) is not None:
        fetch_from_s3(str(url), run)
    overrides: list[str | Override] = [
        *(settings or []),
        *(override_of(name, value) for name, value in given.items() if value is not None),
    ]
    if config_file:
        name = default_name(game, config_file.stem) if run is None else check_name(run)
    else:
        name, preset = name_and_preset(game, run, preset, overrides)
    game_options = option_values(list(options) if options else None)
    checked = check_first(game, game_options, name, say) if checks else ""
    config = config_for(name, game, preset, config_file, overrides, game_options)
    return Asked(name, preset, config, checked)


def fetch_from_s3(url: str, run: str | None) -> None:
    """Downloads a run that is in S3 and not here."""
    if run is None:
        raise BadText(f"--s3 {url} needs the name of the run: --run NAME")
    if check_name(run) in run_names():
        return
    # Imported here: few need it.
    from zerofleet.remote import SavedRun, checked_url, pull

    if SavedRun(checked_url(url), run).newest() is None:
        say(f"{url} holds no run {run}: starting a new one")
    else:
        pull(url, run, say=say)


def override_of(setting: str, value: object) -> Override:
    """The setting behind an option such as --minutes or --training-devices."""
    section, name = setting.split(".")
    option = "s3" if name == "s3_url" else name.replace("_", "-")
    return Override((section, name), value, f"--{option} {value}")


def listed(option: str, names: str | None) -> list[str] | None:
    """cuda:1,cuda:2 as a list."""
    if names is None:
        return None
    if not all(names.split(",")):
        raise BadText(f"{option} must be devices such as cuda:1,cuda:2; got {names!r}")
    return names.split(",")
