// Plays one game after another against itself, a leaf at a time.
#pragma once

#include <utility>

#include "base/random.h"
#include "record/episode.h"
#include "selfplay/decider.h"
#include "selfplay/options.h"

namespace zf {

template <Game P>
class SelfPlayer {
  public:
    // The games of this player are numbered first_sequence, first_sequence + step, …; each depends
    // on the seed, its number and the evaluations alone.
    SelfPlayer(const typename P::Options& game_options, const OptionValues& option_values,
               const Facts& facts, const SelfPlayOptions& options, uint64_t first_sequence,
               uint64_t step)
        : game_options_(game_options),
          option_values_(option_values),
          facts_(&facts),
          options_(options),
          decider_(facts, options),
          rng_(0),
          position_(P::start(game_options, rng_)),
          sequence_(first_sequence),
          step_(step) {
        start_game();
    }

    // Plays until a leaf needs an evaluation; writes its observation. False if this call's share of
    // work is done without one (call again). Calls `finished` with each finished game.
    template <class Finished>
    bool gather(uint8_t* observation, GroupMemory& memory, Finished finished) {
        for (int turn = 0; turn < 8; ++turn) {
            if (!deciding_) {
                if (!go_to_decision(finished)) continue;
                decider_.begin(position_, memory, rng_);
                deciding_ = true;
            }
            if (decider_.gather(observation)) return true;
            if (decider_.finished()) decide();
        }
        return false;
    }

    // Takes the evaluation of that leaf. False if a number in it is not finite.
    bool absorb(const Evaluation& evaluation) { return decider_.absorb(evaluation); }

    const P& leaf_position() const { return decider_.leaf_position(); }
    int leaf_observer() const { return decider_.leaf_observer(); }
    uint64_t num_simulations() const {
        return num_simulations_ + (deciding_ ? decider_.num_simulations() : 0);
    }
    uint64_t num_decisions() const { return num_decisions_; }
    uint64_t tree_bytes() const { return tree_bytes_; }

  private:
    void start_game() {
        rng_ = Rng(derive_seed(derive_seed(options_.seed, options_.worker), sequence_));
        position_ = P::start(game_options_, rng_);
        episode_ = Episode{};
        episode_.game = facts_->name;
        episode_.options = option_values_;
        episode_.worker = options_.worker;
        episode_.sequence = sequence_;
        episode_.start = position_.write_start();
        decider_.begin_game();
        turns_in_game_ = 0;
        decided_in_turn_ = false;
    }

    // Samples chance and plays forced actions up to a decision. False if the game ended instead;
    // the next one is then started.
    template <class Finished>
    bool go_to_decision(Finished finished) {
        for (;;) {
            const bool over = position_.to_move() == kOver;
            if (over || int64_t(episode_.events.size()) >= facts_->max_plies) {
                episode_.outcome_first_player = over ? position_.outcome(0) : -1;
                finished(encode(episode_));
                sequence_ += step_;
                start_game();
                return false;
            }
            Event event;
            if (position_.to_move() == kChance) {
                event.kind = SearchKind::chance;
                event.id = position_.random_outcome(rng_);
            } else {
                legal_.resize(facts_->num_actions);
                legal_.resize(position_.legal_actions(legal_.data()));
                if (legal_.size() > 1) return true;
                event.id = legal_[0];
                event.version = decider_.version();
            }
            play(std::move(event));
        }
    }

    void decide() {
        const RootResult result = decider_.result();
        Event event;
        event.kind = decider_.full() ? SearchKind::full : SearchKind::fast;
        event.version = decider_.version();
        event.num_simulations = result.num_simulations;
        event.outcomes_to_move = quantise_outcomes(result.outcomes_to_move);
        if (decider_.full()) {
            event.surprise = quantise(result.surprise, kSurpriseUnit);
            event.policy = quantise_policy(result.actions, result.target);
        }
        event.id = choose(result);
        num_simulations_ += result.num_simulations;
        tree_bytes_ = std::max(tree_bytes_, result.num_bytes);
        ++num_decisions_;
        decided_in_turn_ = true;
        deciding_ = false;
        play(std::move(event));
    }

    Action choose(const RootResult& result) {
        const bool early = turns_in_game_ < options_.temperature_drop_move;
        const float temperature = early ? options_.temperature : options_.final_temperature;
        if (!decider_.takes_temperature() || temperature <= 0 || result.solved)
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

    void play(Event event) {
        const Mover mover = position_.to_move();
        position_.play(event.id);
        const bool ends_turn = position_.to_move() != mover;
        decider_.played(event.id, ends_turn);
        if (ends_turn) turns_in_game_ += std::exchange(decided_in_turn_, false);
        episode_.events.push_back(std::move(event));
    }

    typename P::Options game_options_;
    OptionValues option_values_;
    const Facts* facts_;
    SelfPlayOptions options_;
    Decider<P> decider_;
    Rng rng_;
    P position_;
    Episode episode_;
    std::vector<Action> legal_;  // scratch
    uint64_t sequence_, step_;
    uint64_t num_simulations_ = 0, num_decisions_ = 0, tree_bytes_ = 0;
    uint32_t turns_in_game_ = 0;  // with a decision
    bool deciding_ = false, decided_in_turn_ = false;
};

}  // namespace zf
