// Solves Gomoku positions with few empty cells exactly, by alpha-beta.
//
// A score is the number of cells still empty at the end plus one, negative where the player to move
// loses, 0 for a draw: a sooner win is larger, a later loss is less bad. A table holds bounds of
// scores. A cell in which neither player can complete a line any more is like every other such
// cell, so only one of them is tried (not under the exact rule, where it may spoil a line that it
// continues); where no line can be completed by either, the game is drawn.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "games/gomoku.h"
#include "solve/gomoku_lines.h"

namespace zf {

class GomokuEndgame {
  public:
    // The table takes 16 bytes << table_bits. `poll` as in GomokuThreats.
    explicit GomokuEndgame(const Gomoku::Options& options, int table_bits = 16,
                           std::function<void()> poll = {});

    // Of a position that is not over, to the player to move; nothing after max_nodes nodes.
    std::optional<int> score(const Gomoku& position, uint64_t max_nodes);
    // Plies to the end of the game where a position with so many empty cells has this score.
    static int plies_to_end(int num_empty, int score) {
        return score == 0 ? num_empty : num_empty + 1 - (score > 0 ? score : -score);
    }

    // Of all positions so far.
    uint64_t num_nodes() const { return num_nodes_; }

  private:
    struct Entry {
        uint64_t hash = 0;
        int16_t low = 0, high = 0;
    };
    struct Move {
        int weight;
        int cell;
    };

    int search(int player, int alpha, int beta);
    int best_of(int player, int alpha, int beta);
    // Moves by how many lines they serve; at most one that serves none.
    void find_moves(std::vector<Move>& moves) const;
    // Whether the player could still complete a line with the stones that it has left to place.
    bool may_win(int player, int num_stones_left) const;

    GomokuLines lines_;
    std::vector<Entry> table_;
    std::function<void()> poll_;
    uint64_t num_nodes_ = 0, last_node_ = 0;
    bool spent_ = false;
};

}  // namespace zf
