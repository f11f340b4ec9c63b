// Settings of self-play, and what each one trades.
#pragma once

#include <cstdint>

#include "search/options.h"

namespace zf {

struct SelfPlayOptions {
    // The search of a decision that gives a policy target.
    SearchOptions search;
    // Share of decisions that get it. The others get a cheap search without exploration, whose
    // policy is not trained on: more games, so more results to learn values from, for the same
    // work.
    float full_search_probability = 1;
    uint32_t fast_simulations = 32;
    // Instead of a search, evaluate every end of the turn (see turn_search.h): as many evaluations
    // as there are ends, and a policy for every decision. Only where nothing is hidden.
    bool afterstates = false;
    // Actions are drawn in proportion to visits^(1/temperature); after so many turns of a game in
    // which there was something to decide final_temperature holds. Higher plays more varied and
    // weaker games. 0 plays the best action. A Gumbel root draws by itself and takes no
    // temperature.
    float temperature = 1;
    float final_temperature = 0;
    uint32_t temperature_drop_move = 30;
    // Keep the part of the tree that was played into (PUCT, nothing hidden).
    bool reuse_tree = true;
    // Memory for remembered evaluations, shared by all groups of games and taken as it fills. 0
    // remembers none.
    uint64_t cache_bytes = 1 << 28;
    uint64_t seed = 1;
    // Which start of which worker this is: one half of every episode's id.
    uint64_t worker = 0;
};

}  // namespace zf
