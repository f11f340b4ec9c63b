#include "search/gumbel.h"

#include <algorithm>
#include <bit>

namespace zf {

void HalvingSchedule::begin(uint32_t num_candidates, uint32_t num_simulations) {
    rounds_.clear();
    const uint32_t num_rounds = std::max<uint32_t>(1, std::bit_width(num_candidates - 1));
    uint32_t left = num_candidates, visits = 0;
    for (uint64_t simulation = 0; simulation < num_simulations;) {
        rounds_.push_back({uint32_t(simulation), left, visits});
        const uint32_t share = std::max<uint32_t>(1, num_simulations / (num_rounds * left));
        simulation += uint64_t(share) * left;
        visits += share;
        if (left > 2) left = left < 4 ? 2 : left / 2;
    }
}

uint32_t HalvingSchedule::visits_before(uint32_t simulation) const {
    auto round = rounds_.end() - 1;
    while (round->first_simulation > simulation) --round;
    return round->visits + (simulation - round->first_simulation) / round->num_candidates;
}

uint32_t num_candidates(const SearchOptions& options, uint32_t num_legal) {
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

void GumbelRoot::begin(std::span<const float> priors, const SearchOptions& options, Rng& rng) {
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
    schedule_.begin(count, options.num_simulations);
}

uint32_t GumbelRoot::select(uint32_t simulation, std::span<const uint32_t> visits,
                            std::span<const float> values_to_move, float root_value_to_move) {
    completed_values(visits, values_to_move, root_value_to_move);
    const uint32_t wanted = schedule_.visits_before(simulation);
    uint32_t best = kNoIndexInRoot, fewest = kNoIndexInRoot;
    for (uint32_t i = 0; i < actions_.size(); ++i) {
        if (!actions_[i].candidate) continue;
        if (fewest == kNoIndexInRoot || visits[i] < visits[fewest]) fewest = i;
        if (visits[i] == wanted && (best == kNoIndexInRoot || score(i) > score(best))) best = i;
    }
    return best == kNoIndexInRoot ? fewest : best;
}

uint32_t GumbelRoot::best(std::span<const uint32_t> visits, std::span<const float> values_to_move,
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

void GumbelRoot::improved_policy(std::span<const uint32_t> visits,
                                 std::span<const float> values_to_move, float root_value_to_move,
                                 std::span<const uint8_t> in_play, std::vector<float>& policy) {
    completed_values(visits, values_to_move, root_value_to_move);
    scores_.clear();
    for (size_t i = 0; i < actions_.size(); ++i)
        if (in_play[i]) scores_.push_back(actions_[i].logit + bonus_[i]);
    softmax(scores_.data(), int(scores_.size()));
    policy.assign(actions_.size(), 0);
    for (size_t i = 0, at = 0; i < actions_.size(); ++i)
        if (in_play[i]) policy[i] = scores_[at++];
}

float GumbelRoot::value_shares(std::span<const uint32_t> visits, std::span<const float> policy,
                               std::vector<float>& shares) const {
    float total = 0, visited_prior = 0, mixed_share = 0;
    shares.resize(actions_.size());
    for (size_t i = 0; i < actions_.size(); ++i) {
        const float count = float(visits[i]);
        total += count;
        visited_prior += visits[i] > 0 ? actions_[i].prior : 0;
        shares[i] = policy[i] * (count / (count + 1));
        mixed_share += policy[i] / (count + 1);
    }
    const float evaluation_share = mixed_share / (1 + total);
    const float by_prior = total > 0 ? (mixed_share - evaluation_share) / visited_prior : 0;
    for (size_t i = 0; i < actions_.size(); ++i)
        if (visits[i] > 0) shares[i] += by_prior * actions_[i].prior;
    return evaluation_share;
}

void GumbelRoot::completed_values(std::span<const uint32_t> visits,
                                  std::span<const float> values_to_move, float root_value_to_move) {
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

}  // namespace zf
