// The settings of self-play beside those of its search: each with its default, bounds and
// trade-off. See search/options.h for what is generated from them.
#pragma once

#include <cstdint>
#include <memory>

#include "search/options.h"

namespace zf {

// kSelfPlaySettings documents each.
struct SelfPlayOptions {
    SearchOptions search;
    float full_search_probability = 1;
    uint32_t fast_simulations = 32;
    bool afterstates = false;
    float turn_ahead_probability = 0;
    float temperature = 1;
    uint32_t temperature_drop_move = 30;
    float final_temperature = 0;
    bool reuse_tree = true;
    uint64_t cache_bytes = 1 << 28;
    uint64_t seed = 1;
    // Identifies one run of one worker: one half of every episode's id.
    uint64_t worker = 0;
    uint64_t version = 0;  // of the weights that evaluate first
    // The number of the first game, and how many games there are; 0: no end.
    uint64_t first_sequence = 0, num_games = 0;
    // How a second network plays one seat of some games, as one plays in a match; null: one network
    // plays both seats of all games. It explores as its options say, and gives no targets.
    std::shared_ptr<const SelfPlayOptions> opponent = nullptr;
    float opponent_share = 1;  // of the games
};

inline constexpr Setting<SelfPlayOptions> kSelfPlaySettings[] = {
    {.name = "full_search_probability",
     .field = &SelfPlayOptions::full_search_probability,
     .min = 0,
     .max = 1,
     .exclusive_min = true,
     .doc =
         "Playout-cap randomisation (KataGo): probability that a move gets a full search, which "
         "explores and gives a policy target. The other moves get a fast search: less gives more "
         "games and value targets for the same work, and fewer policy targets."},
    {.name = "fast_simulations",
     .field = &SelfPlayOptions::fast_simulations,
     .min = 1,
     .max = kMaxCount,
     .doc = "Simulations of a fast search. Fewer give more games, of weaker play."},
    {.name = "afterstates",
     .field = &SelfPlayOptions::afterstates,
     .doc = "Afterstate evaluation of whole turns instead of a search: one evaluation of each "
            "position in which the turn can end. Only where nothing is hidden; for games such as "
            "backgammon, where a turn is several decisions and a small search hardly sees its end. "
            "gumbel_c_visit and gumbel_c_scale set how sharply the policy prefers higher values, "
            "max_bytes bounds a turn; other search settings, full_search_probability, "
            "fast_simulations and cache_bytes have no effect."},
    {.name = "turn_ahead_probability",
     .field = &SelfPlayOptions::turn_ahead_probability,
     .min = 0,
     .max = 1,
     .doc = "Probability that a position before a roll gets a target that looks a turn ahead: the "
            "exact expectation over all rolls of the best afterstate, by the current network. "
            "Needs afterstates. A target without the luck of one roll and without the network's "
            "error before it, for twenty times the evaluations of a turn in backgammon."},
    {.name = "temperature",
     .field = &SelfPlayOptions::temperature,
     .min = 0,
     .max = kMaxWeight,
     .doc = "Actions are sampled in proportion to visits ** (1 / temperature) (PUCT, afterstates). "
            "Higher plays more varied and weaker games. 0: the best action."},
    {.name = "temperature_drop_move",
     .field = &SelfPlayOptions::temperature_drop_move,
     .min = 0,
     .max = kMaxCount,
     .doc =
         "Turns with a decision after which final_temperature holds; a turn is all that a player "
         "does before the opponent or chance acts. Later gives more varied and weaker games."},
    {.name = "final_temperature",
     .field = &SelfPlayOptions::final_temperature,
     .min = 0,
     .max = kMaxWeight,
     .doc = "Temperature after temperature_drop_move turns. Lower plays stronger, so that results "
            "are better value targets. 0: the best action."},
    {.name = "reuse_tree",
     .field = &SelfPlayOptions::reuse_tree,
     .doc =
         "Keep the subtree of the action played (PUCT, nothing hidden). More visits for the same "
         "work, larger trees."},
    {.name = "cache_bytes",
     .field = &SelfPlayOptions::cache_bytes,
     .min = 0,
     .max = kMaxBytes,
     .doc = "Memory of the evaluation cache, shared by all games of a process and allocated as it "
            "fills. More pays where games share openings and the network is slow. 0: no cache, "
            "except for the opponent's priors where hands are hidden: per game, 512 bytes per "
            "simulation, at most 16 MiB."},
};

}  // namespace zf
