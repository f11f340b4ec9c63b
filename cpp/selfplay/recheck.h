// Computes events of a finished episode again: what the seed determines for all of them, and the
// search of one. For games of players who are not trusted, and to search old games with newer
// weights.
#pragma once

#include <algorithm>

#include "record/replay.h"
#include "search/evaluators.h"
#include "selfplay/played_game.h"

namespace zf {

// Whether a decision of such games can be searched again alone.
inline Result<void> check_searchable_again(const SelfPlayOptions& options, const Facts& facts) {
    const bool keeps = options.reuse_tree && !options.afterstates && !facts.hidden &&
                       options.search.root == RootKind::puct;
    if (!keeps) return {};
    return Error{Error::Kind::unsupported,
                 "a decision whose search reused the tree before it cannot be searched again "
                 "alone; set reuse_tree to false"};
}

// Whether the rules allow the episode, and everything in it that needs no search is what the seed
// and the options give: the deal, chance outcomes, forced actions, kinds of search, versions.
template <Game P>
Result<void> check_derived(const Episode& episode, const typename P::Options& game_options,
                           const OptionValues& option_values, const Facts& facts,
                           const SelfPlayOptions& options) {
    if (const Result<void> allowed = verify<P>(episode, game_options, facts); !allowed)
        return allowed.error();
    const auto fault = [](size_t at, const std::string& text) {
        return Error{Error::Kind::inconsistent, "event " + std::to_string(at) + ": " + text};
    };
    if (episode.worker != options.worker)
        return Error{Error::Kind::inconsistent, "it names worker " +
                                                    std::to_string(episode.worker) + ", not " +
                                                    std::to_string(options.worker)};
    PlayedGame<P> game(game_options, option_values, facts, options);
    GroupMemory memory(nullptr, options.version);
    game.start(episode.sequence);
    if (game.episode().start != episode.start)
        return Error{Error::Kind::inconsistent, "the deal is not that of the game's seed"};
    for (size_t i = 0; i < episode.events.size(); ++i) {
        const Event& claimed = episode.events[i];
        game.plan(memory);
        const Event& planned = game.planned();
        if (claimed.kind != planned.kind)
            return fault(i, "the kind of search is not that of the game's seed");
        if (claimed.kind == SearchKind::chance && claimed.id != planned.id)
            return fault(i, "chance outcome " + std::to_string(claimed.id) +
                                "; the game's seed gives " + std::to_string(planned.id));
        if (claimed.version != planned.version)
            return fault(i, "weights " + std::to_string(claimed.version) + " played, not " +
                                std::to_string(planned.version));
        if (claimed.outcomes_to_move.empty() == game.searches())
            return fault(i, game.searches() ? "the result of a search is missing"
                                            : "the result of a search that there was not");
        const uint32_t budget = claimed.kind == SearchKind::fast ? options.fast_simulations
                                                                 : options.search.num_simulations;
        if (!options.afterstates && claimed.num_simulations > budget)
            return fault(i, std::to_string(claimed.num_simulations) +
                                " simulations; the settings allow " + std::to_string(budget));
        game.play(claimed);
    }
    return {};
}

// The search of one event. With afterstates the whole turn up to it is evaluated, as it was.
template <Game P>
class Recheck {
  public:
    // `facts` must outlive it.
    Recheck(const typename P::Options& game_options, const OptionValues& option_values,
            const Facts& facts, const SelfPlayOptions& options)
        : game_(game_options, option_values, facts, options),
          memory_(nullptr, options.version),
          whole_turn_(options.afterstates) {}

    // Precondition: the rules allow the episode. An error where the event was not searched. The
    // search is the one that played the episode if check_derived finds nothing wrong either.
    Result<void> begin(const Episode& episode, size_t number) {
        const auto play_until = [&](size_t end) {
            game_.start_as(episode);
            while (game_.num_events() < end) game_.play(episode.events[game_.num_events()]);
        };
        if (number >= episode.events.size() || episode.events[number].outcomes_to_move.empty())
            return Error{Error::Kind::illegal,
                         "event " + std::to_string(number) + " has no search"};
        claimed_.assign(episode.events.begin(), episode.events.begin() + number);
        play_until(number);
        if (whole_turn_) play_until(game_.first_of_turn());
        game_.plan(memory_);
        if (!game_.searches()) play_to_search();
        finished_ = false;
        return {};
    }

    // Writes a leaf's observation; false if there is none now.
    bool gather(uint8_t* observation) {
        while (!finished_) {
            if (game_.decider().gather(observation)) return true;
            if (!game_.decider().finished()) return false;
            finished_ = game_.num_events() == claimed_.size();
            if (!finished_) play_to_search();
        }
        return false;
    }
    bool absorb(const Evaluation& evaluation) { return game_.decider().absorb(evaluation); }
    bool finished() const { return finished_; }
    const P& leaf_position() const { return game_.decider().leaf_position(); }
    int leaf_observer() const { return game_.decider().leaf_observer(); }

    // The event as the search gives it. Precondition: finished, and not called before.
    Event event() { return game_.searched(game_.decider().result()); }

  private:
    // Plays as the episode did, up to the next event with a search.
    void play_to_search() {
        do {
            game_.play(claimed_[game_.num_events()]);
            game_.plan(memory_);
        } while (!game_.searches());
    }

    PlayedGame<P> game_;
    GroupMemory memory_;
    std::vector<Event> claimed_;  // those before the event
    bool whole_turn_, finished_ = false;
};

}  // namespace zf
