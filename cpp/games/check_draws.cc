#include "games/check_draws.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace zf {
namespace {

double num_items(const HiddenGroup& group) {
    double count = 0;
    for (const auto& slot : group.slots) count += double(slot.size());
    return count;
}

}  // namespace

double num_hidden_states(const std::vector<HiddenGroup>& groups) {
    double count = 1;
    for (const HiddenGroup& group : groups) {
        double placed = 0;
        for (const auto& slot : group.slots)
            for (double i = 1; i <= double(slot.size()); ++i) count *= ++placed / i;
    }
    return count;
}

std::string fault_in_items(const std::vector<HiddenGroup>& groups) {
    for (const HiddenGroup& group : groups) {
        bool seen[256] = {};
        for (const auto& slot : group.slots)
            for (const uint8_t item : slot) {
                if (seen[item])
                    return "hidden_groups has the item " + std::to_string(item) +
                           " twice in a group; the items of a group must differ, so give things "
                           "that look alike numbers of their own";
                seen[item] = true;
            }
    }
    return "";
}

std::string fault_in_draws(const std::vector<HiddenGroup>& groups,
                           const std::function<std::vector<HiddenGroup>()>& draw) {
    constexpr int kDraws = 4000;
    std::map<std::vector<int>, int> states, items;
    std::map<std::vector<int>, double> expected_items;
    for (int i = 0; i < kDraws; ++i) {
        std::vector<int> state;
        const std::vector<HiddenGroup> drawn = draw();
        if (drawn.size() != groups.size()) return "resampling changes the number of hidden groups";
        for (size_t g = 0; g < drawn.size(); ++g) {
            const double size = num_items(groups[g]);
            if (num_items(drawn[g]) != size || drawn[g].slots.size() != groups[g].slots.size())
                return "resampling changes how many hidden items there are";
            for (size_t slot = 0; slot < drawn[g].slots.size(); ++slot) {
                auto content = drawn[g].slots[slot];
                std::sort(content.begin(), content.end());
                for (const uint8_t item : content) {
                    const std::vector<int> key{int(g), int(slot), item};
                    ++items[key];
                    expected_items[key] = kDraws * double(content.size()) / size;
                }
                state.insert(state.end(), content.begin(), content.end());
            }
        }
        ++states[state];
    }
    double chi_square = 0, degrees = 0;
    const double num_states = num_hidden_states(groups);
    if (num_states <= 1000) {
        const double expected = kDraws / num_states;
        for (const auto& [state, count] : states)
            chi_square += (count - expected) * (count - expected) / expected;
        chi_square += (num_states - double(states.size())) * expected;
        degrees = num_states - 1;
    } else {
        for (const auto& [key, count] : items)
            chi_square +=
                (count - expected_items[key]) * (count - expected_items[key]) / expected_items[key];
        degrees = double(items.size());
    }
    // Seven standard deviations: a fair draw does not get there in a lifetime of checks.
    if (chi_square < degrees + 7 * std::sqrt(2 * degrees) + 20) return "";
    return "resampling is not uniform: chi-square " + std::to_string(chi_square) + " with about " +
           std::to_string(int(degrees)) + " degrees of freedom";
}

}  // namespace zf
