// A Gomoku board that knows its lines: which are one, two or three stones short.
//
// A line is a row of `line` neighbouring cells. It is open to a player while the other has no stone
// in it. Placing or removing a stone updates the counts of the lines through its cell, and the sets
// of open lines that lack one, two or three stones. Under the exact rule a line does not count
// while a stone of the same player continues it at either end. For search; it does not know when a
// game is over.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "games/gomoku.h"

namespace zf {

class GomokuLines {
  public:
    static constexpr int kMaxCells = 361;
    static constexpr int kMaxInLine = 6;

    explicit GomokuLines(const Gomoku::Options& options);

    // Takes the stones of a position with these options.
    void set(const Gomoku& position);

    int num_cells() const { return num_cells_; }
    int num_empty() const { return num_empty_; }
    bool is_empty(int cell) const { return stones_[cell] == 0; }
    // Tells stones apart, not who is to move.
    uint64_t hash() const { return hash_; }

    // Precondition: the cell is empty.
    void place(int cell, int player);
    // Precondition: the player has a stone there.
    void remove(int cell, int player);

    // The lines open to a player that lack so many stones: 1, 2 or 3.
    std::span<const uint16_t> lines(int player, int lacking) const {
        const Set& set = sets_[player][lacking - 1];
        return {set.lines.data(), size_t(set.count)};
    }
    std::span<const uint16_t> cells(int line) const {
        return {&cells_[size_t(line * length_)], size_t(length_)};
    }
    std::span<const uint16_t> lines_through(int cell) const {
        return {&through_[size_t(first_through_[cell])],
                size_t(first_through_[cell + 1] - first_through_[cell])};
    }
    int count(int player, int line) const { return counts_[player][line]; }
    // Lines in which the other player has no stone.
    int num_open(int player) const { return num_open_[player]; }
    int length() const { return length_; }
    bool exact() const { return exact_; }

    // Whether a full line would be no win: exact rule, and a stone continues it.
    bool overlong(int player, int line) const {
        if (!exact_) return false;
        for (const int end : ends_[line])
            if (end >= 0 && stones_[end] == player + 1) return true;
        return false;
    }

    // Different cells at which the player would complete a line, at most two of them.
    struct Wins {
        int count = 0;
        int cells[2] = {-1, -1};
    };
    Wins wins(int player) const;

  private:
    struct Set {
        std::vector<uint16_t> lines;
        int count = 0;
    };

    void add_line(int row, int column, int row_step, int column_step);
    // Takes a line that is open to the player out of the set it is in, or puts it in by its count.
    void leave(int player, int line);
    void enter(int player, int line);

    int size_, length_, num_cells_, num_empty_;
    bool exact_;
    uint64_t hash_ = mix64(~0ULL);  // of no stones: not 0, which marks unused entries of tables
    std::array<uint8_t, kMaxCells> stones_ = {};  // player + 1; 0: empty
    std::vector<uint16_t> cells_;                 // of all lines, `length_` each
    std::vector<std::array<int16_t, 2>> ends_;    // the cells that continue a line; -1: none
    std::vector<uint16_t> through_;               // lines by cell
    std::vector<int> first_through_;
    std::vector<uint8_t> counts_[2];
    std::vector<uint16_t> empty_xor_;    // of a line's empty cells: the last one where it is alone
    std::vector<uint16_t> place_in_[2];  // of a line in the set that it is in
    Set sets_[2][3];
    int num_open_[2] = {0, 0};
};

}  // namespace zf
