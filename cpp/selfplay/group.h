// Games that are searched together: their leaves form one batch.
#pragma once

#include "search/evaluators.h"
#include "selfplay/player.h"

namespace zf {

struct SelfPlayCounts {
    uint64_t num_simulations = 0, num_decisions = 0, num_leaves = 0, num_episodes = 0;
    uint64_t largest_tree_bytes = 0;
};

// The evaluation cache that all groups of a driver share; null if the options turn it off.
inline std::shared_ptr<EvaluationCache> make_cache(const SelfPlayOptions& options) {
    if (options.cache_bytes == 0) return nullptr;
    return std::make_shared<EvaluationCache>(options.cache_bytes);
}

// A group of any game: what the driver and other languages hold.
class AnyGroup {
  public:
    virtual ~AnyGroup() = default;

    // Advances every game to its next leaf; then there are num_rows() observations to evaluate.
    // There may be none, if no game reached a leaf within its share of work.
    virtual void gather() = 0;
    virtual uint32_t num_rows() const = 0;
    virtual const uint8_t* observations() const = 0;
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
          memory_(std::move(cache)),
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
