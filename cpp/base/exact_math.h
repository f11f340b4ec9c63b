// exp, log and sqrt that are bit-identical on every machine.
//
// The C library's exp and log differ in the last bit between systems; these use only IEEE
// additions, multiplications and divisions in a fixed order (and must be built with
// -ffp-contract=off). Accurate to a few units in the last place, which a test holds against the C
// library.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace zf {

// IEEE 754 requires the square root to be correctly rounded, so the library's is exact enough.
inline double exact_sqrt(double x) { return std::sqrt(x); }
inline float exact_sqrt(float x) { return std::sqrt(x); }

// e^x in double precision; 0 below -708, e^708 above 708.
inline double exact_exp(double x) {
    if (x < -708) return 0;
    if (x > 708) x = 708;
    const double shifted = x * 1.4426950408889634 + 0x1.8p52;  // rounds to the nearest integer
    const double n = shifted - 0x1.8p52;
    const double r = (x - n * 0x1.62e42fee00000p-1) - n * 0x1.a39ef35793c76p-33;
    double sum = 1.0 / 6227020800;
    sum = sum * r + 1.0 / 479001600;
    sum = sum * r + 1.0 / 39916800;
    sum = sum * r + 1.0 / 3628800;
    sum = sum * r + 1.0 / 362880;
    sum = sum * r + 1.0 / 40320;
    sum = sum * r + 1.0 / 5040;
    sum = sum * r + 1.0 / 720;
    sum = sum * r + 1.0 / 120;
    sum = sum * r + 1.0 / 24;
    sum = sum * r + 1.0 / 6;
    sum = sum * r + 0.5;
    sum = sum * r + 1;
    sum = sum * r + 1;
    return sum * std::bit_cast<double>(uint64_t(int64_t(n) + 1023) << 52);
}

// Natural logarithm of a positive, normal x.
inline double exact_log(double x) {
    const uint64_t bits = std::bit_cast<uint64_t>(x);
    int exponent = int(bits >> 52) - 1023;
    double m = std::bit_cast<double>((bits & 0xfffffffffffffULL) | 0x3ff0000000000000ULL);
    if (m > 1.4142135623730951) m *= 0.5, ++exponent;
    const double s = (m - 1) / (m + 1), z = s * s;  // log m = 2 atanh s
    double sum = 1.0 / 21;
    sum = sum * z + 1.0 / 19;
    sum = sum * z + 1.0 / 17;
    sum = sum * z + 1.0 / 15;
    sum = sum * z + 1.0 / 13;
    sum = sum * z + 1.0 / 11;
    sum = sum * z + 1.0 / 9;
    sum = sum * z + 1.0 / 7;
    sum = sum * z + 1.0 / 5;
    sum = sum * z + 1.0 / 3;
    sum = sum * z + 1;
    return double(exponent) * 0.6931471805599453 + 2 * s * sum;
}

// e^x in single precision for x <= 0, without branches, so that loops over it vectorise. 0 below
// -87.
inline float exact_exp_negative(float x) {
    constexpr uint32_t kLowest = std::bit_cast<uint32_t>(-87.0f);  // bits grow as x falls
    const uint32_t bits = std::bit_cast<uint32_t>(x);
    const float clamped = std::bit_cast<float>(bits < kLowest ? bits : kLowest);
    const float shifted = clamped * 1.44269504f + 0x1.8p23f;
    const float n = shifted - 0x1.8p23f;
    const float r = (clamped - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f;
    float sum = 1.0f / 5040;
    sum = sum * r + 1.0f / 720;
    sum = sum * r + 1.0f / 120;
    sum = sum * r + 1.0f / 24;
    sum = sum * r + 1.0f / 6;
    sum = sum * r + 0.5f;
    sum = sum * r + 1;
    sum = sum * r + 1;
    const float power = std::bit_cast<float>(uint32_t(int32_t(n) + 127) << 23);
    const uint32_t result = std::bit_cast<uint32_t>(sum * power);
    return std::bit_cast<float>(bits <= kLowest ? result : 0u);
}

}  // namespace zf
