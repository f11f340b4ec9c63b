// The memory of evaluations: what it gives back, how much of it there is, and many threads at once.
#include <doctest/doctest.h>

#include <thread>

#include "search/cache.h"

using namespace zf;

namespace {

constexpr int kNumOutcomes = 3;

Hash128 key_of(uint64_t number) {
    uint8_t bytes[8];
    std::memcpy(bytes, &number, 8);
    return EvaluationCache::key(bytes, {}, 0);
}

// An answer that is known from its number, of 1 to 32 priors.
Evaluated answer_of(uint64_t number) {
    Evaluated evaluated;
    for (int i = 0; i < kNumOutcomes; ++i) evaluated.outcomes_observer[i] = float(number + i);
    for (uint64_t i = 0; i <= number % 32; ++i) evaluated.priors.push_back(Half(number * 7 + i));
    return evaluated;
}

bool same(const Evaluated& a, const Evaluated& b) {
    return a.priors == b.priors &&
           std::equal(a.outcomes_observer, a.outcomes_observer + kNumOutcomes, b.outcomes_observer);
}

// How many of the answers to [from, to) are there. Each must be the one that was stored.
int num_remembered(EvaluationCache& cache, uint64_t from, uint64_t to) {
    int count = 0;
    for (uint64_t number = from; number < to; ++number) {
        Evaluated found;
        if (!cache.find(key_of(number), kNumOutcomes, found)) continue;
        CHECK(same(found, answer_of(number)));
        ++count;
    }
    return count;
}

}  // namespace

TEST_CASE("an answer is found again under its own key only") {
    const uint8_t here[] = {1, 2, 3}, there[] = {1, 2, 4};
    const Action two[] = {0, 1}, other[] = {0, 2};
    EvaluationCache cache(1 << 20);
    cache.store(EvaluationCache::key(here, two, 7), kNumOutcomes, answer_of(5));
    Evaluated found;
    CHECK(cache.find(EvaluationCache::key(here, two, 7), kNumOutcomes, found));
    CHECK(same(found, answer_of(5)));
    CHECK_FALSE(cache.find(EvaluationCache::key(there, two, 7), kNumOutcomes, found));
    CHECK_FALSE(cache.find(EvaluationCache::key(here, other, 7), kNumOutcomes, found));
    CHECK_FALSE(cache.find(EvaluationCache::key(here, two, 8), kNumOutcomes, found));
}

TEST_CASE("a full cache keeps the newest answers and stays within its bytes") {
    for (const uint64_t num_bytes : {1 << 12, 100'000, 1 << 20}) {
        EvaluationCache cache(num_bytes);
        CHECK(cache.num_bytes() <= num_bytes);
        CHECK(cache.num_bytes() > num_bytes * 9 / 10);
        const uint64_t num_fitting = num_bytes / 64, num_stored = 20 * num_fitting;
        for (uint64_t number = 0; number < num_stored; ++number)
            cache.store(key_of(number), kNumOutcomes, answer_of(number));
        CHECK(num_remembered(cache, 0, num_stored / 2) == 0);
        const uint64_t num_newest = num_fitting / 4;
        CHECK(num_remembered(cache, num_stored - num_newest, num_stored) > int(num_newest / 2));
    }
}

TEST_SUITE("threads") {
    TEST_CASE("eight threads that store and look up at once never get a wrong answer") {
        constexpr int kNumThreads = 8, kNumLooks = 40'000;
        constexpr uint64_t kNumKeys = 3000;
        EvaluationCache cache(1 << 17);  // so few shards that threads meet, too small for all keys
        int num_found[kNumThreads] = {}, num_wrong[kNumThreads] = {};
        std::vector<std::thread> threads;
        for (int t = 0; t < kNumThreads; ++t)
            threads.emplace_back([&, t] {
                Rng rng(t);
                Evaluated found;
                for (int look = 0; look < kNumLooks; ++look) {
                    const uint64_t number = rng.next() % kNumKeys;
                    if (cache.find(key_of(number), kNumOutcomes, found)) {
                        ++num_found[t];
                        num_wrong[t] += !same(found, answer_of(number));
                    } else {
                        cache.store(key_of(number), kNumOutcomes, answer_of(number));
                    }
                }
            });
        for (std::thread& thread : threads) thread.join();
        for (int t = 0; t < kNumThreads; ++t) {
            CHECK(num_wrong[t] == 0);
            CHECK(num_found[t] > kNumLooks / 10);
        }
    }
}
