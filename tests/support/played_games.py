"""Episodes of real games, played quickly."""

from functools import cache

import zerofleet as zf


@cache
def played(name, num_episodes, worker=0, options=(), **settings):
    """A game and so many episodes of it, played quickly; ids are (worker, 0…)."""
    game = zf.games.get(name, **dict(options))
    data = zf.selfplay.play(
        game,
        "hash",
        num_episodes=num_episodes,
        num_threads=0,
        worker=worker,
        **({"num_simulations": 4} | settings),
    )
    return game, [zf.games.Episode.decode(each) for each in data]
