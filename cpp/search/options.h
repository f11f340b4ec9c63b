// The settings of a search: each with its default, bounds and trade-off. This is their only
// declaration; scripts/write-settings generates Python's types, the sections of a run's config and
// docs/settings.md from it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

namespace zf {

enum class RootKind : uint8_t { puct, gumbel };
inline constexpr std::string_view kRootNames[] = {"puct", "gumbel"};

enum class OpponentNodes : uint8_t { pooled, per_hand };
inline constexpr std::string_view kOpponentNodesNames[] = {"pooled", "per_hand"};

// The defaults are those of self-play, which explores. kSearchSettings documents each.
struct SearchOptions {
    uint32_t num_simulations = 200;
    RootKind root = RootKind::puct;
    float c_puct = 0;
    float fpu_reduction = 0.2f;
    float dirichlet_epsilon = 0.25f;
    float dirichlet_alpha = 0;
    float forced_playouts = 2;
    bool prove = true;
    bool use_endgame_solver = false;
    OpponentNodes opponent_nodes = OpponentNodes::pooled;
    uint32_t max_considered = 0;
    float gumbel_scale = 1;
    float gumbel_c_visit = 50;
    float gumbel_c_scale = 0.5f;
    uint32_t max_leaves = 1;
    uint64_t max_bytes = 1 << 26;
};

// The same search without exploration.
constexpr SearchOptions without_exploration(SearchOptions options) {
    options.dirichlet_epsilon = 0;
    options.forced_playouts = 0;
    options.gumbel_scale = 0;
    return options;
}

// For analysis, matches and ratings: no exploration noise; every action is visited early, so that
// no win hides behind a small prior; one tree may use the memory that self-play has for sixteen.
constexpr SearchOptions analysis_options() {
    SearchOptions options = without_exploration({});
    options.fpu_reduction = 0;
    options.max_bytes = 1 << 30;
    return options;
}

// One member of an options struct: its name, bounds and trade-off.
template <class Options>
struct Setting {
    std::string_view name = {};
    std::variant<float Options::*, uint32_t Options::*, uint64_t Options::*, bool Options::*,
                 RootKind Options::*, OpponentNodes Options::*>
        field = static_cast<bool Options::*>(nullptr);
    double min = 0, max = 0;                         // of a number
    bool exclusive_min = false;                      // then `min` itself is refused
    std::span<const std::string_view> choices = {};  // of an enumeration: its values' names
    bool selfplay = true;                            // whether self-play reads it
    std::string_view doc = {};
};

inline constexpr double kMaxCount = 4294967294.0;  // UINT32_MAX is no count
inline constexpr double kMaxBytes = 0x1p40;
inline constexpr double kMaxWeight = 1e6;

inline constexpr Setting<SearchOptions> kSearchSettings[] = {
    {.name = "num_simulations",
     .field = &SearchOptions::num_simulations,
     .min = 1,
     .max = kMaxCount,
     .doc = "Simulations per search. Doubling them roughly doubles the cost of a game and improves "
            "its policy targets."},
    {.name = "root",
     .field = &SearchOptions::root,
     .choices = kRootNames,
     .doc =
         "puct: PUCT at the root, as AlphaZero. gumbel: Gumbel AlphaZero with sequential halving, "
         "which improves the policy with few simulations but has no temperature and no tree "
         "reuse."},
    {.name = "c_puct",
     .field = &SearchOptions::c_puct,
     .min = 0,
     .max = kMaxWeight,
     .doc = "PUCT exploration constant. Larger searches wider, smaller deeper. 0: the game's own "
            "constant."},
    {.name = "fpu_reduction",
     .field = &SearchOptions::fpu_reduction,
     .min = 0,
     .max = 2,
     .doc = "First-play-urgency reduction: an unvisited action counts as its parent's value minus "
            "this times the square root of the visited prior mass. Larger searches deeper where "
            "priors are good and misses more where they are not; 0 visits every action early."},
    {.name = "dirichlet_epsilon",
     .field = &SearchOptions::dirichlet_epsilon,
     .min = 0,
     .max = 1,
     .doc = "Weight of the Dirichlet noise at the root (PUCT). More discovers what the network "
            "overlooks and spends visits on bad actions. 0: no noise."},
    {.name = "dirichlet_alpha",
     .field = &SearchOptions::dirichlet_alpha,
     .min = 0,
     .max = kMaxWeight,
     .doc =
         "Concentration of the Dirichlet noise; smaller puts it on fewer actions. 0: 10 / number "
         "of legal actions."},
    {.name = "forced_playouts",
     .field = &SearchOptions::forced_playouts,
     .min = 0,
     .max = kMaxWeight,
     .doc =
         "Forced playouts (KataGo, PUCT): a visited root action gets at least sqrt(this * prior * "
         "visits) visits, with or without noise; policy-target pruning removes them from the "
         "target. More explores and costs visits. 0: off."},
    {.name = "prove",
     .field = &SearchOptions::prove,
     .doc = "Prove wins and losses in the tree where nothing is hidden. Costs little; off only to "
            "measure the bare search."},
    {.name = "use_endgame_solver",
     .field = &SearchOptions::use_endgame_solver,
     .selfplay = false,
     .doc = "Ask the game's solver for proofs, at the root and at new leaves: threat search and "
            "endgames of Gomoku, endings of other games. Stronger in sharp positions and slower "
            "per simulation. Needs `prove` and a game that has a solver. Training never reads it."},
    {.name = "opponent_nodes",
     .field = &SearchOptions::opponent_nodes,
     .choices = kOpponentNodesNames,
     .doc =
         "The opponent's decision nodes where its hand is hidden. pooled: one node for all sampled "
         "hands, which gathers visits faster. per_hand: one node per hand, which tells hands "
         "apart."},
    {.name = "max_considered",
     .field = &SearchOptions::max_considered,
     .min = 0,
     .max = 65535,
     .doc =
         "Gumbel: root actions that are considered. Fewer get more simulations each. 0: at least "
         "16, and more where each still gets a visit per round of halving."},
    {.name = "gumbel_scale",
     .field = &SearchOptions::gumbel_scale,
     .min = 0,
     .max = kMaxWeight,
     .doc = "Gumbel: scale of the noise that samples the considered actions. More explores, less "
            "plays stronger games. 0: the best by prior."},
    {.name = "gumbel_c_visit",
     .field = &SearchOptions::gumbel_c_visit,
     .min = 0,
     .max = kMaxWeight,
     .doc = "Gumbel: a value moves the improved policy by (gumbel_c_visit + largest visit count) * "
            "gumbel_c_scale * value. Larger trusts the search over the network."},
    {.name = "gumbel_c_scale",
     .field = &SearchOptions::gumbel_c_scale,
     .min = 0,
     .max = kMaxWeight,
     .doc = "Gumbel: see gumbel_c_visit. Larger trusts the search over the network."},
    {.name = "max_leaves",
     .field = &SearchOptions::max_leaves,
     .min = 1,
     .max = 65536,
     .selfplay = false,
     .doc =
         "Leaves of one search in flight at once, kept apart by virtual loss. More is faster with "
         "a callable evaluator and a little weaker per simulation."},
    {.name = "max_bytes",
     .field = &SearchOptions::max_bytes,
     .min = 1,
     .max = kMaxBytes,
     .doc =
         "Memory of one tree; self-play has one tree per game. Less saves memory, but a full tree "
         "ends its search early."},
};

}  // namespace zf
