"""zerofleet worker"""

from typing import Annotated, Literal

import typer

from zerofleet import plugins
from zerofleet.cli.fleet_arguments import LOOPBACK, HealthHost, HealthPortNumber, RedisUrl, RunName
from zerofleet.errors import Inconsistent
from zerofleet.printing import say

GameFile = Annotated[
    str | None,
    typer.Option(
        "--game",
        metavar="FILE",
        help="The file of a custom game, file.py:Class or file.h: code never comes from the run.",
    ),
]
EvaluatorName = Annotated[
    Literal["auto", "torch", "onnx"] | None,
    typer.Option(
        "--evaluator",
        help="Inference engine; onnx plays on the CPU without torch. Default: what the run says.",
    ),
]
WorkerEvaluatorName = Annotated[
    Literal["auto", "torch", "onnx", "remote"] | None,
    typer.Option(
        "--evaluator",
        help="Inference engine; onnx plays on the CPU without torch, remote asks the run's "
        "inference servers. Default: what the run says.",
    ),
]
DeviceName = Annotated[
    str,
    typer.Option(
        "--device",
        metavar="NAME",
        help="Where the network is evaluated: cpu, cuda, cuda:1 or mps. auto: the best available.",
    ),
]
OwnId = Annotated[
    str | None,
    typer.Option(
        metavar="ID",
        help="Name of this worker in the fleet, as `fleet acl --worker` was given it. Default: the "
        "host's name.",
    ),
]


def worker(
    run: RunName,
    redis: RedisUrl = None,
    worker_id: OwnId = None,
    processes: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Processes that play. Default: one per GPU, else one per core, as memory allows.",
        ),
    ] = None,
    num_threads: Annotated[
        int | None,
        typer.Option(
            "--threads",
            min=1,
            help="Search threads of each process where a GPU evaluates. Default: cores divided by "
            "processes.",
        ),
    ] = None,
    game: GameFile = None,
    evaluator: WorkerEvaluatorName = None,
    fallback: Annotated[
        bool,
        typer.Option(
            "--fallback",
            help="With --evaluator remote: evaluate here, on --device, while no inference server "
            "answers. Default: fleet.inference_fallback.",
        ),
    ] = False,
    device: DeviceName = "auto",
    finish_games: Annotated[
        bool,
        typer.Option(
            "--finish-games/--drop-games",
            help="What Ctrl-C or SIGTERM does with unfinished games; finished ones are never lost.",
        ),
    ] = False,
    drain_seconds: Annotated[
        float,
        typer.Option(
            min=0,
            metavar="SECONDS",
            help="Longest time to finish games at the end, and again as long for the trainer to "
            "confirm them.",
        ),
    ] = 30.0,
    health_port: HealthPortNumber = 0,
    health_host: HealthHost = LOOPBACK,
    process: Annotated[int | None, typer.Option(hidden=True)] = None,
) -> None:
    """Play games for a fleet's trainer, with its newest weights.

    A worker needs only the address of Redis and the run's name; game, network and settings come
    from the run. It waits for a trainer, plays ahead while there is none, and keeps every game on
    its disk until the trainer has logged it. Without torch it needs only zerofleet[worker].

    Example: zerofleet worker --run c4 --redis redis://127.0.0.1:6379
    """
    # Imported here: they load redis.
    from zerofleet.bus.keys import checked_name
    from zerofleet.fleet.local_redis import address_for
    from zerofleet.fleet.role import HealthPort, default_role_id
    from zerofleet.fleet.signals import GracefulStop
    from zerofleet.fleet.worker_processes import devices_of, plan_processes, run_processes
    from zerofleet.fleet.worker_role import WorkerOptions, work

    address = address_for(run, redis)
    own_id = checked_name("worker", worker_id or default_role_id())
    # With inference servers every process searches on a core, and torch is not needed.
    searched_on = "cpu" if evaluator == "remote" else device
    plan = plan_processes(searched_on, processes, num_threads)
    if processes is None:
        say(f"{own_id}: {plan.num_processes} processes ({plan.why})", flush=True)
    stop = GracefulStop()
    with stop.on_signals(lambda: None):
        if plan.num_processes == 1:
            options = WorkerOptions(
                worker_id=own_id,
                process=process,
                game_source=game,
                evaluator=evaluator,
                fallback=fallback,
                device=device,
                num_search_threads=plan.num_search_threads,
                finish_games=finish_games,
                drain_s=drain_seconds,
                health=HealthPort(health_host, health_port),
            )
            work(address, run, options, stop, lambda text: say(text, flush=True))
            return
        if health_port:
            raise Inconsistent(
                f"--health-port {health_port} is for one process, and this worker has "
                f"{plan.num_processes}, each with a free port of its own; leave it out, or use "
                "--processes 1"
            )
        common = ["--run", run, "--processes", "1", "--threads", str(plan.num_search_threads)]
        common += ["--drain-seconds", str(drain_seconds), "--health-host", health_host]
        common += ["--finish-games"] if finish_games else []
        common += ["--redis", redis] if redis else []
        common += ["--game", game] if game else []
        common += ["--evaluator", evaluator] if evaluator else []
        common += ["--fallback"] if fallback else []
        for path in plugins.loaded():
            common += ["--plugin", path]
        is_remote = evaluator == "remote"
        devices = [device] * plan.num_processes if is_remote else devices_of(device, plan)
        commands = [
            ["worker", *common, "--worker-id", own_id, "--process", str(number), "--device", each]
            for number, each in enumerate(devices)
        ]
        status = run_processes(
            own_id, commands, 2 * drain_seconds, stop, lambda text: say(text, flush=True)
        )
    raise typer.Exit(status)
