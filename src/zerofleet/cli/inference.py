"""zerofleet inference"""

from typing import Annotated

import typer

from zerofleet.cli.fleet_arguments import LOOPBACK, HealthHost, HealthPortNumber, RedisUrl, RunName
from zerofleet.cli.worker import DeviceName, EvaluatorName, GameFile
from zerofleet.metrics import needed
from zerofleet.printing import say


def inference(
    run: RunName,
    redis: RedisUrl = None,
    server_id: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="Name of this server in the fleet, the one that `fleet acl --inference` was given."
            " Default: the host's name and -inference.",
        ),
    ] = None,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Address where it listens for workers. Any but loopback needs a key: "
            "ZEROFLEET_CURVE_KEY_FILE names its file.",
        ),
    ] = LOOPBACK,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port where it listens. 0: a free one.")
    ] = 0,
    advertise: Annotated[
        str | None,
        typer.Option(
            metavar="HOST",
            help="Name or address under which workers reach it. Default: --host.",
        ),
    ] = None,
    max_batch_rows: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1 << 16,
            help="Most rows evaluated at once, and of one request. Default: fleet.max_batch_rows.",
        ),
    ] = None,
    max_wait_ms: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1000,
            help="Longest time that a request waits to be merged with others. Default: "
            "fleet.max_wait_ms.",
        ),
    ] = None,
    game: GameFile = None,
    evaluator: EvaluatorName = None,
    device: DeviceName = "auto",
    drain_seconds: Annotated[
        float,
        typer.Option(
            min=0,
            metavar="SECONDS",
            help="Longest time after Ctrl-C or SIGTERM in which workers that still ask are sent "
            "elsewhere.",
        ),
    ] = 10.0,
    health_port: HealthPortNumber = 0,
    health_host: HealthHost = LOOPBACK,
) -> None:
    """Evaluate leaves for the workers of a fleet.

    It serves workers that are started with `--evaluator remote`. Start one per GPU, or per machine
    without one. Requests of all workers are merged into batches; new weights are loaded between two
    of them. Workers find their servers through Redis.

    Example: zerofleet inference --run c4 --device cuda:0 --redis redis://127.0.0.1:6379
    """
    needed("zmq", "zerofleet[worker]")
    # Imported here: they load redis and zmq.
    from zerofleet.bus.keys import checked_name
    from zerofleet.fleet.inference_role import InferenceOptions, serve
    from zerofleet.fleet.local_redis import address_for
    from zerofleet.fleet.role import HealthPort, default_role_id
    from zerofleet.fleet.signals import GracefulStop
    from zerofleet.infer.sockets import read_key, refuse_open_address

    key = read_key()
    refuse_open_address(host, key)
    address = address_for(run, redis)
    options = InferenceOptions(
        server_id=checked_name("inference", server_id or f"{default_role_id()}-inference"),
        key=key,
        host=host,
        port=port,
        advertised_host=advertise,
        game_source=game,
        evaluator=evaluator,
        device=device,
        max_batch_rows=max_batch_rows,
        max_wait_ms=max_wait_ms,
        drain_s=drain_seconds,
        health=HealthPort(health_host, health_port),
    )
    stop = GracefulStop()
    with stop.on_signals(lambda: None):
        serve(address, run, options, stop, lambda text: say(text, flush=True))
