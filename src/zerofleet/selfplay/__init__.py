"""Self-play: many concurrent games, each yielded as an encoded episode.

for episode in zf.selfplay.play(zf.games.get("connect4"), num_episodes=100):
    print(zf.games.Episode.decode(episode).outcome_first_player)
"""

from zerofleet.selfplay.play import play
from zerofleet.selfplay.settings import SelfPlaySettings

__all__ = ["SelfPlaySettings", "play"]
