// Binds the solvers.
#include <nanobind/stl/string.h>

#include "bind/python_game.h"
#include "solve/connect4.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace zf {
namespace {

int value_to_move(Connect4Solver& solver, const PyPosition& position) {
    if (position.game.core->facts().name != "connect4")
        raise({Error::Kind::unsupported,
               "the solver knows connect4, not " + position.game.core->facts().name});
    if (position.core->to_move() == kOver) raise({Error::Kind::illegal, "the game is over"});
    const std::string columns = position.core->to_text();
    const nb::gil_scoped_release unlocked;
    return solver.value_to_move(columns);
}

}  // namespace

void bind_solve(nb::module_& m) {
    nb::class_<Connect4Solver>(m, "Connect4Solver",
                               "Solves Connect Four; see cpp/solve/connect4.h. What it has found "
                               "out helps it with the next position. One thread at a time.")
        .def(nb::init<>())
        .def("value_to_move", &value_to_move, "position"_a,
             "1 where the player to move wins, 0 for a draw, -1 for a loss; both play perfectly. "
             "With eight discs it takes seconds, with fewer much longer.");
}

}  // namespace zf
