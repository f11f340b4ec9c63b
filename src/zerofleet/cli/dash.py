"""zerofleet dash"""

from pathlib import Path
from typing import Annotated

import typer

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
) -> None:
    """Show all runs in a browser, and play there.

    Progress, games, ratings and the fleet of each run, and boards to play an agent on. It reads
    what training writes, and changes nothing but saved games. Ctrl-C ends it. On another machine:
    ssh -L 8080:127.0.0.1:8080 HOST, then open http://127.0.0.1:8080 here.

    Example: zerofleet dash --run c4
    """
    if run is not None:
        find(run)
    # Imported here: it needs the extra `web`.
    from zerofleet.web.server import Server

    server = Server(host, port, run, [absolute(each) for each in game or []])
    for line in server.lines():
        say(line)
    say(f"runs in {Path(runs_folder()).absolute()}; Ctrl-C ends", flush=True)
    server.run()
