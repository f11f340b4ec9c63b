"""The settings of a search, as keywords.

Made by scripts/write-settings from cpp/search/options.h and cpp/selfplay/options.h.
"""

from typing import Literal, TypedDict

RootName = Literal["puct", "gumbel"]
"""puct: PUCT at the root, as AlphaZero. gumbel: Gumbel AlphaZero with sequential halving, which
improves the policy with few simulations but has no temperature and no tree reuse."""

OpponentNodesName = Literal["pooled", "per_hand"]
"""The opponent's decision nodes where its hand is hidden. pooled: one node for all sampled hands,
which gathers visits faster. per_hand: one node per hand, which tells hands apart."""


class SearchSettings(TypedDict, total=False):
    """What can be set in an analysis besides its budget, root and seed. The defaults here do not
    explore; self-play has others."""

    c_puct: float
    """PUCT exploration constant. Larger searches wider, smaller deeper. 0: the game's own constant.
    Default: 0."""

    fpu_reduction: float
    """First-play-urgency reduction: an unvisited action counts as its parent's value minus this
    times the square root of the visited prior mass. Larger searches deeper where priors are good
    and misses more where they are not; 0 visits every action early. Default: 0."""

    dirichlet_epsilon: float
    """Weight of the Dirichlet noise at the root (PUCT). More discovers what the network overlooks
    and spends visits on bad actions. 0: no noise. Default: 0."""

    dirichlet_alpha: float
    """Concentration of the Dirichlet noise; smaller puts it on fewer actions. 0: 10 / number of
    legal actions. Default: 0."""

    forced_playouts: float
    """Forced playouts (KataGo, PUCT): a visited root action gets at least sqrt(this * prior *
    visits) visits, with or without noise; policy-target pruning removes them from the target. More
    explores and costs visits. 0: off. Default: 0."""

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
    stronger games. 0: the best by prior. Default: 0."""

    gumbel_c_visit: float
    """Gumbel: a value moves the improved policy by (gumbel_c_visit + largest visit count) *
    gumbel_c_scale * value. Larger trusts the search over the network. Default: 50."""

    gumbel_c_scale: float
    """Gumbel: see gumbel_c_visit. Larger trusts the search over the network. Default: 0.5."""

    max_leaves: int
    """Leaves of one search in flight at once, kept apart by virtual loss. More is faster with a
    callable evaluator and a little weaker per simulation. Default: 1."""

    max_bytes: int
    """Memory of one tree; self-play has one tree per game. Less saves memory, but a full tree ends
    its search early. Default: 1_073_741_824."""
