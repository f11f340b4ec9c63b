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
constexpr int kHighest = 18;  // nobody wins with fewer than four discs
constexpr int kScoreBits = 6, kScoreMask = (1 << kScoreBits) - 1;
constexpr int kMirrorUpTo = 20;  // with more discs it would cost more than it saves
// The rows that the first player gets where the second answers above each of its discs.
constexpr uint64_t kFirstPlayersRows = kBottom | kBottom << 2 | kBottom << 4;
constexpr uint64_t kNodesPerPoll = 1 << 20;

uint64_t mirrored(uint64_t bits) {
    uint64_t result = 0;
    for (int column = 0; column < Connect4::kColumns; ++column, bits >>= kStride)
        result = result << kStride | (bits & 127);
    return result;
}

bool has_line(uint64_t discs) {
    for (const int step : {1, kStride - 1, kStride, kStride + 1}) {
        const uint64_t pairs = discs & (discs >> step);
        if (pairs & (pairs >> 2 * step)) return true;
    }
    return false;
}

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
    // The score of winning with the next disc.
    int score_of_win_at_once() const { return (kNumCells + 1 - num_discs) / 2; }
    // Tells positions apart: the lowest empty cell of a column is marked by the sum.
    uint64_t key() const {
        const uint64_t key = own + taken + kBottom;
        return num_discs > kMirrorUpTo ? key : std::min(key, mirrored(key));
    }
    // Drops that do not lose at once. Precondition: the player to move cannot win at once.
    uint64_t safe_drops() const {
        const uint64_t others = others_wins();
        uint64_t moves = droppable();
        const uint64_t must_close = moves & others;
        if (must_close & (must_close - 1)) return 0;
        if (must_close) moves = must_close;
        return moves & ~(others >> 1);  // not below a cell where the other player wins
    }

    // A bound from above of the score to the first player, who is to move. The second player can
    // answer each disc: with the cell above it, or, where that disc lies lowest in a column with an
    // odd number of empty cells, with the lowest of another such column (claimeven and baseinverse,
    // Allis 1988). Then the first player gets cells of its rows and some of the lowest, and the
    // second player all others.
    int most_against_answers() const {
        const uint64_t empty = kCells & ~taken, lowest = droppable();
        if (has_line(own | (empty & kFirstPlayersRows) | lowest)) return kHighest;
        return has_line((own ^ taken) | (empty & ~kFirstPlayersRows & ~lowest)) ? -1 : 0;
    }

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
    const Board board = read(columns);
    return reaches(board, 1) ? 1 : reaches(board, 0) ? 0 : -1;
}

int Connect4Solver::score_to_move(const std::string& columns) { return score(read(columns)); }

std::vector<int> Connect4Solver::scores_to_move(const std::string& columns) {
    const Board board = read(columns);
    const uint64_t wins = board.own_wins() & board.droppable();
    std::vector<int> scores;
    for (int column = 0; column < kColumns; ++column) {
        const uint64_t cell = board.drop(column);
        scores.push_back(cell == 0     ? kFull
                         : cell & wins ? board.score_of_win_at_once()
                                       : -score(board.after(cell)));
    }
    return scores;
}

std::vector<int> Connect4Solver::best_columns(const std::string& columns) {
    const Board board = read(columns);
    const uint64_t wins = board.own_wins() & board.droppable();
    const int best = wins ? 0 : score(board);
    std::vector<int> found;
    for (int column = 0; column < kColumns; ++column) {
        const uint64_t cell = board.drop(column);
        if (cell && (wins ? (cell & wins) != 0 : !reaches(board.after(cell), 1 - best)))
            found.push_back(column);
    }
    return found;
}

int Connect4Solver::plies_to_end(int num_discs, int score_to_move) {
    if (score_to_move == 0) return kNumCells - num_discs;
    // The winner's last disc is its (22 - |score|)th.
    const int winner = score_to_move > 0 ? num_discs % 2 : 1 - num_discs % 2;
    return 2 * (22 - std::abs(score_to_move)) - 1 + winner - num_discs;
}

Connect4Solver::Board Connect4Solver::read(const std::string& columns) {
    Board board;
    for (const char column : columns) board = board.after(board.drop(column - '1'));
    return board;
}

// Halves the interval of what the score can be; near zero first, where most scores lie.
int Connect4Solver::score(const Board& board) {
    int low = -(kNumCells - board.num_discs) / 2, high = board.score_of_win_at_once();
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (middle <= 0 && low / 2 < middle) middle = low / 2;
        if (middle >= 0 && high / 2 > middle) middle = high / 2;
        if (reaches(board, middle + 1)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

bool Connect4Solver::reaches(const Board& board, int least) {
    if (board.num_discs == kNumCells) return least <= 0;
    if (board.own_wins() & board.droppable()) return board.score_of_win_at_once() >= least;
    return search(board, least - 1, least) >= least;
}

int Connect4Solver::search(const Board& board, int alpha, int beta) {
    const uint64_t moves = board.safe_drops();
    if (moves == 0) return -(kNumCells - board.num_discs) / 2;
    if (board.num_discs >= kNumCells - 2) return 0;
    const Bounds known = look_up(board.key());
    int low = std::max(known.low, -(kNumCells - 2 - board.num_discs) / 2);
    int high = std::min(known.high, (kNumCells - 1 - board.num_discs) / 2);
    if (board.num_discs % 2 == 0) {
        if (high > alpha && alpha >= -1) high = std::min(high, board.most_against_answers());
    } else {
        for (uint64_t rest = moves; rest && low < beta && beta <= 1; rest &= rest - 1)
            low = std::max(low, -board.after(rest & -rest).most_against_answers());
    }
    alpha = std::max(alpha, low);
    beta = std::min(beta, high);
    if (alpha >= beta) return alpha;
    if (++num_nodes_ % kNodesPerPoll == 0 && poll_) poll_();
    const int best = best_of(board, moves, alpha, beta);
    store(board.key(), {best > alpha ? best : low, best < beta ? best : high});
    return best;
}

int Connect4Solver::best_of(const Board& board, uint64_t moves, int alpha, int beta) {
    // Enhanced transposition cutoff: a drop that is known to be good enough needs no search.
    for (uint64_t rest = moves; rest; rest &= rest - 1) {
        const int known = -look_up(board.after(rest & -rest).key()).high;
        if (known >= beta) return known;
    }
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
    if (entry >> 2 * kScoreBits != key) return {-kHighest, kHighest};
    return {int(entry & kScoreMask) - kHighest, int((entry >> kScoreBits) & kScoreMask) - kHighest};
}

void Connect4Solver::store(uint64_t key, Bounds bounds) {
    table_[place(key)] = key << 2 * kScoreBits | uint64_t(bounds.high + kHighest) << kScoreBits |
                         uint64_t(bounds.low + kHighest);
}

}  // namespace zf
