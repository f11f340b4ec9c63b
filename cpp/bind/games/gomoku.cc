#include "games/gomoku.h"

#include "bind/game_of.h"
#include "bind/registry.h"
#include "solve/gomoku.h"

namespace zf {

GameEntry gomoku_entry() { return game_entry<Gomoku, make_gomoku_solver>(); }

}  // namespace zf
