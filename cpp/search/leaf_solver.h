// What search asks a solver: is the value of this position proven?
//
// A search that is given a solver asks it once at its root and once at each new leaf. What it
// proves is final: such a leaf needs no evaluation, and its edge counts as solved. A solver bounds
// its own effort and says nothing where the bound is reached. cpp/solve implements it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "games/game.h"

namespace zf {

// An exact value: the distribution over the game's outcomes with best play of both. A win or a
// loss is one outcome of probability 1.
struct ProvenValue {
    // In the view of the player to move; where chance is to move, of the player about to roll.
    float outcomes_to_move[kMaxOutcomes] = {};
    uint32_t plies_to_end = 0;  // to the end of the game as proven; 0 where not counted
};

// What is proven of a root.
struct ProvenRoot {
    struct Proven {
        Action action;
        ProvenValue value;  // of playing it, in the view of the root's player; counts its ply
    };
    std::vector<Proven> actions;  // each legal, none twice
    // Whether the best of them is the best there is: then the root's value is proven.
    bool decided = false;
};

template <class P>
class LeafSolver {
  public:
    virtual ~LeafSolver() = default;

    // Precondition of both: the game is not over, and where something is hidden the position is
    // one that is consistent with what the searching player knows.
    virtual std::optional<ProvenValue> solve_leaf(const P& position) = 0;
    // Asked only where a player is to move.
    virtual ProvenRoot solve_root(const P& position) = 0;
};

// Makes the solver of a game with these options.
template <class P>
using MakeLeafSolver = std::unique_ptr<LeafSolver<P>> (*)(const typename P::Options& options);

}  // namespace zf
