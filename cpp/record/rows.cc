#include "record/rows.h"

#include <bit>
#include <cstring>

namespace zf {

static_assert(std::endian::native == std::endian::little, "packed rows are read as little-endian");

template <class T>
RowScalar<T> RowLayout::scalar(const char* name) {
    const RowScalar<T> field{name, num_bytes_};
    num_bytes_ += sizeof(T);
    return field;
}

template <class T>
RowArray<T> RowLayout::array(const char* name, size_t count) {
    const RowArray<T> field{name, num_bytes_, count};
    num_bytes_ += count * sizeof(T);
    return field;
}

RowLayout::RowLayout(const Facts& facts)
    : observation(array<uint8_t>("observation", size_t(facts.observation_bytes))),
      legal_bits(array<uint8_t>("legal_bits", size_t(facts.num_actions + 7) / 8)),
      policy(array<uint16_t>("policy", size_t(facts.num_actions))),
      has_policy(scalar<bool>("has_policy")),
      outcome(scalar<uint8_t>("outcome")),
      search_outcomes(array<uint16_t>("search_outcomes", facts.outcomes.size())),
      is_solved(scalar<bool>("is_solved")),
      looks_ahead(scalar<bool>("looks_ahead")),
      surprise(scalar<float>("surprise")),
      reply(scalar<int32_t>("reply")),
      final(scalar<int64_t>("final")) {}

void PackedRows::add(const TrainingRows& episode) {
    const size_t count = episode.observer.size(), before = rows.size();
    num_rows.push_back(uint32_t(count));
    if (count == 0) return;
    rows.resize(before + count * layout.num_bytes());
    for (size_t row = 0; row < count; ++row)
        pack(episode, row, rows.data() + before + row * layout.num_bytes());
    final_observations.insert(final_observations.end(), episode.final_observations.begin(),
                              episode.final_observations.end());
    ++num_episodes_;
}

// Precondition: `out` has room for layout.num_bytes().
void PackedRows::pack(const TrainingRows& episode, size_t row, uint8_t* out) const {
    const auto put = [out]<class T>(const RowScalar<T>& field, T value) {
        std::memcpy(out + field.offset, &value, sizeof(T));
    };
    const auto put_all = [out]<class T>(const RowArray<T>& field, const T* values) {
        std::memcpy(out + field.offset, values, field.count * sizeof(T));
    };
    const size_t num_actions = layout.policy.count;
    const uint8_t* legal = &episode.legal[row * num_actions];
    const uint16_t* policy = &episode.policy[row * num_actions];
    uint8_t* legal_bits = out + layout.legal_bits.offset;
    for (size_t first = 0; first < num_actions; first += 8) {
        uint8_t bits = 0;
        for (size_t i = first; i < std::min(first + 8, num_actions); ++i)
            bits |= uint8_t(legal[i] << (7 - (i - first)));
        *legal_bits++ = bits;
    }
    uint8_t has_policy = 0;
    for (size_t i = 0; i < num_actions; ++i) has_policy |= policy[i] != 0;
    put_all(layout.observation, &episode.observations[row * layout.observation.count]);
    put_all(layout.policy, policy);
    put(layout.has_policy, has_policy != 0);
    put(layout.outcome, episode.outcome_observer[row]);
    put_all(layout.search_outcomes,
            &episode.search_outcomes_observer[row * layout.search_outcomes.count]);
    put(layout.is_solved, episode.is_solved[row] != 0);
    put(layout.looks_ahead, episode.looks_ahead[row] != 0);
    put(layout.surprise, episode.surprise[row]);
    put(layout.reply, episode.reply[row]);
    put(layout.final, 2 * num_episodes_ + episode.observer[row]);
}

}  // namespace zf
