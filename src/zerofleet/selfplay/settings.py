"""The settings of self-play, as keywords.

The core knows their defaults (cpp/selfplay/options.h) and bounds (cpp/bind/settings.h).
"""

from zerofleet.search import RootName, SearchSettings


class SelfPlaySettings(SearchSettings, total=False):
    """What can be set in self-play: the settings of its search, and these."""

    num_simulations: int
    """Simulations of a full search. Doubling it roughly doubles the cost of a game."""

    root: RootName
    """puct, or gumbel for few simulations."""

    full_search_probability: float
    """Share of decisions that are searched fully and give a policy target. The others get a cheap
    search without exploration: more results to learn values from, for the same work."""

    fast_simulations: int
    """Simulations of a cheap search."""

    afterstates: bool
    """Weigh every end of a turn instead of searching; only where nothing is hidden. What is set for
    searches then does not count, but for gumbel_c_visit, gumbel_c_scale and max_bytes."""

    temperature: float
    """Actions are drawn in proportion to visits ** (1 / temperature) (PUCT, whole turns). Higher
    plays more varied and weaker games."""

    final_temperature: float
    """The temperature after temperature_drop_move decisions. 0 plays the best action."""

    temperature_drop_move: int
    """Decisions of a game after which final_temperature holds."""

    reuse_tree: bool
    """Keep the part of the tree that was played into (PUCT, nothing hidden)."""

    cache_bytes: int
    """Memory for remembered evaluations, shared by all games. 0 remembers none."""
