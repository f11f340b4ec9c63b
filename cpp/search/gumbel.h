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

// For each simulation, how many visits the candidate to be visited next has had. Every round gives
// all candidates left the same number of visits and then drops half of them; those dropped are the
// ones that fall behind in visits.
inline std::vector<uint32_t> halving_schedule(uint32_t num_candidates, uint32_t num_simulations) {
    std::vector<uint32_t> schedule;
    uint32_t num_rounds = 0;
    while ((1u << num_rounds) < num_candidates) ++num_rounds;
    if (num_rounds == 0) num_rounds = 1;
    uint32_t left = num_candidates, visits = 0;
    while (schedule.size() < num_simulations) {
        const uint32_t share = num_simulations / (num_rounds * left);
        for (uint32_t pass = 0; pass < (share > 0 ? share : 1); ++pass, ++visits)
            schedule.insert(schedule.end(), left, visits);
        if (left > 2) left = left < 4 ? 2 : left / 2;
    }
    schedule.resize(num_simulations);
    return schedule;
}

// How many actions a budget can tell apart: at least 16, and more if each then still gets a visit
// in every round of halving.
inline uint32_t num_candidates(const SearchOptions& options, uint32_t num_legal) {
    uint32_t wanted = options.max_considered;
    if (wanted == 0) {
        wanted = num_legal;
        const auto cost = [](uint32_t count) {
            uint32_t rounds = 0;
            while ((1u << rounds) < count) ++rounds;
            return uint64_t(count) * rounds;
        };
        while (wanted > 16 && cost(wanted) > options.num_simulations) --wanted;
    }
    if (wanted > options.num_simulations) wanted = options.num_simulations;
    if (wanted > num_legal) wanted = num_legal;
    return wanted < 1 ? 1 : wanted;
}

// Statistics of one root action, in the order of the legal actions.
struct RootAction {
    float logit;  // of the prior
    float prior;
    float gumbel;  // noise; actions that are no candidates are not visited
    bool candidate;
};

class GumbelRoot {
  public:
    void begin(std::span<const float> priors, const SearchOptions& options, Rng& rng) {
        options_ = options;
        actions_.clear();
        for (const float prior : priors) {
            const float gumbel = options.gumbel_scale * float(rng.gumbel());
            actions_.push_back({float(exact_log(prior)), prior, gumbel, false});
        }
        const uint32_t count = num_candidates(options, uint32_t(actions_.size()));
        for (uint32_t chosen = 0; chosen < count; ++chosen) {
            uint32_t best = kNoIndexInRoot;
            for (uint32_t i = 0; i < actions_.size(); ++i)
                if (!actions_[i].candidate &&
                    (best == kNoIndexInRoot || noisy_logit(i) > noisy_logit(best)))
                    best = i;
            actions_[best].candidate = true;
        }
        schedule_ = halving_schedule(count, options.num_simulations);
    }

    // The action to visit in this simulation. visits and values_to_move are per root action.
    uint32_t select(uint32_t simulation, std::span<const uint32_t> visits,
                    std::span<const float> values_to_move, float root_value_to_move) {
        completed_values(visits, values_to_move, root_value_to_move);
        const uint32_t wanted =
            schedule_[simulation < schedule_.size() ? simulation : schedule_.size() - 1];
        uint32_t best = kNoIndexInRoot, fewest = kNoIndexInRoot;
        for (uint32_t i = 0; i < actions_.size(); ++i) {
            if (!actions_[i].candidate) continue;
            if (fewest == kNoIndexInRoot || visits[i] < visits[fewest]) fewest = i;
            if (visits[i] == wanted && (best == kNoIndexInRoot || score(i) > score(best))) best = i;
        }
        return best == kNoIndexInRoot ? fewest : best;
    }

