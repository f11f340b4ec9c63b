// The record of one whole game: what self-play hands to training.
//
// It holds the options, the deal, every action and chance outcome, and for each decision the
// result of its search. Observations are not stored: replaying the episode recomputes them
// (replay.h).
//
// Bytes, version 1. Numbers are varints unless a width is given; texts and byte strings have their
// length in front.
//     "ZFE" 0x01 | game | number of options, each name and value | worker u64 | sequence u64 |
//     start | number of events | first version of weights | events | result | u64 hash of all
//     before
// An event is a tag (0 chance, 1 decision without search, 2 fast search, 3 full search; +4 at a
// decision: the change of version follows, zigzag) and its id; after a search come its simulations,
// the outcome distribution (u16 each, but the last is what is left), and after a full one the
// surprise (u16) and the policy: number of entries, then for each the step from the last action id
// and the weight. Tag 4 is a chance outcome whose position has a turn-ahead value: the outcome
// distribution follows, in the view of the player about to roll.
// The result is the first player's outcome + 1, or 0 for a game that was truncated.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "games/game.h"

namespace zf {

enum class SearchKind : uint8_t { chance = 0, none = 1, fast = 2, full = 3 };

struct PolicyEntry {
    Action action;
    uint16_t weight;  // in 1 / kPolicyUnit; the weights of an event sum to about kPolicyUnit
    bool operator==(const PolicyEntry&) const = default;
};

struct Event {
    SearchKind kind = SearchKind::none;
    Action id = 0;                 // action, or chance outcome
    uint64_t version = 0;          // of the weights; decisions only
    uint32_t num_simulations = 0;  // fast and full
    // Fast and full, and chance with a turn-ahead value, in the view of the player about to roll;
    // in 1 / kOutcomeUnit, sum to it.
    std::vector<uint16_t> outcomes_to_move;
    uint16_t surprise = 0;            // full; in 1 / kSurpriseUnit
    std::vector<PolicyEntry> policy;  // full; ascending actions
    bool operator==(const Event&) const = default;
};

struct Episode {
    std::string game;
    OptionValues options;
    uint64_t worker = 0;  // one run of one worker; with the sequence number the episode's id
    uint64_t sequence = 0;
    std::vector<uint8_t> start;
    std::vector<Event> events;
    int outcome_first_player = -1;  // -1: truncated at max_plies, not trained on
    bool operator==(const Episode&) const = default;
};

inline constexpr int kPolicyUnit = 4095;
inline constexpr int kOutcomeUnit = 65535;
inline constexpr int kSurpriseUnit = 4096;

// The largest episode, beside the bounds in game.h: a limit for readers of untrusted bytes.
inline constexpr uint64_t kMaxEpisodeBytes = 1 << 22;

// In 1 / unit, rounded, within sixteen bits.
uint16_t quantise(float value, int unit);

// Entries above half a unit; the largest always.
std::vector<PolicyEntry> quantise_policy(std::span<const Action> actions,
                                         std::span<const float> policy);

// Parts that sum to kOutcomeUnit exactly: the last takes the rounding error.
std::vector<uint16_t> quantise_outcomes(std::span<const float> outcomes);

std::vector<uint8_t> encode(const Episode& episode);

// Reads what `encode` wrote. Any other bytes give an error that names the fault; allocations are
// bounded by the size of the input.
Result<Episode> decode(std::span<const uint8_t> bytes);

// For fuzzing: the body without its frame, so that mutations get past the hash.
Result<Episode> decode_unframed(std::span<const uint8_t> body);

}  // namespace zf
