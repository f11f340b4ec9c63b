// Starts self-play as other languages ask for it: settings that fit the game, groups, a driver.
#pragma once

#include <optional>

#include "bind/any_game.h"
#include "selfplay/driver.h"

namespace zf {

// Whether these settings go together and are for this game.
inline Result<void> check_selfplay(const SelfPlayOptions& options, const Facts& facts) {
    if (options.afterstates && facts.hidden)
        return Error{Error::Kind::unsupported,
                     "afterstates is for games in which nothing is hidden, not for " + facts.name};
    if (options.turn_ahead_probability > 0 && !options.afterstates)
        return Error{Error::Kind::unsupported,
                     "turn_ahead_probability needs afterstates: set afterstates to true, or "
                     "turn_ahead_probability to 0"};
    if (options.turn_ahead_probability > 0 && facts.num_chance_outcomes == 0)
        return Error{Error::Kind::unsupported,
                     "turn_ahead_probability is for games with dice, not for " + facts.name};
    if (options.opponent && options.opponent->turn_ahead_probability > 0)
        return Error{Error::Kind::unsupported,
                     "an opponent gives no targets; its turn_ahead_probability must be 0"};
    if (options.opponent) return check_selfplay(*options.opponent, facts);
    return {};
}

// A driver with groups of games. Without a shared cache it makes one of `cache_bytes`.
inline Result<std::unique_ptr<Driver>> make_driver(const AnyGame& game,
                                                   const SelfPlayOptions& options,
                                                   std::optional<EvaluatorKind> evaluator,
                                                   std::shared_ptr<EvaluationCache> cache,
                                                   uint32_t num_groups, uint32_t games_per_group,
                                                   uint32_t num_threads) {
    if (num_groups == 0 || games_per_group == 0)
        return Error{Error::Kind::bad_text, "num_groups and games_per_group must be at least 1"};
    if (const Result<void> checked = check_selfplay(options, game.facts()); !checked)
        return checked.error();
    if (evaluator == EvaluatorKind::playout) {
        cache = nullptr;  // its evaluations differ each time
    } else if (!cache) {
        cache = make_cache(options);
    }
    std::vector<std::unique_ptr<AnyGroup>> groups;
    for (uint32_t g = 0; g < num_groups; ++g)
        groups.push_back(game.make_group(options, cache, g, num_groups, games_per_group));
    return std::make_unique<Driver>(std::move(groups), game.shared_facts(), num_threads, evaluator,
                                    options.seed);
}

}  // namespace zf
