// The evaluations of a search's leaves: from the cache, or from an evaluator and then cached.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "search/cache.h"
#include "search/simulation.h"

namespace zf {

template <Game P>
class LeafAnswers {
  public:
    // `facts` must outlive it.
    explicit LeafAnswers(const Facts& facts)
        : facts_(&facts),
          num_outcomes_(int(facts.outcomes.size())),
          observation_(facts.observation_bytes) {}

    // `version` is that of the weights that evaluate. The cache may be null: then only opponents'
    // priors are cached.
    void begin(uint32_t num_simulations, uint64_t version, EvaluationCache* cache) {
        version_ = version;
        cache_ = cache;
        if (facts_->hidden && !cache && !own_cache_)
            own_cache_.emplace(std::min(kMostOwnCacheBytes, num_simulations * 512ULL));
    }

    // Looks up the priors of an opponent's node for the sampled hand.
    bool find_priors(Simulation<P>& simulation) {
        simulation.position.observe(simulation.observer, observation_.data());
        simulation.key = EvaluationCache::key(observation_, simulation.legal, version_);
        return prior_cache()->find(simulation.key, num_outcomes_, simulation.evaluated);
    }

    // Writes the leaf's observation; true on a cache hit.
    bool find(Simulation<P>& simulation, uint8_t* observation) {
        simulation.position.observe(simulation.observer, observation);
        if (is_for_priors(simulation) || !cache_) return false;  // find_priors already missed
        simulation.key = EvaluationCache::key({observation, size_t(facts_->observation_bytes)},
                                              simulation.legal, version_);
        return cache_->find(simulation.key, num_outcomes_, simulation.evaluated);
    }

    // Reads an evaluation. False, and nothing is cached, if a number is not finite.
    bool take(const Evaluation& evaluation, Simulation<P>& simulation) {
        const float* outcomes = evaluation.outcomes_observer;
        std::copy_n(outcomes, num_outcomes_, simulation.evaluated.outcomes_observer);
        if (!all_finite(outcomes, num_outcomes_) ||
            !read_priors(evaluation.policy_logits, simulation.legal, scratch_,
                         simulation.evaluated.priors))
            return false;
        EvaluationCache* cache = is_for_priors(simulation) ? prior_cache() : cache_;
        if (cache) cache->store(simulation.key, num_outcomes_, simulation.evaluated);
        return true;
    }

  private:
    static constexpr unsigned long long kMostOwnCacheBytes = 1 << 24;

    static bool is_for_priors(const Simulation<P>& simulation) {
        return simulation.purpose == Simulation<P>::Purpose::priors;
    }
    EvaluationCache* prior_cache() { return cache_ ? cache_ : &*own_cache_; }

    const Facts* facts_;
    int num_outcomes_;
    std::vector<uint8_t> observation_;  // scratch
    std::vector<float> scratch_;
    EvaluationCache* cache_ = nullptr;
    std::optional<EvaluationCache> own_cache_;  // for opponents' priors, without a shared cache
    uint64_t version_ = 0;
};

}  // namespace zf
