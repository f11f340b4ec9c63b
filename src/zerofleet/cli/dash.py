"""zerofleet dash"""

from pathlib import Path
from typing import Annotated

import typer

from zerofleet.errors import BadText
from zerofleet.games import absolute
from zerofleet.printing import say
from zerofleet.runs.folder import find, runs_folder


def dash(
    run: Annotated[
        str | None,
        typer.Option("--run", metavar="NAME", help="The run to show first. Default: the list."),
    ] = None,
    port: Annotated[
        int,
        typer.Option(min=0, max=65535, help="Port; if it is taken, the next free one. 0: any."),
    ] = 8080,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Address to listen at. Default: loopback only. Any other demands a token: "
            "ZEROFLEET_DASH_TOKEN, or the file ZEROFLEET_DASH_TOKEN_FILE, else a drawn one.",
        ),
    ] = "127.0.0.1",
    game: Annotated[
        list[str] | None,
        typer.Option(
            "--game",
            metavar="FILE",
            help="A custom game to show and play, file.py:Class or file.h; its code runs. May be "
            "repeated.",
        ),
    ] = None,
    lend: Annotated[
        bool,
        typer.Option(
            "--lend",
            help="Let browsers play games for the run named by --run, which a trainer of a fleet "
            "trains (REDIS_URL, or the Redis of zerofleet fleet local). The pages /lend and "
            "/community are then open to everybody who reaches the server; all others need its "
            "token. See docs/12-lending.md.",
        ),
    ] = False,
    public_url: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="With --lend: where a proxy with TLS on this machine serves it, such as "
            "https://lend.example.org. Clients are then told apart by the proxy's "
            "X-Forwarded-For.",
        ),
    ] = "",
) -> None:
    """Show all runs in a browser, and play there.

    Progress, games, ratings and the fleet of each run, and boards to play an agent on. It reads
    what training writes, and changes nothing but saved games. Ctrl-C ends it. On another machine:
    ssh -L 8080:127.0.0.1:8080 HOST, then open http://127.0.0.1:8080 here.

    Example: zerofleet dash --run c4

    Example: zerofleet dash --run c4 --lend --public-url https://lend.example.org
    """
    if lend and run is None:
        raise BadText("--lend needs the run that browsers play for: --run NAME")
    if public_url and not lend:
        raise BadText("--public-url is for --lend")
    if run is not None and not lend:  # a gateway's machine need not have the run's folder
        find(run)
    # Imported here: they need the extra `web`.
    from zerofleet.web.lend.lending import Lending
    from zerofleet.web.server import Server

    lending = Lending(run, lambda text: say(text, flush=True)) if lend and run else None
    sources = [absolute(each) for each in game or []]
    server = Server(host, port, run, sources, lending=lending, public_url=public_url)
    for line in server.lines():
        say(line)
    say(f"runs in {Path(runs_folder()).absolute()}; Ctrl-C ends", flush=True)
    server.run()
