// Bear-off tables: races in which all checkers left are home.
//
// One-sided, up to fifteen checkers on six points: the distribution of the rolls that it takes to
// bear all off, by the play of least mean, as GNU Backgammon's one-sided
// database has it. Two-sided, up to six checkers a side: the exact probability that the player
// about to roll wins, where both play for it. Built in about a second.
//
// A side that has borne off a checker cannot lose a gammon. With fifteen checkers in the game, the
// two-sided probability is thus the whole outcome distribution.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/result.h"
#include "solve/backgammon_plays.h"

namespace zf {

class BearoffTables {
  public:
    using Counts = backgammon::Counts;
    static constexpr int kPoints = 6, kOneSidedCheckers = 15, kTwoSidedCheckers = 6;
    static constexpr int kMaxRolls = 32;  // more than any position can take

    // `poll` is called now and then; what it throws ends the work.
    static BearoffTables build(const std::function<void()>& poll = {});
    // What `to_bytes` gave; an error if it has another length.
    static Result<BearoffTables> from_bytes(std::span<const uint8_t> bytes);
    std::vector<uint8_t> to_bytes() const;

    // Both need all checkers left home; counts are as their owner counts points.
    static bool is_one_sided(const Counts& counts) { return is_home(counts, kOneSidedCheckers); }
    static bool is_two_sided(const Counts& counts) { return is_home(counts, kTwoSidedCheckers); }

    // The probability of needing exactly 0, 1, 2 ... rolls. Precondition: is_one_sided.
    std::span<const double> rolls(const Counts& counts) const;
    double mean_rolls(const Counts& counts) const;
    // The probability that the player about to roll wins, where both play for the fewest rolls and
    // do not look at one another: an estimate. Precondition: both one-sided, the roller not done.
    double estimated_win(const Counts& roller, const Counts& other) const;
    // That probability exactly, with best play. Precondition: both two-sided, the roller not done.
    double win(const Counts& roller, const Counts& other) const;

  private:
    BearoffTables();
    static bool is_home(const Counts& counts, int most);
    void build_one_sided(const std::function<void()>& poll);
    void build_two_sided(const std::function<void()>& poll);
    double& win_at(uint32_t other, uint32_t roller) {
        return win_[other * size_t(width_) + roller];
    }

    backgammon::CheckerNumbers one_sided_, two_sided_;
    std::vector<double> rolls_;  // [number, kMaxRolls]
    uint32_t width_;
    std::vector<double> win_;  // [number of the other, number of the roller]
};

}  // namespace zf
