#include "solve/bearoff.h"

#include <cstring>

namespace zf {

using backgammon::CheckerNumbers;
using backgammon::Counts;
using backgammon::kNumRolls;
using backgammon::kNumThrows;
using backgammon::kRolls;

namespace {

// What each roll leaves of each number of checkers, where nothing is in the way.
class Afters {
  public:
    explicit Afters(const CheckerNumbers& numbers, const std::function<void()>& poll) {
        backgammon::Plays plays;
        for (const Counts& counts : numbers.all()) {
            if (poll && begin_.size() % 1024 == 0) poll();
            for (const backgammon::Roll& roll : kRolls) {
                begin_.push_back(uint32_t(after_.size()));
                add(numbers, plays.of(counts, roll));
            }
        }
        begin_.push_back(uint32_t(after_.size()));
    }
    std::span<const uint32_t> of(uint32_t number, int roll) const {
        const size_t at = size_t(number) * kNumRolls + roll;
        return {&after_[begin_[at]], begin_[at + 1] - begin_[at]};
    }

  private:
    void add(const CheckerNumbers& numbers, const std::vector<backgammon::Play>& plays) {
        const size_t first = after_.size();
        for (const backgammon::Play& play : plays) {
            if (play.rank < plays[0].rank) break;
            const uint32_t number = numbers.number_of(play.after);
            if (std::find(after_.begin() + first, after_.end(), number) == after_.end())
                after_.push_back(number);
        }
    }

    std::vector<uint32_t> begin_;  // by number and roll
    std::vector<uint32_t> after_;
};

}  // namespace

BearoffTables::BearoffTables()
    : one_sided_(kOneSidedCheckers, kPoints),
      two_sided_(kTwoSidedCheckers, kPoints),
      rolls_(size_t(one_sided_.count()) * kMaxRolls),
      width_(two_sided_.count()),
      win_(size_t(width_) * width_) {}

BearoffTables BearoffTables::build(const std::function<void()>& poll) {
    BearoffTables tables;
    tables.build_one_sided(poll);
    tables.build_two_sided(poll);
    return tables;
}

void BearoffTables::build_one_sided(const std::function<void()>& poll) {
    const Afters afters(one_sided_, poll);
    std::vector<double> mean(one_sided_.count());
    rolls_[0] = 1;
    for (uint32_t number = 1; number < one_sided_.count(); ++number) {
        double* rolls = &rolls_[size_t(number) * kMaxRolls];
        for (int roll = 0; roll < kNumRolls; ++roll) {
            const auto all = afters.of(number, roll);
            const uint32_t best = *std::min_element(
                all.begin(), all.end(), [&](uint32_t a, uint32_t b) { return mean[a] < mean[b]; });
            const double* rest = &rolls_[size_t(best) * kMaxRolls];
            for (int n = 1; n < kMaxRolls; ++n) rolls[n] += kRolls[roll].num_throws * rest[n - 1];
        }
        for (int n = 1; n < kMaxRolls; ++n) mean[number] += n * (rolls[n] /= kNumThrows);
    }
}

// A play lowers the mover's number. So, with the numbers of both at most k, the player of number k
// needs only what is known of smaller k, or of k and a smaller number of the other's.
void BearoffTables::build_two_sided(const std::function<void()>& poll) {
    const Afters afters(two_sided_, poll);
    const auto solve = [&](uint32_t roller, uint32_t other) {
        double num_won = 0;  // of all throws; certain wins add up to all of them exactly
        for (int roll = 0; roll < kNumRolls; ++roll) {
            double least = 1;  // chance of the other, who rolls next
            for (const uint32_t after : afters.of(roller, roll))
                least = std::min(least, win_at(after, other));
            num_won += (1 - least) * kRolls[roll].num_throws;
        }
        win_at(other, roller) = num_won / kNumThrows;
    };
    for (uint32_t k = 1; k < width_; ++k) {
        if (poll) poll();
        for (uint32_t smaller = 1; smaller < k; ++smaller) {
            solve(k, smaller);
            solve(smaller, k);
        }
        solve(k, k);
    }
}

std::vector<uint8_t> BearoffTables::to_bytes() const {
    std::vector<uint8_t> bytes((rolls_.size() + win_.size()) * sizeof(double));
    std::memcpy(bytes.data(), rolls_.data(), rolls_.size() * sizeof(double));
    std::memcpy(&bytes[rolls_.size() * sizeof(double)], win_.data(), win_.size() * sizeof(double));
    return bytes;
}

Result<BearoffTables> BearoffTables::from_bytes(std::span<const uint8_t> bytes) {
    BearoffTables tables;
    const size_t size = (tables.rolls_.size() + tables.win_.size()) * sizeof(double);
    if (bytes.size() != size)
        return Error{Error::Kind::damaged, "bear-off tables have " + std::to_string(size) +
                                               " bytes, got " + std::to_string(bytes.size())};
    const size_t at = tables.rolls_.size() * sizeof(double);
    std::memcpy(tables.rolls_.data(), bytes.data(), at);
    std::memcpy(tables.win_.data(), &bytes[at], size - at);
    return tables;
}

bool BearoffTables::is_home(const Counts& counts, int most) {
    int left = 0;
    for (int slot = 1; slot <= kPoints; ++slot) left += counts[slot];
    for (int slot = kPoints + 1; slot <= backgammon::kBar; ++slot)
        if (counts[slot] > 0) return false;
    return left <= most;
}

std::span<const double> BearoffTables::rolls(const Counts& counts) const {
    const double* first = &rolls_[size_t(one_sided_.number_of(counts)) * kMaxRolls];
    size_t size = kMaxRolls;
    while (first[size - 1] == 0) --size;
    return {first, size};
}

double BearoffTables::mean_rolls(const Counts& counts) const {
    double mean = 0;
    const auto chances = rolls(counts);
    for (size_t n = 1; n < chances.size(); ++n) mean += double(n) * chances[n];
    return mean;
}

double BearoffTables::estimated_win(const Counts& roller, const Counts& other) const {
    const auto mine = rolls(roller), theirs = rolls(other);
    double win = 0, other_is_not_done = 1;  // before this roll of the roller
    for (size_t n = 1; n < mine.size(); ++n) {
        if (n <= theirs.size()) other_is_not_done -= theirs[n - 1];
        win += mine[n] * std::max(0.0, other_is_not_done);
    }
    return win;
}

double BearoffTables::win(const Counts& roller, const Counts& other) const {
    return win_[two_sided_.number_of(other) * size_t(width_) + two_sided_.number_of(roller)];
}

}  // namespace zf
