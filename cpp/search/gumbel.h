// The root of a Gumbel search: which actions are looked at and how often, and what policy results.
//
// After "Policy improvement by planning with Gumbel" (Danihelka et al., 2022): candidates are drawn
// without replacement by logit plus Gumbel noise, sequential halving spends the simulations on
// them, and the improved policy adds the values found to the logits.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "search/evaluation.h"
#include "search/options.h"

namespace zf {

// Sequential halving: every round gives all candidates left the same number of visits and then
// drops half of them; those dropped are the ones that fall behind in visits.
class HalvingSchedule {
  public:
    // Plans for at least one candidate.
    void begin(uint32_t num_candidates, uint32_t num_simulations);
    // How many visits the candidate to be visited in this simulation has had. Needs a plan for at
    // least one simulation.
    uint32_t visits_before(uint32_t simulation) const;

  private:
    struct Round {
        uint32_t first_simulation, num_candidates, visits;  // visits that each candidate left has
    };
    std::vector<Round> rounds_;
};

// How many actions a budget can tell apart: at least 16, and more if each then still gets a visit
// in every round of halving.
uint32_t num_candidates(const SearchOptions& options, uint32_t num_legal);

// Statistics of one root action, in the order of the legal actions.
struct RootAction {
    float logit;  // of the prior
    float prior;
    float gumbel;  // noise; actions that are no candidates are not visited
    bool candidate;
};

class GumbelRoot {
  public:
    void begin(std::span<const float> priors, const SearchOptions& options, Rng& rng);

    // The action to visit in this simulation. visits and values_to_move are per root action.
    uint32_t select(uint32_t simulation, std::span<const uint32_t> visits,
                    std::span<const float> values_to_move, float root_value_to_move);

    // The candidate that came through, once the simulations are spent, of those in play (see
    // improved_policy); where no candidate is in play, the best of the other actions.
    uint32_t best(std::span<const uint32_t> visits, std::span<const float> values_to_move,
                  float root_value_to_move, std::span<const uint8_t> in_play);

    // softmax(logits + what the values found say), over the actions in play; no noise in it. At
    // least one has to be in play: those that proofs leave.
    void improved_policy(std::span<const uint32_t> visits, std::span<const float> values_to_move,
                         float root_value_to_move, std::span<const uint8_t> in_play,
                         std::vector<float>& policy);

    // How much of the root's own evaluation the value of a policy has, and in `shares` how much of
    // the value of each visited action. An action counts as its visits and one more of the mixed
    // value: the mean of the candidate that came through is too high, as the best of several noisy
    // ones is, and for an action without visits the mixed value is all there is.
    float value_shares(std::span<const uint32_t> visits, std::span<const float> policy,
                       std::vector<float>& shares) const;

  private:
    static constexpr uint32_t kNoIndexInRoot = 0xffffffff;

    float noisy_logit(uint32_t i) const { return actions_[i].gumbel + actions_[i].logit; }
    float score(uint32_t i) const { return noisy_logit(i) + bonus_[i]; }

    // Fills bonus_: values found, or for unvisited actions a mix of the root's own value and the
    // prior-weighted values of the visited ones, scaled up with the visits they rest on.
    void completed_values(std::span<const uint32_t> visits, std::span<const float> values_to_move,
                          float root_value_to_move);

    SearchOptions options_;
    std::vector<RootAction> actions_;
    HalvingSchedule schedule_;
    std::vector<float> bonus_;
    std::vector<float> scores_;  // scratch
};

}  // namespace zf
