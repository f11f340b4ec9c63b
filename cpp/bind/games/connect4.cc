#include "games/connect4.h"

#include "bind/game_of.h"
#include "bind/registry.h"
#include "solve/connect4_leaf.h"

namespace zf {

GameEntry connect4_entry() { return game_entry<Connect4, make_connect4_solver>(); }

}  // namespace zf
