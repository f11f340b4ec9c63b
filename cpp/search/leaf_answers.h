// The answers to a search's leaves: looked for in a cache, else taken from an evaluator and kept.
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

    // A search of so many simulations, evaluated by that version of the weights. The cache may be
    // null: then only priors of opponents are remembered.
    void begin(uint32_t num_simulations, uint64_t version, EvaluationCache* cache) {
        version_ = version;
        cache_ = cache;
        if (facts_->hidden && !cache && !own_cache_)
            own_cache_.emplace(std::min(kMostOwnCacheBytes, num_simulations * 512ULL));
    }

    // Looks for the priors that an opponent's node lacks.
    bool find_priors(Simulation<P>& simulation) {
        simulation.position.observe(simulation.observer, observation_.data());
        simulation.key = EvaluationCache::key(observation_, simulation.legal, version_);
        return prior_cache()->find(simulation.key, num_outcomes_, simulation.evaluated);
    }

    // Writes the leaf's observation; true if its answer was found.
    bool find(Simulation<P>& simulation, uint8_t* observation) {
        simulation.position.observe(simulation.observer, observation);
        if (is_for_priors(simulation) || !cache_) return false;  // find_priors has looked
        simulation.key = EvaluationCache::key({observation, size_t(facts_->observation_bytes)},
                                              simulation.legal, version_);
        return cache_->find(simulation.key, num_outcomes_, simulation.evaluated);
    }

    // Reads an evaluator's answer. False, and nothing is kept, where a number is not finite.
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
    std::optional<EvaluationCache> own_cache_;  // for priors of opponents, where none was given
    uint64_t version_ = 0;
};

}  // namespace zf
