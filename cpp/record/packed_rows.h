// Rows to train on as a window keeps them: one after another, their fields without gaps in the
// order of PackedRows, numbers little-endian. Python reads them by replay/window.py's row_type.
#pragma once

#include <bit>
#include <cstring>

#include "record/rows.h"

namespace zf {

static_assert(std::endian::native == std::endian::little, "packed rows are memory as it is");

class PackedRows {
  public:
    explicit PackedRows(const Facts& facts)
        : num_observation_(size_t(facts.observation_bytes)),
          num_actions_(size_t(facts.num_actions)),
          num_outcomes_(facts.outcomes.size()),
          num_bytes_(num_observation_ + (num_actions_ + 7) / 8 + 2 * num_actions_ + 2 +
                     2 * num_outcomes_ + 4 + 4 + 8) {}

    std::vector<uint8_t> rows;                // [R, num_bytes()]
    std::vector<uint32_t> num_rows;           // of each episode, in their order; 0 where truncated
    std::vector<uint8_t> final_observations;  // [2 * episodes with rows, observation_bytes]

    size_t num_bytes() const { return num_bytes_; }

    void add(const TrainingRows& episode) {
        const size_t count = episode.observer.size(), before = rows.size();
        num_rows.push_back(uint32_t(count));
        if (count == 0) return;
        rows.resize(before + count * num_bytes_);
        uint8_t* out = rows.data() + before;
        for (size_t row = 0; row < count; ++row) out = pack(episode, row, out);
        final_observations.insert(final_observations.end(), episode.final_observations.begin(),
                                  episode.final_observations.end());
        ++num_episodes_;
    }

  private:
    // The fields in their order: observation, legal actions as bits (the first of eight is the
    // highest), policy, whether it has one, outcome, what searches found, surprise, reply, and
    // where among final_observations is what its observer saw in the end.
    uint8_t* pack(const TrainingRows& episode, size_t row, uint8_t* out) const {
        const auto put = [&out](const auto* values, size_t count) {
            std::memcpy(out, values, count * sizeof *values);
            out += count * sizeof *values;
        };
        const uint8_t* legal = &episode.legal[row * num_actions_];
        const uint16_t* policy = &episode.policy[row * num_actions_];
        const int64_t final_row = 2 * num_episodes_ + episode.observer[row];
        uint8_t has_policy = 0;
        put(&episode.observations[row * num_observation_], num_observation_);
        for (size_t first = 0; first < num_actions_; first += 8, ++out) {
            *out = 0;
            for (size_t i = first; i < std::min(first + 8, num_actions_); ++i)
                *out |= uint8_t(legal[i] << (7 - (i - first)));
        }
        for (size_t i = 0; i < num_actions_; ++i) has_policy |= policy[i] != 0;
        put(policy, num_actions_);
        put(&has_policy, 1);
        put(&episode.outcome_observer[row], 1);
        put(&episode.search_outcomes_observer[row * num_outcomes_], num_outcomes_);
        put(&episode.surprise[row], 1);
        put(&episode.reply[row], 1);
        put(&final_row, 1);
        return out;
    }

    size_t num_observation_, num_actions_, num_outcomes_, num_bytes_;
    int64_t num_episodes_ = 0;  // with rows
};

}  // namespace zf
