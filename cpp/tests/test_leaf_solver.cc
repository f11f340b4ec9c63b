// A solver that a search asks: what it proves is the value, and without one nothing changes.
#include <doctest/doctest.h>

#include "search/leaf_solver.h"
#include "tests/searching.h"
#include "tests/toy_games.h"

using namespace zf;

namespace {

// Knows who wins a corridor, from `from_ply` on.
struct CorridorSolver : LeafSolver<Corridor> {
    explicit CorridorSolver(int from) : from_ply(from) {}

    static ProvenValue value(const Corridor& position, int viewer, int plies) {
        ProvenValue proven;
        proven.outcomes_to_move[viewer == position.winner ? kWin : kLoss] = 1;
        proven.plies_to_end = uint32_t(plies);
        return proven;
    }
    std::optional<ProvenValue> solve_leaf(const Corridor& position) override {
        ++num_asked;
        if (position.num_plies < from_ply) return {};
        return value(position, position.to_move(),
                     Corridor::kLengths[position.chosen] - position.num_plies);
    }
    ProvenRoot solve_root(const Corridor& position) override {
        ProvenRoot root;
        if (from_ply > 0) return root;
        root.actions.push_back({1, value(position, position.to_move(), Corridor::kLengths[1])});
        root.decided = true;
        return root;
    }
    int from_ply, num_asked = 0;
};

RootResult searched(const Corridor& position, uint32_t num_simulations, LeafSolver<Corridor>* by) {
    static const Facts facts = Corridor::facts({});
    SearchOptions options = without_exploration({});
    options.num_simulations = num_simulations;
    Search<Corridor> search(facts);
    search.use_solver(by);
    search.begin(position, options, 1, 0, nullptr);
    CoreEvaluator evaluator(EvaluatorKind::uniform, facts, 1);
    run_search(search, evaluator, facts);
    return search.result();
}

}  // namespace

TEST_CASE("a root that the solver decides is proven with its action, from both seats") {
    for (const uint8_t seat : {0, 1})
        for (const uint8_t winner : {0, 1}) {
            Corridor position;
            position.first = seat;
            position.winner = winner;
            CorridorSolver solver(0);
            const RootResult result = searched(position, 1, &solver);
            CHECK(result.solved);
            CHECK(result.value_to_move == (seat == winner ? 1 : -1));
            if (seat == winner)
                CHECK(result.best_action == 1);  // a loss may be found to last longer
        }
}

TEST_CASE("a leaf that the solver proves counts for the one who wins it, from both seats") {
    for (const uint8_t seat : {0, 1})
        for (const uint8_t winner : {0, 1}) {
            Corridor position;
            position.first = seat;
            position.winner = winner;
            CorridorSolver solver(1);
            const RootResult result = searched(position, 4, &solver);
            CHECK(result.solved);
            CHECK(result.value_to_move == (seat == winner ? 1 : -1));
            // The longest loss; of the wins, the shortest that four simulations saw.
            if (seat != winner) CHECK(result.best_action == 2);
            CHECK(solver.num_asked == 4);
        }
}

TEST_CASE("a solver that proves nothing changes nothing") {
    Corridor position;
    CorridorSolver silent(99);
    const RootResult with = searched(position, 9, &silent),
                     without = searched(position, 9, nullptr);
    CHECK(silent.num_asked > 0);
    CHECK(with.visits == without.visits);
    CHECK(with.values_to_move == without.values_to_move);
    CHECK(with.policy == without.policy);
}
