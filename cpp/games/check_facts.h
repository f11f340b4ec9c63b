// What a game says of itself, held to the contract before anything is played.
#pragma once

#include "games/game.h"

namespace zf {

// "max_plies must be in 1..65536, got 0" where a number is out of its range, else empty.
std::string fault_of_range(const std::string& what, int64_t least, int64_t most, int64_t number);

// The first fault in a game's facts, or an empty text.
std::string fault_in_facts(const Facts& facts, const std::vector<OptionSpec>& options);

}  // namespace zf