    // The candidate that came through, once the simulations are spent, of those in play (see
    // improved_policy); where no candidate is in play, the best of the other actions.
    uint32_t best(std::span<const uint32_t> visits, std::span<const float> values_to_move,
                  float root_value_to_move, std::span<const uint8_t> in_play) {
        completed_values(visits, values_to_move, root_value_to_move);
        const auto better = [&](uint32_t a, uint32_t b) {
            if (actions_[a].candidate != actions_[b].candidate) return actions_[a].candidate;
            return visits[a] != visits[b] ? visits[a] > visits[b] : score(a) > score(b);
        };
        uint32_t best = kNoIndexInRoot;
        for (uint32_t i = 0; i < actions_.size(); ++i)
            if (in_play[i] && (best == kNoIndexInRoot || better(i, best))) best = i;
        return best;
    }

    // softmax(logits + what the values found say), over the actions in play; no noise in it. At
    // least one has to be in play: those that proofs leave.
    void improved_policy(std::span<const uint32_t> visits, std::span<const float> values_to_move,
                         float root_value_to_move, std::span<const uint8_t> in_play,
                         std::vector<float>& policy) {
        completed_values(visits, values_to_move, root_value_to_move);
        scores_.clear();
        for (size_t i = 0; i < actions_.size(); ++i)
            if (in_play[i]) scores_.push_back(actions_[i].logit + bonus_[i]);
        softmax(scores_.data(), int(scores_.size()));
        policy.assign(actions_.size(), 0);
        for (size_t i = 0, at = 0; i < actions_.size(); ++i)
            if (in_play[i]) policy[i] = scores_[at++];
    }

    // How much of the root's own evaluation the value of a policy has, and in `shares` how much of
    // the value of each visited action: its probability, and its part of the mixed value that
    // stands for all that were not visited.
    float value_shares(std::span<const uint32_t> visits, std::span<const float> policy,
                       std::vector<float>& shares) const {
        float total = 0, visited_prior = 0, unvisited = 0;
        for (size_t i = 0; i < actions_.size(); ++i) {
            total += float(visits[i]);
            visited_prior += visits[i] > 0 ? actions_[i].prior : 0;
            unvisited += visits[i] > 0 ? 0 : policy[i];
        }
        const float evaluation_share = unvisited / (1 + total);
        const float by_prior = total > 0 ? (unvisited - evaluation_share) / visited_prior : 0;
        shares.resize(actions_.size());
        for (size_t i = 0; i < actions_.size(); ++i)
            shares[i] = visits[i] > 0 ? policy[i] + by_prior * actions_[i].prior : 0;
        return evaluation_share;
    }

  private:
    static constexpr uint32_t kNoIndexInRoot = 0xffffffff;

    float noisy_logit(uint32_t i) const { return actions_[i].gumbel + actions_[i].logit; }
    float score(uint32_t i) const { return noisy_logit(i) + bonus_[i]; }

    // Fills bonus_: values found, or for unvisited actions a mix of the root's own value and the
    // prior-weighted values of the visited ones, scaled up with the visits they rest on.
    void completed_values(std::span<const uint32_t> visits, std::span<const float> values_to_move,
                          float root_value_to_move) {
        uint32_t most = 0;
        float total = 0, prior_sum = 0, value_sum = 0;
        for (size_t i = 0; i < actions_.size(); ++i) {
            if (visits[i] == 0) continue;
            most = visits[i] > most ? visits[i] : most;
            total += float(visits[i]);
            prior_sum += actions_[i].prior;
            value_sum += actions_[i].prior * values_to_move[i];
        }
        float mixed = root_value_to_move;
        if (total > 0) mixed = (root_value_to_move + total * value_sum / prior_sum) / (1 + total);
        const float scale = (options_.gumbel_c_visit + float(most)) * options_.gumbel_c_scale;
        bonus_.resize(actions_.size());
        for (size_t i = 0; i < actions_.size(); ++i)
            bonus_[i] = scale * (visits[i] > 0 ? values_to_move[i] : mixed);
    }

    SearchOptions options_;
    std::vector<RootAction> actions_;
    std::vector<uint32_t> schedule_;
    std::vector<float> bonus_;
    std::vector<float> scores_;  // scratch
};

}  // namespace zf
