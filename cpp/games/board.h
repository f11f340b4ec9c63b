// What games on a rectangular board of X and O share: symmetries, rows as text, the picture.
#pragma once

#include <string>
#include <vector>

#include "games/game.h"

namespace zf {

inline constexpr char kStones[] = ".XO";

// The symmetries of a square (8) or, where `mirror_only`, left and right swapped (2), for cells in
// row-major order followed by `num_tail_bytes` bytes that stay in place.
std::vector<Symmetry> cell_symmetries(int rows, int columns, bool mirror_only, int num_tail_bytes);

// {"board": rows of ".XO", top first, "player": who is, or would be, to move}.
Described describe_board(const std::vector<std::string>& rows_top_first, int player);

struct BoardAndPlayer {
    std::vector<std::string> rows_top_first;
    int player;
};

// The opposite of describe_board; checks the shape, the stones, and that X (player 0) and O took
// turns.
Result<BoardAndPlayer> read_board(const Described& described, int num_rows, int num_columns);

// Rows with their numbers at the left (counted from the bottom), column names below.
std::string board_picture(const std::vector<std::string>& rows_top_first, char first_column);

std::string line_of_result(Mover to_move, int outcome_first_player);

}  // namespace zf
