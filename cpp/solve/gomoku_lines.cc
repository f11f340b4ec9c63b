#include "solve/gomoku_lines.h"

namespace zf {

GomokuLines::GomokuLines(const Gomoku::Options& options)
    : size_(options.size),
      length_(options.line),
      num_cells_(options.size * options.size),
      num_empty_(num_cells_),
      exact_(options.exact) {
    for (int row = 0; row < size_; ++row)
        for (int column = 0; column < size_; ++column) {
            add_line(row, column, 0, 1);
            add_line(row, column, 1, 0);
            add_line(row, column, 1, 1);
            add_line(row, column, 1, -1);
        }
    const int num_lines = int(ends_.size());
    first_through_.assign(size_t(num_cells_) + 1, 0);
    for (const uint16_t cell : cells_) ++first_through_[cell + 1];
    for (int cell = 0; cell < num_cells_; ++cell) first_through_[cell + 1] += first_through_[cell];
    through_.resize(cells_.size());
    std::vector<int> next(first_through_.begin(), first_through_.end() - 1);
    for (int line = 0; line < num_lines; ++line)
        for (const uint16_t cell : cells(line)) through_[size_t(next[cell]++)] = uint16_t(line);
    empty_xor_.assign(size_t(num_lines), 0);
    for (int line = 0; line < num_lines; ++line)
        for (const uint16_t cell : cells(line)) empty_xor_[line] ^= cell;
    for (const int player : {0, 1}) {
        counts_[player].assign(size_t(num_lines), 0);
        place_in_[player].assign(size_t(num_lines), 0);
        for (Set& set : sets_[player]) set.lines.resize(size_t(num_lines));
    }
    for (int line = 0; line < num_lines; ++line)
        for (const int player : {0, 1}) enter(player, line);
}

void GomokuLines::add_line(int row, int column, int row_step, int column_step) {
    const auto inside = [this](int r, int c) { return r >= 0 && r < size_ && c >= 0 && c < size_; };
    const int last = length_ - 1;
    if (!inside(row + last * row_step, column + last * column_step)) return;
    for (int i = 0; i < length_; ++i)
        cells_.push_back(uint16_t((row + i * row_step) * size_ + column + i * column_step));
    const auto end = [&](int i) {
        const int r = row + i * row_step, c = column + i * column_step;
        return int16_t(inside(r, c) ? r * size_ + c : -1);
    };
    ends_.push_back({end(-1), end(length_)});
}

void GomokuLines::set(const Gomoku& position) {
    std::array<uint8_t, kMaxCells + 1> wanted;  // 1: player 0, 2: player 1
    position.observe(0, wanted.data());
    for (int cell = 0; cell < num_cells_; ++cell)
        if (stones_[cell] != 0 && stones_[cell] != wanted[cell]) remove(cell, stones_[cell] - 1);
    for (int cell = 0; cell < num_cells_; ++cell)
        if (wanted[cell] != 0 && stones_[cell] == 0) place(cell, wanted[cell] - 1);
}

void GomokuLines::place(int cell, int player) {
    stones_[cell] = uint8_t(player + 1);
    hash_ ^= mix64(uint64_t(2 * cell + player));
    --num_empty_;
    for (const uint16_t line : lines_through(cell)) {
        empty_xor_[line] ^= uint16_t(cell);
        const bool closes = counts_[player][line] == 0, is_open = counts_[1 - player][line] == 0;
        if (closes) leave(1 - player, line);
        if (is_open) leave(player, line);
        ++counts_[player][line];
        if (is_open) enter(player, line);
    }
}

void GomokuLines::remove(int cell, int player) {
    stones_[cell] = 0;
    hash_ ^= mix64(uint64_t(2 * cell + player));
    ++num_empty_;
    for (const uint16_t line : lines_through(cell)) {
        empty_xor_[line] ^= uint16_t(cell);
        const bool opens = counts_[player][line] == 1, is_open = counts_[1 - player][line] == 0;
        if (is_open) leave(player, line);
        --counts_[player][line];
        if (is_open) enter(player, line);
        if (opens) enter(1 - player, line);
    }
}

void GomokuLines::leave(int player, int line) {
    --num_open_[player];
    const int lacking = length_ - counts_[player][line];
    if (lacking < 1 || lacking > 3) return;
    Set& set = sets_[player][lacking - 1];
    const uint16_t last = set.lines[size_t(--set.count)];
    set.lines[place_in_[player][line]] = last;
    place_in_[player][last] = place_in_[player][line];
}

void GomokuLines::enter(int player, int line) {
    ++num_open_[player];
    const int lacking = length_ - counts_[player][line];
    if (lacking < 1 || lacking > 3) return;
    Set& set = sets_[player][lacking - 1];
    place_in_[player][line] = uint16_t(set.count);
    set.lines[size_t(set.count++)] = uint16_t(line);
}

GomokuLines::Wins GomokuLines::wins(int player) const {
    Wins wins;
    for (const uint16_t line : lines(player, 1)) {
        const int cell = empty_xor_[line];
        if (cell == wins.cells[0] || overlong(player, line)) continue;
        wins.cells[wins.count++] = cell;
        if (wins.count == 2) break;
    }
    return wins;
}

}  // namespace zf
