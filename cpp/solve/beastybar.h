// Solves endings of Beasty Bar: who wins, and when, by both playing perfectly.
//
// Once both piles are empty nothing is hidden, and at most eight cards are left to play. Alpha-beta
// with a table of bounds. A score is 1 plus the cards that are left in both hands at the end,
// negative where the player to move loses, 0 for a draw: a sooner win is larger, a later loss is
// less bad. A position is not searched where the lead in the bar is too large for what is left, and
// actions that gain most come first.
//
// The table knows a position by what decides its value (queue, hands, lead, who moves, scoring),
// exactly: no two positions share a key. So what it says is proven.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "games/beastybar.h"
#include "search/leaf_solver.h"

namespace zf {

class BeastyBarSolver final : public LeafSolver<BeastyBar> {
  public:
    static constexpr int kMostCards = 4;  // in a hand

    // The table takes 16 bytes << table_bits.
    explicit BeastyBarSolver(int table_bits = 12)
        : shift_(64 - table_bits), table_(size_t(1) << table_bits) {}

    // Whether it can solve this position, which is not over.
    static bool solves(const BeastyBar& position) {
        return position.nothing_hidden() && std::popcount(position.hand(0)) <= kMostCards &&
               std::popcount(position.hand(1)) <= kMostCards;
    }

    // Precondition of the following: it solves the position.

    // The value to the player to move: 1 won, 0 drawn, -1 lost. Faster than the score.
    int value_to_move(const BeastyBar& position) {
        const auto reaches = [&](int least) { return search(position, least - 1, least) >= least; };
        return reaches(1) ? 1 : reaches(0) ? 0 : -1;
    }
    int score_to_move(const BeastyBar& position) {
        const int most = num_left(position);
        return search(position, -most - 1, most + 1);
    }
    struct ScoredAction {
        Action action;
        int score_to_move;  // of the position in which it is played
    };
    // The legal actions, ascending.
    std::vector<ScoredAction> score_actions(const BeastyBar& position);
    // Plies from the position to the end of the game where it has this score; 0 for a draw.
    static int plies_to_end(const BeastyBar& position, int score) {
        return score == 0 ? 0 : num_left(position) + 1 - std::abs(score);
    }

    // Says that the game ends when all cards are played, at the latest: roots are scored exactly,
    // and leaves below hidden cards, of which there are many, prove nothing above them.
    std::optional<ProvenValue> solve_leaf(const BeastyBar& position) override {
        if (!solves(position)) return {};
        return proven(position, value_to_move(position));
    }
    ProvenRoot solve_root(const BeastyBar& position) override {
        ProvenRoot root;
        if (!solves(position)) return root;
        for (const auto& [action, score] : score_actions(position))
            root.actions.push_back({action, proven(position, score)});
        root.decided = true;
        return root;
    }

    uint64_t num_nodes() const { return num_nodes_; }

  private:
    using SpeciesSet = beastybar::SpeciesSet;

    // What is known of a position: its score is at least `low`, at most `high`.
    struct Bounds {
        int low, high;
    };
    struct Entry {
        uint64_t key = 0;  // no position's: a player who is to move has a card
        int8_t low = 0, high = 0;
    };

    static int num_left(const BeastyBar& position) {
        return std::popcount(position.hand(0)) + std::popcount(position.hand(1));
    }
    static int lead_of(const BeastyBar& position, int player) {
        return player == 0 ? position.lead_first_player() : -position.lead_first_player();
    }
    static ProvenValue proven(const BeastyBar& position, int score) {
        ProvenValue value;
        value.outcomes_to_move[score > 0 ? kWin : score < 0 ? kLoss : kDraw] = 1;
        value.plies_to_end = uint32_t(plies_to_end(position, score));
        return value;
    }

    // A bound of the score to the player to move: exact where it lies between alpha and beta, else
    // at most alpha or at least beta as the score is.
    int search(const BeastyBar& position, int alpha, int beta);
    // The same, to a player, of a position that may be over.
    int score_of(const BeastyBar& position, int player, int alpha, int beta) {
        if (position.to_move() == player) return search(position, alpha, beta);
        if (position.to_move() != kOver) return -search(position, -beta, -alpha);
        const int lead = lead_of(position, player), size = 1 + num_left(position);
        return lead > 0 ? size : lead < 0 ? -size : 0;
    }

    // What the lead and the cards in play say of the score to the player to move.
    static Bounds bounds_by_lead(const BeastyBar& position);
    // By how much the lead of the owner of these animals in play can grow at most.
    static int most_gain(const BeastyBar& position, SpeciesSet animals, int num_entering);

