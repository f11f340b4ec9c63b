// A 128-bit hash of bytes, the same on every machine (words are read as little-endian).
//
// For cache keys, signatures and checksums; not cryptographic.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "base/random.h"

namespace zf {

struct Hash128 {
    uint64_t low = 0, high = 0;
    bool operator==(const Hash128&) const = default;
};

// Up to eight bytes as a little-endian number.
inline uint64_t load_word(const uint8_t* bytes, uint32_t count) {
    if constexpr (std::endian::native == std::endian::little) {
        if (count == 8) {
            uint64_t word;
            std::memcpy(&word, bytes, 8);
            return word;
        }
    }
    uint64_t word = 0;
    for (uint32_t i = 0; i < count; ++i) word |= uint64_t(bytes[i]) << (8 * i);
    return word;
}

// The two halves of a 64 x 64 bit product, folded together.
inline uint64_t fold_product(uint64_t a, uint64_t b) {
    const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    return uint64_t(product) ^ uint64_t(product >> 64);
}

inline Hash128 hash_bytes(std::span<const uint8_t> bytes, uint64_t seed = 0) {
    uint64_t low = mix64(seed), high = mix64(low);
    const uint8_t* data = bytes.data();
    uint32_t left = uint32_t(bytes.size());
    low ^= left;
    while (left > 0) {
        const uint32_t first = left < 8 ? left : 8, second = left - first < 8 ? left - first : 8;
        const uint64_t a = load_word(data, first), b = load_word(data + first, second);
        low = fold_product(low ^ a ^ 0xa0761d6478bd642fULL, b ^ 0xe7037ed1a0b428dbULL);
        high = fold_product(high ^ b ^ 0x8ebc6af09c88c6e3ULL, a ^ 0x589965cc75374cc3ULL) + low;
        data += first + second;
        left -= first + second;
    }
    return {mix64(low ^ high), mix64(high + 0x1d8e4e27c47d124fULL)};
}

}  // namespace zf
