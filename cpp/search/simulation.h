// One simulation of a search: its place in the tree and the evaluation that it awaits.
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
    enum class State : uint8_t { free, descending, in_flight };
    // What a leaf is evaluated for: a new node (with priors if the observer is to move there), or
    // only the priors of an opponent's node for the sampled hand.
    enum class Purpose : uint8_t { expand, priors };

    explicit Simulation(const P& root) : position(root) {}

    void read_legal(int num_actions) {
        legal.resize(num_actions);
        legal.resize(position.legal_actions(legal.data()));
    }

    P position;
    std::vector<PathStep> path;
    std::vector<Action> legal;  // actions that need priors
    Evaluated evaluated;
    Hash128 key;
    uint32_t node = kNoIndex;  // kNoIndex: a node yet to be made
    uint64_t dice_stream = 0;  // of the seed and the dice on the path
    float value_first_player = 0;
    float outcomes_player[kMaxOutcomes] = {};  // the searching player's view; mean = the value
    int observer = 0;
    State state = State::free;
    Purpose purpose = Purpose::expand;
    bool has_priors = false;  // `evaluated` holds the priors of the opponent's node `node`
};

}  // namespace zf
