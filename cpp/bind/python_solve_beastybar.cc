// Binds the solver of Beasty Bar's endings.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "bind/game_of.h"
#include "bind/python_game.h"
#include "solve/beastybar.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace zf {
namespace {

// The position, where the solver can solve it; else null.
const BeastyBar* ending_of(const PyPosition& position) {
    const auto* held = dynamic_cast<const PositionOf<BeastyBar>*>(position.core.get());
    if (!held)
        raise({Error::Kind::unsupported,
               "the solver knows beastybar, not " + position.game.core->facts().name});
    if (position.core->to_move() == kOver) raise({Error::Kind::illegal, "the game is over"});
    return BeastyBarSolver::solves(held->position()) ? &held->position() : nullptr;
}

std::optional<int> score_of_ending(BeastyBarSolver& solver, const PyPosition& position) {
    const BeastyBar* ending = ending_of(position);
    if (!ending) return std::nullopt;
    return solver.score_to_move(*ending);
}

std::optional<std::vector<std::pair<int, int>>> scores_in_ending(BeastyBarSolver& solver,
                                                                 const PyPosition& position) {
    const BeastyBar* ending = ending_of(position);
    if (!ending) return std::nullopt;
    std::vector<std::pair<int, int>> scores;
    for (const auto& [action, score] : solver.score_actions(*ending))
        scores.emplace_back(action, score);
    return scores;
}

std::optional<int> plies_of_ending(BeastyBarSolver& solver, const PyPosition& position) {
    const std::optional<int> score = score_of_ending(solver, position);
    if (!score || *score == 0) return std::nullopt;
    return BeastyBarSolver::plies_to_end(*ending_of(position), *score);
}

}  // namespace

void bind_beastybar_solver(nb::module_& m) {
    nb::class_<BeastyBarSolver>(
        m, "BeastyBarSolver",
        "Solves endings of Beasty Bar: both piles empty, at most four cards "
        "a hand; see cpp/solve/beastybar.h. What it has found out helps it "
        "with the next position. One thread at a time. A position takes "
        "less than a millisecond; of others it says None.")
        .def(nb::init<>())
        .def("score_to_move", &score_of_ending, "position"_a,
             "1 plus the cards left in both hands at the end, where the player to move wins; the "
             "negative of that where it loses; 0 for a draw.")
        .def("score_actions", &scores_in_ending, "position"_a,
             "The legal actions with the scores, to the player to move, of playing them.")
        .def("plies_to_end", &plies_of_ending, "position"_a,
             "Plies to the soonest win or the latest loss; None for a draw.")
        .def_prop_ro("num_nodes", &BeastyBarSolver::num_nodes, "Positions searched so far.");
}

}  // namespace zf
