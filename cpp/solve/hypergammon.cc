#include "solve/hypergammon.h"

#include <cmath>
#include <cstring>

namespace zf {

using backgammon::CheckerNumbers;
using backgammon::Counts;
using backgammon::kBar;
using backgammon::kNumRolls;
using backgammon::kNumThrows;
using backgammon::kOff;
using backgammon::kRolls;

namespace {

constexpr int kNumOutcomes = HypergammonTable::kNumOutcomes;
// Backgammon, gammon, single game won; single game, gammon, backgammon lost.
constexpr double kRewards[kNumOutcomes] = {3, 2, 1, -1, -2, -3};
constexpr int kNumStored = kNumOutcomes - 1;  // the last is what is left to 1

// One side's checkers as the other side meets them.
struct Met {
    uint32_t walls = 0, blots = 0;  // as the other side counts points
    uint32_t blot[3] = {};          // each of them
    uint16_t after_hits[8] = {};    // by which of them are hit
    uint8_t points_lost = 1;        // if the other side is done now
};

// What each side may meet and play, by number; the same in every sweep.
class Rules {
  public:
    struct Move {
        uint32_t landed;
        uint16_t after;
        uint8_t rank;
    };

    explicit Rules(const CheckerNumbers& numbers) {
        backgammon::Plays plays;
        for (const Counts& counts : numbers.all()) {
            for (const backgammon::Roll& roll : kRolls) {
                begin_.push_back(uint32_t(moves_.size()));
                for (const backgammon::Play& play : plays.of(counts, roll))
                    moves_.push_back(
                        {play.landed, uint16_t(numbers.number_of(play.after)), play.rank});
            }
            met_.push_back(met(counts, numbers));
        }
        begin_.push_back(uint32_t(moves_.size()));
    }
    const Met& met(uint32_t number) const { return met_[number]; }
    std::span<const Move> moves(uint32_t number, int roll) const {
        const size_t at = size_t(number) * kNumRolls + roll;
        return {moves_.data() + begin_[at], begin_[at + 1] - begin_[at]};
    }
    static uint32_t after_hits(const Met& met, uint32_t hits) {
        return met.after_hits[((hits & met.blot[0]) != 0) | ((hits & met.blot[1]) != 0) << 1 |
                              ((hits & met.blot[2]) != 0) << 2];
    }

  private:
    static Met met(const Counts& counts, const CheckerNumbers& numbers) {
        Met met;
        int slots[3] = {}, num_blots = 0;
        for (int slot = 1; slot < kBar; ++slot) {
            const uint32_t bit = 1u << (25 - slot);
            if (counts[slot] >= 2) met.walls |= bit;
            if (counts[slot] != 1) continue;
            met.blots |= bit;
            met.blot[num_blots] = bit;
            slots[num_blots++] = slot;
        }
        for (int hit = 0; hit < 1 << num_blots; ++hit) {
            Counts after = counts;
            for (int i = 0; i < num_blots; ++i) {
                if (!(hit >> i & 1)) continue;
                --after[slots[i]];
                ++after[kBar];
            }
            met.after_hits[hit] = uint16_t(numbers.number_of(after));
        }
        bool far_behind = false;
        for (int slot = 19; slot <= kBar; ++slot) far_behind |= counts[slot] > 0;
        if (counts[kOff] == 0) met.points_lost = far_behind ? 3 : 2;
        return met;
    }

    std::vector<uint32_t> begin_;  // by number and roll
    std::vector<Move> moves_;
    std::vector<Met> met_;
};

template <class Real>
class TableOf final : public HypergammonTable {
  public:
    explicit TableOf(int num_checkers)
        : numbers_(num_checkers, kBar),
          width_(numbers_.count()),
          outcomes_(size_t(width_) * width_ * kNumStored) {}

    void solve(const Progress& progress) {
        const Rules rules(numbers_);
        rewards_.assign(size_t(width_) * width_, 0);
        mine_.assign(width_, 0);
        for (uint32_t roller = 1; roller < width_; ++roller) set_lost(rules, roller);
        double change = 3;
        for (int sweep = 1; change > tolerance(numbers_.num_checkers()); ++sweep) {
            const double last = change;
            change = 0;
            for (uint32_t k = 1; k < width_; ++k) {
                if (progress && k % 64 == 0) progress(sweep - 1, last);
                change = std::max(change, visit(rules, k));
            }
            if (progress) progress(sweep, change);
        }
        rewards_ = {};
        mine_ = {};
    }

    Result<void> read(std::span<const uint8_t> bytes) {
        const size_t size = outcomes_.size() * sizeof(Real);
        if (bytes.size() != size)
            return Error{Error::Kind::damaged, "a table of hypergammon has " +
                                                   std::to_string(size) + " bytes, got " +
                                                   std::to_string(bytes.size())};
        std::memcpy(outcomes_.data(), bytes.data(), size);
        return {};
    }
    std::vector<uint8_t> to_bytes() const override {
        std::vector<uint8_t> bytes(outcomes_.size() * sizeof(Real));
        std::memcpy(bytes.data(), outcomes_.data(), bytes.size());
        return bytes;
    }
    std::array<double, kNumOutcomes> outcomes(const Counts& roller,
                                              const Counts& other) const override {
        std::array<double, kNumOutcomes> outcomes = {};
        add(1, at(numbers_.number_of(other), numbers_.number_of(roller)), outcomes.data());
        return outcomes;
    }

