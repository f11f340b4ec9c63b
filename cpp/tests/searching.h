// Searches by an evaluator of the core, for tests.
#pragma once

#include "search/evaluators.h"
#include "search/search.h"

namespace zf {

// Runs a search that was begun to its end.
template <Game P>
void run_search(Search<P>& search, CoreEvaluator& evaluator, const Facts& facts) {
    std::vector<uint8_t> observation(facts.observation_bytes);
    while (!search.finished()) {
        const int slot = search.gather(observation.data());
        if (slot >= 0)
            search.absorb(slot, evaluator.evaluate(search.leaf_position(slot),
                                                   search.leaf_observer(slot), observation));
    }
}

template <Game P>
RootResult search_on(const P& position, const Facts& facts, SearchOptions options,
                     EvaluatorKind kind, EvaluationCache* cache = nullptr, uint64_t seed = 1) {
    Search<P> search(facts);
    search.begin(position, options, seed, 0, cache);
    CoreEvaluator evaluator(kind, facts, seed);
    run_search(search, evaluator, facts);
    return search.result();
}

template <Game P>
P new_position() {
    Rng rng(1);
    return P::start({}, rng);
}

}  // namespace zf
