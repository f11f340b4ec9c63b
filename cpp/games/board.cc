#include "games/board.h"

namespace zf {

std::vector<Symmetry> cell_symmetries(int rows, int columns, bool mirror_only, int num_tail_bytes) {
    std::vector<Symmetry> all;
    for (int kind = 0; kind < (mirror_only ? 2 : 8); ++kind) {
        Symmetry symmetry;
        for (int row = 0; row < rows; ++row) {
            for (int column = 0; column < columns; ++column) {
                int r = row, c = kind & 1 ? columns - 1 - column : column;
                if (kind & 2) r = rows - 1 - r;
                if (kind & 4) std::swap(r, c);
                symmetry.byte.push_back(uint16_t(r * columns + c));
            }
        }
        symmetry.action.assign(symmetry.byte.begin(), symmetry.byte.end());
        for (int i = 0; i < num_tail_bytes; ++i)
            symmetry.byte.push_back(uint16_t(rows * columns + i));
        all.push_back(symmetry);
    }
    return all;
}

Described describe_board(const std::vector<std::string>& rows_top_first, int player) {
    Described::List rows(rows_top_first.begin(), rows_top_first.end());
    return Described::Fields{{"board", rows}, {"player", player}};
}

Result<BoardAndPlayer> read_board(const Described& described, int num_rows, int num_columns) {
    const auto bad = [](const std::string& text) { return Error{Error::Kind::bad_text, text}; };
    const Described* board = described.field("board");
    const Described* player = described.field("player");
    if (!board || !board->list())
        return bad("description lacks 'board', a list of rows of \".XO\", top first");
    if (!player || !player->number() || *player->number() < 0 || *player->number() > 1)
        return bad("description lacks 'player', 0 or 1");
    BoardAndPlayer read{{}, int(*player->number())};
    int surplus = 0;  // of X over O
    for (const Described& row : *board->list()) {
        if (!row.text() || int(row.text()->size()) != num_columns)
            return bad("each row of 'board' must be " + std::to_string(num_columns) +
                       " characters of \".XO\"");
        for (const char stone : *row.text()) {
            if (stone != '.' && stone != 'X' && stone != 'O')
                return bad(std::string("'board' has '") + stone + "'; only \".XO\" are known");
            surplus += (stone == 'X') - (stone == 'O');
        }
        read.rows_top_first.push_back(*row.text());
    }
    if (int(read.rows_top_first.size()) != num_rows)
        return bad("'board' has " + std::to_string(read.rows_top_first.size()) +
                   " rows; this game has " + std::to_string(num_rows));
    if (surplus != read.player)
        return bad("'board' has " + std::to_string(surplus) + " more X than O, but player " +
                   std::to_string(read.player) + " to move needs " + std::to_string(read.player));
    return read;
}

std::string board_picture(const std::vector<std::string>& rows_top_first, char first_column) {
    std::string text;
    const int num_rows = int(rows_top_first.size());
    for (int i = 0; i < num_rows; ++i) {
        const int number = num_rows - i;
        text += (number < 10 ? " " : "") + std::to_string(number);
        for (const char stone : rows_top_first[i]) text += std::string(" ") + stone;
        text += "\n";
    }
    text += "  ";
    for (int c = 0; c < int(rows_top_first[0].size()); ++c)
        text += std::string(" ") + char(first_column + c);
    return text + "\n";
}

std::string line_of_result(Mover to_move, int outcome_first_player) {
    if (to_move != kOver) return std::string(to_move == 0 ? "X" : "O") + " to move\n";
    return outcome_first_player == kDraw  ? "drawn\n"
           : outcome_first_player == kWin ? "X has won\n"
                                          : "O has won\n";
}

}  // namespace zf
