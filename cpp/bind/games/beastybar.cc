#include "games/beastybar.h"

#include "bind/game_of.h"
#include "bind/registry.h"

namespace zf {

GameEntry beastybar_entry() { return game_entry<BeastyBar>(); }

}  // namespace zf
