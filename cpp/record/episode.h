// The record of one whole game: what leaves self-play and what training is made of.
//
// It holds the options, the deal, every action and chance outcome, and for each decision what the
// search found. Observations are not in it: whoever needs one replays the episode (replay.h).
//
// Bytes, version 1. Numbers are varints unless a width is given; texts and byte strings have their
// length in front.
//     "ZFE" 0x01 | game | number of options, each name and value | worker u64 | sequence u64 |
//     start | number of events | first version of weights | events | result | u64 hash of all
//     before
// An event is a tag (0 chance, 1 decision without search, 2 cheap search, 3 full search; +4: the
// change of version follows, zigzag) and its id; after a search come its simulations, the outcome
// distribution (u16 each, but the last is what is left), and after a full one the surprise (u16)
// and the policy: number of entries, then for each the step from the last action id and the weight.
// The result is the first player's outcome + 1, or 0 for a game that was truncated.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/result.h"
#include "games/game.h"

namespace zf {

enum class SearchKind : uint8_t { chance = 0, none = 1, cheap = 2, full = 3 };

struct PolicyEntry {
    Action action;
    uint16_t weight;  // in 1 / kPolicyUnit; the weights of an event add up to about kPolicyUnit
    bool operator==(const PolicyEntry&) const = default;
};

struct Event {
    SearchKind kind = SearchKind::none;
    Action id = 0;                           // action, or chance outcome
    uint64_t version = 0;                    // of the weights; decisions only
    uint32_t num_simulations = 0;            // cheap and full
    std::vector<uint16_t> outcomes_to_move;  // cheap and full; in 1 / kOutcomeUnit, add up to it
    uint16_t surprise = 0;                   // full; in 1 / kSurpriseUnit
    std::vector<PolicyEntry> policy;         // full; ascending actions
    bool operator==(const Event&) const = default;
};

struct Episode {
    std::string game;
    OptionValues options;
    uint64_t worker = 0;  // which start of which worker; with the sequence number the episode's id
    uint64_t sequence = 0;
    std::vector<uint8_t> start;
    std::vector<Event> events;
    int outcome_first_player = -1;  // -1: truncated at max_plies, not to be trained on
    bool operator==(const Episode&) const = default;
};

inline constexpr int kPolicyUnit = 4095;
inline constexpr int kOutcomeUnit = 65535;
inline constexpr int kSurpriseUnit = 4096;

// What an episode may be at the most, beside the bounds in game.h; whoever reads untrusted bytes is
// safe from larger ones.
inline constexpr uint64_t kMaxEpisodeBytes = 1 << 22;

inline uint16_t quantise(float value, int unit) {
    const float scaled = value * float(unit) + 0.5f;
    return uint16_t(scaled < 0 ? 0 : scaled > 65535 ? 65535 : scaled);
}

// Entries above half a unit; the largest always.
inline std::vector<PolicyEntry> quantise_policy(std::span<const Action> actions,
                                                std::span<const float> policy) {
    std::vector<PolicyEntry> entries;
    size_t largest = 0;
    for (size_t i = 1; i < policy.size(); ++i)
        if (policy[i] > policy[largest]) largest = i;
    for (size_t i = 0; i < policy.size(); ++i) {
        uint16_t weight = quantise(policy[i], kPolicyUnit);
        if (i == largest && weight == 0) weight = 1;
        if (weight > 0) entries.push_back({actions[i], weight});
    }
    return entries;
}

// Parts that add up to kOutcomeUnit exactly: the last takes what rounding leaves.
inline std::vector<uint16_t> quantise_outcomes(std::span<const float> outcomes) {
    std::vector<uint16_t> parts;
    int left = kOutcomeUnit;
    for (size_t i = 0; i < outcomes.size(); ++i) {
        const int part = i + 1 == outcomes.size()
                             ? left
                             : std::min<int>(left, quantise(outcomes[i], kOutcomeUnit));
        parts.push_back(uint16_t(part));
        left -= part;
    }
    return parts;
}

inline std::vector<uint8_t> encode(const Episode& episode) {
    ByteWriter out;
    for (const char c : {'Z', 'F', 'E', '\x01'}) out.u8(uint8_t(c));
    out.text(episode.game);
    out.varint(episode.options.size());
    for (const auto& [name, value] : episode.options) {
        out.text(name);
        out.text(value);
    }
    out.u64(episode.worker);
    out.u64(episode.sequence);
    out.raw(episode.start);
    out.varint(episode.events.size());
    uint64_t version = 0;
    for (const Event& event : episode.events)
        if (event.kind != SearchKind::chance) {
            version = event.version;
            break;
        }
    out.varint(version);
    for (const Event& event : episode.events) {
        const bool decision = event.kind != SearchKind::chance;
        const bool changed = decision && event.version != version;
        out.u8(uint8_t(event.kind) | uint8_t(changed ? 4 : 0));
        if (changed) {
            const int64_t step = int64_t(event.version - version);
            out.varint((uint64_t(step) << 1) ^ uint64_t(step >> 63));
            version = event.version;
        }
        out.varint(event.id);
        if (event.kind != SearchKind::cheap && event.kind != SearchKind::full) continue;
        out.varint(event.num_simulations);
        out.u8(uint8_t(event.outcomes_to_move.size()));
        for (size_t i = 0; i + 1 < event.outcomes_to_move.size(); ++i)
            out.u16(event.outcomes_to_move[i]);
        if (event.kind != SearchKind::full) continue;
        out.u16(event.surprise);
        out.varint(event.policy.size());
        Action last = 0;
        for (const PolicyEntry& entry : event.policy) {
            out.varint(uint64_t(entry.action - last));
            out.varint(entry.weight);
            last = entry.action;
        }
    }
    out.varint(uint64_t(episode.outcome_first_player + 1));
    out.u64(hash_bytes(out.bytes()).low);
    return std::move(out.bytes());
}

// Reads what `encode` wrote. Any other bytes give an error that names the fault; nothing is
// allocated that the bytes themselves do not pay for.
class EpisodeReader {
  public:
    static Result<Episode> read(std::span<const uint8_t> bytes) {
        if (bytes.size() > kMaxEpisodeBytes)
            return Error{Error::Kind::too_large,
                         "episode of " + std::to_string(bytes.size()) + " bytes; at most " +
                             std::to_string(kMaxEpisodeBytes) + " are read"};
        if (bytes.size() < 12)
            return Error{Error::Kind::truncated, "an episode has at least 12 bytes"};
        if (bytes[0] != 'Z' || bytes[1] != 'F' || bytes[2] != 'E')
            return Error{Error::Kind::damaged, "not an episode: it does not begin with ZFE"};
        if (bytes[3] != 1)
            return Error{Error::Kind::unsupported,
                         "episode format " + std::to_string(bytes[3]) + "; this build reads 1"};
        const auto body = bytes.first(bytes.size() - 8);
        ByteReader trailer(bytes.last(8));
        if (trailer.u64() != hash_bytes(body).low)
            return Error{Error::Kind::damaged,
                         "the episode's hash differs from its bytes: cut short or damaged"};
        EpisodeReader reader(body.subspan(4));
        return reader.read_body();
    }

