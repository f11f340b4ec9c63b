"""zerofleet fleet"""

import json
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zerofleet import games, plugins
from zerofleet.cli.arguments import GameOptions
from zerofleet.cli.fleet_arguments import RedisUrl, RunName
from zerofleet.cli.fleet_cluster import down, scale, up
from zerofleet.cli.output import print_table
from zerofleet.cli.plugins import with_plugins
from zerofleet.cli.train_arguments import (
    Device,
    Minutes,
    NewRun,
    NumGames,
    Preset,
    RunSeed,
    Settings,
    Steps,
    Track,
    TrainedGame,
    asked_run,
)
from zerofleet.errors import Inconsistent
from zerofleet.printing import say

if TYPE_CHECKING:
    from zerofleet.bus.redis import RedisBus

WorkerName = Annotated[
    str,
    typer.Argument(metavar="WORKER", help="Id of a worker. Default: all workers."),
]

fleet = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Start, show and control a fleet.\n\nIt runs on this machine or on a Ray cluster. The "
    "roles themselves are `zerofleet trainer`, `worker`, `rater` and `inference`.",
)


def local(
    game: TrainedGame,
    preset: Preset = None,
    run: NewRun = None,
    redis: RedisUrl = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Worker processes. Default: as cores, GPUs and memory allow."),
    ] = None,
    settings: Settings = None,
    option: GameOptions = None,
    minutes: Minutes = None,
    steps: Steps = None,
    num_games: NumGames = None,
    device: Device = None,
    seed: RunSeed = None,
    track: Track = "tensorboard",
) -> None:
    """Start a whole fleet on this machine.

    It has a trainer, workers, a rater, and Redis unless one is given. Each is a separate process;
    lines of output begin with the role's name. The cores are divided as in `zerofleet train`.
    Ctrl-C, or the end of the run, stops them all. Workers on other machines can join through a
    Redis that they reach.

    Example: zerofleet fleet local connect4 --preset fast --run c4 --minutes 10
    """
    given = {
        "stop.minutes": minutes,
        "stop.steps": steps,
        "stop.games": num_games,
        "run.device": device,
        "run.seed": seed,
    }
    # The trainer checks a custom game.
    asked = asked_run(game, preset, run, None, settings, given, option, checks=False)
    name, preset, config = asked.name, asked.preset, asked.config

    # Imported here: they load redis and torch.
    from zerofleet.fleet.local import Roles, divide, run_fleet
    from zerofleet.fleet.signals import GracefulStop
    from zerofleet.fleet.trainer_role import refuse_embedded_only

    refuse_embedded_only(config)
    played = games.get(config.game.name, **config.game.options)
    cores = divide(config, played, workers)
    say(f"{name}: {cores}", flush=True)
    url = redis or os.environ.get("REDIS_URL") or os.environ.get("REDIS_URL_FILE")
    common = ["--run", name, *(["--redis", redis] if redis else [])]
    common += [part for path in plugins.loaded() for part in ("--plugin", path)]
    trainer = ["trainer", game, *common, "--threads", str(cores.num_training_threads)]
    trainer += ["--track", track, *(["--preset", preset] if preset else [])]
    trainer += [part for each in settings or [] for part in ("--set", each)]
    trainer += [part for each in option or [] for part in ("--option", each)]
    for flag, value in (
        ("--minutes", minutes),
        ("--steps", steps),
        ("--games", num_games),
        ("--device", device),
        ("--seed", seed),
    ):
        trainer += [] if value is None else [flag, str(value)]
    source = ["--game", games.absolute(game)] if games.is_source(game) else []
    threads = ["--threads", str(max(1, cores.num_search_threads))]
    each_worker = [
        [
            *("worker", *common, *source, *threads, "--processes", "1"),
            *("--worker-id", f"worker-{number}"),
            *("--device", cores.devices[number % len(cores.devices)]),
        ]
        for number in range(cores.num_workers)
    ]
    rater = ["rater", *common, *source, "--rater-id", "rater", "--device", cores.devices[0]]
    stop = GracefulStop()
    with stop.on_signals(lambda: None):
        status = run_fleet(
            name,
            Roles(trainer, each_worker, rater),
            url,
            stop,
            lambda text: say(text, flush=True),
        )
    raise typer.Exit(status)


fleet.command("local")(with_plugins(local))
for of_cluster in (up, scale, down):
    fleet.command()(of_cluster)


