#include "solve/backgammon.h"

#include <atomic>

namespace zf {

using backgammon::Counts;

namespace {

// A table of the process: set once, read by all threads.
template <class Table>
class Shared {
  public:
    const Table* get() const { return table_.load(); }
    void install(std::unique_ptr<const Table> table) {
        const Table* none = nullptr;
        if (table_.compare_exchange_strong(none, table.get())) table.release();
    }

  private:
    std::atomic<const Table*> table_ = nullptr;
};

Shared<BearoffTables> shared_bearoff;
Shared<HypergammonTable> shared_hypergammon[HypergammonTable::kMaxCheckers + 1];

BackgammonValues::Outcomes in_others_view(const BackgammonValues::Outcomes& outcomes) {
    BackgammonValues::Outcomes turned;
    std::reverse_copy(outcomes.begin(), outcomes.end(), turned.begin());
    return turned;
}

}  // namespace

std::array<Counts, 2> checkers_of(const Backgammon& position, int player) {
    constexpr int kSlots = backgammon::kNumSlots;
    uint8_t bytes[2 * kSlots + 10];  // see games/backgammon.h
    position.observe(player, bytes);
    std::array<Counts, 2> checkers = {};
    for (int point = 1; point <= 24; ++point) {
        checkers[0][point] = bytes[point - 1];
        checkers[1][25 - point] = bytes[kSlots + point - 1];
    }
    for (const int side : {0, 1}) {
        checkers[side][backgammon::kBar] = bytes[side * kSlots + 24];
        checkers[side][backgammon::kOff] = bytes[side * kSlots + 25];
    }
    return checkers;
}

const BearoffTables& bearoff_tables() {
    if (!shared_bearoff.get()) install(BearoffTables::build());
    return *shared_bearoff.get();
}
void install(BearoffTables tables) {
    shared_bearoff.install(std::make_unique<BearoffTables>(std::move(tables)));
}
bool has_bearoff_tables() { return shared_bearoff.get() != nullptr; }

const HypergammonTable* hypergammon_table(int num_checkers) {
    if (num_checkers < HypergammonTable::kMaxCheckers && !has_hypergammon_table(num_checkers))
        install(num_checkers, HypergammonTable::solve(num_checkers));
    return shared_hypergammon[num_checkers].get();
}
void install(int num_checkers, std::unique_ptr<HypergammonTable> table) {
    shared_hypergammon[num_checkers].install(std::move(table));
}
bool has_hypergammon_table(int num_checkers) {
    return shared_hypergammon[num_checkers].get() != nullptr;
}

BackgammonValues::BackgammonValues(const Backgammon::Options& options) {
    if (options.checkers > HypergammonTable::kMaxCheckers) {
        bearoff_ = &bearoff_tables();
    } else {
        hypergammon_ = hypergammon_table(options.checkers);
    }
}

double BackgammonValues::reward(const Outcomes& outcomes) {
    return 3 * (outcomes[0] - outcomes[5]) + 2 * (outcomes[1] - outcomes[4]) + outcomes[2] -
           outcomes[3];
}

std::optional<BackgammonValues::Outcomes> BackgammonValues::value(
    const Backgammon& position) const {
    if (!bearoff_ && !hypergammon_) return {};
    return value_of(position,
                    position.to_move() == kChance ? position.roller() : position.to_move());
}

std::vector<std::pair<Action, std::optional<BackgammonValues::Outcomes>>>
BackgammonValues::values_of_actions(const Backgammon& position) const {
    std::vector<std::pair<Action, std::optional<Outcomes>>> values;
    Action actions[backgammon::kBar * 6];
    const int count = position.legal_actions(actions);
    for (int i = 0; i < count; ++i) {
        Backgammon after = position;
        after.play(actions[i]);
        values.emplace_back(actions[i], bearoff_ || hypergammon_
                                            ? value_of(after, position.to_move())
                                            : std::nullopt);
    }
    return values;
}

std::optional<BackgammonValues::Outcomes> BackgammonValues::value_of(const Backgammon& position,
                                                                     int player) const {
    if (position.to_move() == kOver) {
        Outcomes outcomes = {};
        outcomes[position.outcome(player)] = 1;
        return outcomes;
    }
    if (position.to_move() == kChance) {
        const auto known = before_roll(position, position.roller());
        if (!known || position.roller() == player) return known;
        return in_others_view(*known);
    }
    std::optional<Outcomes> best;
    for (const auto& [action, value] : values_of_actions(position)) {
        if (!value) return {};
        if (!best || reward(*value) > reward(*best)) best = value;
    }
    return position.to_move() == player ? best : in_others_view(*best);
}

std::optional<BackgammonValues::Outcomes> BackgammonValues::before_roll(const Backgammon& position,
                                                                        int roller) const {
    ChanceOutcome rolls[Backgammon::kNumOpenings];
    const int num_rolls = position.chance_outcomes(rolls);
    const auto [own, other] = checkers_of(position, roller);
    if (num_rolls == Backgammon::kNumOpenings) {
        if (bearoff_) return {};  // nobody is home
        Outcomes expected = {};
        for (const ChanceOutcome& roll : std::span(rolls, size_t(num_rolls))) {
            Backgammon rolled = position;
            rolled.play(roll.id);
            const Outcomes value = *value_of(rolled, roller);
            for (size_t i = 0; i < value.size(); ++i) expected[i] += roll.probability * value[i];
        }
        return expected;
    }
    if (hypergammon_) return hypergammon_->outcomes(own, other);
    if (!BearoffTables::is_two_sided(own) || !BearoffTables::is_two_sided(other)) return {};
    const double win = bearoff_->win(own, other);
    return Outcomes{0, 0, win, 1 - win, 0, 0};
}

namespace {

class BackgammonSolver final : public LeafSolver<Backgammon> {
  public:
    explicit BackgammonSolver(const Backgammon::Options& options) : values_(options) {}

    std::optional<ProvenValue> solve_leaf(const Backgammon& position) override {
        const auto known = values_.value(position);
        if (!known) return {};
        return proven(*known);
    }
    ProvenRoot solve_root(const Backgammon& position) override {
        ProvenRoot root;
        root.decided = true;
        for (const auto& [action, value] : values_.values_of_actions(position)) {
            if (value) root.actions.push_back({action, proven(*value)});
            root.decided &= value.has_value();
        }
        return root;
    }

  private:
    static ProvenValue proven(const BackgammonValues::Outcomes& outcomes) {
        ProvenValue value;
        for (size_t i = 0; i < outcomes.size(); ++i) value.outcomes_to_move[i] = float(outcomes[i]);
        return value;
    }

    BackgammonValues values_;
};

}  // namespace

std::unique_ptr<LeafSolver<Backgammon>> make_backgammon_solver(const Backgammon::Options& options) {
    return std::make_unique<BackgammonSolver>(options);
}

}  // namespace zf
