// One simulation of a search: where it stands in the tree, and what it waits for.
#pragma once

#include <vector>

#include "base/hash.h"
#include "games/game.h"
#include "search/backup.h"
#include "search/evaluation.h"
#include "search/tree.h"

namespace zf {

template <Game P>
struct Simulation {
    enum class State : uint8_t { free, descending, out };
    // What a leaf is evaluated for: a new node (priors too where the observer decides there), or
    // only the priors that an opponent's node lacks for the hand drawn.
    enum class Purpose : uint8_t { expand, priors };

    explicit Simulation(const P& root) : position(root) {}

    void read_legal(int num_actions) {
        legal.resize(num_actions);
        legal.resize(position.legal_actions(legal.data()));
    }

    P position;
    std::vector<PathStep> path;
    std::vector<Action> legal;  // actions whose priors are wanted
    Evaluated evaluated;
    Hash128 key;
    uint32_t node = kNoIndex;  // where the simulation stands; kNoIndex: at a node yet to be made
    uint64_t dice_stream = 0;  // of the seed and the dice on the path
    float value_first_player = 0;
    float outcomes_player[kMaxOutcomes] =
        {};  // in the view of who searches; their mean is the value
    int observer = 0;
    State state = State::free;
    Purpose purpose = Purpose::expand;
    bool has_row = false;  // `evaluated` holds the priors of the opponent's node `node`
};

}  // namespace zf
