// Games that are searched together: their leaves form one batch. A player plays one game after
// another against itself, a leaf at a time; a group has many players.
#pragma once

#include <utility>

#include "base/random.h"
#include "record/episode.h"
#include "search/evaluators.h"
#include "selfplay/decider.h"
#include "selfplay/options.h"

namespace zf {

// ---- one player

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
    std::span<const Action> leaf_actions() const { return decider_.leaf_actions(); }
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

    // Samples chance and plays forced actions up to a decision, or up to a roll with a turn-ahead
    // target. False if the game ended instead; the next one is then started.
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
                if (options_.turn_ahead_probability > 0 &&
                    rng_.uniform() < options_.turn_ahead_probability)
                    return true;
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

    // Plays by the result of the search: the decision, or the roll that it looked beyond.
    void decide() {
        const RootResult result = decider_.result();
        Event event;
        event.outcomes_to_move = quantise_outcomes(result.outcomes_to_move);
        if (position_.to_move() == kChance) {
            event.kind = SearchKind::chance;
            event.id = position_.random_outcome(rng_);
        } else {
            event.kind = decider_.full() ? SearchKind::full : SearchKind::fast;
            event.version = decider_.version();
            event.num_simulations = result.num_simulations;
            if (decider_.full()) {
                event.surprise = quantise(result.surprise, kSurpriseUnit);
                event.policy = quantise_policy(result.actions, result.target);
            }
            event.id = choose(result);
            ++num_decisions_;
            decided_in_turn_ = true;
        }
        num_simulations_ += result.num_simulations;
        tree_bytes_ = std::max(tree_bytes_, result.num_bytes);
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
        const bool ends_turn = mover != kChance && position_.to_move() != mover;
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

// ---- a group of them

struct SelfPlayCounts {
    uint64_t num_simulations = 0, num_decisions = 0, num_leaves = 0, num_episodes = 0;
    uint64_t largest_tree_bytes = 0;
};

// The evaluation cache that all groups of a driver share; null if the options turn it off.
inline std::shared_ptr<EvaluationCache> make_cache(const SelfPlayOptions& options) {
    if (options.cache_bytes == 0) return nullptr;
    return std::make_shared<EvaluationCache>(options.cache_bytes);
}

// The size of a row of bits, one per action.
inline size_t mask_bytes(int num_actions) { return (size_t(num_actions) + 7) / 8; }

// A group of any game: what the driver and other languages hold.
class AnyGroup {
  public:
    virtual ~AnyGroup() = default;

    // Advances every game to its next leaf; then there are num_rows() observations to evaluate.
    // There may be none, if no game reached a leaf within its share of work.
    virtual void gather() = 0;
    virtual uint32_t num_rows() const = 0;
    virtual const uint8_t* observations() const = 0;
    // Which logits of each row will be read, as bits: bit a % 8 of byte a / 8 for action a. Writes
    // num_rows() rows of mask_bytes(num_actions).
    virtual void write_action_masks(uint8_t* masks) const = 0;
    // Takes the evaluations: rows of num_actions logits and of num_outcomes probabilities, in the
    // order of the observations; then gathers. Returns the first row with a number that is not
    // finite, or -1.
    virtual int64_t play_on(const float* policy_logits, const float* outcomes_observer,
                            uint64_t version) = 0;
    // Gathers, and evaluates by an evaluator of the core.
    virtual void step(CoreEvaluator& evaluator) = 0;
    // Episodes finished since the last call, encoded.
    virtual std::vector<std::vector<uint8_t>> take_episodes() = 0;
    virtual SelfPlayCounts counts() const = 0;
};

template <Game P>
class Group final : public AnyGroup {
  public:
    // Games of group g of G with N games each are numbered g * N + i, in steps of G * N. The cache
    // may be null, or shared with groups of the same game and weights.
    Group(const typename P::Options& game_options, const OptionValues& option_values,
          const Facts& facts, const SelfPlayOptions& options,
          std::shared_ptr<EvaluationCache> cache, uint32_t number, uint32_t num_groups,
          uint32_t num_games)
        : facts_(&facts),
          memory_(std::move(cache), options.version),
          observations_(uint64_t(num_games) * facts.observation_bytes) {
        for (uint32_t i = 0; i < num_games; ++i)
            players_.emplace_back(game_options, option_values, facts, options,
                                  uint64_t(number) * num_games + i,
                                  uint64_t(num_groups) * num_games);
    }

    void gather() override {
        rows_.clear();
        for (uint32_t i = 0; i < players_.size(); ++i) gather_from(i);
        num_leaves_ += rows_.size();
    }

    // Each game absorbs and gathers at once, so that its tree is loaded into the CPU cache once.
    int64_t play_on(const float* policy_logits, const float* outcomes_observer,
                    uint64_t version) override {
        memory_.version = version;
        answered_.swap(rows_);
        rows_.clear();
        size_t r = 0;
        for (uint32_t i = 0; i < players_.size(); ++i) {
            if (r < answered_.size() && answered_[r] == i) {
                const Evaluation evaluation{policy_logits + r * facts_->num_actions,
                                            outcomes_observer + r * facts_->outcomes.size()};
                if (!players_[i].absorb(evaluation)) return int64_t(r);
                ++r;
            }
            gather_from(i);
        }
        num_leaves_ += rows_.size();
        return -1;
    }

    void step(CoreEvaluator& evaluator) override {
        gather();
        for (size_t r = 0; r < rows_.size(); ++r) {
            SelfPlayer<P>& player = players_[rows_[r]];
            player.absorb(evaluator.evaluate(player.leaf_position(), player.leaf_observer(),
                                             {row(r), size_t(facts_->observation_bytes)}));
        }
    }

    uint32_t num_rows() const override { return uint32_t(rows_.size()); }
    const uint8_t* observations() const override { return observations_.data(); }
    void write_action_masks(uint8_t* masks) const override {
        const size_t row_bytes = mask_bytes(facts_->num_actions);
        std::fill_n(masks, rows_.size() * row_bytes, uint8_t(0));
        for (size_t r = 0; r < rows_.size(); ++r)
            for (const Action action : players_[rows_[r]].leaf_actions())
                masks[r * row_bytes + action / 8] |= uint8_t(1u << action % 8);
    }
    std::vector<std::vector<uint8_t>> take_episodes() override {
        num_episodes_ += episodes_.size();
        return std::exchange(episodes_, {});
    }
    SelfPlayCounts counts() const override {
        SelfPlayCounts counts;
        counts.num_leaves = num_leaves_;
        counts.num_episodes = num_episodes_;
        for (const SelfPlayer<P>& player : players_) {
            counts.num_simulations += player.num_simulations();
            counts.num_decisions += player.num_decisions();
            counts.largest_tree_bytes = std::max(counts.largest_tree_bytes, player.tree_bytes());
        }
        return counts;
    }

  private:
    void gather_from(uint32_t player) {
        const auto finished = [this](std::vector<uint8_t> bytes) {
            episodes_.push_back(std::move(bytes));
        };
        if (players_[player].gather(row(rows_.size()), memory_, finished)) rows_.push_back(player);
    }

    uint8_t* row(size_t number) {
        return observations_.data() + number * facts_->observation_bytes;
    }

    const Facts* facts_;
    GroupMemory memory_;
    std::vector<SelfPlayer<P>> players_;
    std::vector<uint8_t> observations_;
    std::vector<uint32_t> rows_;      // which player each row belongs to
    std::vector<uint32_t> answered_;  // the same for the previous batch
    std::vector<std::vector<uint8_t>> episodes_;
    uint64_t num_leaves_ = 0, num_episodes_ = 0;
};

}  // namespace zf