    // For fuzzing: the body without its frame, so that mutations get past the hash.
    static Result<Episode> read_unframed(std::span<const uint8_t> body) {
        return EpisodeReader(body).read_body();
    }

  private:
    explicit EpisodeReader(std::span<const uint8_t> body) : in_(body) {}

    Result<Episode> read_body() {
        Episode episode;
        episode.game = in_.text(kMaxNameBytes);
        const uint64_t num_options = in_.varint();
        require(num_options <= kMaxOptions, Error::Kind::too_large,
                "more than " + std::to_string(kMaxOptions) + " options");
        for (uint64_t i = 0; i < num_options && good(); ++i) {
            const std::string name = in_.text(kMaxNameBytes);
            episode.options.emplace_back(name, in_.text(kMaxNameBytes));
        }
        episode.worker = in_.u64();
        episode.sequence = in_.u64();
        const auto start = in_.raw(kMaxStartBytes);
        episode.start.assign(start.begin(), start.end());
        const uint64_t num_events = in_.varint();
        require(num_events <= kMaxPlies, Error::Kind::too_large,
                "more than " + std::to_string(kMaxPlies) + " events");
        version_ = in_.varint();
        first_version_ = true;
        for (uint64_t i = 0; i < num_events && good(); ++i) episode.events.push_back(read_event());
        require(!first_version_ || version_ == 0, Error::Kind::damaged,
                "a version of weights without a decision");
        const uint64_t result = in_.varint();
        require(result <= kMaxOutcomes, Error::Kind::damaged,
                "a result above the number of outcomes");
        episode.outcome_first_player = int(result & 15) - 1;
        require(in_.left() == 0, Error::Kind::damaged,
                std::to_string(in_.left()) + " bytes too many");
        if (!in_.ok())
            require(false, Error::Kind::truncated,
                    "the episode ends too early, or a length is wrong");
        if (!error_.text.empty()) return error_;
        return episode;
    }

