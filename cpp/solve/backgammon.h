// Exact values of backgammon positions, from the bear-off tables (15 checkers) and the tables of
// hypergammon (1 to 3 checkers).
//
// With 15 checkers a value is known where both players have all checkers left home, at most six
// each; with dice in hand also one turn before that, if every play leads there. Of hypergammon
// every position is known once its table is there.
//
// Tables are shared by the process and stay. Whoever has one from a file installs it; those that
// take seconds are built when first needed.
#pragma once

#include "games/backgammon.h"
#include "search/leaf_solver.h"
#include "solve/bearoff.h"
#include "solve/hypergammon.h"

namespace zf {

// The process's bear-off tables; built here if none is installed.
const BearoffTables& bearoff_tables();
// The first to be installed stays.
void install(BearoffTables tables);
bool has_bearoff_tables();

// The process's table for so many checkers. One or two: solved here if none is installed; three:
// null if none is.
const HypergammonTable* hypergammon_table(int num_checkers);
void install(int num_checkers, std::unique_ptr<HypergammonTable> table);
bool has_hypergammon_table(int num_checkers);

// The checkers of a player, then of the other, each as it counts points itself.
std::array<backgammon::Counts, 2> checkers_of(const Backgammon& position, int player);

// Knows the values of one variant. Precondition of all: the game is not over.
class BackgammonValues {
  public:
    using Outcomes = std::array<double, 6>;  // in the order of the game's outcomes

    explicit BackgammonValues(const Backgammon::Options& options);

    // In the view of the player to move or about to roll; before the opening roll, of player 0.
    // None where a table does not reach.
    std::optional<Outcomes> value(const Backgammon& position) const;
    // The value of each action for the player to move; none where it is not known.
    // Precondition: a player is to move.
    std::vector<std::pair<Action, std::optional<Outcomes>>> values_of_actions(
        const Backgammon& position) const;

    static double reward(const Outcomes& outcomes);

  private:
    std::optional<Outcomes> value_of(const Backgammon& position, int player) const;
    std::optional<Outcomes> before_roll(const Backgammon& position, int roller) const;

    const BearoffTables* bearoff_ = nullptr;
    const HypergammonTable* hypergammon_ = nullptr;
};

// Asks the tables.
std::unique_ptr<LeafSolver<Backgammon>> make_backgammon_solver(const Backgammon::Options& options);

}  // namespace zf
