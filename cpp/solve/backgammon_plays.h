// One side's checkers as numbers, and what a roll lets it play: the common part of the bear-off and
// hypergammon tables.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "games/backgammon/id.h"

namespace zf::backgammon {

// The 21 rolls, the larger die first, and how many of the 36 throws give each.
struct Roll {
    uint8_t large, small, num_throws;
};
inline constexpr int kNumRolls = 21, kNumThrows = 36;
inline constexpr auto kRolls = [] {
    std::array<Roll, kNumRolls> rolls{};
    int at = 0;
    for (uint8_t large = 1; large <= 6; ++large)
        for (uint8_t small = 1; small <= large; ++small)
            rolls[at++] = {large, small, uint8_t(large == small ? 1 : 2)};
    return rolls;
}();

// Numbers the ways in which so many checkers lie on the slots 0 (off) to `top`. All off is 0, and
// moving a checker down always gives a smaller number.
class CheckerNumbers {
  public:
    CheckerNumbers(int num_checkers, int top) : num_checkers_(num_checkers), top_(top) {
        for (int n = 0; n <= num_checkers + top; ++n) {
            choose_.push_back(std::vector<uint32_t>(num_checkers + 1, 0));
            choose_[n][0] = 1;
            for (int k = 1; k <= std::min(n, num_checkers); ++k)
                choose_[n][k] = choose_[n - 1][k - 1] + (k < n ? choose_[n - 1][k] : 0);
        }
    }
    int num_checkers() const { return num_checkers_; }
    uint32_t count() const { return choose_[num_checkers_ + top_][num_checkers_]; }

    // Precondition: that many checkers, none above `top`; those in slot 0 need not be counted.
    uint32_t number_of(const Counts& counts) const {
        uint32_t number = 0;
        int left = num_checkers_;
        for (int slot = top_; slot > 0; --slot)
            for (int i = 0; i < counts[slot]; ++i, --left) number += choose_[slot + left - 1][left];
        return number;
    }
    // The checkers of each number, in order.
    std::vector<Counts> all() const {
        std::vector<Counts> all;
        Counts counts = {};
        add_all(num_checkers_, top_, counts, all);
        return all;
    }

  private:
    // All ways to put `left` checkers on slots up to `slot`.
    void add_all(int left, int slot, Counts& counts, std::vector<Counts>& all) const {
        if (slot == 0 || left == 0) {
            all.push_back(counts);
            all.back()[kOff] = uint8_t(left);
            return;
        }
        add_all(left, slot - 1, counts, all);
        ++counts[slot];
        add_all(left - 1, slot, counts, all);
        --counts[slot];
    }

    int num_checkers_, top_;
    std::vector<std::vector<uint32_t>> choose_;
};

// A way to play a roll, were nothing in the way.
struct Play {
    Counts after;
    uint32_t landed = 0;  // bit p: a checker came to point p, perhaps on its way
    // More for more dice used; with one of two dice, more for the larger: of the plays that the
    // other side leaves open, those of the highest rank are legal.
    uint8_t rank = 0;

    bool operator==(const Play&) const = default;
};

class Plays {
  public:
    // All plays of a roll, the highest rank first, none twice.
    const std::vector<Play>& of(const Counts& counts, const Roll& roll) {
        plays_.clear();
        if (roll.large == roll.small) {
            add_double({counts}, roll.large, kBar);
        } else {
            add_two(counts, roll.large, roll.small, 2);
            add_two(counts, roll.small, roll.large, 1);
        }
        std::stable_sort(plays_.begin(), plays_.end(),
                         [](const Play& a, const Play& b) { return a.rank > b.rank; });
        auto end = plays_.begin();
        for (const Play& play : plays_)
            if (std::find(plays_.begin(), end, play) == end) *end++ = play;
        plays_.erase(end, plays_.end());
        return plays_;
    }

  private:
    static bool can_move(const Counts& counts, int source, int die) {
        if (counts[source] == 0) return false;
        if (source < kBar && counts[kBar] > 0) return false;
        if (source > die) return true;
        int highest = kBar;
        while (counts[highest] == 0) --highest;
        return highest <= 6 && (source == die || source == highest);
    }
    static Play moved(Play play, int source, int die) {
        const int target = source > die ? source - die : kOff;
        --play.after[source];
        ++play.after[target];
        if (target != kOff) play.landed |= 1u << target;
        return play;
    }
    void add_two(const Counts& counts, int first, int second, uint8_t rank_of_first) {
        for (int source = kBar; source > 0; --source) {
            if (!can_move(counts, source, first)) continue;
            Play one = moved({counts}, source, first);
            one.rank = rank_of_first;
            plays_.push_back(one);
            for (int next = kBar; next > 0; --next) {
                if (!can_move(one.after, next, second)) continue;
                plays_.push_back(moved(one, next, second));
                plays_.back().rank = 3;
            }
        }
    }
    // The same moves from the top down reach whatever another order reaches.
    void add_double(const Play& played, int die, int highest_source) {
        if (played.rank > 0) plays_.push_back(played);
        if (played.rank == 4) return;
        for (int source = highest_source; source > 0; --source) {
            if (!can_move(played.after, source, die)) continue;
            Play next = moved(played, source, die);
            ++next.rank;
            add_double(next, die, source);
        }
    }

    std::vector<Play> plays_;
};

}  // namespace zf::backgammon
