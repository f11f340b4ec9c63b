"""The number of simulations of a whole game, which converts simulations/s to games/s.

A game takes minutes, so few end in a short measurement, and games that start together decide
together: decisions/s fluctuate. Simulations run at a steady throughput, and a decision takes the
same number of them whatever the network and the cache answer:

    games/s = simulations/s / simulations of a whole game

Leaves are no such unit: Beasty Bar takes 1.0 to 1.8 inferences per simulation, depending on the
network and on how many games share the cache. The length of a game is the mean over games with the
uniform evaluator, which an untrained network resembles.
"""

import os
from dataclasses import dataclass

import zerofleet as zf
from zerofleet import _core

SEARCH_THREADS = max(1, (os.cpu_count() or 1) - 1)
GAMES_OF_A_THREAD = 64


@dataclass(frozen=True)
class GameSize:
    """Means per game. Leaves are those of the uniform evaluator."""

    decisions: float
    simulations: float
    leaves: float

    @property
    def simulations_of_a_decision(self):
        return self.simulations / self.decisions

    def stages(self, spread_share, simulations_of_each_game):
        """How evenly the measurement covers the stages of games, with a caution if it does not."""
        decisions = simulations_of_each_game / self.simulations_of_a_decision
        return {
            "spread_share": spread_share,
            "decisions_of_each_game": decisions,
            **caution(spread_share, decisions),
        }


def decisions_in(episode):
    return [event for event in episode.events if event.kind in ("full", "fast")]


def size_of_a_game(game, settings):
    """From the first game of each slot; the first games to end would be the short ones."""
    num_games = GAMES_OF_A_THREAD * SEARCH_THREADS
    driver = _core.SelfPlay(
        game, settings, SEARCH_THREADS, GAMES_OF_A_THREAD, SEARCH_THREADS, "uniform", 1, 0
    )
    decided = []
    while len(decided) < num_games:
        driver.wait_for_episodes(1, 1.0)
        episodes = map(zf.games.Episode.decode, driver.take_episodes())
        decided += [decisions_in(each) for each in episodes if each.sequence < num_games]
    counts = driver.counts()
    driver.stop()
    simulations = sum(event.num_simulations for events in decided for event in events) / num_games
    return GameSize(
        decisions=sum(map(len, decided)) / num_games,
        simulations=simulations,
        leaves=simulations * counts.num_leaves / counts.num_simulations,
    )


def caution(spread_share, decisions_of_each_game):
    """Why the figures of a measurement may be biased; empty if nothing suggests it."""
    doubts = []
    if spread_share < 1:
        doubts.append(f"games reached only {spread_share:.0%} of an even spread over stages")
    if decisions_of_each_game < 1:
        doubts.append(f"each game made only {decisions_of_each_game:.2g} decisions")
    return {"caution": "; ".join(doubts)} if doubts else {}
