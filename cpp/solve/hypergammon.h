// Solves hypergammon, backgammon with one to three checkers a side: the exact outcome distribution
// of every position before a roll, with best play of both.
//
// Value iteration. A sweep visits positions in an order in which every play that hits nothing leads
// to one already visited (Gauss-Seidel), so that only hits need another sweep. Two checkers take
// seconds, in doubles; three take minutes and 258 MB, in floats.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "solve/backgammon_plays.h"

namespace zf {

class HypergammonTable {
  public:
    using Counts = backgammon::Counts;
    static constexpr int kMaxCheckers = 3, kNumOutcomes = 6;
    // Called after each sweep with its number, from 1, and the largest change of an expected
    // reward. And now and then during a sweep, with the same as last; what it throws ends the work.
    using Progress = std::function<void(int num_sweeps, double change)>;

    virtual ~HypergammonTable() = default;

    // Precondition of all: 1 to kMaxCheckers.
    static std::unique_ptr<HypergammonTable> solve(int num_checkers, const Progress& progress = {});
    // What `to_bytes` gave for so many checkers; an error if it has another length.
    static Result<std::unique_ptr<HypergammonTable>> from_bytes(int num_checkers,
                                                                std::span<const uint8_t> bytes);
    // A sweep that changes no expected reward by more ends the iteration.
    static double tolerance(int num_checkers);

    virtual std::vector<uint8_t> to_bytes() const = 0;
    // The probabilities of the game's outcomes for the player about to roll; counts are as their
    // owner counts points. Precondition: neither side is done.
    virtual std::array<double, kNumOutcomes> outcomes(const Counts& roller,
                                                      const Counts& other) const = 0;
};

}  // namespace zf
