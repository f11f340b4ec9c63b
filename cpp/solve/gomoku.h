// The solver of Gomoku: threat search and endgames, for people and for search.
//
// What it says of a position is proven: a win or a loss by threats has passed the verifier of
// gomoku_proof.h, and an endgame is solved exactly. As a leaf solver it looks at a root with care,
// for a win, then for the actions that lose to the opponent's threats, and at leaves for a bounded
// number of nodes: for a win by few threats, then for a loss to few.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "games/gomoku.h"
#include "search/leaf_solver.h"
#include "solve/gomoku_endgame.h"
#include "solve/gomoku_threats.h"

namespace zf {

// How much effort each question gets.
struct GomokuEffort {
    int endgame_cells = 14;  // with more empty cells an endgame is not tried
    uint64_t endgame_nodes = 1'000'000;
    uint64_t root_nodes = 50'000;    // for a win at the root, and for the opponent's threat
    uint64_t action_nodes = 10'000;  // for the refutation of each action that answers the threat
    int leaf_endgame_cells = 10;
    uint64_t leaf_endgame_nodes = 1'000;
    uint64_t leaf_nodes = 500;  // for a win, and as many for a loss
    int leaf_depth = 4;
};

class GomokuSolver final : public LeafSolver<Gomoku> {
  public:
    // `poll` is called now and then during long work; what it throws ends it.
    explicit GomokuSolver(const Gomoku::Options& options, const GomokuEffort& effort = {},
                          int table_bits = 15, std::function<void()> poll = {});

    std::optional<ProvenValue> solve_leaf(const Gomoku& position) override;
    ProvenRoot solve_root(const Gomoku& position) override;

    // The line of a proven win of the player to move, with the replies that last longest, to the
    // end of the game; nothing where none is proven.
    std::vector<Action> threats(const Gomoku& position, const GomokuLimits& limits);

    // Whether the player to move wins by playing this line, which ends in its win: every legal
    // reply beside those of the line is answered too. The answers are searched for within
    // `limits` each, then all is verified by the rules alone.
    bool verify_line(const Gomoku& position, std::span<const Action> line,
                     const GomokuLimits& limits);

    // Exact score of an endgame; see GomokuEndgame.
    std::optional<int> endgame_score(const Gomoku& position);

    uint64_t num_nodes() const { return threats_.num_nodes() + endgame_.num_nodes(); }
    // Proofs that the search proposed and the verifier refused: none, unless the search is wrong.
    uint64_t num_refused() const { return num_refused_; }

  private:
    // Of a verified win or loss; nothing where none is found.
    std::optional<ProvenValue> proven_win(const Gomoku& position, const GomokuLimits& limits);
    std::optional<ProvenValue> proven_loss(const Gomoku& position, const GomokuLimits& limits);
    // All actions of an endgame; false where it is too large.
    bool solve_endgame_root(const Gomoku& position, ProvenRoot& root);
    // Adds the proof of a line's win and of the answers to all other replies; kNone if one fails.
    int32_t prove_line(const Gomoku& position, std::span<const Action> line,
                       const GomokuLimits& limits, GomokuProof& proof);
    int32_t prove_answers(const Gomoku& position, std::span<const Action> line,
                          const GomokuLimits& limits, GomokuProof& proof);

    GomokuEffort effort_;
    GomokuThreats threats_;
    GomokuEndgame endgame_;
    Action win_ = 0;  // of the last proven_win
    uint64_t num_refused_ = 0;
};

std::unique_ptr<LeafSolver<Gomoku>> make_gomoku_solver(const Gomoku::Options& options);

}  // namespace zf
