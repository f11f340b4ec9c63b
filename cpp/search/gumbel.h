// The root of a Gumbel AlphaZero search ("Policy improvement by planning with Gumbel", Danihelka et
// al., 2022): candidates are sampled without replacement by logit plus Gumbel noise, sequential
// halving spends the simulations on them, and the improved policy adds the completed Q-values to
// the logits.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "search/evaluation.h"
#include "search/options.h"

namespace zf {

// Sequential halving (Karnin, Koren and Somekh, 2013): every round visits each remaining candidate
// equally often, then drops half of them. Dropped candidates are those that fall behind in visits.
class HalvingSchedule {
  public:
    // Precondition: num_candidates >= 1.
    void begin(uint32_t num_candidates, uint32_t num_simulations);
    // Visits that the candidate of this simulation already has. Precondition: begun with at least
    // one simulation.
    uint32_t visits_before(uint32_t simulation) const;

  private:
    struct Round {
        uint32_t first_simulation, num_candidates, visits;  // visits: of each remaining candidate
    };
    std::vector<Round> rounds_;
};

// How many root actions to consider: at least 16, and more if each still gets a visit in every
// round of halving.
uint32_t num_candidates(const SearchOptions& options, uint32_t num_legal);

// Statistics of one root action, in the order of the legal actions.
struct RootAction {
    float logit;  // of the prior
    float prior;
    float gumbel;    // Gumbel noise
    bool candidate;  // the others are not visited
};

class GumbelRoot {
  public:
    void begin(std::span<const float> priors, const SearchOptions& options, Rng& rng);

    // The action to visit in this simulation. visits and values_to_move are per root action.
    uint32_t select(uint32_t simulation, std::span<const uint32_t> visits,
                    std::span<const float> values_to_move, float root_value_to_move);

    // The candidate that survives halving, of those in play (see improved_policy); without a
    // candidate in play, the best other action.
    uint32_t best(std::span<const uint32_t> visits, std::span<const float> values_to_move,
                  float root_value_to_move, std::span<const uint8_t> in_play);

    // softmax(logits + scaled completed Q-values), without noise, over the actions in play: those
    // that proofs do not rule out. Precondition: at least one is.
    void improved_policy(std::span<const uint32_t> visits, std::span<const float> values_to_move,
                         float root_value_to_move, std::span<const uint8_t> in_play,
                         std::vector<float>& policy);

    // The root value of a policy as weights: returns that of the root's own evaluation, `shares`
    // are those of the visited actions' values. Each action counts as its visits plus one of the
    // mixed value: the mean of the surviving candidate is biased upwards, as the maximum of noisy
    // means is, and an unvisited action has nothing but the mixed value.
    float value_shares(std::span<const uint32_t> visits, std::span<const float> policy,
                       std::vector<float>& shares) const;

  private:
    static constexpr uint32_t kNoIndexInRoot = 0xffffffff;

    float noisy_logit(uint32_t i) const { return actions_[i].gumbel + actions_[i].logit; }
    float score(uint32_t i) const { return noisy_logit(i) + bonus_[i]; }

    // Fills bonus_ with the scaled completed Q-values. An unvisited action gets the mixed value: of
    // the root's evaluation and the prior-weighted values of the visited actions.
    void completed_values(std::span<const uint32_t> visits, std::span<const float> values_to_move,
                          float root_value_to_move);

    SearchOptions options_;
    std::vector<RootAction> actions_;
    HalvingSchedule schedule_;
    std::vector<float> bonus_;
    std::vector<float> scores_;  // scratch
};

}  // namespace zf
