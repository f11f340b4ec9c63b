#include "record/episode.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/hash.h"

namespace zf {

uint16_t quantise(float value, int unit) {
    const float scaled = value * float(unit) + 0.5f;
    return uint16_t(scaled < 0 ? 0 : scaled > 65535 ? 65535 : scaled);
}

std::vector<PolicyEntry> quantise_policy(std::span<const Action> actions,
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

std::vector<uint16_t> quantise_outcomes(std::span<const float> outcomes) {
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

std::vector<uint8_t> encode(const Episode& episode) {
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
        const bool looks_ahead = !decision && !event.outcomes_to_move.empty();
        out.u8(uint8_t(event.kind) | uint8_t(changed || looks_ahead ? 4 : 0));
        if (changed) {
            const int64_t step = int64_t(event.version - version);
            out.varint((uint64_t(step) << 1) ^ uint64_t(step >> 63));
            version = event.version;
        }
        out.varint(event.id);
        const bool searched = event.kind == SearchKind::fast || event.kind == SearchKind::full;
        if (searched) out.varint(event.num_simulations);
        if (!searched && !looks_ahead) continue;
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

namespace {

class EpisodeReader {
  public:
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

  private:
    Event read_event() {
        Event event;
        const uint8_t tag = in_.u8();
        require(tag < 8, Error::Kind::damaged, "unknown kind of event " + std::to_string(tag));
        if (!good()) return event;
        event.kind = SearchKind(tag & 3);
        if (event.kind == SearchKind::chance) {
            event.id = small(65535, "an id above 65535");
            if (tag & 4) read_outcomes(event);
            return event;
        }
        if (tag & 4) {
            const uint64_t coded = in_.varint();
            require(coded != 0 && !first_version_, Error::Kind::damaged,
                    "a change of version that changes nothing");
            version_ += (coded >> 1) ^ (~(coded & 1) + 1);
        }
        event.id = small(65535, "an id above 65535");
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

}  // namespace

Result<Episode> decode(std::span<const uint8_t> bytes) {
    if (bytes.size() > kMaxEpisodeBytes)
        return Error{Error::Kind::too_large, "episode of " + std::to_string(bytes.size()) +
                                                 " bytes; at most " +
                                                 std::to_string(kMaxEpisodeBytes) + " are read"};
    if (bytes.size() < 12) return Error{Error::Kind::truncated, "an episode has at least 12 bytes"};
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
    return decode_unframed(body.subspan(4));
}

Result<Episode> decode_unframed(std::span<const uint8_t> body) {
    return EpisodeReader(body).read_body();
}

}  // namespace zf
