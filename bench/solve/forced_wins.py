"""Forced wins of Gomoku 15x15 that a search finds without the solver.

    zerofleet bench solve forced_wins --positions 320 --simulations 400

Two sets of positions in which the player to move wins by threats: those of tests/oracles, and one
position of each of many games between the shipped weights' policy and `heuristic`, drawn with a
fixed seed among those where the threat search proves a win of at least `--least-plies` plies. So a
five or an open four in one is not among them. Positions that the oracle has, or that occur twice,
are left out.

A move counts as found if it keeps the win: it is one of the oracle's `win_moves`, or the threat
search proves a win after every legal reply. A move whose win is not proven counts as missed, so the
score is a lower bound.
"""

import argparse
import json
import shlex
import sys
from collections import Counter
from pathlib import Path
from random import Random

from gomoku import FORCED_WINS, forced_wins

import zerofleet as zf

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "strength"))
from perfect_moves import share
from recording import record

FIND_NODES = 20_000
"""Of the threat search, in looking for positions."""
JUDGE_NODES = 100_000
"""Of the threat search after each reply, in judging moves."""
BATCH = 40
"""Positions that are searched concurrently."""


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--positions", type=int, default=320, help="from games")
    parser.add_argument("--least-plies", type=int, default=5, help="of the line that is found")
    parser.add_argument("--simulations", type=int, nargs="+", default=[400], help="0: policy alone")
    parser.add_argument("--player", default="best", help="with ,sims=N of --simulations after it")
    parser.add_argument("--seed", type=int, default=2201)
    parser.add_argument("--no-record", action="store_true")
    arguments = parser.parse_args()
    game = zf.games.get("gomoku")
    sets = {
        "oracle": oracle_cases(),
        "games": game_cases(game, arguments.positions, arguments.least_plies, arguments.seed),
    }
    for name, cases in sets.items():
        lengths = sorted(Counter(len(line) for _, line, _ in cases).items())
        print(f"{name}: {len(cases)} positions; plies of the line: ", end="")
        print(", ".join(f"{count} of {plies}" for plies, count in lengths), flush=True)
    found = {}
    for simulations in arguments.simulations:
        with zf.arena.player(game, f"{arguments.player},sims={simulations}") as player:
            found[simulations] = {
                name: measured(player, cases, f"{name}, {simulations} simulations")
                for name, cases in sets.items()
            }
    if not arguments.no_record:
        command = shlex.join(["zerofleet", "bench", "solve", "forced_wins", *sys.argv[1:]])
        record("forced-wins", command, {"player": arguments.player, "by_simulations": found})


def oracle_cases():
    """Position, line of the threat search and known winning moves of each case of the oracle."""
    entries = [json.loads(line) for line in FORCED_WINS.read_text().splitlines()]
    cases = []
    for position, entry in zip(forced_wins(), entries, strict=True):
        moves = {15 * row + column for column, row in entry["win_moves"]}
        cases.append((position, zf.solve.threats(position), moves))
    return cases


def game_cases(game, count, least_plies, seed):
    """The same of games, one position each."""
    random, cases = Random(seed), []
    known = {position.to_text() for position in forced_wins()}
    while len(cases) < count:
        played = zf.arena.match(game, "best,sims=0", "heuristic", 100, random.getrandbits(31))
        for episode in played.episodes:
            drawn = drawn_win(zf.games.Episode.decode(episode).positions(game), least_plies, random)
            if drawn and drawn[0].to_text() not in known and len(cases) < count:
                known.add(drawn[0].to_text())
                cases.append((*drawn, {drawn[1][0]}))
    return cases


def drawn_win(positions, least_plies, random):
    """A position of a game that is won by a long enough line, and the line."""
    for position in random.sample(positions[:-1], len(positions) - 1):
        line = zf.solve.threats(position, FIND_NODES)
        if line is None or len(line) < least_plies:
            continue
        if not zf.solve.verify_threats(position, line):
            sys.exit(f"a line that the verifier refuses: {position.to_text()}")
        return position, line
    return None


def measured(player, cases, title):
    """How often the player's move keeps the win: over all, and by the length of the line."""
    kept_by_plies, missed = {}, []
    for at in range(0, len(cases), BATCH):
        batch = cases[at : at + BATCH]
        chosen = player.choose_many([case[0] for case in batch], [1] * len(batch))
        for (position, line, moves), action in zip(batch, chosen, strict=True):
            kept = action in moves or keeps_win(position, action)
            kept_by_plies.setdefault(len(line), []).append(kept)
            if not kept:
                missed.append({"position": position.to_text(), "played": action, "line": line})
    kept = [each for group in kept_by_plies.values() for each in group]
    total = share(sum(kept), len(kept))
    print(f"{title}: {sum(kept)} of {len(kept)}, ", end="")
    print(f"{total['score']:.1%} ({total['low']:.1%} to {total['high']:.1%})", flush=True)
    return {
        "positions": len(kept),
        **total,
        "by_plies": {
            plies: {"positions": len(group), "kept": sum(group)}
            for plies, group in sorted(kept_by_plies.items())
        },
        "missed": missed,
    }


def keeps_win(position, action):
    """Whether the threat search proves a win after this action and every reply to it."""
    after = position.copy()
    after.play(action)
    if after.to_move == zf.OVER:
        return after.rewards()[position.to_move] == 1
    for reply in after.legal_actions():
        answered = after.copy()
        answered.play(reply)
        if answered.to_move == zf.OVER or zf.solve.threats(answered, JUDGE_NODES) is None:
            return False
    return True


if __name__ == "__main__":
    main()
