#include "games/beastybar.h"

#include "bind/game_of.h"
#include "bind/registry.h"
#include "solve/beastybar.h"

namespace zf {
namespace {

std::unique_ptr<LeafSolver<BeastyBar>> make_solver(const BeastyBar::Options&) {
    return std::make_unique<BeastyBarSolver>();
}

}  // namespace

GameEntry beastybar_entry() { return game_entry<BeastyBar, make_solver>(); }

}  // namespace zf
