// Solves Connect Four: who wins a position, or whether it is a draw, by both playing perfectly.
//
// Alpha-beta over won, drawn and lost, with a table of bounds. A position that is won at once, or
// lost because two cells must be closed, is not searched; nor is a drop that lets the other player
// win above it. Moves that make most threats come first. Positions with eight discs take from
// milliseconds to seconds; the empty board takes too long.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace zf {

class Connect4Solver {
  public:
    // The table takes 8 bytes << table_bits.
    explicit Connect4Solver(int table_bits = 22)
        : shift_(64 - table_bits), table_(size_t(1) << table_bits) {}

    // The value to the player to move: 1 won, 0 drawn, -1 lost. Precondition: `columns` is the text
    // of a position of Connect Four that is not over.
    int value_to_move(const std::string& columns);

  private:
    struct Board;
    // What is known of a position: at least `low`, at most `high`.
    struct Bounds {
        int low, high;
    };

    // Precondition: the player to move cannot win at once.
    int search(const Board& board, int alpha, int beta);
    int best_of(const Board& board, uint64_t moves, int alpha, int beta);
    // The moves by how many winning cells they leave, the centre first among equals.
    static int order(const Board& board, uint64_t moves, uint64_t* ordered);

    // An entry is the key, then two bits each of low + 1 and high + 1; a key has 49 bits.
    // The high bits of the product depend on all columns.
    size_t place(uint64_t key) const { return size_t(key * 0x9e3779b97f4a7c15 >> shift_); }
    Bounds look_up(uint64_t key) const;
    void store(uint64_t key, Bounds bounds);

    int shift_;
    std::vector<uint64_t> table_;
};

}  // namespace zf
