// Binds the tables of backgammon and hypergammon; solve/backgammon.h says what they know.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind/game_of.h"
#include "bind/python_game.h"
#include "bind/python_solve.h"
#include "solve/backgammon.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace zf {
namespace {

using Outcomes = BackgammonValues::Outcomes;

// 15 stands for the bear-off tables, 1 to 3 for those of hypergammon.
bool is_bearoff(int checkers) {
    if (checkers == BearoffTables::kOneSidedCheckers) return true;
    if (checkers < 1 || checkers > HypergammonTable::kMaxCheckers)
        raise({Error::Kind::unsupported,
               "there are tables for 1, 2, 3 or 15 checkers, not for " + std::to_string(checkers)});
    return false;
}

bool has_table(int checkers) {
    return is_bearoff(checkers) ? has_bearoff_tables() : has_hypergammon_table(checkers);
}

nb::bytes build_table(int checkers, const nb::callable& progress) {
    const bool bearoff = is_bearoff(checkers);
    std::vector<uint8_t> bytes;
    {
        const nb::gil_scoped_release unlocked;
        if (bearoff) {
            BearoffTables tables = BearoffTables::build(&check_signals);
            bytes = tables.to_bytes();
            install(std::move(tables));
        } else {
            auto table = HypergammonTable::solve(checkers, [&](int num_sweeps, double change) {
                const nb::gil_scoped_acquire locked;
                if (PyErr_CheckSignals() != 0) throw nb::python_error();
                progress(num_sweeps, change);
            });
            bytes = table->to_bytes();
            install(checkers, std::move(table));
        }
    }
    return nb::bytes(bytes.data(), bytes.size());
}

void install_table(int checkers, const nb::bytes& given) {
    const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(given.data()),
                                         given.size());
    if (is_bearoff(checkers)) {
        auto tables = BearoffTables::from_bytes(bytes);
        if (!tables) raise(tables.error());
        install(std::move(*tables));
    } else {
        auto table = HypergammonTable::from_bytes(checkers, bytes);
        if (!table) raise(table.error());
        install(checkers, std::move(*table));
    }
}

const Backgammon& backgammon_of(const PyPosition& position) {
    const auto* held = dynamic_cast<const PositionOf<Backgammon>*>(position.core.get());
    if (!held)
        raise({Error::Kind::unsupported,
               "the tables know backgammon, not " + position.game.core->facts().name});
    if (position.core->to_move() == kOver) raise({Error::Kind::illegal, "the game is over"});
    return held->position();
}

BackgammonValues values_for(const PyPosition& position) {
    Backgammon::Options options;
    options.checkers = uint8_t(std::stoi(position.game.core->options()[0].second));
    return BackgammonValues(options);
}

std::optional<Outcomes> value_of(const PyPosition& position) {
    const Backgammon& backgammon = backgammon_of(position);
    return values_for(position).value(backgammon);
}

std::vector<std::pair<int, std::optional<double>>> rewards_of_actions(const PyPosition& position) {
    const Backgammon& backgammon = backgammon_of(position);
    std::vector<std::pair<int, std::optional<double>>> rewards;
    if (backgammon.to_move() == kChance)
        raise({Error::Kind::illegal, "chance is to move here, not a player"});
    for (const auto& [action, value] : values_for(position).values_of_actions(backgammon))
        rewards.emplace_back(
            action, value ? std::optional(BackgammonValues::reward(*value)) : std::nullopt);
    return rewards;
}

std::vector<double> rolls_of(const std::vector<int>& counts) {
    backgammon::Counts checkers = {};
    int left = 0;
    for (const int count : counts) left += count < 0 ? 100 : std::min(count, 100);
    if (counts.size() != BearoffTables::kPoints || left > BearoffTables::kOneSidedCheckers)
        raise({Error::Kind::bad_text,
               "give the checkers on the points 1 to 6: six counts of 0 or more, 15 at most in "
               "all"});
    for (int i = 0; i < BearoffTables::kPoints; ++i) checkers[i + 1] = uint8_t(counts[i]);
    const auto rolls = bearoff_tables().rolls(checkers);
    return {rolls.begin(), rolls.end()};
}

std::optional<double> estimated_win(const PyPosition& position) {
    const Backgammon& backgammon = backgammon_of(position);
    if (backgammon.to_move() != kChance) return {};
    const auto [own, other] = checkers_of(backgammon, backgammon.roller());
    if (!BearoffTables::is_one_sided(own) || !BearoffTables::is_one_sided(other)) return {};
    return bearoff_tables().estimated_win(own, other);
}

}  // namespace

void bind_solve_backgammon(nb::module_& m) {
    m.def("has_backgammon_table", &has_table, "checkers"_a,
          "Whether the process has the table for so many checkers; 15: the bear-off tables.");
    m.def("build_backgammon_table", &build_table, "checkers"_a, "progress"_a,
          nb::sig("def build_backgammon_table(checkers: int, progress: "
                  "collections.abc.Callable[[int, float], object]) -> bytes"),
          "Builds a table, installs it in the process and returns its bytes. `progress` is called "
          "with the number of sweeps done and the largest change of an expected reward in the "
          "last one (hypergammon). Ctrl-C ends it.");
    m.def("install_backgammon_table", &install_table, "checkers"_a, "table"_a,
          "Installs the bytes of a table in the process.");
    m.def("hypergammon_tolerance", &HypergammonTable::tolerance, "checkers"_a,
          "The change of an expected reward at which the iteration ends.");
    m.def("backgammon_value", &value_of, "position"_a,
          nb::sig("def backgammon_value(position: Position) -> list[float] | None"),
          "The exact probability of each outcome for the player to move, or about to roll; None "
          "where no table reaches.");
    m.def("backgammon_rewards", &rewards_of_actions, "position"_a,
          nb::sig("def backgammon_rewards(position: Position) -> list[tuple[int, float | None]]"),
          "Each legal action with its exact expected reward for the player to move; None where no "
          "table reaches.");
    m.def("bearoff_rolls", &rolls_of, "counts"_a,
          nb::sig("def bearoff_rolls(counts: collections.abc.Sequence[int]) -> list[float]"),
          "The probability of needing exactly 0, 1, 2 … rolls to bear off the checkers on the "
          "points 1 to 6.");
    m.def("bearoff_win_estimate", &estimated_win, "position"_a,
          nb::sig("def bearoff_win_estimate(position: Position) -> float | None"),
          "The probability that the player about to roll wins a race with all checkers home, each "
          "side playing for the fewest rolls; None elsewhere.");
}

}  // namespace zf
