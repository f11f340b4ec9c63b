// The GNU Backgammon position ID: the checkers of both players in 14 characters.
//
// For the player not on roll, then for the one on roll: for each point 1 to 24 and the bar as many
// ones as checkers, then a zero. 80 bits, the lowest of each byte first, in base64 without padding.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>

#include "base/result.h"

namespace zf::backgammon {

// Checkers per slot, as their owner counts points: 0 off the board, 1 to 24, 25 the bar.
inline constexpr int kOff = 0, kBar = 25, kNumSlots = 26;
using Counts = std::array<uint8_t, kNumSlots>;

inline constexpr char kBase64[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
inline constexpr int kIdChars = 14, kIdBits = 80;

// Where bit i of an ID lies: the character, and the place in its six bits.
constexpr std::pair<int, int> place_in_id(int i) {
    const int from_the_left = i / 8 * 8 + 7 - i % 8;
    return {from_the_left / 6, 5 - from_the_left % 6};
}

// Needs at most 15 checkers of each player.
inline std::string encode_id(const Counts& on_roll, const Counts& other) {
    int sextets[kIdChars] = {}, at = 0;
    for (const Counts* count : {&other, &on_roll}) {
        for (int slot = 1; slot <= kBar; ++slot, ++at) {
            for (int i = 0; i < (*count)[slot]; ++i, ++at) {
                const auto [character, place] = place_in_id(at);
                sextets[character] |= 1 << place;
            }
        }
    }
    std::string id;
    for (const int sextet : sextets) id += kBase64[sextet];
    return id;
}

// The checkers of the player on roll, then the other's; none of them off.
inline Result<std::array<Counts, 2>> decode_id(const std::string& id) {
    const Error bad{
        Error::Kind::bad_text,
        "'" + id + "' is no position ID; one has 14 characters, such as 4HPwATDgc/ABMA"};
    if (int(id.size()) != kIdChars) return bad;
    int sextets[kIdChars], num_ones = 0;
    for (int i = 0; i < kIdChars; ++i) {
        const size_t value = std::string(kBase64).find(id[i]);
        if (value == std::string::npos) return bad;
        sextets[i] = int(value);
        num_ones += std::popcount(uint32_t(value));
    }
    int at = 0;
    const auto next_is_one = [&] {
        if (at == kIdBits) return false;
        const auto [character, place] = place_in_id(at++);
        return ((sextets[character] >> place) & 1) != 0;
    };
    std::array<Counts, 2> read = {};
    for (Counts* count : {&read[1], &read[0]}) {
        for (int slot = 1; slot <= kBar; ++slot) {
            for (; next_is_one(); --num_ones) ++(*count)[slot];
        }
    }
    if (num_ones != 0) return bad;  // some lie behind the last bar
    return read;
}

}  // namespace zf::backgammon
