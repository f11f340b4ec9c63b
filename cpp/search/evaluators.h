// Evaluators without a network: for tests, baselines and benchmarks.
#pragma once

#include "base/hash.h"
#include "search/evaluation.h"

namespace zf {

enum class EvaluatorKind : uint8_t {
    uniform,  // uniform over actions and outcomes
    hash,     // a fixed hash of the observation: peaked priors, values of all sizes
    playout,  // one random playout: plain MCTS
};

class CoreEvaluator {
  public:
    CoreEvaluator(EvaluatorKind kind, const Facts& facts, uint64_t seed)
        : kind_(kind),
          facts_(&facts),
          rng_(derive_seed(seed, 0xe7a1)),
          logits_(facts.num_actions, 0.0f) {}

    template <Game P>
    Evaluation evaluate(const P& position, int observer, std::span<const uint8_t> observation) {
        const int count = int(facts_->outcomes.size());
        for (int i = 0; i < count; ++i) outcomes_[i] = 1.0f / float(count);
        if (kind_ == EvaluatorKind::hash) answer_by_hash(hash_bytes(observation));
        if (kind_ == EvaluatorKind::playout) play_out(position, observer);
        return {logits_.data(), outcomes_};
    }

  private:
    // A 32-bit mixer that vectorises.
    static uint32_t mix32(uint32_t x) {
        x = (x ^ (x >> 16)) * 0x7feb352dU;
        x = (x ^ (x >> 15)) * 0x846ca68bU;
        return x ^ (x >> 16);
    }

    void answer_by_hash(const Hash128& hash) {
        const uint32_t seed = uint32_t(hash.low);
        for (int action = 0; action < facts_->num_actions; ++action) {
            const float u =
                float(int32_t(mix32(seed + uint32_t(action) * 0x9e3779b9U) >> 8)) * 0x1.0p-24f;
            logits_[action] = 6 * u * u * u * u;
        }
        const int count = int(facts_->outcomes.size());
        float sum = 0;
        for (int i = 0; i < count; ++i) {
            outcomes_[i] =
                0.01f + float(int32_t(mix32(uint32_t(hash.high) + uint32_t(i)) >> 8)) * 0x1.0p-24f;
            sum += outcomes_[i];
        }
        for (int i = 0; i < count; ++i) outcomes_[i] /= sum;
    }

    // A truncated playout leaves the outcomes uniform.
    template <Game P>
    void play_out(P position, int observer) {
        for (int ply = 0; ply < facts_->max_plies && position.to_move() != kOver; ++ply)
            position.play(position.to_move() == kChance ? position.random_outcome(rng_)
                                                        : position.random_action(rng_));
        if (position.to_move() != kOver) return;
        for (size_t i = 0; i < facts_->outcomes.size(); ++i) outcomes_[i] = 0;
        outcomes_[position.outcome(observer)] = 1;
    }

    EvaluatorKind kind_;
    const Facts* facts_;
    Rng rng_;
    std::vector<float> logits_;
    float outcomes_[kMaxOutcomes] = {};
};

}  // namespace zf
