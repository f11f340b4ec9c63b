#include "games/gomoku.h"

#include "bind/game_of.h"
#include "bind/registry.h"

namespace zf {

GameEntry gomoku_entry() { return game_entry<Gomoku>(); }

}  // namespace zf
