// One game of self-play, event by event.
//
// The deal depends on the game's seed, and the randomness of an event (its chance outcome, its
// kind of search, the search itself, the choice of the action) on the game's seed and the event's
// number alone. So each event of a finished episode can be computed again by itself (recheck.h).
//
// One seat may be an opponent's, who has a network, a tree and options of its own. Its decisions
// are recorded as actions without a search: they give no targets but the outcome of the game.
#pragma once

#include <optional>
#include <utility>

#include "base/random.h"
#include "record/episode.h"
#include "selfplay/decider.h"
#include "selfplay/options.h"

namespace zf {

template <Game P>
class PlayedGame {
  public:
    // `facts` must outlive the game. Precondition of all else: start.
    PlayedGame(const typename P::Options& game_options, const OptionValues& option_values,
               const Facts& facts, const SelfPlayOptions& options)
        : game_options_(game_options),
          option_values_(option_values),
          facts_(&facts),
          options_(options),
          decider_(facts, options),
          rng_(0),
          position_(P::start(game_options, rng_)) {
        if (options.opponent) opponent_.emplace(facts, *options.opponent);
    }

    // The game of this number, with an opponent in that seat (-1: none). It depends on the seed,
    // the worker, its number, the seat and the evaluations.
    void start(uint64_t sequence, int opponent_seat = -1) {
        seed_ = derive_seed(derive_seed(options_.seed, options_.worker), sequence);
        rng_ = Rng(derive_seed(seed_, 0));
        position_ = P::start(game_options_, rng_);
        episode_ = Episode{};
        episode_.game = facts_->name;
        episode_.options = option_values_;
        episode_.worker = options_.worker;
        episode_.sequence = sequence;
        episode_.start = position_.write_start();
        decider_.begin_game();
        if (opponent_) opponent_->begin_game();
        opponent_seat_ = opponent_seat;
        opponent_decides_ = false;
        turns_ = 0;
        first_of_turn_ = 0;
        decided_in_turn_ = false;
    }

    // The same game from the deal of its episode, which the rules must allow.
    void start_as(const Episode& episode) {
        start(episode.sequence);
        position_ = *P::read_start(game_options_, episode.start);
        episode_.start = episode.start;
    }

    // Whether there is no next event: the game ended, or is truncated.
    bool over() const { return position_.to_move() == kOver || is_full(); }

    const P& position() const { return position_; }
    // The events so far; the outcome is set once the game is over.
    const Episode& episode() const { return episode_; }
    size_t num_events() const { return episode_.events.size(); }
    // The first event of the current turn, its roll included.
    size_t first_of_turn() const { return first_of_turn_; }

    // Plans the next event: samples chance, finds forced actions, begins the search of a decision
    // or of a roll with a turn-ahead target. Precondition: not over.
    void plan(GroupMemory& memory) {
        rng_ = Rng(derive_seed(seed_, 1 + num_events()));
        planned_ = Event{};
        if (position_.to_move() == kChance) {
            planned_.kind = SearchKind::chance;
            searches_ = options_.turn_ahead_probability > 0 &&
                        rng_.uniform() < options_.turn_ahead_probability &&
                        position_.roller() != opponent_seat_;
            planned_.id = position_.random_outcome(rng_);
            opponent_decides_ = false;
            if (searches_) decider_.begin(position_, memory, memory.version, rng_);
            return;
        }
        opponent_decides_ = position_.to_move() == opponent_seat_;
        legal_.resize(facts_->num_actions);
        legal_.resize(position_.legal_actions(legal_.data()));
        searches_ = legal_.size() > 1;
        if (searches_ && opponent_decides_) {
            opponent_->begin(position_, memory, memory.opponent_version, rng_);
        } else if (searches_) {
            decider_.begin(position_, memory, memory.version, rng_);
            planned_.kind = decider_.full() ? SearchKind::full : SearchKind::fast;
        } else {
            planned_.id = legal_[0];
        }
        planned_.version = decider_.version();
    }

    // Whether the planned event needs the result of its search.
    bool searches() const { return searches_; }
    // All of it without a search; else what is known before: kind, version and chance outcome.
    const Event& planned() const { return planned_; }
    // Of the planned event: the opponent's own, where it decides.
    Decider<P>& decider() { return opponent_decides_ ? *opponent_ : decider_; }
    const Decider<P>& decider() const { return opponent_decides_ ? *opponent_ : decider_; }
    bool opponent_decides() const { return opponent_decides_; }

    // The planned event by the result of its search, which must have finished.
    Event searched(const RootResult& result) {
        Event event = planned_;
        if (opponent_decides_) {
            event.id = choose(result, *options_.opponent);
            return event;
        }
        event.outcomes_to_move = quantise_outcomes(result.outcomes_to_move);
        if (event.kind == SearchKind::chance) return event;
        event.num_simulations = result.num_simulations;
        if (event.kind == SearchKind::full) {
            event.surprise = quantise(result.surprise, kSurpriseUnit);
            event.policy = quantise_policy(result.actions, result.target);
        }
        event.id = choose(result, options_);
        return event;
    }

    // Precondition: not over, and the event is possible here.
    void play(Event event) {
        const Mover mover = position_.to_move();
        decided_in_turn_ |= event.kind == SearchKind::fast || event.kind == SearchKind::full ||
                            (opponent_decides_ && searches_);
        position_.play(event.id);
        const bool ends_turn = mover != kChance && position_.to_move() != mover;
        decider_.played(event.id, ends_turn);
        if (opponent_) opponent_->played(event.id, ends_turn);
        episode_.events.push_back(std::move(event));
        if (ends_turn) {
            turns_ += std::exchange(decided_in_turn_, false);
            first_of_turn_ = num_events();
        }
        if (position_.to_move() == kOver) episode_.outcome_first_player = position_.outcome(0);
    }

  private:
    bool is_full() const { return int64_t(num_events()) >= facts_->max_plies; }

    Action choose(const RootResult& result, const SelfPlayOptions& options) {
        const bool early = turns_ < options.temperature_drop_move;
        const float temperature = early ? options.temperature : options.final_temperature;
        if (!decider().takes_temperature() || temperature <= 0 || result.solved)
            return result.best_action;
        double sum = 0;
        std::vector<double> weights;
        for (const float share : result.target) {
            weights.push_back(share > 0 ? exact_exp(exact_log(share) / temperature) : 0);
            sum += weights.back();
        }
        double drawn = rng_.uniform() * sum;
        for (size_t i = 0; i < weights.size(); ++i) {
            drawn -= weights[i];
            if (drawn < 0) return result.actions[i];
        }
        return result.best_action;
    }

    typename P::Options game_options_;
    OptionValues option_values_;
    const Facts* facts_;
    SelfPlayOptions options_;
    Decider<P> decider_;
    std::optional<Decider<P>> opponent_;  // where the options have one
    int opponent_seat_ = -1;
    bool opponent_decides_ = false;  // the planned event
    uint64_t seed_ = 0;
    Rng rng_;  // of the planned event
    P position_;
    Episode episode_;
    Event planned_;
    std::vector<Action> legal_;  // scratch
    size_t first_of_turn_ = 0;
    uint32_t turns_ = 0;  // with a decision
    bool searches_ = false, decided_in_turn_ = false;
};

}  // namespace zf
