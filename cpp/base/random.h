// Random numbers that are the same on every machine.
//
// xoshiro256** (Blackman and Vigna, 2018) seeded by splitmix64. Not <random>: its distributions
// differ between standard libraries. A stream is a plain value: copies give the same numbers.
#pragma once

#include <bit>
#include <cstdint>

#include "base/exact_math.h"

namespace zf {

// One step of splitmix64: a bijection on 64 bits that mixes well.
constexpr uint64_t mix64(uint64_t x) {
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

// The seed of an independent stream, derived from `seed` by `salt`.
constexpr uint64_t derive_seed(uint64_t seed, uint64_t salt) { return mix64(mix64(seed) ^ salt); }

class Rng {
  public:
    explicit Rng(uint64_t seed) {
        for (auto& word : state_) word = seed = mix64(seed);
    }

    uint64_t next() {
        const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
        const uint64_t t = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= t;
        state_[3] = std::rotl(state_[3], 45);
        return result;
    }

    // Uniform in [0, bound), exactly, by rejection (Lemire, 2019). Precondition: bound > 0.
    uint32_t below(uint32_t bound) {
        uint64_t product = uint64_t(uint32_t(next() >> 32)) * bound;
        if (uint32_t(product) < bound) {
            const uint32_t threshold = uint32_t(-bound) % bound;
            while (uint32_t(product) < threshold)
                product = uint64_t(uint32_t(next() >> 32)) * bound;
        }
        return uint32_t(product >> 32);
    }

    // Uniform in [0, 1), a multiple of 2^-53.
    double uniform() { return double(next() >> 11) * 0x1.0p-53; }

    // Uniform in (0, 1): safe to take the logarithm of.
    double uniform_open() { return (double(next() >> 12) + 0.5) * 0x1.0p-52; }

    double gumbel() { return -exact_log(-exact_log(uniform_open())); }

    // Standard normal, by Marsaglia's polar method.
    double normal() {
        for (;;) {
            const double u = 2 * uniform_open() - 1, v = 2 * uniform_open() - 1;
            const double s = u * u + v * v;
            if (s > 0 && s < 1) return u * exact_sqrt(-2 * exact_log(s) / s);
        }
    }

    // Gamma with the given shape > 0 and scale 1 (Marsaglia and Tsang, 2000).
    double gamma(double shape) {
        if (shape < 1) {
            const double boost = exact_exp(exact_log(uniform_open()) / shape);
            return gamma(shape + 1) * boost;
        }
        const double d = shape - 1.0 / 3, c = 1 / exact_sqrt(9 * d);
        for (;;) {
            const double x = normal(), root = 1 + c * x;
            if (root <= 0) continue;
            const double v = root * root * root, u = uniform_open();
            if (exact_log(u) < 0.5 * x * x + d - d * v + d * exact_log(v)) return d * v;
        }
    }

  private:
    uint64_t state_[4];
};

}  // namespace zf
