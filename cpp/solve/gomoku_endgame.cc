#include "solve/gomoku_endgame.h"

#include <algorithm>

namespace zf {
namespace {

constexpr uint64_t kNodesPerPoll = 1 << 12;

}  // namespace

GomokuEndgame::GomokuEndgame(const Gomoku::Options& options, int table_bits,
                             std::function<void()> poll)
    : lines_(options), table_(size_t(1) << table_bits), poll_(std::move(poll)) {}

std::optional<int> GomokuEndgame::score(const Gomoku& position, uint64_t max_nodes) {
    lines_.set(position);
    last_node_ = num_nodes_ + max_nodes;
    spent_ = false;
    const int most = lines_.num_empty() + 1;
    // Who wins first; it bounds the score.
    int score = search(position.to_move(), -1, 1);
    if (score > 0) score = search(position.to_move(), 0, most);
    if (score < 0) score = search(position.to_move(), -most, 0);
    if (spent_) return {};
    return score;
}

int GomokuEndgame::search(int player, int alpha, int beta) {
    const int num_empty = lines_.num_empty();
    if (num_empty == 0) return 0;
    if (lines_.wins(player).count > 0) return num_empty;
    const int own_left = (num_empty + 1) / 2, others_left = num_empty / 2;
    int high = may_win(player, own_left) ? std::max(0, num_empty - 2) : 0;
    int low = may_win(1 - player, others_left) ? std::min(0, 1 - num_empty) : 0;
    Entry& entry = table_[lines_.hash() & (table_.size() - 1)];
    if (entry.hash == lines_.hash()) {
        high = std::min<int>(high, entry.high);
        low = std::max<int>(low, entry.low);
    }
    if (low >= high || low >= beta) return low;
    if (high <= alpha) return high;
    if (num_nodes_ >= last_node_) spent_ = true;
    if (spent_) return 0;
    if (++num_nodes_ % kNodesPerPoll == 0 && poll_) poll_();
    alpha = std::max(alpha, low);
    beta = std::min(beta, high);
    const uint64_t hash = lines_.hash();
    const int best = best_of(player, alpha, beta);
    if (spent_) return 0;
    entry = {hash, int16_t(best > alpha ? best : low), int16_t(best < beta ? best : high)};
    return best;
}

int GomokuEndgame::best_of(int player, int alpha, int beta) {
    const GomokuLines::Wins others = lines_.wins(1 - player);
    if (others.count > 1) return 1 - lines_.num_empty();
    std::vector<Move> moves;
    if (others.count == 1) {
        moves.push_back({0, others.cells[0]});
    } else {
        find_moves(moves);
    }
    int best = -lines_.num_empty();
    for (const Move& move : moves) {
        lines_.place(move.cell, player);
        const int value = -search(1 - player, -beta, -std::max(alpha, best));
        lines_.remove(move.cell, player);
        best = std::max(best, value);
        if (best >= beta || spent_) break;
    }
    return best;
}

void GomokuEndgame::find_moves(std::vector<Move>& moves) const {
    bool has_idle = false;
    for (int cell = 0; cell < lines_.num_cells(); ++cell) {
        if (!lines_.is_empty(cell)) continue;
        int weight = 0;
        for (const uint16_t line : lines_.lines_through(cell))
            for (const int player : {0, 1})
                if (lines_.count(1 - player, line) == 0)
                    weight += 1 << (2 * lines_.count(player, line));
        if (weight == 0 && !lines_.exact() && std::exchange(has_idle, true)) continue;
        moves.push_back({weight, cell});
    }
    std::stable_sort(moves.begin(), moves.end(),
                     [](const Move& a, const Move& b) { return a.weight > b.weight; });
}

bool GomokuEndgame::may_win(int player, int num_stones_left) const {
    if (lines_.num_open(player) == 0) return false;
    for (int lacking = 1; lacking <= std::min(3, num_stones_left); ++lacking)
        if (!lines_.lines(player, lacking).empty()) return true;
    return num_stones_left > 3;
}

}  // namespace zf
