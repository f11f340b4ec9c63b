// Sixteen-bit probabilities: numbers in [0, 1] with 11 bits of mantissa and no sign.
//
// Like IEEE half precision, but the sign bit extends the mantissa and the exponents cover the range
// of probabilities (2^-32 to 1). Converted in software with integer operations: every machine
// rounds alike, and nothing is subnormal. Patterns sort like the numbers.
#pragma once

#include <bit>
#include <cstdint>

namespace zf {

using Half = uint16_t;

// Nearest pattern of x in [0, 1]. Only 0 itself becomes 0; the largest pattern stands for 1.
inline Half to_half(float x) {
    const int32_t shifted = (int32_t(std::bit_cast<uint32_t>(x)) - (95 << 23) + 0x800) >> 12;
    const int32_t clamped = shifted < 1 ? 1 : shifted > 65535 ? 65535 : shifted;
    return Half(x > 0 ? clamped : 0);
}

inline float from_half(Half half) {
    const uint32_t pattern = half == 65535 ? 65536 : half;
    return half == 0 ? 0.0f : std::bit_cast<float>((pattern << 12) + (95u << 23));
}

}  // namespace zf
