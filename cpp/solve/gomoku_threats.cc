#include "solve/gomoku_threats.h"

#include <algorithm>

namespace zf {
namespace {

constexpr uint64_t kDepthMask = 63;
constexpr uint64_t kNodesPerPoll = 1 << 12;
// Nodes for the fours that a three threatens, and for fours tried first among threats.
constexpr uint64_t kMaxNodesOfFours = 2000;

}  // namespace

GomokuThreats::GomokuThreats(const Gomoku::Options& options, int table_bits,
                             std::function<void()> poll)
    : lines_(options),
      failures_(size_t(1) << table_bits),
      poll_(std::move(poll)),
      marks_(size_t(lines_.num_cells())) {}

GomokuProof GomokuThreats::find_win(const Gomoku& position, const GomokuLimits& limits) {
    begin(position, limits);
    proof_.root = deepen(position.to_move(), limits);
    return std::move(proof_);
}

GomokuProof GomokuThreats::find_loss(const Gomoku& position, const GomokuLimits& limits) {
    begin(position, limits);
    const int attacker = 1 - position.to_move();
    for (int depth = 0; depth <= limits.max_depth && !spent(); ++depth) {
        more_at_depth_ = false;
        proof_.root = win_against_all(attacker, 0, depth);
        if (proof_.found() || !more_at_depth_) break;
    }
    return std::move(proof_);
}

GomokuProof GomokuThreats::find_threat(const Gomoku& position, const GomokuLimits& limits) {
    begin(position, limits);
    proof_.root = deepen(1 - position.to_move(), limits);
    return std::move(proof_);
}

void GomokuThreats::begin(const Gomoku& position, const GomokuLimits& limits) {
    lines_.set(position);
    proof_ = {};
    last_node_ = last_of_fours_ = num_nodes_ + limits.max_nodes;
}

int32_t GomokuThreats::deepen(int attacker, const GomokuLimits& limits) {
    int32_t found = win_by_fours(attacker);
    for (int depth = 1; found == kNone && depth <= limits.max_depth && !spent(); ++depth) {
        more_at_depth_ = false;
        found = win_by_threats(attacker, depth);
        if (!more_at_depth_) break;
    }
    return found;
}

// False where the bound is reached.
bool GomokuThreats::count_node() {
    if (spent() || num_nodes_ >= last_of_fours_) return false;
    if (++num_nodes_ % kNodesPerPoll == 0 && poll_) poll_();
    return true;
}

// ---- fours

int32_t GomokuThreats::win_by_fours(int attacker) {
    const GomokuLines::Wins own = lines_.wins(attacker);
    if (own.count > 0) return proof_.add(Action(own.cells[0]), {}, kNone);
    const GomokuLines::Wins others = lines_.wins(1 - attacker);
    if (others.count > 1 || known_to_fail(attacker, 0)) return kNone;
    std::vector<Four> fours;
    find_fours(attacker, fours);
    for (const Four& four : fours) {
        if (others.count == 1 && four.cell != others.cells[0]) continue;
        if (!count_node()) return kNone;
        const int32_t found =
            play_four(attacker, four.cell, [&] { return win_by_fours(attacker); });
        if (found != kNone) return found;
    }
    if (!spent() && num_nodes_ < last_of_fours_) remember_failure(attacker, 0);
    return kNone;
}

// Precondition: the opponent cannot complete a line, unless at this cell.
template <class GoOn>
int32_t GomokuThreats::play_four(int attacker, int cell, const GoOn& go_on) {
    lines_.place(cell, attacker);
    const GomokuLines::Wins wins = lines_.wins(attacker);
    int32_t answer = kNone;
    if (wins.count == 2) {
        answer = proof_.add(Action(wins.cells[1]), {}, kNone);
    } else if (wins.count == 1) {
        lines_.place(wins.cells[0], 1 - attacker);
        answer = go_on();
        lines_.remove(wins.cells[0], 1 - attacker);
    }
    lines_.remove(cell, attacker);
    if (answer == kNone) return kNone;
    const Action closing = Action(wins.cells[0]);
    const int32_t completed = proof_.add(closing, {}, kNone);
    const GomokuProof::Reply reply{closing, answer};
    return proof_.add(Action(cell), {&reply, 1}, completed);
}

// Each cell once; those that leave two cells to close, by two lines, first.
void GomokuThreats::find_fours(int player, std::vector<Four>& fours) {
    ++mark_;
    for (const uint16_t line : lines_.lines(player, 2)) {
        if (lines_.overlong(player, line)) continue;
        for (const uint16_t cell : lines_.cells(line)) {
            if (!lines_.is_empty(cell)) continue;
            if (marks_[cell] != mark_) {
                marks_[cell] = mark_;
                fours.push_back({cell, false});
                continue;
            }
            for (Four& four : fours)
                if (four.cell == cell) four.is_double = true;
        }
    }
    std::stable_partition(fours.begin(), fours.end(),
                          [](const Four& four) { return four.is_double; });
}

// ---- fours and threes

int32_t GomokuThreats::win_by_threats(int attacker, int depth) {
    const uint64_t kept =
        std::exchange(last_of_fours_, std::min(last_of_fours_, num_nodes_ + kMaxNodesOfFours));
    const int32_t by_fours = win_by_fours(attacker);
    last_of_fours_ = kept;
    if (by_fours != kNone) return by_fours;
    if (depth <= 0 || known_to_fail(attacker, depth)) {
        more_at_depth_ = true;
        return kNone;
    }
    const GomokuLines::Wins others = lines_.wins(1 - attacker);
    if (others.count > 1) return kNone;
    if (others.count == 1) {  // the one move there is costs no depth
        if (!count_node()) return kNone;
        const int32_t found =
            play_four(attacker, others.cells[0], [&] { return win_by_threats(attacker, depth); });
        return found != kNone ? found : win_by_three(attacker, others.cells[0], depth);
    }
    std::vector<Four> fours;
    Cells threes;
    find_threes(attacker, threes);
    if (depth < 2) {
        more_at_depth_ |= !threes.empty();
        threes.clear();
    }
    for (const uint16_t cell : threes) {
        if (!count_node()) return kNone;
        const int32_t found = win_by_three(attacker, cell, depth - 2);
        if (found != kNone) return found;
    }
    find_fours(attacker, fours);
    for (const Four& four : fours) {
        if (!count_node()) return kNone;
        const int32_t found =
            play_four(attacker, four.cell, [&] { return win_by_threats(attacker, depth - 1); });
        if (found != kNone) return found;
    }
    if (!spent()) remember_failure(attacker, depth);
    return kNone;
}

// Cells that make an open line lack two stones, by how many such lines they make.
void GomokuThreats::find_threes(int player, Cells& threes) {
    std::vector<std::pair<int, uint16_t>> counted;
    std::vector<uint8_t> made(size_t(lines_.num_cells()));
    for (const uint16_t line : lines_.lines(player, 3))
        for (const uint16_t cell : lines_.cells(line))
            if (lines_.is_empty(cell) && made[cell]++ == 0) threes.push_back(cell);
    std::stable_sort(threes.begin(), threes.end(),
                     [&](uint16_t a, uint16_t b) { return made[a] > made[b]; });
}

int32_t GomokuThreats::win_by_three(int attacker, int cell, int depth) {
    lines_.place(cell, attacker);
    const bool is_four = lines_.wins(attacker).count > 0;
    const int32_t found = is_four ? kNone : win_against_all(attacker, Action(cell), depth);
    lines_.remove(cell, attacker);
    return found;
}

int32_t GomokuThreats::win_against_all(int attacker, Action action, int depth) {
    const int defender = 1 - attacker;
    if (lines_.wins(defender).count > 0) return kNone;
    const size_t num_nodes = proof_.nodes.size(), num_replies = proof_.replies.size();
    const uint64_t kept =
        std::exchange(last_of_fours_, std::min(last_of_fours_, num_nodes_ + kMaxNodesOfFours));
    const int32_t after_pass = win_by_fours(attacker);
    last_of_fours_ = kept;
    if (after_pass == kNone) return kNone;
    Cells zone;
    find_zone(attacker, after_pass, zone);
    std::vector<GomokuProof::Reply> replies;
    for (const uint16_t cell : zone) {
        lines_.place(cell, defender);
        const int32_t answer = win_by_threats(attacker, depth);
        lines_.remove(cell, defender);
        if (answer == kNone) {
            cut_back(num_nodes, num_replies);
            return kNone;
        }
        replies.push_back({Action(cell), answer});
    }
    return proof_.add(action, replies, after_pass);
}

void GomokuThreats::find_zone(int attacker, int32_t node, Cells& zone) {
    add_zone_of(attacker, node, zone);
    for (const uint16_t line : lines_.lines(1 - attacker, 2))
        for (const uint16_t cell : lines_.cells(line)) zone.push_back(cell);
    ++mark_;
    std::erase_if(zone, [&](uint16_t cell) {
        return !lines_.is_empty(cell) || std::exchange(marks_[cell], mark_) == mark_;
    });
}

void GomokuThreats::add_zone_of(int attacker, int32_t number, Cells& zone) {
    const GomokuProof::Node node = proof_.nodes[size_t(number)];
    zone.push_back(node.action);
    if (node.otherwise == kNone) return;
    zone.push_back(proof_.nodes[size_t(node.otherwise)].action);
    lines_.place(node.action, attacker);
    for (const GomokuProof::Reply& reply : proof_.replies_of(node)) {
        lines_.place(reply.action, 1 - attacker);
        for (const uint16_t line : lines_.lines_through(reply.action))
            if (lines_.count(attacker, line) == 0 &&
                lines_.count(1 - attacker, line) >= lines_.length() - 2)
                for (const uint16_t cell : lines_.cells(line)) zone.push_back(cell);
        add_zone_of(attacker, reply.answer, zone);
        lines_.remove(reply.action, 1 - attacker);
    }
    lines_.remove(node.action, attacker);
}

// ---- what has failed before

bool GomokuThreats::known_to_fail(int attacker, int depth) const {
    const uint64_t at = key(attacker), entry = failures_[at & (failures_.size() - 1)];
    return ((entry ^ at) & ~kDepthMask) == 0 && int(entry & kDepthMask) > depth;
}

void GomokuThreats::remember_failure(int attacker, int depth) {
    const uint64_t at = key(attacker);
    uint64_t& entry = failures_[at & (failures_.size() - 1)];
    const uint64_t deeper = ((entry ^ at) & ~kDepthMask) == 0 ? entry & kDepthMask : 0;
    entry = (at & ~kDepthMask) | std::max<uint64_t>(deeper, uint64_t(depth) + 1);
}

}  // namespace zf
