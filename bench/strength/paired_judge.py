"""Compares backgammon players by their equity loss on the same decisions, as GnuBG judges them.

    .venv/bin/python bench/strength/paired_judge.py best,greedy run:new,greedy --decisions 1000

Positions come from games of `--games-of` against itself, a few per game, so that no compared player
chose them. Errors are on the usual scale (500 * mean equity loss); each player is also compared
with all named before it. Intervals are clustered by game. Writes bench/results/judge-DATE.json.
"""

import argparse
import math
import os
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from queue import SimpleQueue

import zerofleet as zf
from zerofleet.arena import judge
from zerofleet.arena.gnubg import Gnubg
from zerofleet.arena.pairs import PairedGame, ask
from zerofleet.arena.statistics import Z_95
from zerofleet.arena.turns import Turn

sys.path.insert(0, str(Path(__file__).parents[1]))
from recording import record

PER_GAME = 5
"""Decisions per game: few, since those of one game are correlated."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("players", nargs="+", help="as `zerofleet judge` takes them")
    parser.add_argument("--decisions", type=int, default=1000)
    parser.add_argument("--plies", type=int, default=2)
    parser.add_argument("--games-of", default="gnubg-0", help="the player of the games")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    decisions = drawn_decisions(given.games_of, given.decisions, given.seed)
    chosen = {}
    for name in given.players:
        with zf.arena.player("backgammon", name) as player:
            turns = turns_of(player, [decision.position for decision in decisions], given.seed)
        chosen[name] = [
            judge.Decision(decision.game_number, decision.position, turn)
            for decision, turn in zip(decisions, turns, strict=True)
        ]
    losses = {name: [] for name in given.players}
    for lost in all_losses(chosen, given.plies):
        for name, loss in zip(given.players, lost, strict=True):
            losses[name].append(judge.EQUITY_SCALE * loss)
    game_numbers = [decision.game_number for decision in decisions]
    found = {}
    for name in given.players:
        found[name] = {"error": clustered(losses[name], game_numbers)} | {
            f"less {other}": clustered(
                [a - b for a, b in zip(losses[name], losses[other], strict=True)], game_numbers
            )
            for other in found
        }
        print(name, found[name])
    record(
        "judge",
        f"bench/strength/paired_judge.py {' '.join(sys.argv[1:])}",
        {"games_of": given.games_of, "plies": given.plies, "decisions": len(decisions)}
        | {"games": len(set(game_numbers)), "found": found},
    )


def drawn_decisions(games_of, num_decisions, seed):
    """Turns with a choice, from games of a player against itself."""
    game = zf.games.get("backgammon")
    num_games = math.ceil(num_decisions / PER_GAME)
    games = [PairedGame(game, seed, number, 0, []) for number in range(num_games)]
    with zf.arena.player("backgammon", games_of) as player:
        while in_flight := [each for each in games if each.in_progress]:
            ask(player, in_flight)
    draw = random.Random(seed)
    found = []
    for each in games:
        of_game = judge.decisions_of(game, each.pair, each.ids)
        found += draw.sample(of_game, min(PER_GAME, len(of_game)))
    return found[:num_decisions]


def turns_of(player, positions, seed):
    """The turn that the player chooses in each position."""
    seeds = random.Random(seed)
    after = [position.copy() for position in positions]
    actions = [[] for _ in positions]
    while True:
        open_ = [i for i, start in enumerate(positions) if after[i].to_move == start.to_move]
        if not open_:
            return [Turn(tuple(a), end) for a, end in zip(actions, after, strict=True)]
        draws = [seeds.randrange(2**31) for _ in open_]
        asked = player.choose_many([after[i].copy() for i in open_], draws)
        for i, action in zip(open_, asked, strict=True):
            actions[i].append(action)
            after[i].play(action)


def all_losses(chosen, plies):
    """For each decision the losses of all players, in order."""
    num_processes = len(os.sched_getaffinity(0))
    with ExitStack() as opened:
        free = SimpleQueue()
        for _ in range(num_processes):
            free.put(opened.enter_context(closing(Gnubg(plies))))

        def losses_of(decisions):
            gnubg = free.get()
            try:
                # Turns that end alike are judged once.
                by_end = {decision.chosen.after.to_text(): decision for decision in decisions}
                lost = {
                    end: judge.judge_decision(gnubg, decision).equity_lost
                    for end, decision in by_end.items()
                }
                return [lost[decision.chosen.after.to_text()] for decision in decisions]
            finally:
                free.put(gnubg)

        with ThreadPoolExecutor(num_processes) as threads:
            yield from threads.map(losses_of, zip(*chosen.values(), strict=True))


def clustered(values, game_numbers):
    """The mean with its 95 % interval, clustered by game."""
    mean = sum(values) / len(values)
    sums = {}
    for value, number in zip(values, game_numbers, strict=True):
        sums[number] = sums.get(number, 0.0) + value - mean
    variance = sum(each**2 for each in sums.values()) * len(sums) / max(len(sums) - 1, 1)
    half_width = Z_95 * math.sqrt(variance) / len(values)
    return {"mean": mean, "low": mean - half_width, "high": mean + half_width}


if __name__ == "__main__":
    main()
