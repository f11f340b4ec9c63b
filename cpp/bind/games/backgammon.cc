#include "games/backgammon.h"

#include "bind/game_of.h"
#include "bind/registry.h"
#include "solve/backgammon.h"

namespace zf {

GameEntry backgammon_entry() { return game_entry<Backgammon, make_backgammon_solver>(); }

}  // namespace zf
