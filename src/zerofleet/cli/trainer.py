"""zerofleet trainer"""

from typing import Annotated

import typer

from zerofleet.cli.arguments import GameOptions
from zerofleet.cli.fleet_arguments import LOOPBACK, HealthHost, HealthPortNumber, RedisUrl
from zerofleet.cli.train import print_next_steps, screen_for
from zerofleet.cli.train_arguments import (
    Checks,
    ConfigFile,
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


def trainer(
    game: TrainedGame,
    preset: Preset = None,
    run: NewRun = None,
    redis: RedisUrl = None,
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
    training_devices: TrainingDevices = None,
    deterministic: Annotated[
        bool | None,
        typer.Option(
            "--deterministic/--no-deterministic", help="Refused: only `train` is deterministic."
        ),
    ] = None,
    num_threads: Annotated[
        int,
        typer.Option("--threads", min=0, help="Threads that train on a CPU. 0: one per core."),
    ] = 0,
    seed: RunSeed = None,
    checks: Checks = True,
    track: Track = "tensorboard",
    health_port: HealthPortNumber = 0,
    health_host: HealthHost = LOOPBACK,
) -> None:
    """Train a run from the games that its workers send.

    Workers are other processes, on this or other machines; games and weights travel through Redis.
    Settings are those of `zerofleet train`. A run has one trainer at a time. Ctrl-C or SIGTERM
    saves a checkpoint and ends the trainer; workers play ahead meanwhile, and the same command
    resumes. At the run's stop, such as --minutes, all its roles end.

    Example: zerofleet trainer connect4 --run c4 --redis redis://127.0.0.1:6379
    """
    given = {
        "stop.minutes": minutes,
        "stop.steps": steps,
        "stop.games": games,
        "stop.rows": rows,
        "run.device": device,
        "run.training_devices": listed("--training-devices", training_devices),
        "run.deterministic": deterministic,
        "run.seed": seed,
        "run.s3_url": s3,
    }
    asked = asked_run(game, preset, run, config_file, settings, given, option, checks)

    # Imported here: they load redis and torch.
    from zerofleet.fleet.api import train_run
    from zerofleet.fleet.local_redis import address_for
    from zerofleet.fleet.role import HealthPort
    from zerofleet.fleet.trainer_role import (
        TrainerOptions,
        refuse_embedded_only,
        trainer_of_fleet,
    )

    refuse_embedded_only(asked.config)
    address = address_for(asked.name, redis)
    options = TrainerOptions(num_threads, HealthPort(health_host, health_port))
    trained = train_run(
        asked.name,
        asked.config,
        [track],
        screen_for(asked.name, asked.config),
        start_from,
        restart,
        checked=asked.checked,
        train_by=trainer_of_fleet(address, options),
    )
    print_next_steps(trained, game, "trainer")
