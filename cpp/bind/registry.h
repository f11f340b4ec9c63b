// The games by name. A game is known to Python and WebAssembly once it stands in registry.cc.
#pragma once

#include "bind/game_entry.h"

namespace zf {

// Each is compiled by itself, in bind/games/.
GameEntry backgammon_entry();
GameEntry beastybar_entry();
GameEntry connect4_entry();
GameEntry gomoku_entry();

const std::vector<GameEntry>& game_entries();
Result<const GameEntry*> find_game(const std::string& name);
Result<std::unique_ptr<AnyGame>> make_game(const std::string& name, const OptionValues& given);

}  // namespace zf
