"""The conformance check in a child process, so that a crash of the game's code ends only the child.

For custom games in C++, which may crash the process. The child writes a line of JSON per step to
stdout and, if it crashes, its place in the check to stderr. Output of the game's own code goes to
stderr too.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from tempfile import TemporaryFile

from zerofleet import _core
from zerofleet._core import CheckReport
from zerofleet.errors import Inconsistent, RulesFailed, ZerofleetError
from zerofleet.games.check import check
from zerofleet.games.registry import get

CHILD = f"import sys; from {__name__} import main; main(sys.argv[1])"


@dataclass(frozen=True)
class ChildReport:
    """The counts of a check, as in zerofleet.games.CheckReport."""

    num_games: int
    num_plies: int
    num_truncated: int
    num_resampling_tests: int
    longest: int


def check_named(
    name: str,
    options: Mapping[str, int | str],
    num_games: int,
    seed: int,
    on_progress: Callable[[int], None] = lambda num_games_done: None,
    max_s: float | None = None,
) -> ChildReport | CheckReport:
    """zerofleet.games.check of a game by name; a header is checked in a child process."""
    if name.endswith(".h"):
        return check_in_child(name, options, num_games, seed, on_progress, max_s)
    return check(get(name, **options), num_games, seed, on_progress, max_s)


def check_in_child(
    source: str,
    options: Mapping[str, int | str],
    num_games: int,
    seed: int,
    on_progress: Callable[[int], None],
    max_s: float | None,
) -> ChildReport:
    """Checks a game in a child process; RulesFailed names where it crashed."""
    asked = {
        "source": source,
        "options": dict(options),
        "num_games": num_games,
        "seed": seed,
        "max_s": max_s,
    }
    command = [sys.executable, "-c", CHILD, json.dumps(asked)]
    with (
        TemporaryFile("w+", errors="replace") as printed,  # an unread pipe would fill up
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=printed, text=True) as child,
    ):
        assert child.stdout is not None
        try:
            for line in child.stdout:
                said = json.loads(line)
                if "fault" in said:
                    raise Inconsistent(said["fault"])
                if "report" in said:
                    return ChildReport(**said["report"])
                on_progress(said["num_games"])
            status = child.wait()
        except BaseException:
            child.kill()
            raise
        printed.seek(0)
        errors = printed.read()
    if status >= 0:
        raise RulesFailed(f"{source}: its check exited with status {status}: {errors.strip()}")
    where = errors.rpartition("\n")[2] or "before the first game: "
    raise RulesFailed(
        f"{source}: {where}the game's own code crashed ({signal.Signals(-status).name}); "
        f"seed of the check: {seed}"
    )


def main(asked: str) -> None:
    """The child process."""
    wanted = json.loads(asked)
    output = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def say(**values: object) -> None:
        print(json.dumps(values), file=output, flush=True)

    _core.report_crashes()
    try:
        report = check(
            get(wanted["source"], **wanted["options"]),
            wanted["num_games"],
            wanted["seed"],
            lambda num_games: say(num_games=num_games),
            wanted["max_s"],
        )
    except ZerofleetError as error:
        say(fault=str(error))
    else:
        counts = {name: getattr(report, name) for name in ChildReport.__annotations__}
        say(report=asdict(ChildReport(**counts)))
