// The evaluation of one observation: as an evaluator returns it and as the tree stores it.
#pragma once

#include <algorithm>
#include <bit>
#include <span>
#include <vector>

#include "base/exact_math.h"
#include "base/half.h"
#include "games/game.h"

namespace zf {

// What an evaluator returns. Both pointers are into its memory.
struct Evaluation {
    const float* policy_logits;      // num_actions; only those of legal actions are read
    const float* outcomes_observer;  // num_outcomes probabilities, in the observer's view
};

// An evaluation as the tree uses it: outcomes, and the priors of the legal actions in order.
struct Evaluated {
    float outcomes_observer[kMaxOutcomes] = {};
    std::vector<Half> priors;
};

// Reductions over floats keep eight partial results, so that they are bit-identical with and
// without SIMD.
inline constexpr int kLanes = 8;

inline float ordered_sum(const float* values, int count) {
    float sums[kLanes] = {};
    int i = 0;
    for (; i + kLanes <= count; i += kLanes)
        for (int lane = 0; lane < kLanes; ++lane) sums[lane] += values[i + lane];
    for (int lane = 0; i < count; ++i, ++lane) sums[lane] += values[i];
    return ((sums[0] + sums[4]) + (sums[2] + sums[6])) +
           ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

// Precondition: count >= 1.
inline float largest_of(const float* values, int count) {
    float most[kLanes];
    for (float& each : most) each = values[0];
    int i = 0;
    for (; i + kLanes <= count; i += kLanes)
        for (int lane = 0; lane < kLanes; ++lane)
            most[lane] = values[i + lane] > most[lane] ? values[i + lane] : most[lane];
    for (int lane = 0; i < count; ++i, ++lane)
        most[lane] = values[i] > most[lane] ? values[i] : most[lane];
    for (const float each : most) most[0] = each > most[0] ? each : most[0];
    return most[0];
}

inline bool all_finite(const float* values, int count) {
    constexpr uint32_t kExponent = 0x7f800000;
    uint32_t num_bad = 0;
    for (int i = 0; i < count; ++i)
        num_bad += (std::bit_cast<uint32_t>(values[i]) & kExponent) == kExponent;
    return num_bad == 0;
}

// Logits to probabilities, in place. Precondition: count >= 1, all finite.
inline void softmax(float* values, int count) {
    const float largest = largest_of(values, count);
    for (int i = 0; i < count; ++i) values[i] = exact_exp_negative(values[i] - largest);
    const float scale = 1 / ordered_sum(values, count);
    for (int i = 0; i < count; ++i) values[i] *= scale;
}

// Priors of the legal actions as halves, each above 0. False if a logit is not finite.
inline bool read_priors(const float* policy_logits, std::span<const Action> legal,
                        std::vector<float>& scratch, std::vector<Half>& priors) {
    const int count = int(legal.size());
    scratch.resize(count);
    priors.resize(count);
    for (int i = 0; i < count; ++i) scratch[i] = policy_logits[legal[i]];
    if (!all_finite(scratch.data(), count)) return false;
    if (count > 0) softmax(scratch.data(), count);
    for (int i = 0; i < count; ++i) priors[i] = std::max<Half>(1, to_half(scratch[i]));
    return true;
}

// The outcomes of a game with their rewards, scaled to [-1, 1].
class OutcomeTable {
  public:
    explicit OutcomeTable(const Facts& facts) : count_(int(facts.outcomes.size())) {
        const float largest = facts.largest_reward();
        for (int i = 0; i < count_; ++i) {
            scaled_reward_[i] = facts.outcomes[i].reward / largest;
            opposite_[i] = facts.outcomes[i].opposite;
        }
    }
    int count() const { return count_; }
    float scaled_reward(int outcome) const { return scaled_reward_[outcome]; }
    // The expected reward of a distribution, in its own view, divided by the largest reward.
    float mean(const float* outcomes) const {
        float sum = 0;
        for (int i = 0; i < count_; ++i) sum += outcomes[i] * scaled_reward_[i];
        return sum;
    }
    // The same distribution in the other player's view.
    void flip_view(const float* outcomes, float* turned) const {
        for (int i = 0; i < count_; ++i) turned[opposite_[i]] = outcomes[i];
    }
    // A distribution with the given mean, over the two outcomes whose rewards bracket it.
    void with_mean(float mean, float* outcomes) const {
        int below = -1, above = -1;
        for (int i = 0; i < count_; ++i) {
            outcomes[i] = 0;
            const float reward = scaled_reward_[i];
            if (reward <= mean && (below < 0 || reward > scaled_reward_[below])) below = i;
            if (reward >= mean && (above < 0 || reward < scaled_reward_[above])) above = i;
        }
        if (below < 0) below = above;
        if (above < 0) above = below;
        const float gap = scaled_reward_[above] - scaled_reward_[below];
        const float share = gap > 0 ? (mean - scaled_reward_[below]) / gap : 0;
        outcomes[below] += 1 - share;
        outcomes[above] += share;
    }
    // Shifts a distribution to the given mean, towards the best outcome or the worst.
    void move_mean_to(float mean, float* outcomes) const {
        const float before = this->mean(outcomes);
        int end = 0;
        for (int i = 1; i < count_; ++i)
            if (mean > before ? scaled_reward_[i] > scaled_reward_[end]
                              : scaled_reward_[i] < scaled_reward_[end])
                end = i;
        if (mean == before) return;
        const float share = std::min(1.0f, (mean - before) / (scaled_reward_[end] - before));
        for (int i = 0; i < count_; ++i) outcomes[i] *= 1 - share;
        outcomes[end] += share;
    }

  private:
    int count_;
    float scaled_reward_[kMaxOutcomes] = {};
    int opposite_[kMaxOutcomes] = {};
};

// The outcome distributions backed up through each edge of a root, summed in the searching player's
// view, and the evaluation of the root itself.
class RootOutcomes {
  public:
    // A root without visits. `evaluated` is the evaluator's outcome distribution of it.
    void begin(int num_outcomes, size_t num_edges, const float* evaluated) {
        num_outcomes_ = num_outcomes;
        sums_.assign(num_edges * num_outcomes, 0);
        proven_.clear();
        std::copy_n(evaluated, num_outcomes, evaluated_);
    }
    // The distribution of an edge that a solver proved.
    void prove(uint32_t edge, const float* outcomes) {
        if (proven_.empty()) proven_.assign(sums_.size(), 0);
        std::copy_n(outcomes, num_outcomes_, &proven_[edge * num_outcomes_]);
    }
    // False if none was proved.
    bool proven(uint32_t edge, float* outcomes) const {
        if (proven_.empty()) return false;
        std::copy_n(&proven_[edge * num_outcomes_], num_outcomes_, outcomes);
        return std::any_of(outcomes, outcomes + num_outcomes_, [](float p) { return p > 0; });
    }
    void add(uint32_t edge, const float* outcomes) {
        for (int i = 0; i < num_outcomes_; ++i) sums_[edge * num_outcomes_ + i] += outcomes[i];
    }
    const float* evaluated() const { return evaluated_; }
    // The mean of what was added to an edge; false if nothing was.
    bool mean_of(uint32_t edge, float* outcomes) const {
        const double* sums = &sums_[edge * num_outcomes_];
        double sum = 0;
        for (int i = 0; i < num_outcomes_; ++i) sum += sums[i];
        for (int i = 0; sum > 0 && i < num_outcomes_; ++i) outcomes[i] = float(sums[i] / sum);
        return sum > 0;
    }

  private:
    int num_outcomes_ = 0;
    std::vector<double> sums_;   // [edges, outcomes]
    std::vector<float> proven_;  // [edges, outcomes], zeros where none is; empty without any
    float evaluated_[kMaxOutcomes] = {};
};

}  // namespace zf
