// Settings of a search, and what each one trades.
#pragma once

#include <cstdint>

namespace zf {

enum class RootKind : uint8_t { puct, gumbel };

// How an opponent's decision is remembered where its hand is hidden: one set of statistics for all
// hands drawn for it, or one for each.
enum class OpponentNodes : uint8_t { pooled, per_hand };

struct SearchOptions {
    // Simulations per search. Doubling it roughly doubles the cost of a move.
    uint32_t num_simulations = 200;
    RootKind root = RootKind::puct;
    // Weight of the prior against the values found. Larger looks wider, smaller deeper. 0: what the
    // game's facts say.
    float c_puct = 0;
    // How much worse than its parent an action not yet tried is thought to be, times the square
    // root of the prior share already tried. 0 tries everything early.
    float fpu_reduction = 0.2f;
    // Share of Dirichlet noise mixed into the root's priors (PUCT). 0 for play at full strength.
    float dirichlet_epsilon = 0;
    // Concentration of that noise; smaller is more peaked. 0: 10 divided by the number of legal
    // actions.
    float dirichlet_alpha = 0;
    // Root actions that were tried get at least sqrt(this * prior * simulations) visits (PUCT), so
    // that what noise has raised is really looked at; the policy target takes away what only this
    // caused. It is done without noise too. 0 is off.
    float forced_playouts = 0;
    // Prove wins and losses where nothing is hidden. Costs little; off only to test the search
    // bare.
    bool prove = true;
    OpponentNodes opponent_nodes = OpponentNodes::pooled;
    // Gumbel: root actions that get a look, 0 for as many as the simulations can tell apart.
    uint32_t max_considered = 0;
    // Gumbel: scale of the noise that draws candidates; 0 takes the best by prior.
    float gumbel_scale = 1;
    // Gumbel: how strongly values found move the policy: (c_visit + most visits) * c_scale * value.
    float gumbel_c_visit = 50;
    float gumbel_c_scale = 0.5f;
    // Leaves of this search that may be out for evaluation at once, kept apart by virtual loss.
    // More is faster for one position and a little weaker per simulation.
    uint32_t max_leaves = 1;
    // Memory of the tree. When it is reached the tree stops growing: the search ends early and says
    // so.
    uint64_t max_bytes = 1ULL << 30;
};

}  // namespace zf