@fleet.command()
def status(
    run: RunName,
    redis: RedisUrl = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of a table.")
    ] = False,
) -> None:
    """Show once what each role of a run does.

    Also the queue, the pace, the weights and Redis.
    `zerofleet monitor` shows them live.

    Example: zerofleet fleet status --run c4 --json
    """
    # Imported here: they load redis.
    from zerofleet.fleet.fleet_status import HEADER, NUMBERS, FleetStatus

    with open_bus(run, redis) as bus:
        found = FleetStatus.read(bus, run, bus.server)
    if as_json:
        say(json.dumps(found.to_dict()))
        return
    print_table(HEADER, found.rows(), numbers=NUMBERS)
    for line in found.lines():
        say(line)


@fleet.command()
def pause(
    run: RunName,
    worker: WorkerName = "",
    redis: RedisUrl = None,
    reason: Annotated[
        str, typer.Option(metavar="TEXT", help="The reason that `fleet status` shows.")
    ] = "an operator asked for it",
) -> None:
    """Pause a worker, or all workers of a run.

    They make no new moves until `fleet resume`.
    The worker keeps running, and its finished games are still sent. Needs the trainer's user.

    Example: zerofleet fleet pause --run c4 box-1 --reason 'the machine is needed'
    """
    with open_bus(run, redis) as bus:
        bus.hold(worker, reason or "an operator asked for it")
    say(f"{worker or 'all workers'} of run {run}: paused")


@fleet.command()
def resume(run: RunName, worker: WorkerName = "", redis: RedisUrl = None) -> None:
    """Resume a paused worker, or all that were paused together.

    A worker that was paused by its id is resumed by its id. Needs the trainer's user.

    Example: zerofleet fleet resume --run c4 box-1
    """
    with open_bus(run, redis) as bus:
        bus.hold(worker, "")
    say(f"{worker or 'all workers'} of run {run}: resumed")


@fleet.command()
def acl(
    run: RunName,
    worker: Annotated[
        list[str] | None,
        typer.Option("--worker", metavar="ID", help="A worker's --worker-id; may be repeated."),
    ] = None,
    rater: Annotated[
        list[str] | None,
        typer.Option("--rater", metavar="ID", help="A rater's --rater-id; may be repeated."),
    ] = None,
    inference: Annotated[
        list[str] | None,
        typer.Option(
            "--inference", metavar="ID", help="An inference server's --server-id; may be repeated."
        ),
    ] = None,
    gateway: Annotated[
        list[str] | None,
        typer.Option(
            "--gateway",
            metavar="ID",
            help="A gateway of browsers, which is `browsers` (zerofleet dash --lend).",
        ),
    ] = None,
    passwords: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder with a password file per user; missing files are created. Default: "
            "NAME-passwords.",
        ),
    ] = None,
) -> None:
    """Print Redis users for the roles of a run, as an ACL file.

    Each user has only the permissions of its role. The lines hold hashes; the passwords are in
    files that only you can read, for REDIS_PASSWORD_FILE. REDIS_USER is the name after `user`. Add
    the line `user default off`, so that no one else can log in. With --inference the folder also
    gets the keys curve-servers and curve-workers, for ZEROFLEET_CURVE_KEY_FILE of the two roles.

    Example: zerofleet fleet acl --run c4 --worker laptop --worker box-1 --rater box-2 > users.acl
    """
    # Imported here: they load redis.
    from zerofleet.bus.acl import RoleIds, acl_users, user_names

    roles = RoleIds(worker or [], rater or [], inference or [], gateway or [])
    folder = passwords or Path(f"{run}-passwords")
    names = user_names(run, roles)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    known = {name: password_in(folder / name) for name in names}
    if roles.inference:
        make_curve_keys(folder)
    for line in acl_users(run, roles, known):
        say(line)
    say(f"passwords of {len(names)} users are in {folder}", file=sys.stderr)


def password_in(path: Path) -> str:
    """The password in a file; a new one where there is no file."""
    if not path.exists():
        write_secret(path, f"{secrets.token_urlsafe(32)}\n")
    return path.read_text().strip()


def make_curve_keys(folder: Path) -> None:
    """The keys of inference servers and of workers that ask them, unless they exist."""
    # Imported here: it loads zmq.
    from zerofleet.infer.sockets import make_key_files

    paths = [folder / "curve-servers", folder / "curve-workers"]
    there = [path for path in paths if path.exists()]
    if len(there) == 1:
        raise Inconsistent(f"{there[0]} is there without its counterpart; remove it to make both")
    if not there:
        for path, text in zip(paths, make_key_files(), strict=True):
            write_secret(path, text)


def write_secret(path: Path, text: str) -> None:
    """A new file that only its owner can read."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)


@contextmanager
def open_bus(run: str, redis: str | None) -> Iterator["RedisBus"]:
    # Imported here: they load redis.
    from zerofleet.bus.redis import RedisBus
    from zerofleet.fleet.local_redis import address_for

    with closing(RedisBus(address_for(run, redis), run)) as bus:
        yield bus
