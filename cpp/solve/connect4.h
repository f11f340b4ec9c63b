// Solves Connect Four: who wins a position and when, by both playing perfectly.
//
// Alpha-beta over scores by null windows, with a table of bounds. A score is 22 minus the discs
// that the winner has at the end, negative where the player to move loses, 0 for a draw: a sooner
// win is larger, a later loss is less bad. A position that is won at once, or lost because two
// cells must be closed, is not searched; nor is a drop that lets the other player win above it; nor
// what the second player settles by answering each disc. Moves that make most threats come first. A
// mirrored position counts as the same.
//
// Positions with twelve discs take milliseconds to tenths of a second, with eight up to seconds,
// the empty board minutes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace zf {

class Connect4Solver {
  public:
    static constexpr int kColumns = 7;
    static constexpr int kFull = -100;  // the score of a column that is full

    // The table takes 8 bytes << table_bits. `poll` is called now and then while a position is
    // solved; what it throws ends the work, and what was found out is kept.
    explicit Connect4Solver(std::function<void()> poll = {}, int table_bits = 23)
        : shift_(64 - table_bits), table_(size_t(1) << table_bits), poll_(std::move(poll)) {}

    // `columns` is the text of a position of Connect Four that is not over.

    // The value to the player to move: 1 won, 0 drawn, -1 lost. Faster than the score.
    int value_to_move(const std::string& columns);
    int score_to_move(const std::string& columns);
    // The scores, to the player to move, of dropping into each column; kFull where it is full.
    std::vector<int> scores_to_move(const std::string& columns);
    // The columns of the best score.
    std::vector<int> best_columns(const std::string& columns);
    // Plies to the end of the game where a position of so many discs has this score.
    static int plies_to_end(int num_discs, int score_to_move);

  private:
    struct Board;
    // What is known of a position: its score is at least `low`, at most `high`.
    struct Bounds {
        int low, high;
    };

    static Board read(const std::string& columns);
    int score(const Board& board);
    // Whether the score to the player to move is at least `least`.
    bool reaches(const Board& board, int least);
    // A bound of the score: exact where it lies between alpha and beta, else at most alpha or at
    // least beta as the score is. Precondition: the player to move cannot win at once.
    int search(const Board& board, int alpha, int beta);
    int best_of(const Board& board, uint64_t moves, int alpha, int beta);
    // The moves by how many winning cells they leave, the centre first among equals.
    static int order(const Board& board, uint64_t moves, uint64_t* ordered);

    // An entry is the key, of 49 bits, then six bits each of low and high above the least score.
    size_t place(uint64_t key) const { return size_t(key * 0x9e3779b97f4a7c15 >> shift_); }
    Bounds look_up(uint64_t key) const;
    void store(uint64_t key, Bounds bounds);

    int shift_;
    std::vector<uint64_t> table_;
    std::function<void()> poll_;
    uint64_t num_nodes_ = 0;
};

}  // namespace zf
