// The arithmetic that must be the same everywhere is also right: compared with the C library.
#include <doctest/doctest.h>

#include <cmath>

#include "base/bytes.h"
#include "base/half.h"
#include "base/hash.h"
#include "base/random.h"

using namespace zf;

TEST_CASE("exp and log agree with the C library to the last digits") {
    for (double x = -700; x < 700; x += 0.37)
        CHECK(exact_exp(x) == doctest::Approx(std::exp(x)).epsilon(1e-14));
    for (double x = 1e-300; x < 1e300; x *= 1.7)
        CHECK(exact_log(x) == doctest::Approx(std::log(x)).epsilon(1e-14));
    CHECK(exact_log(1.0) == 0);
    CHECK(exact_exp(0.0) == 1);
    for (float x = -86; x <= 0; x += 0.01f)
        CHECK(exact_exp_negative(x) == doctest::Approx(std::exp(double(x))).epsilon(1e-6));
    CHECK(exact_exp_negative(-1000) == 0);
    CHECK(exact_exp_negative(0) == 1);
}

TEST_CASE("a half keeps a probability to three digits and its order") {
    float last = -1;
    for (float x = 1e-9f; x <= 1; x *= 1.001f) {
        const float kept = from_half(to_half(x));
        CHECK(kept == doctest::Approx(x).epsilon(5e-4));
        CHECK(kept >= last);
        last = kept;
    }
    CHECK(from_half(to_half(0)) == 0);
    CHECK(from_half(to_half(1)) == 1);
    CHECK(to_half(1e-30f) == 1);
    for (uint32_t half = 1; half < 65536; ++half) CHECK(to_half(from_half(Half(half))) == half);
}

TEST_CASE("random numbers have the moments of their distributions") {
    Rng rng(1);
    const int count = 200000;
    double uniform = 0, normal = 0, normal_square = 0, gamma = 0, small_gamma = 0, gumbel = 0;
    int below[7] = {};
    for (int i = 0; i < count; ++i) {
        uniform += rng.uniform();
        const double x = rng.normal();
        normal += x;
        normal_square += x * x;
        gamma += rng.gamma(2.5);
        small_gamma += rng.gamma(0.03);
        gumbel += rng.gumbel();
        ++below[rng.below(7)];
    }
    CHECK(uniform / count == doctest::Approx(0.5).epsilon(0.01));
    CHECK(std::abs(normal / count) < 0.01);
    CHECK(normal_square / count == doctest::Approx(1).epsilon(0.02));
    CHECK(gamma / count == doctest::Approx(2.5).epsilon(0.01));
    CHECK(small_gamma / count == doctest::Approx(0.03).epsilon(0.06));
    CHECK(gumbel / count == doctest::Approx(0.5772).epsilon(0.02));
    for (const int each : below) CHECK(std::abs(each - count / 7) < 700);
}

TEST_CASE("splitmix64 gives its published first output for seed 1234567") {
    CHECK(mix64(1234567) == 6457827717110365317ULL);
}

TEST_CASE("a hash depends on every byte and on the length") {
    std::vector<uint8_t> bytes(100, 7);
    const Hash128 hash = hash_bytes(bytes);
    for (uint8_t& byte : bytes) {
        byte ^= 1;
        CHECK(hash_bytes(bytes) != hash);
        byte ^= 1;
    }
    CHECK(hash_bytes(bytes) == hash);
    bytes.push_back(0);
    CHECK(hash_bytes(bytes) != hash);
    CHECK(hash_bytes(std::vector<uint8_t>{}) != hash_bytes(std::vector<uint8_t>{0}));
}

TEST_CASE("numbers written are read back, and no byte is read past the end") {
    ByteWriter out;
    for (const uint64_t value : {0ULL, 1ULL, 127ULL, 128ULL, 16384ULL, ~0ULL}) out.varint(value);
    ByteReader in(out.bytes());
    for (const uint64_t value : {0ULL, 1ULL, 127ULL, 128ULL, 16384ULL, ~0ULL})
        CHECK(in.varint() == value);
    CHECK(in.ok());
    CHECK(in.u8() == 0);
    CHECK_FALSE(in.ok());
    const uint8_t padded[] = {0x80, 0x00};
    ByteReader longer(padded);
    longer.varint();
    CHECK_FALSE(longer.ok());
}
