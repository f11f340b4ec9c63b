"""The settings of self-play, as keywords.

Made by scripts/write-settings from cpp/search/options.h and cpp/selfplay/options.h.
"""

from typing import TypedDict

from zerofleet.search import OpponentNodesName, RootName


class SelfPlaySettings(TypedDict, total=False):
    """What can be set in self-play. The defaults are those of training, which explores."""

    num_simulations: int
    """Simulations per search. Doubling them roughly doubles the cost of a game and improves its
    policy targets. Default: 200."""

    root: RootName
    """puct: PUCT at the root, as AlphaZero. gumbel: Gumbel AlphaZero with sequential halving, which
    improves the policy with few simulations but has no temperature and no tree reuse. Default:
    "puct"."""

    c_puct: float
    """PUCT exploration constant. Larger searches wider, smaller deeper. 0: the game's own constant.
    Default: 0."""

    fpu_reduction: float
    """First-play-urgency reduction: an unvisited action counts as its parent's value minus this
    times the square root of the visited prior mass. Larger searches deeper where priors are good
    and misses more where they are not; 0 visits every action early. Default: 0.2."""

    dirichlet_epsilon: float
    """Weight of the Dirichlet noise at the root (PUCT). More discovers what the network overlooks
    and spends visits on bad actions. 0: no noise. Default: 0.25."""

    dirichlet_alpha: float
    """Concentration of the Dirichlet noise; smaller puts it on fewer actions. 0: 10 / number of
    legal actions. Default: 0."""

    forced_playouts: float
    """Forced playouts (KataGo, PUCT): a visited root action gets at least sqrt(this * prior *
    visits) visits, with or without noise; policy-target pruning removes them from the target. More
    explores and costs visits. 0: off. Default: 2."""

    prove: bool
    """Prove wins and losses in the tree where nothing is hidden. Costs little; off only to measure
    the bare search. Default: True."""

    opponent_nodes: OpponentNodesName
    """The opponent's decision nodes where its hand is hidden. pooled: one node for all sampled
    hands, which gathers visits faster. per_hand: one node per hand, which tells hands apart.
    Default: "pooled"."""

    max_considered: int
    """Gumbel: root actions that are considered. Fewer get more simulations each. 0: at least 16,
    and more where each still gets a visit per round of halving. Default: 0."""

    gumbel_scale: float
    """Gumbel: scale of the noise that samples the considered actions. More explores, less plays
    stronger games. 0: the best by prior. Default: 1."""

    gumbel_c_visit: float
    """Gumbel: a value moves the improved policy by (gumbel_c_visit + largest visit count) *
    gumbel_c_scale * value. Larger trusts the search over the network. Default: 50."""

    gumbel_c_scale: float
    """Gumbel: see gumbel_c_visit. Larger trusts the search over the network. Default: 0.5."""

    max_bytes: int
    """Memory of one tree; self-play has one tree per game. Less saves memory, but a full tree ends
    its search early. Default: 67_108_864."""

    full_search_probability: float
    """Playout-cap randomisation (KataGo): probability that a move gets a full search, which
    explores and gives a policy target. The other moves get a fast search: less gives more games and
    value targets for the same work, and fewer policy targets. Default: 1."""

    fast_simulations: int
    """Simulations of a fast search. Fewer give more games, of weaker play. Default: 32."""

    afterstates: bool
    """Afterstate evaluation of whole turns instead of a search: one evaluation of each position in
    which the turn can end. Only where nothing is hidden; for games such as backgammon, where a turn
    is several decisions and a small search hardly sees its end. gumbel_c_visit and gumbel_c_scale
    set how sharply the policy prefers higher values, max_bytes bounds a turn; other search
    settings, full_search_probability, fast_simulations and cache_bytes have no effect. Default:
    False."""

    temperature: float
    """Actions are sampled in proportion to visits ** (1 / temperature) (PUCT, afterstates). Higher
    plays more varied and weaker games. 0: the best action. Default: 1."""

    temperature_drop_move: int
    """Turns with a decision after which final_temperature holds; a turn is all that a player does
    before the opponent or chance acts. Later gives more varied and weaker games. Default: 30."""

    final_temperature: float
    """Temperature after temperature_drop_move turns. Lower plays stronger, so that results are
    better value targets. 0: the best action. Default: 0."""

    reuse_tree: bool
    """Keep the subtree of the action played (PUCT, nothing hidden). More visits for the same work,
    larger trees. Default: True."""

    cache_bytes: int
    """Memory of the evaluation cache, shared by all games of a process and allocated as it fills.
    More pays where games share openings and the network is slow. 0: no cache, except for the
    opponent's priors where hands are hidden: per game, 512 bytes per simulation, at most 16 MiB.
    Default: 268_435_456."""
