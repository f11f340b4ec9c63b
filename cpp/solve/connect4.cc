#include "solve/connect4.h"

#include <algorithm>
#include <bit>

#include "games/connect4.h"

namespace zf {
namespace {

// A column is seven bits, the lowest cell first; the seventh stays empty, so that lines do not
// go from one column to the next.
constexpr int kStride = Connect4::kRows + 1, kNumCells = 42;
constexpr uint64_t kBottom = 0x40810204081, kCells = kBottom * 63;
constexpr int kByCentre[] = {3, 2, 4, 1, 5, 0, 6};

}  // namespace

struct Connect4Solver::Board {
    uint64_t own = 0, taken = 0;  // discs of the player to move, and of both
    int num_discs = 0;

    static uint64_t column(int at) { return uint64_t(63) << (at * kStride); }
    uint64_t droppable() const { return (taken + kBottom) & kCells; }
    uint64_t drop(int at) const { return droppable() & column(at); }
    uint64_t own_wins() const { return wins(own); }
    uint64_t others_wins() const { return wins(own ^ taken); }
    Board after(uint64_t cell) const { return {own ^ taken, taken | cell, num_discs + 1}; }
    // Tells positions apart: the lowest empty cell of a column is marked by the sum.
    uint64_t key() const { return own + taken + kBottom; }

    // Empty cells that would complete a line of these discs.
    uint64_t wins(uint64_t discs) const {
        uint64_t found = (discs << 1) & (discs << 2) & (discs << 3);  // upright
        for (const int step : {kStride - 1, kStride, kStride + 1}) {
            const uint64_t pair = (discs << step) & (discs << 2 * step);
            const uint64_t pair_back = (discs >> step) & (discs >> 2 * step);
            found |= pair & (discs << 3 * step);
            found |= pair & (discs >> step);
            found |= pair_back & (discs << step);
            found |= pair_back & (discs >> 3 * step);
        }
        return found & kCells & ~taken;
    }
};

int Connect4Solver::value_to_move(const std::string& columns) {
    Board board;
    for (const char column : columns) board = board.after(board.drop(column - '1'));
    if (board.own_wins() & board.droppable()) return 1;
    return search(board, -1, 1);
}

int Connect4Solver::search(const Board& board, int alpha, int beta) {
    if (board.num_discs >= kNumCells - 1) return 0;  // the last disc does not win
    const uint64_t others = board.others_wins();
    uint64_t moves = board.droppable();
    const uint64_t must_close = moves & others;
    if (must_close & (must_close - 1)) return -1;
    if (must_close) moves = must_close;
    moves &= ~(others >> 1);  // below a cell where the other player wins
    if (moves == 0) return -1;
    const Bounds known = look_up(board.key());
    alpha = std::max(alpha, known.low);
    beta = std::min(beta, known.high);
    if (alpha >= beta) return alpha;
    const int best = best_of(board, moves, alpha, beta);
    store(board.key(),
          {best > alpha ? best : known.low, best < beta ? std::max(best, alpha) : known.high});
    return best;
}

int Connect4Solver::best_of(const Board& board, uint64_t moves, int alpha, int beta) {
    uint64_t ordered[Connect4::kColumns];
    const int count = order(board, moves, ordered);
    for (int i = 0; i < count; ++i) {
        const int value = -search(board.after(ordered[i]), -beta, -alpha);
        alpha = std::max(alpha, value);
        if (alpha >= beta) break;
    }
    return alpha;
}

int Connect4Solver::order(const Board& board, uint64_t moves, uint64_t* ordered) {
    int threats[Connect4::kColumns], count = 0;
    for (const int column : kByCentre) {
        const uint64_t cell = moves & Board::column(column);
        if (cell == 0) continue;
        const int made = std::popcount(board.wins(board.own | cell) & ~cell);
        int at = count++;
        for (; at > 0 && threats[at - 1] < made; --at) {
            threats[at] = threats[at - 1];
            ordered[at] = ordered[at - 1];
        }
        threats[at] = made;
        ordered[at] = cell;
    }
    return count;
}

Connect4Solver::Bounds Connect4Solver::look_up(uint64_t key) const {
    const uint64_t entry = table_[place(key)];
    if (entry >> 4 != key) return {-1, 1};
    return {int(entry & 3) - 1, int((entry >> 2) & 3) - 1};
}

void Connect4Solver::store(uint64_t key, Bounds bounds) {
    table_[place(key)] = key << 4 | uint64_t(bounds.high + 1) << 2 | uint64_t(bounds.low + 1);
}

}  // namespace zf
