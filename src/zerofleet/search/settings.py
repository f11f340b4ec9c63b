"""The settings of a search, as keywords.

The core knows their defaults (cpp/search/options.h) and bounds (cpp/bind/settings.h).
"""

from typing import Literal, TypedDict

CoreEvaluatorName = Literal["uniform", "hash", "playout"]
"""Evaluators of the core: equal priors and value 0; arithmetic on a hash, for tests; playouts."""

RootName = Literal["puct", "gumbel"]
"""How the root selects: PUCT as in AlphaZero, or Gumbel with sequential halving."""


class SearchSettings(TypedDict, total=False):
    """What can be set in a search besides its number of simulations, root and seed."""

    c_puct: float
    """Weight of the prior against the values found. Larger looks wider, smaller deeper. 0: what
    suits the game."""

    fpu_reduction: float
    """How much worse than its parent an action not yet tried is thought to be. Here 0: everything
    is tried early. Self-play has 0.2, which looks deeper where priors are good."""

    dirichlet_epsilon: float
    """Share of noise in the root's priors (PUCT). 0 for play at full strength."""

    dirichlet_alpha: float
    """Concentration of that noise; smaller is more peaked. 0: 10 / number of legal actions."""

    forced_playouts: float
    """Visits that an action tried at the root is owed (PUCT), noise or not. 0 is off, for play at
    full strength."""

    prove: bool
    """Prove wins and losses where nothing is hidden. Costs little."""

    opponent_nodes: Literal["pooled", "per_hand"]
    """How an opponent's decision is remembered where its hand is hidden."""

    max_considered: int
    """Gumbel: root actions that get a look. 0: as many as the simulations can tell apart."""

    gumbel_scale: float
    """Gumbel: noise that draws the candidates. Here 0: the best by prior, for play at full
    strength. Self-play has 1."""

    gumbel_c_visit: float
    """Gumbel: with gumbel_c_scale, how strongly the values found move the policy."""

    gumbel_c_scale: float
    """Gumbel: see gumbel_c_visit."""

    max_leaves: int
    """Leaves that a callable evaluator gets at once. More is faster and a little weaker per
    simulation."""

    max_bytes: int
    """Memory of the tree. When it is reached the search ends early and says so."""
