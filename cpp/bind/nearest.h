// Names that were mistyped: which known name was probably meant.
#pragma once

#include <string>
#include <vector>

namespace zf {

// "unknown game gomku; did you mean gomoku? known: gomoku, connect4": the known ones nearest first.
// Something is proposed where at least half of its letters are right.
std::string unknown_name(const std::string& what, const std::string& name,
                         const std::vector<std::string>& known);

}  // namespace zf