  private:
    // Where the position of `roller` to roll against `other` lies. What can follow a turn of one
    // player lies together, by the number that the other then has.
    size_t at(uint32_t other, uint32_t roller) const { return size_t(other) * width_ + roller; }

    // Adds the distribution at a place, so many times.
    void add(double times, size_t place, double* outcomes) const {
        const Real* stored = &outcomes_[place * kNumStored];
        double rest = 1;
        for (int i = 0; i < kNumStored; ++i) {
            outcomes[i] += times * double(stored[i]);
            rest -= double(stored[i]);
        }
        outcomes[kNumStored] += times * rest;
    }

    // The other side is done: the one who would roll has lost.
    void set_lost(const Rules& rules, uint32_t roller) {
        const int lost = 2 + rules.met(roller).points_lost;
        if (lost < kNumStored) outcomes_[at(0, roller) * kNumStored + lost] = 1;
        rewards_[at(0, roller)] = Real(kRewards[lost]);
    }

    // All positions of number k and one that is no larger, for both players; as in
    // BearoffTables, each needs only those visited before it, but for hits and rolls that cannot
    // be played. The largest change of an expected reward.
    double visit(const Rules& rules, uint32_t k) {
        for (uint32_t other = 0; other <= k; ++other) mine_[other] = rewards_[at(other, k)];
        double change = 0;
        for (uint32_t smaller = 1; smaller <= k; ++smaller) {
            const double before = double(mine_[smaller]);
            const double after = update(rules, k, smaller, [&](uint32_t left, uint32_t next) {
                return rewards_[at(left, next)];
            });
            mine_[smaller] = Real(after);
            change = std::max(change, std::abs(after - before));
            if (smaller == k) break;
            const double other_before = double(rewards_[at(k, smaller)]);
            const double other_after = update(rules, smaller, k, [&](uint32_t left, uint32_t next) {
                return next == k ? mine_[left] : rewards_[at(left, next)];
            });
            change = std::max(change, std::abs(other_after - other_before));
        }
        return change;
    }

    // Sets the distribution of a position from those that can follow; its expected reward.
    // `reward_of(left, next)` is the reward of `next`, who rolls then, against `left`.
    template <class RewardOf>
    double update(const Rules& rules, uint32_t roller, uint32_t other, const RewardOf& reward_of) {
        const Met& met = rules.met(other);
        double theirs[kNumOutcomes] = {};  // by throws, in the view of the player who rolls next
        for (int roll = 0; roll < kNumRolls; ++roll) {
            uint8_t rank = 0;
            Real least = 4;
            size_t best = at(roller, other);  // where the roll cannot be played
            for (const Rules::Move& move : rules.moves(roller, roll)) {
                if (move.landed & met.walls) continue;
                if (move.rank < rank) break;
                rank = move.rank;
                const uint32_t hits = move.landed & met.blots;
                const uint32_t next = hits ? Rules::after_hits(met, hits) : other;
                const Real reward = reward_of(move.after, next);
                if (reward < least) least = reward, best = at(move.after, next);
            }
            add(kRolls[roll].num_throws, best, theirs);
        }
        double reward = 0;
        const size_t place = at(other, roller);
        for (int i = 0; i < kNumOutcomes; ++i) {
            const double mine = theirs[kNumOutcomes - 1 - i] / kNumThrows;
            reward += mine * kRewards[i];
            if (i < kNumStored) outcomes_[place * kNumStored + i] = Real(mine);
        }
        rewards_[place] = Real(reward);
        return reward;
    }

    CheckerNumbers numbers_;
    uint32_t width_;
    std::vector<Real> outcomes_;  // [place, kNumStored]
    std::vector<Real> rewards_;   // [place], expected; only while it is solved
    std::vector<Real> mine_;      // those of the larger number that is visited, by the other's
};

}  // namespace

double HypergammonTable::tolerance(int num_checkers) { return num_checkers < 3 ? 1e-13 : 5e-7; }

std::unique_ptr<HypergammonTable> HypergammonTable::solve(int num_checkers,
                                                          const Progress& progress) {
    const auto solved = [&](auto table) -> std::unique_ptr<HypergammonTable> {
        table->solve(progress);
        return table;
    };
    if (num_checkers < 3) return solved(std::make_unique<TableOf<double>>(num_checkers));
    return solved(std::make_unique<TableOf<float>>(num_checkers));
}

Result<std::unique_ptr<HypergammonTable>> HypergammonTable::from_bytes(
    int num_checkers, std::span<const uint8_t> bytes) {
    const auto read = [&](auto table) -> Result<std::unique_ptr<HypergammonTable>> {
        if (const Result<void> fits = table->read(bytes); !fits) return fits.error();
        return std::unique_ptr<HypergammonTable>(std::move(table));
    };
    if (num_checkers < 3) return read(std::make_unique<TableOf<double>>(num_checkers));
    return read(std::make_unique<TableOf<float>>(num_checkers));
}

}  // namespace zf
