"""zerofleet episodes compare"""

import json
import math
from typing import Annotated

import typer

from zerofleet.arena.compare_games import Comparison
from zerofleet.arena.compare_games import compare as compare_games
from zerofleet.arena.statistics import Estimate
from zerofleet.arena.two_samples import NUM_PERMUTATIONS
from zerofleet.cli.arguments import GameOfFile, GameOptions
from zerofleet.cli.episode_sources import SOURCE_HELP, Where, no_games, reading
from zerofleet.cli.fleet_arguments import RedisUrl
from zerofleet.cli.fleet_bus import StreamRun
from zerofleet.cli.output import print_table
from zerofleet.config import MAX_SEED, game_text
from zerofleet.errors import Inconsistent
from zerofleet.printing import say
from zerofleet.runs import LoggedGame

ROUNDING = 1e-9
"""An interval that is narrower comes from equal values, which show no spread."""


def compare(
    first: Annotated[str, typer.Argument(metavar="A", help=SOURCE_HELP)],
    second: Annotated[str, typer.Argument(metavar="B", help="The same.")],
    last: Annotated[
        int, typer.Option(min=1, metavar="N", help="The newest N games of each.")
    ] = 2000,
    seed: Annotated[
        int, typer.Option(min=0, max=MAX_SEED, help="Seed of the permutation tests.")
    ] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    name: GameOfFile = None,
    option: GameOptions = None,
    run: StreamRun = None,
    redis: RedisUrl = None,
) -> None:
    """Test whether two sets of games differ.

    Measured per game: plies; the first player's score; the entropy of the policy targets, in nats;
    their surprise; value_bias, the root value minus the outcome in the mover's view; value_error,
    its mean square. Intervals are 95 %. p comes from a permutation test of Welch's t, with Holm's
    correction for the number of measures.

    Example: zerofleet episodes compare run:c4 run:c4-wide --last 500
    """
    sets: list[list[LoggedGame]] = []
    for source in (first, second):
        with reading(source, Where(name, option, run, redis)) as games:
            sets.append(games.newest(last))
            if not sets[-1]:
                raise no_games(games)
    ours, theirs = (games[0].game for games in sets)
    if ours != theirs:
        raise Inconsistent(
            f"{first} is of {game_text(ours.name, ours.options)}, {second} of "
            f"{game_text(theirs.name, theirs.options)}; only sets of one game can be compared"
        )
    found = compare_games(sets[0], sets[1], seed)
    if as_json:
        print(json.dumps(facts(found, (first, second))))
    else:
        print_comparison(found, (first, second))


def facts(found: Comparison, sources: tuple[str, str]) -> dict[str, object]:
    return {
        "sources": sources,
        "games": found.num_games,
        "results": found.results,
        "measures": {
            each.measure: {
                "first": bounds(each.first),
                "second": bounds(each.second),
                "difference": bounds(each.difference),
                "p": each.p,
                "p_corrected": each.p_corrected,
            }
            for each in found.contrasts
        },
        "verdict": found.verdict,
    }


def bounds(found: Estimate | None) -> list[float | None] | None:
    """Mean, low and high; the last two are null for a single game."""
    if found is None:
        return None
    return [each if math.isfinite(each) else None for each in (found.mean, found.low, found.high)]


def print_comparison(found: Comparison, sources: tuple[str, str]) -> None:
    for letter, source, results in zip("AB", sources, found.results, strict=True):
        counts = ", ".join(f"{result} {count}" for result, count in results.most_common())
        say(f"{letter}: {source}, {results.total()} games: {counts}")
    header = ("measure", "A", "B", "B - A", "95 % interval", "p")
    rows = [
        (
            each.measure,
            mean_text(each.first),
            mean_text(each.second),
            "" if each.difference is None else f"{each.difference.mean:+.3f}",
            "" if each.difference is None else interval_text(each.difference),
            "" if each.p_corrected is None else p_text(each.p_corrected),
        )
        for each in found.contrasts
    ]
    print_table(header, rows, numbers=header[1:])
    say(found.verdict)


def mean_text(found: Estimate | None) -> str:
    """The mean, and half the width of its interval where the values have one."""
    if found is None:
        return "none"
    half_width = (found.high - found.low) / 2
    has_interval = ROUNDING < half_width < math.inf
    return f"{found.mean:.3f} ±{half_width:.2g}" if has_interval else f"{found.mean:.3f}"


def interval_text(found: Estimate) -> str:
    return f"{found.low:+.3f} {found.high:+.3f}" if found.high - found.low > ROUNDING else ""


def p_text(p: float) -> str:
    least = 1 / (1 + NUM_PERMUTATIONS)
    return "<0.001" if p < 10 * least else f"{p:.3f}"
