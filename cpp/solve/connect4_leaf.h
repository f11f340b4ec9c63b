// The solver of Connect Four as a search asks it: at roots with twelve discs or more, at leaves
// with twenty-four or more, where a value takes microseconds to milliseconds.
#pragma once

#include "games/connect4.h"
#include "search/leaf_solver.h"
#include "solve/connect4.h"

namespace zf {

class Connect4LeafSolver final : public LeafSolver<Connect4> {
  public:
    static constexpr size_t kRootDiscs = 12, kLeafDiscs = 24;

    std::optional<ProvenValue> solve_leaf(const Connect4& position) override {
        const std::string columns = position.to_text();
        if (columns.size() < kLeafDiscs) return {};
        return proven(columns.size(), solver().score_to_move(columns));
    }
    ProvenRoot solve_root(const Connect4& position) override {
        ProvenRoot root;
        const std::string columns = position.to_text();
        if (columns.size() < kRootDiscs) return root;
        root.decided = true;
        const std::vector<int> scores = solver().scores_to_move(columns);
        for (int column = 0; column < Connect4Solver::kColumns; ++column)
            if (scores[column] != Connect4Solver::kFull)
                root.actions.push_back({Action(column), proven(columns.size(), scores[column])});
        return root;
    }

  private:
    // Made on first use: its table takes 8 MiB.
    Connect4Solver& solver() {
        if (!solver_) solver_.emplace(std::function<void()>(), 20);
        return *solver_;
    }
    static ProvenValue proven(size_t num_discs, int score_to_move) {
        ProvenValue value;
        value.outcomes_to_move[score_to_move > 0 ? kWin : score_to_move < 0 ? kLoss : kDraw] = 1;
        value.plies_to_end = uint32_t(Connect4Solver::plies_to_end(int(num_discs), score_to_move));
        return value;
    }

    std::optional<Connect4Solver> solver_;
};

inline std::unique_ptr<LeafSolver<Connect4>> make_connect4_solver(const Connect4::Options&) {
    return std::make_unique<Connect4LeafSolver>();
}

}  // namespace zf
