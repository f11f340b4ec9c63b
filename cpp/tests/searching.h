// Searches by an evaluator of the core, for tests.
#pragma once

#include "search/evaluators.h"

namespace zf {

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
