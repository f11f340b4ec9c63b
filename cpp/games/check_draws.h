// Whether hidden states are sampled fairly.
#pragma once

#include <functional>

#include "games/game.h"

namespace zf {

// The number of ways to deal the items of all groups.
double num_hidden_states(const std::vector<HiddenGroup>& groups);

// The fault of the first item that is twice in its group, or an empty text.
std::string fault_in_items(const std::vector<HiddenGroup>& groups);

// Samples many hidden states (`draw()` returns the groups of one) and compares counts with those
// expected of a fair sample: of whole states if there are at most 1,000, else of each item in each
// slot. Returns the fault, or an empty text. Precondition: fault_in_items is empty.
std::string fault_in_draws(const std::vector<HiddenGroup>& groups,
                           const std::function<std::vector<HiddenGroup>()>& draw);

}  // namespace zf