    // Twelve bits each for the hands, five for each animal of the queue, twelve for the lead.
    static uint64_t key_of(const BeastyBar& position) {
        uint64_t key = position.hand(0) >> 1 | uint64_t(position.hand(1) >> 1) << 12;
        const auto& queue = position.table().queue();
        for (int i = 0; i < queue.size(); ++i) key |= uint64_t(queue[i]) << (24 + 5 * i);
        key |= uint64_t(position.lead_first_player() & 0xfff) << 44;
        return key | uint64_t(position.to_move()) << 56 |
               uint64_t(position.options().count_animals) << 57;
    }
    Entry& entry_of(uint64_t key) { return table_[size_t(key * 0x9e3779b97f4a7c15 >> shift_)]; }

    int shift_;
    std::vector<Entry> table_;
    uint64_t num_nodes_ = 0;
};

inline std::vector<BeastyBarSolver::ScoredAction> BeastyBarSolver::score_actions(
    const BeastyBar& position) {
    Action actions[beastybar::kNumActions];
    const int count = position.legal_actions(actions), most = num_left(position);
    std::vector<ScoredAction> scored;
    for (int i = 0; i < count; ++i) {
        BeastyBar after = position;
        after.play(actions[i]);
        scored.push_back({actions[i], score_of(after, position.to_move(), -most - 1, most + 1)});
    }
    return scored;
}

inline int BeastyBarSolver::search(const BeastyBar& position, int alpha, int beta) {
    ++num_nodes_;
    Bounds bounds = bounds_by_lead(position);
    const uint64_t key = key_of(position);
    if (const Entry& entry = entry_of(key); entry.key == key)
        bounds = {std::max<int>(bounds.low, entry.low), std::min<int>(bounds.high, entry.high)};
    if (bounds.low >= beta || bounds.low == bounds.high) return bounds.low;
    if (bounds.high <= alpha) return bounds.high;

    // The actions that leave the largest lead first, equals in their order.
    const int mover = position.to_move();
    Action actions[beastybar::kNumActions];
    const int count = position.legal_actions(actions);
    int leads[beastybar::kNumActions];
    for (int i = 0; i < count; ++i) {
        BeastyBar after = position;
        after.play(actions[i]);
        const Action action = actions[i];
        const int lead = lead_of(after, mover);
        int at = i;
        for (; at > 0 && leads[at - 1] < lead; --at)
            leads[at] = leads[at - 1], actions[at] = actions[at - 1];
        leads[at] = lead, actions[at] = action;
    }
    int best = bounds.low - 1;
    for (int i = 0; i < count && best < beta && best < bounds.high; ++i) {
        BeastyBar after = position;
        after.play(actions[i]);
        best = std::max(best, score_of(after, mover, std::max(alpha, best), beta));
    }
    if (best > alpha) bounds.low = best;
    if (best < beta) bounds.high = best;
    entry_of(key) = {key, int8_t(bounds.low), int8_t(bounds.high)};
    return best;
}

inline BeastyBarSolver::Bounds BeastyBarSolver::bounds_by_lead(const BeastyBar& position) {
    SpeciesSet animals[2] = {position.hand(0), position.hand(1)};
    const auto& queue = position.table().queue();
    for (int i = 0; i < queue.size(); ++i) {
        const auto card = beastybar::Card(queue[i]);
        animals[beastybar::owner_of(card)] |= beastybar::set_of(beastybar::species_of(card));
    }
    // Five of those in play open the bar; two enter and one is out of the game.
    const int num_in_play = std::popcount(animals[0]) + std::popcount(animals[1]);
    const int num_entering = 2 * ((num_in_play - 2) / 3);
    const int mover = position.to_move(), most = num_left(position),
              lead = lead_of(position, mover);
    if (lead > most_gain(position, animals[mover ^ 1], num_entering)) return {1, most};
    if (-lead > most_gain(position, animals[mover], num_entering)) return {-most, -1};
    return {-most, most};
}

inline int BeastyBarSolver::most_gain(const BeastyBar& position, SpeciesSet animals,
                                      int num_entering) {
    int gain = 0;
    if (position.options().count_animals) {  // the weakest count most
        for (; animals && num_entering > 0; animals &= animals - 1, --num_entering)
            gain += BeastyBar::kAnimalLead - std::countr_zero(animals);
        return gain;
    }
    using namespace beastybar;
    constexpr SpeciesSet kFour = set_of(kSkunk, kParrot, kKangaroo, kZebra);
    constexpr SpeciesSet kThree = set_of(kMonkey, kChameleon, kGiraffe, kCrocodile);
    for (const auto& [worth, set] : {std::pair(4, kFour), {3, kThree}, {2, ~(kFour | kThree)}}) {
        const int count = std::min(std::popcount(animals & set), num_entering);
        gain += worth * count;
        num_entering -= count;
    }
    return gain;
}

}  // namespace zf
