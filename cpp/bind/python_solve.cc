// Binds the solvers.
#include "bind/python_solve.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind/python_game.h"
#include "solve/connect4.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace zf {
namespace {

std::string columns_of(const PyPosition& position) {
    if (position.game.core->facts().name != "connect4")
        raise({Error::Kind::unsupported,
               "the solver knows connect4, not " + position.game.core->facts().name});
    if (position.core->to_move() == kOver) raise({Error::Kind::illegal, "the game is over"});
    return position.core->to_text();
}

template <class Answer>
auto solve_columns(Answer (Connect4Solver::*answer)(const std::string&)) {
    return [answer](Connect4Solver& solver, const PyPosition& position) {
        const std::string columns = columns_of(position);
        const nb::gil_scoped_release unlocked;
        return (solver.*answer)(columns);
    };
}

std::vector<nb::object> scores_to_move(Connect4Solver& solver, const PyPosition& position) {
    std::vector<nb::object> scores;
    for (const int score : solve_columns (&Connect4Solver::scores_to_move)(solver, position))
        scores.push_back(score == Connect4Solver::kFull ? nb::object(nb::none())
                                                        : nb::object(nb::int_(score)));
    return scores;
}

int plies_to_end(Connect4Solver& solver, const PyPosition& position) {
    const std::string columns = columns_of(position);
    const nb::gil_scoped_release unlocked;
    return Connect4Solver::plies_to_end(int(columns.size()), solver.score_to_move(columns));
}

void bind_connect4(nb::module_& m) {
    nb::class_<Connect4Solver>(m, "Connect4Solver",
                               "Solves Connect Four; see cpp/solve/connect4.h. What it has found "
                               "out helps it with the next position. One thread at a time. From "
                               "twelve discs on a position takes less than a second, with eight "
                               "seconds, with fewer much longer; Ctrl-C ends it.")
        .def("__init__", [](Connect4Solver* self) { new (self) Connect4Solver(&check_signals); })
        .def("value_to_move", solve_columns(&Connect4Solver::value_to_move), "position"_a,
             "1 where the player to move wins, 0 for a draw, -1 for a loss; both play perfectly.")
        .def("score_to_move", solve_columns(&Connect4Solver::score_to_move), "position"_a,
             "22 minus the discs that the winner has at the end, negative where the player to move "
             "loses; 0 for a draw.")
        .def("scores_to_move", &scores_to_move, "position"_a,
             nb::sig("def scores_to_move(self, position: Position) -> list[int | None]"),
             "The scores of dropping into each column, for the player to move; None where the "
             "column is full.")
        .def("best_columns", solve_columns(&Connect4Solver::best_columns), "position"_a,
             "The columns of the best score: the soonest win, or the latest loss.")
        .def("plies_to_end", &plies_to_end, "position"_a,
             "Plies to the end of the game where both play perfectly.");
}

}  // namespace

void bind_solve(nb::module_& m) {
    bind_connect4(m);
    bind_beastybar_solver(m);
    bind_solve_gomoku(m);
    bind_solve_backgammon(m);
}

}  // namespace zf
