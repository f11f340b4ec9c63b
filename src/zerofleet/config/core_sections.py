"""The sections of a run's config that the core declares.

Made by scripts/write-settings from cpp/search/options.h and cpp/selfplay/options.h.
"""

from typing import Annotated, Literal

from pydantic import Field

from zerofleet.config.section import Section


class SearchConfig(Section):
    """The full search of a move."""

    num_simulations: Annotated[int, Field(ge=1, le=4_294_967_294)] = 200
    """Simulations per search. Doubling them roughly doubles the cost of a game and improves its
    policy targets."""

    root: Literal["puct", "gumbel"] = "puct"
    """puct: PUCT at the root, as AlphaZero. gumbel: Gumbel AlphaZero with sequential halving, which
    improves the policy with few simulations but has no temperature and no tree reuse."""

    c_puct: Annotated[float, Field(ge=0, le=1_000_000)] = 0
    """PUCT exploration constant. Larger searches wider, smaller deeper. 0: the game's own
    constant."""

    fpu_reduction: Annotated[float, Field(ge=0, le=2)] = 0.2
    """First-play-urgency reduction: an unvisited action counts as its parent's value minus this
    times the square root of the visited prior mass. Larger searches deeper where priors are good
    and misses more where they are not; 0 visits every action early."""

    dirichlet_epsilon: Annotated[float, Field(ge=0, le=1)] = 0.25
    """Weight of the Dirichlet noise at the root (PUCT). More discovers what the network overlooks
    and spends visits on bad actions. 0: no noise."""

    dirichlet_alpha: Annotated[float, Field(ge=0, le=1_000_000)] = 0
    """Concentration of the Dirichlet noise; smaller puts it on fewer actions. 0: 10 / number of
    legal actions."""

    forced_playouts: Annotated[float, Field(ge=0, le=1_000_000)] = 2
    """Forced playouts (KataGo, PUCT): a visited root action gets at least sqrt(this * prior *
    visits) visits, with or without noise; policy-target pruning removes them from the target. More
    explores and costs visits. 0: off."""

    prove: bool = True
    """Prove wins and losses in the tree where nothing is hidden. Costs little; off only to measure
    the bare search."""

    opponent_nodes: Literal["pooled", "per_hand"] = "pooled"
    """The opponent's decision nodes where its hand is hidden. pooled: one node for all sampled
    hands, which gathers visits faster. per_hand: one node per hand, which tells hands apart."""

    max_considered: Annotated[int, Field(ge=0, le=65_535)] = 0
    """Gumbel: root actions that are considered. Fewer get more simulations each. 0: at least 16,
    and more where each still gets a visit per round of halving."""

    gumbel_scale: Annotated[float, Field(ge=0, le=1_000_000)] = 1
    """Gumbel: scale of the noise that samples the considered actions. More explores, less plays
    stronger games. 0: the best by prior."""

    gumbel_c_visit: Annotated[float, Field(ge=0, le=1_000_000)] = 50
    """Gumbel: a value moves the improved policy by (gumbel_c_visit + largest visit count) *
    gumbel_c_scale * value. Larger trusts the search over the network."""

    gumbel_c_scale: Annotated[float, Field(ge=0, le=1_000_000)] = 0.5
    """Gumbel: see gumbel_c_visit. Larger trusts the search over the network."""

    max_bytes: Annotated[int, Field(ge=1, le=1_099_511_627_776)] = 67_108_864
    """Memory of one tree; self-play has one tree per game. Less saves memory, but a full tree ends
    its search early."""


class CoreSelfPlayConfig(Section):
    """How self-play plays a game."""

    full_search_probability: Annotated[float, Field(gt=0, le=1)] = 1
    """Playout-cap randomisation (KataGo): probability that a move gets a full search, which
    explores and gives a policy target. The other moves get a fast search: less gives more games and
    value targets for the same work, and fewer policy targets."""

    fast_simulations: Annotated[int, Field(ge=1, le=4_294_967_294)] = 32
    """Simulations of a fast search. Fewer give more games, of weaker play."""

    afterstates: bool = False
    """Afterstate evaluation of whole turns instead of a search: one evaluation of each position in
    which the turn can end. Only where nothing is hidden; for games such as backgammon, where a turn
    is several decisions and a small search hardly sees its end. gumbel_c_visit and gumbel_c_scale
    set how sharply the policy prefers higher values, max_bytes bounds a turn; other search
    settings, full_search_probability, fast_simulations and cache_bytes have no effect."""

    temperature: Annotated[float, Field(ge=0, le=1_000_000)] = 1
    """Actions are sampled in proportion to visits ** (1 / temperature) (PUCT, afterstates). Higher
    plays more varied and weaker games. 0: the best action."""

    temperature_drop_move: Annotated[int, Field(ge=0, le=4_294_967_294)] = 30
    """Turns with a decision after which final_temperature holds; a turn is all that a player does
    before the opponent or chance acts. Later gives more varied and weaker games."""

    final_temperature: Annotated[float, Field(ge=0, le=1_000_000)] = 0
    """Temperature after temperature_drop_move turns. Lower plays stronger, so that results are
    better value targets. 0: the best action."""

    reuse_tree: bool = True
    """Keep the subtree of the action played (PUCT, nothing hidden). More visits for the same work,
    larger trees."""

    cache_bytes: Annotated[int, Field(ge=0, le=1_099_511_627_776)] = 268_435_456
    """Memory of the evaluation cache, shared by all games of a process and allocated as it fills.
    More pays where games share openings and the network is slow. 0: no cache, except for the
    opponent's priors where hands are hidden: per game, 512 bytes per simulation, at most 16 MiB."""
