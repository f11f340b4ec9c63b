"""How much search a whole game is, so that games/s can be told from simulations a second.

Games take minutes, so in a short window few of them end, and those that began together decide
together: decisions a second depend on the moment. Simulations go on all the time, and a decision
takes the same number of them whatever the network answers and the cache remembers:

    games/s = simulations/s / simulations of a whole game

Leaves would not do: for one simulation of Beasty Bar networks were asked 1.0 to 1.8 times,
depending on what they answer and how many games share the cache. What is not the network's own is
the length of a game: it is the mean of games with an even-handed evaluator, which a fresh network
resembles.
"""

import os
from dataclasses import dataclass

import zerofleet as zf
from zerofleet import _core

SEARCH_THREADS = max(1, (os.cpu_count() or 1) - 1)
GAMES_OF_A_THREAD = 64


@dataclass(frozen=True)
class GameSize:
    """Means of one game. Its leaves are those of the even-handed evaluator."""

    decisions: float
    simulations: float
    leaves: float

    @property
    def simulations_of_a_decision(self):
        return self.simulations / self.decisions

    def stages(self, spread_share, simulations_of_each_game):
        """How evenly a window has all stages of games, with a caution where that is doubtful."""
        decisions = simulations_of_each_game / self.simulations_of_a_decision
        return {
            "spread_share": spread_share,
            "decisions_of_each_game": decisions,
            **caution(spread_share, decisions),
        }


def decisions_in(episode):
    return [event for event in episode.events if event.kind in ("full", "fast")]


def size_of_a_game(game, settings):
    """By the first game of each place, however long: the first to end would be the short ones."""
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
    """What to think of before figures of a window are believed; nothing where it is sound."""
    doubts = []
    if spread_share < 1:
        doubts.append(f"games came only {spread_share:.0%} of the way to evenly spread stages")
    if decisions_of_each_game < 1:
        doubts.append(f"each game made only {decisions_of_each_game:.2g} decisions")
    return {"caution": "; ".join(doubts)} if doubts else {}