    Event read_event() {
        Event event;
        const uint8_t tag = in_.u8();
        require(tag < 8 && tag != 4, Error::Kind::damaged,
                "unknown kind of event " + std::to_string(tag));
        if (!good()) return event;
        event.kind = SearchKind(tag & 3);
        if (tag & 4) {
            const uint64_t coded = in_.varint();
            require(coded != 0 && !first_version_, Error::Kind::damaged,
                    "a change of version that changes nothing");
            version_ += (coded >> 1) ^ (~(coded & 1) + 1);
        }
        event.id = small(65535, "an id above 65535");
        if (event.kind == SearchKind::chance) return event;
        first_version_ = false;
        event.version = version_;
        if (event.kind == SearchKind::none) return event;
        const uint64_t simulations = in_.varint();
        require(simulations <= 0xffffffff, Error::Kind::damaged,
                "a number of simulations above 2^32");
        event.num_simulations = uint32_t(simulations);
        read_outcomes(event);
        if (event.kind == SearchKind::full) read_target(event);
        return event;
    }

    void read_outcomes(Event& event) {
        const uint8_t count = in_.u8();
        require(
            count >= 1 && count <= kMaxOutcomes, Error::Kind::damaged,
            "a distribution over no outcomes, or over more than " + std::to_string(kMaxOutcomes));
        int left = kOutcomeUnit;
        for (int i = 0; i + 1 < count && good(); ++i) {
            const uint16_t part = in_.u16();
            require(part <= left, Error::Kind::damaged,
                    "a distribution that adds up to more than 1");
            event.outcomes_to_move.push_back(part);
            left -= part;
        }
        event.outcomes_to_move.push_back(uint16_t(left < 0 ? 0 : left));
    }

    void read_target(Event& event) {
        event.surprise = in_.u16();
        const uint64_t count = in_.varint();
        require(count >= 1 && count <= 65536, Error::Kind::damaged,
                "a policy without entries, or with too many");
        uint64_t action = 0;
        for (uint64_t i = 0; i < count && good(); ++i) {
            const uint64_t step = in_.varint();
            require(step > 0 || i == 0, Error::Kind::damaged,
                    "a policy that names an action twice");
            action += step;
            require(step <= 65535 && action <= 65535, Error::Kind::damaged,
                    "a policy for an id above 65535");
            const uint64_t weight = in_.varint();
            require(weight >= 1 && weight <= uint64_t(kPolicyUnit), Error::Kind::damaged,
                    "a policy weight out of range");
            if (good()) event.policy.push_back({Action(action), uint16_t(weight)});
        }
    }

    Action small(uint64_t limit, const char* fault) {
        const uint64_t value = in_.varint();
        require(value <= limit, Error::Kind::damaged, fault);
        return Action(value);
    }

    bool good() const { return in_.ok() && error_.text.empty(); }
    void require(bool holds, Error::Kind kind, const std::string& text) {
        if (!holds && error_.text.empty()) error_ = {kind, text};
    }

    ByteReader in_;
    Error error_{Error::Kind::damaged, ""};
    uint64_t version_ = 0;
    bool first_version_ = true;
};

inline Result<Episode> decode(std::span<const uint8_t> bytes) { return EpisodeReader::read(bytes); }

}  // namespace zf
