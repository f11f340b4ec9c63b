"""Episodes of real games, played quickly."""

from functools import cache

import zerofleet as zf
from zerofleet.replay.segment import Entry


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


def entries(episodes, num_rows, sender=None):
    """The episodes as a log takes them; with a sender, its spool numbers are 0…"""
    return [
        Entry(
            episode.encode(),
            episode.worker,
            episode.sequence,
            count,
            max((event.version for event in episode.events), default=0),
            *(() if sender is None else (number, sender.worker)),
        )
        for number, (episode, count) in enumerate(zip(episodes, num_rows, strict=True))
    ]
