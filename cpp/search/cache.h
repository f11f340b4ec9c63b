// The evaluation cache. Key: observation bytes, legal actions, version of the weights.
//
// Entries of any length follow one another in ring buffers of fixed size, so memory is bounded and
// the oldest entries are overwritten first. An entry is the evaluation bit for bit: with unchanged
// weights a hit changes the cost of a search, never its result. If the weights change during a
// search, its evaluations are still stored under the version that it began with, so an entry is by
// the weights of its version or by newer ones.
//
// Any number of threads may share a cache, and none ever waits for another. The key picks a shard;
// a thread that meets another one there misses, or stores nothing. A single thread never meets
// that, so its hits depend on what it stored alone.
#pragma once

#include <atomic>
#include <cstring>
#include <memory>

#include "base/hash.h"
#include "search/evaluation.h"

namespace zf {

class EvaluationCache {
  public:
    // At most `num_bytes`, but no less than 4 KiB.
    explicit EvaluationCache(uint64_t num_bytes)
        : shards_(std::clamp(num_bytes / kMinShardBytes, uint64_t(1), kMaxShards)) {
        const uint64_t num_words = std::max<uint64_t>(num_bytes, 4096) / sizeof(uint32_t);
        const uint64_t words_each = std::min(num_words / shards_.size(), kMaxShardWords);
        for (Shard& shard : shards_) {
            shard.index.resize(words_each / (kWordsPerPlace + 1), kNone);
            shard.ring_words = uint32_t(words_each - shard.index.size());
            // Nothing is read before it is written: pages are committed only as the ring fills.
            shard.ring = std::make_unique_for_overwrite<uint32_t[]>(shard.ring_words);
        }
    }

    // Movable while no thread uses it; not copyable.
    EvaluationCache(EvaluationCache&&) = default;
    EvaluationCache& operator=(EvaluationCache&&) = default;

    // The 128-bit key of an evaluation.
    static Hash128 key(std::span<const uint8_t> observation, std::span<const Action> legal,
                       uint64_t version) {
        Hash128 hash = hash_bytes(observation, version);
        uint64_t actions = legal.size();
        for (const Action action : legal) actions = (actions ^ action) * 0x9e3779b97f4a7c15ULL;
        hash.high ^= mix64(actions);
        return hash;
    }

    bool find(const Hash128& key, int num_outcomes, Evaluated& found) {
        Shard& shard = shard_of(key);
        const Visit visit(shard);
        if (!visit.alone()) return false;
        const uint32_t at = shard.place(key);
        if (at == kNone) return false;
        const uint32_t* entry = &shard.ring[at];
        Hash128 stored;
        std::memcpy(&stored.low, entry, 8);
        std::memcpy(&stored.high, entry + 2, 8);
        if (stored != key) return false;
        const uint32_t num_priors = entry[4];
        std::memcpy(found.outcomes_observer, entry + 5, num_outcomes * sizeof(float));
        found.priors.resize(num_priors);
        std::memcpy(found.priors.data(), entry + 5 + num_outcomes, num_priors * sizeof(Half));
        return true;
    }

    void store(const Hash128& key, int num_outcomes, const Evaluated& evaluated) {
        Shard& shard = shard_of(key);
        const Visit visit(shard);
        if (!visit.alone()) return;
        const uint32_t num_priors = uint32_t(evaluated.priors.size());
        const uint32_t length = 5 + uint32_t(num_outcomes) + (num_priors + 1) / 2;
        if (length > shard.ring_words) return;
        if (length > shard.ring_words - shard.head) shard.head = 0;
        uint32_t* entry = &shard.ring[shard.head];
        std::memcpy(entry, &key.low, 8);
        std::memcpy(entry + 2, &key.high, 8);
        entry[4] = num_priors;
        std::memcpy(entry + 5, evaluated.outcomes_observer, num_outcomes * sizeof(float));
        std::memcpy(entry + 5 + num_outcomes, evaluated.priors.data(), num_priors * sizeof(Half));
        shard.place(key) = shard.head;
        shard.head += length;
    }

    uint64_t num_bytes() const {
        uint64_t num_words = 0;
        for (const Shard& shard : shards_) num_words += shard.ring_words + shard.index.size();
        return num_words * sizeof(uint32_t);
    }

  private:
    static constexpr uint32_t kNone = 0xffffffff;
    static constexpr uint64_t kMaxShards = 256, kMinShardBytes = 1 << 14;
    static constexpr uint64_t kMaxShardWords = 1ULL << 31;
    // The shortest entries, those of few legal actions, take about twelve words.
    static constexpr uint64_t kWordsPerPlace = 8;

    // On cache lines of its own: no false sharing between threads at different shards.
    struct alignas(64) Shard {
        // Where in the ring the key's entry may be; newer entries replace older ones.
        uint32_t& place(const Hash128& key) { return index[scaled(key.low, index.size())]; }

        std::atomic<bool> taken = false;
        uint32_t head = 0, ring_words = 0;
        std::unique_ptr<uint32_t[]> ring;
        std::vector<uint32_t> index;
    };

    // Try-lock of a shard, released at the end of its scope.
    class Visit {
      public:
        explicit Visit(Shard& shard)
            : shard_(shard), alone_(!shard.taken.exchange(true, std::memory_order_acquire)) {}
        ~Visit() {
            if (alone_) shard_.taken.store(false, std::memory_order_release);
        }
        Visit(const Visit&) = delete;
        Visit& operator=(const Visit&) = delete;
        bool alone() const { return alone_; }

      private:
        Shard& shard_;
        bool alone_;
    };

    // Spreads 64 random bits evenly over [0, count).
    static uint64_t scaled(uint64_t bits, uint64_t count) {
        return uint64_t(static_cast<unsigned __int128>(bits) * count >> 64);
    }
    Shard& shard_of(const Hash128& key) { return shards_[scaled(key.high, shards_.size())]; }

    std::vector<Shard> shards_;
};

}  // namespace zf
