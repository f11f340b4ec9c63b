// Whether hidden states are drawn fairly.
#pragma once

#include <functional>

#include "games/game.h"

namespace zf {

// How many ways there are to deal the items of all groups out.
double num_hidden_states(const std::vector<HiddenGroup>& groups);

// The first item that is twice in its group, as a fault, or an empty text.
std::string fault_in_items(const std::vector<HiddenGroup>& groups);

// Draws many hidden states, `draw()` giving the groups of one, and compares counts with what is
// expected of a fair draw: of whole states where there are at most 1,000, else of each item in each
// slot. The fault found, or an empty text. Needs groups without a fault in their items.
std::string fault_in_draws(const std::vector<HiddenGroup>& groups,
                           const std::function<std::vector<HiddenGroup>()>& draw);

}  // namespace zf
