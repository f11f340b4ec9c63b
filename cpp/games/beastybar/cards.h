// The animals of Beasty Bar and short lists of them.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>

#include "base/random.h"

namespace zf::beastybar {

// A species is its strength, from 1. A player owns one animal of each.
enum Species : uint8_t {
    kSkunk = 1,
    kParrot,
    kKangaroo,
    kMonkey,
    kChameleon,
    kSeal,
    kZebra,
    kGiraffe,
    kSnake,
    kCrocodile,
    kHippo,
    kLion
};
inline constexpr int kNumSpecies = 12;
inline constexpr int kNumCards = 2 * kNumSpecies;
inline constexpr std::array<const char*, kNumSpecies + 1> kSpeciesNames = {
    "",      "skunk",   "parrot", "kangaroo",  "monkey", "chameleon", "seal",
    "zebra", "giraffe", "snake",  "crocodile", "hippo",  "lion"};
inline constexpr std::array<uint8_t, kNumSpecies + 1> kSpeciesPoints = {0, 4, 4, 4, 3, 3, 2,
                                                                        4, 3, 2, 3, 2, 2};

// A set of species, bit s for species s.
using SpeciesSet = uint32_t;
template <class... S>
constexpr SpeciesSet set_of(S... species) {
    return ((1u << species) | ...);
}

// An animal: its species and its owner, 0 or 1. Never 0.
using Card = uint8_t;
constexpr Card make_card(int species, int owner) { return Card(species << 1 | owner); }
constexpr Species species_of(Card card) { return Species((card >> 1) & 15); }
constexpr int owner_of(Card card) { return card & 1; }
constexpr bool is_in(SpeciesSet set, Card card) { return (set >> species_of(card)) & 1; }
inline std::string card_text(Card card) {
    return kSpeciesNames[species_of(card)] + std::to_string(owner_of(card));
}

// A list of small numbers, none of them 0, in one word: the first in the lowest bits. Indices must
// be within the list; there is room for fewer than 64 / kBits numbers.
template <int kBits>
class PackedList {
  public:
    constexpr PackedList() = default;
    constexpr explicit PackedList(uint64_t bits) : bits_(bits) {}

    constexpr int size() const { return (64 - std::countl_zero(bits_) + kBits - 1) / kBits; }
    constexpr bool empty() const { return bits_ == 0; }
    constexpr int operator[](int i) const { return int((bits_ >> (i * kBits)) & kItem); }
    // -1 where it is not in the list.
    constexpr int find(int item) const {
        const uint64_t difference = bits_ ^ kOnes * uint64_t(item);  // 0 where it lies
        const uint64_t found = (difference - kOnes) & ~difference & kOnes << (kBits - 1);
        return found ? std::countr_zero(found) / kBits : -1;
    }
    constexpr void append(int item) { bits_ |= uint64_t(item) << (size() * kBits); }
    constexpr void insert(int i, int item) {
        const uint64_t before = below(i);
        bits_ = (bits_ & before) | uint64_t(item) << (i * kBits) | (bits_ & ~before) << kBits;
    }
    constexpr int take(int i) {
        const int item = (*this)[i];
        const uint64_t before = below(i);
        bits_ = (bits_ & before) | ((bits_ >> kBits) & ~before);
        return item;
    }
    constexpr uint64_t bits() const { return bits_; }
    bool operator==(const PackedList&) const = default;

  private:
    static constexpr uint64_t kItem = (1ULL << kBits) - 1;
    static constexpr uint64_t kOnes = ~0ULL / kItem;  // 1 in each place
    static constexpr uint64_t below(int i) { return (1ULL << (i * kBits)) - 1; }
    uint64_t bits_ = 0;
};

// A hand or a pile: species of one owner, in the order in which they are drawn.
using Cards = PackedList<4>;

inline SpeciesSet species_set(Cards cards) {
    SpeciesSet set = 0;
    for (uint64_t bits = cards.bits(); bits; bits >>= 4) set |= 1u << (bits & 15);
    return set;
}

inline Cards in_order(SpeciesSet set) {
    Cards cards;
    for (; set; set &= set - 1) cards.append(std::countr_zero(set));
    return cards;
}

// The species of a set in an order drawn uniformly.
inline Cards shuffled(SpeciesSet set, Rng& rng) {
    Cards left = in_order(set);
    uint64_t drawn = 0;
    for (int count = std::popcount(set); count > 0; --count)
        drawn = drawn << 4 | uint64_t(left.take(int(rng.below(uint32_t(count)))));
    return Cards(drawn);
}

}  // namespace zf::beastybar
