// The signature of a game: a hash of a fixed set of episodes, played with the hash evaluator
// instead of a network. It covers rules, search, records and self-play: it is the same on every
// machine and in every language, and changes only when play is meant to change.
#pragma once

#include <functional>

#include "base/bytes.h"
#include "base/hash.h"
#include "selfplay/group.h"

namespace zf {

// Sixteen hexadecimal digits. Takes about a second. `make_group` makes a group of kSignatureGames
// games.
inline constexpr uint32_t kSignatureGames = 4;
inline std::string signature(
    const Facts& facts,
    const std::function<std::unique_ptr<AnyGroup>(const SelfPlayOptions&)>& make_group) {
    ByteWriter all;
    for (const RootKind root : {RootKind::puct, RootKind::gumbel}) {
        // All options are explicit, so that a new default does not change the signature.
        const SelfPlayOptions options{
            .search = {.num_simulations = root == RootKind::puct ? 40u : 16u,
                       .root = root,
                       .c_puct = 0,
                       .fpu_reduction = 0.2f,
                       .dirichlet_epsilon = 0.25f,
                       .dirichlet_alpha = 0,
                       .forced_playouts = 2,
                       .prove = true,
                       .opponent_nodes = OpponentNodes::pooled,
                       .max_considered = 0,
                       .gumbel_scale = 1,
                       .gumbel_c_visit = 50,
                       .gumbel_c_scale = 0.5f,
                       .max_leaves = 1,
                       .max_bytes = 1 << 26},
            .full_search_probability = 0.5f,
            .fast_simulations = 8,
            .afterstates = false,
            .turn_ahead_probability = 0,
            .temperature = 1,
            .temperature_drop_move = 10,
            .final_temperature = 0,
            .reuse_tree = true,
            .cache_bytes = 1 << 16,
            .seed = 2026,
            .worker = 0};
        const std::unique_ptr<AnyGroup> group = make_group(options);
        CoreEvaluator evaluator(EvaluatorKind::hash, facts, options.seed);
        for (int num_episodes = 0; num_episodes < 6;) {
            group->step(evaluator);
            for (const auto& episode : group->take_episodes()) {
                all.raw(episode);
                ++num_episodes;
            }
        }
    }
    const uint64_t hash = hash_bytes(all.bytes()).low;
    std::string text;
    for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[(hash >> shift) & 15];
    return text;
}

}  // namespace zf
