"""Endings of Beasty Bar: cost of the solver, errors of play against it, and what it gains.

    zerofleet bench solve beastybar times
    zerofleet bench solve beastybar decisions --games 100
    zerofleet bench solve beastybar match prove,solver prove --games 2000
    zerofleet bench solve beastybar match prove,solver prove --evaluator best
    zerofleet bench solve beastybar match prove,solver prove --sims 200 340

`times` compares the solver with plain full search, and counts how many endings a stored table would
know. `decisions` judges the shipped weights in the endings of their own games, which their policy
plays: by how much a decision lowers the exact value. `match` plays one kind of search against
another, same deals, seats swapped, at equal simulations or with a number for each. A search is
`prove`, `prove,solver`, or `bare`: without proofs. Times are of the process's CPUs.
"""

import argparse
import math
import shlex
import sys
import time
from collections import defaultdict
from pathlib import Path
from random import Random

import numpy as np

import zerofleet as zf
from zerofleet.arena.players import SearchText, load_evaluator
from zerofleet.arena.statistics import Z_95
from zerofleet.search import search_many

sys.path.insert(0, str(Path(__file__).parents[1]))
from recording import record

SEARCHES = {
    "bare": {"prove": False},
    "prove": {"prove": True},
    "prove,solver": {"prove": True, "use_endgame_solver": True},
}
SCORINGS = ("points", "animals")
SOLVER = zf.solve.BeastyBarSolver()


def interval(values):
    """Mean and half width of its 95 % interval."""
    values = np.asarray(values, float)
    return float(values.mean()), float(Z_95 * values.std(ddof=1) / math.sqrt(len(values)))


# ---- the solver alone


def endings_of_random_games(game, num_games, num_left, seed):
    """The position with so many cards left in both hands, of each game that comes to it."""
    random = Random(seed)
    for number in range(num_games):
        position = game.new_position(seed * 1_000_003 + number)
        while position.to_move != zf.OVER:
            if position.nothing_hidden and cards_left(position) == num_left:
                yield position
                break
            position.play(random.choice(position.legal_actions()))


def cards_left(position):
    return sum(len(hand) for hand in position.describe()["hands"])


def count_plain(position):
    """The reward to the player to move by playing everything out, and the positions seen."""
    player, best, num_seen = position.to_move, -1, 1
    for action in position.legal_actions():
        after = position.copy()
        after.play(action)
        if after.to_move == zf.OVER:
            reward, seen = after.rewards()[player], 1
        else:
            reward, seen = count_plain(after)
            reward *= 1 if after.to_move == player else -1
        best, num_seen = max(best, reward), num_seen + seen
    return best, num_seen


def essence(position):
    """What decides the value of an ending."""
    said = position.describe()
    lead = said["points"][0] - said["points"][1]
    hands = tuple(tuple(sorted(map(str, hand))) for hand in said["hands"])
    return tuple(map(str, said["queue"])), hands, lead, position.to_move


def measure_times(arguments):
    found = {}
    for scoring in SCORINGS:
        game = zf.games.get("beastybar", scoring=scoring)
        for num_left in (8, 6, 4):
            endings = list(endings_of_random_games(game, arguments.games, num_left, seed=1))
            micros, nodes = [], 0
            for ending in endings:
                solver = zf.solve.BeastyBarSolver()
                start = time.perf_counter()
                solver.score_to_move(ending)
                micros.append(1e6 * (time.perf_counter() - start))
                nodes += solver.num_nodes
            plain = [count_plain(ending)[1] for ending in endings[: arguments.plain]]
            per_plain = sum(plain) / len(plain)
            found[f"{scoring}, {num_left} cards"] = {
                "endings": len(endings),
                "median_us": round(float(np.median(micros)), 1),
                "p99_us": round(float(np.quantile(micros, 0.99)), 1),
                "positions_searched": round(nodes / len(endings), 1),
                "positions_of_plain_search": round(per_plain, 1),
                "plain_over_solver": round(per_plain * len(endings) / nodes, 1),
            }
            print(f"{scoring}, {num_left} cards: {found[f'{scoring}, {num_left} cards']}")
    game = zf.games.get("beastybar")
    stored = {essence(e) for e in endings_of_random_games(game, 10 * arguments.games, 8, seed=2)}
    asked = [essence(e) for e in endings_of_random_games(game, arguments.games, 8, seed=3)]
    found["stored table"] = {
        "endings_stored": len(stored),
        "asked": len(asked),
        "known": sum(each in stored for each in asked),
    }
    print(f"stored table: {found['stored table']}")
    return found


# ---- play with the shipped weights


class Side:
    """A kind of search, and the time it took."""

    def __init__(self, name, evaluator, num_simulations):
        self.name = name
        self.seconds, self.num_decisions = 0.0, 0
        self._evaluator, self._num_simulations = evaluator, num_simulations

    def choose(self, positions, seeds):
        start = time.process_time()
        settings = SEARCHES[self.name]
        results = search_many(positions, self._evaluator, self._num_simulations, seeds, **settings)
        self.seconds += time.process_time() - start
        self.num_decisions += len(positions)
        return [result.best_action for result in results]


class Policy:
    """Plays the likeliest action of a network."""

    def __init__(self, evaluator):
        self._evaluator = evaluator

    def choose(self, positions, seeds):
        rows_BN = np.stack([position.observe(position.to_move) for position in positions])
        logits_BA, _ = self._evaluator(rows_BN)
        return [
            max(position.legal_actions(), key=lambda action: logits_A[action])
            for position, logits_A in zip(positions, logits_BA, strict=True)
        ]


