// Remembers evaluations by what was evaluated: observation bytes, legal actions, weights version.
//
// Entries of any length follow one another in a ring of fixed size, so the oldest are overwritten
// first and memory is bounded. A stored answer is the very one that was given, so a hit changes the
// cost of a search, never its result. Not shared between threads.
#pragma once

#include <cstring>

#include "base/hash.h"
#include "search/evaluation.h"

namespace zf {

class EvaluationCache {
  public:
    explicit EvaluationCache(uint64_t num_bytes) {
        uint64_t num_words = 1024;
        while (num_words * 2 * sizeof(uint32_t) <= num_bytes && num_words < (1ULL << 31))
            num_words *= 2;
        ring_.resize(num_words);
        index_.resize(num_words / 32, kNone);
    }

    // The 128-bit key of an evaluation.
    static Hash128 key(std::span<const uint8_t> observation, std::span<const Action> legal,
                       uint64_t version) {
        Hash128 hash = hash_bytes(observation, version);
        uint64_t actions = legal.size();
        for (const Action action : legal) actions = (actions ^ action) * 0x9e3779b97f4a7c15ULL;
        hash.high ^= mix64(actions);
        return hash;
    }

    bool find(const Hash128& key, int num_outcomes, Evaluated& found) const {
        const uint32_t at = index_[key.low % index_.size()];
        if (at == kNone) return false;
        const uint32_t* entry = &ring_[at];
        uint64_t low, high;
        std::memcpy(&low, entry, 8);
        std::memcpy(&high, entry + 2, 8);
        if (low != key.low || high != key.high) return false;
        const uint32_t num_priors = entry[4];
        std::memcpy(found.outcomes_observer, entry + 5, num_outcomes * sizeof(float));
        found.priors.resize(num_priors);
        std::memcpy(found.priors.data(), entry + 5 + num_outcomes, num_priors * sizeof(Half));
        return true;
    }

    void store(const Hash128& key, int num_outcomes, const Evaluated& evaluated) {
        const uint32_t num_priors = uint32_t(evaluated.priors.size());
        const uint32_t length = 5 + uint32_t(num_outcomes) + (num_priors + 1) / 2;
        if (length > ring_.size()) return;
        if (head_ + length > ring_.size()) head_ = 0;
        uint32_t* entry = &ring_[head_];
        std::memcpy(entry, &key.low, 8);
        std::memcpy(entry + 2, &key.high, 8);
        entry[4] = num_priors;
        std::memcpy(entry + 5, evaluated.outcomes_observer, num_outcomes * sizeof(float));
        std::memcpy(entry + 5 + num_outcomes, evaluated.priors.data(), num_priors * sizeof(Half));
        index_[key.low % index_.size()] = head_;
        head_ += length;
    }

    uint64_t num_bytes() const { return (ring_.size() + index_.size()) * sizeof(uint32_t); }

  private:
    static constexpr uint32_t kNone = 0xffffffff;
    std::vector<uint32_t> ring_;
    std::vector<uint32_t>
        index_;  // by the key's low half; a newer entry takes the place of an older
    uint32_t head_ = 0;
};

}  // namespace zf
