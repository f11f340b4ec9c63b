#include "games/backgammon.h"

#include "bind/game_of.h"
#include "bind/registry.h"

namespace zf {

GameEntry backgammon_entry() { return game_entry<Backgammon>(); }

}  // namespace zf