def play_games(game, sides_of_games, deals, see=None):
    """Plays games in lockstep, each with its two sides and its deal. Gives the rewards of player
    0."""
    positions = [game.new_position(deal) for deal in deals]
    ply = 0
    while any(position.to_move != zf.OVER for position in positions):
        by_side = defaultdict(list)
        for number, position in enumerate(positions):
            if position.to_move != zf.OVER:
                by_side[sides_of_games[number][position.to_move]].append(number)
        for side, numbers in by_side.items():
            seeds = [1000 * number + ply for number in numbers]
            chosen = side.choose([positions[number] for number in numbers], seeds)
            for number, action in zip(numbers, chosen, strict=True):
                if see is not None:
                    see(positions[number])
                positions[number].play(action)
        ply += 1
    return [position.rewards()[0] for position in positions]


def batches(total, size):
    return [(at, min(size, total - at)) for at in range(0, total, size)]


def shipped(game, device):
    return load_evaluator(game, SearchText.of("best"), device)


def measure_match(arguments):
    game = zf.games.get("beastybar")
    evaluator = "playout" if arguments.evaluator == "playout" else shipped(game, arguments.device)
    sims = arguments.sims if len(arguments.sims) == 2 else 2 * arguments.sims
    first, second = (
        Side(name, evaluator, each) for name, each in zip(arguments.sides, sims, strict=True)
    )
    scores = []
    for at, count in batches(arguments.games, arguments.at_once):
        seats = [((first, second), (second, first))[i % 2] for i in range(count)]
        deals = [10_000_000 + (at + i) // 2 for i in range(count)]
        rewards = play_games(game, seats, deals)
        to_first = [reward if i % 2 == 0 else -reward for i, reward in enumerate(rewards)]
        scores += [(a + b) / 4 + 0.5 for a, b in zip(to_first[::2], to_first[1::2], strict=True)]
        mean, half = interval(scores)
        print(f"{2 * len(scores)} games: {100 * mean:.2f} % ± {100 * half:.2f}", flush=True)
    return {
        "evaluator": arguments.evaluator,
        "sims": sims,
        "games": 2 * len(scores),
        "sides": arguments.sides,
        "score_of_first": round(mean, 4),
        "half_width_95": round(half, 4),
        "seconds_per_1000_decisions": [
            round(1000 * side.seconds / side.num_decisions, 3) for side in (first, second)
        ],
    }


def measure_decisions(arguments):
    """Each kind of player decides in all endings of games that the shipped weights play."""
    found = {}
    for scoring in SCORINGS:
        game = zf.games.get("beastybar", scoring=scoring)
        if zf.weights.find_best(game.name, game.options) is None:
            print(f"{scoring}: no shipped weights")
            continue
        evaluator = shipped(game, arguments.device)
        endings = []

        def see(position, endings=endings):
            if position.nothing_hidden and len(position.legal_actions()) > 1:
                endings.append(position.copy())

        side = Policy(evaluator)
        for at, count in batches(arguments.games, arguments.at_once):
            play_games(game, [(side, side)] * count, range(at, at + count), see)
        scores = [dict(SOLVER.score_actions(ending)) for ending in endings]
        signs = [{a: np.sign(score) for a, score in each.items()} for each in scores]
        deciding = [len(set(each.values())) > 1 for each in signs]
        seeds = list(range(len(endings)))
        choices = {"policy alone": side.choose(endings, seeds)}
        for name in SEARCHES:
            each = Side(name, evaluator, arguments.sims)
            choices[f"{name}, {arguments.sims} simulations"] = [
                action
                for at, count in batches(len(endings), arguments.at_once)
                for action in each.choose(endings[at : at + count], seeds[at : at + count])
            ]
        for name, chosen in choices.items():
            lost = [max(e.values()) - e[a] for e, a in zip(signs, chosen, strict=True)]
            mean, half = interval(lost)
            share, share_half = interval([each > 0 for each in lost])
            among, among_half = interval(
                [each > 0 for each, open_ in zip(lost, deciding, strict=True) if open_]
            )
            found[f"{scoring}, {name}"] = {
                "decisions": len(lost),
                "mean_loss": round(mean, 5),
                "mean_loss_half_width": round(half, 5),
                "share_that_lose": round(share, 5),
                "share_half_width": round(share_half, 5),
                "decisions_that_matter": sum(deciding),
                "share_that_lose_of_those": round(among, 5),
                "share_of_those_half_width": round(among_half, 5),
            }
            print(f"{scoring}, {name}: {found[f'{scoring}, {name}']}", flush=True)
    return found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    times, match, decisions = (verbs.add_parser(each) for each in ("times", "match", "decisions"))
    times.add_argument("--games", type=int, default=2000)
    times.add_argument("--plain", type=int, default=20, help="endings that plain search plays out")
    match.add_argument("sides", nargs=2, choices=SEARCHES)
    match.add_argument("--evaluator", choices=["playout", "best"], default="playout")
    match.add_argument("--sims", type=int, nargs="+", default=[200], help="of both, or of each")
    decisions.add_argument("--sims", type=int, default=200)
    for each in (match, decisions):
        each.add_argument("--games", type=int, default=1000)
        each.add_argument("--at-once", type=int, default=500)
        each.add_argument("--device", default="auto")
    for each in (times, match, decisions):
        each.add_argument("--no-record", action="store_true")
    arguments = parser.parse_args()
    if arguments.verb == "match" and len(arguments.sims) > 2:
        match.error("--sims takes one number, or one for each side")
    measure = {"times": measure_times, "match": measure_match, "decisions": measure_decisions}
    found = measure[arguments.verb](arguments)
    print(found)
    if not arguments.no_record:
        command = shlex.join(["zerofleet", "bench", "solve", "beastybar", *sys.argv[1:]])
        record(f"beastybar-endings-{arguments.verb}", command, found)


if __name__ == "__main__":
    main()
