#include "games/connect4.h"

#include "bind/game_of.h"
#include "bind/registry.h"

namespace zf {

GameEntry connect4_entry() { return game_entry<Connect4>(); }

}  // namespace zf
