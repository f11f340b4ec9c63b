// Endings of Beasty Bar: the solver against plain full search, and searches where nothing is hidden
// any more.
#include <doctest/doctest.h>

#include <array>

#include "solve/beastybar.h"
#include "tests/searching.h"
#include "tests/toy_games.h"

using namespace zf;

namespace {

std::vector<BeastyBar> play_all(const BeastyBar& position) {
    std::vector<Action> actions(beastybar::kNumActions);
    actions.resize(position.legal_actions(actions.data()));
    std::vector<BeastyBar> after;
    for (const Action action : actions) {
        after.push_back(position);
        after.back().play(action);
    }
    return after;
}

// Plain full search, by the rules alone: the reward to player 0, and the plies to the soonest win
// or the latest loss. Better for player 0 is larger, later losses included.
struct Played {
    int reward_first_player;
    int plies;
    // In the view of a player.
    int rank(int player) const {
        const int reward = player == 0 ? reward_first_player : -reward_first_player;
        return reward * (100 - plies);
    }
};

Played play_out_all(const BeastyBar& position) {
    const Mover mover = position.to_move();
    if (mover == kOver) return {1 - position.outcome(0), 0};  // outcomes are win, draw, loss
    std::optional<Played> best;
    for (const BeastyBar& after : play_all(position)) {
        Played played = play_out_all(after);
        ++played.plies;
        if (!best || played.rank(mover) > best->rank(mover)) best = played;
    }
    return *best;
}

// A position of a random game that has so many cards left in both hands, and no piles.
BeastyBar random_ending(const BeastyBar::Options& options, int num_left, Rng& rng) {
    for (;;) {
        BeastyBar position = BeastyBar::start(options, rng);
        while (position.to_move() != kOver) {
            const int left = std::popcount(position.hand(0)) + std::popcount(position.hand(1));
            if (position.nothing_hidden() && left == num_left) return position;
            position.play(position.random_action(rng));
        }
    }
}

RootResult search_with(const BeastyBar& position, const SearchOptions& options, uint64_t seed,
                       LeafSolver<BeastyBar>* solver = nullptr) {
    const Facts facts = BeastyBar::facts({});
    Search<BeastyBar> search(facts);
    search.use_solver(solver);
    search.begin(position, options, seed, 0, nullptr);
    CoreEvaluator evaluator(EvaluatorKind::hash, facts, 1);
    run_search(search, evaluator, facts);
    return search.result();
}

SearchOptions simulations(uint32_t num_simulations, RootKind root = RootKind::puct) {
    SearchOptions options = without_exploration({});
    options.num_simulations = num_simulations;
    options.root = root;
    return options;
}

}  // namespace

TEST_CASE("the solver of Beasty Bar equals plain full search, both scorings, both seats") {
    for (const bool count_animals : {false, true}) {
        BeastyBarSolver solver;
        std::array<std::array<int, 3>, 2> num_seen = {};  // by mover and value
        Rng rng(7);
        for (int i = 0; i < 500; ++i) {
            const BeastyBar ending = random_ending({count_animals}, 2 + i % 7, rng);
            const Mover mover = ending.to_move();
            const Played played = play_out_all(ending);
            const int value = mover == 0 ? played.reward_first_player : -played.reward_first_player;
            REQUIRE(BeastyBarSolver::solves(ending));
            const int score = solver.score_to_move(ending);
            CHECK(BeastyBarSolver(10).value_to_move(ending) == value);
            CHECK((score > 0) - (score < 0) == value);
            if (value != 0) CHECK(BeastyBarSolver::plies_to_end(ending, score) == played.plies);
            ++num_seen[mover][value + 1];
        }
        for (const auto& of_seat : num_seen)
            for (const int count : of_seat) CHECK(count > 0);
    }
}

TEST_CASE("a win in one and a loss in one are seen, from both seats, with both scorings") {
    for (const bool count_animals : {false, true})
        for (const int seat : {0, 1})
            for (const bool wins : {true, false}) {
                const std::string front = std::to_string(wins ? seat : 1 - seat),
                                  back = std::to_string(wins ? 1 - seat : seat),
                                  mover = std::to_string(seat);
                const auto position = BeastyBar::from_text(
                    {count_animals}, "player=" + mover + " queue=skunk" + front + ",parrot" +
                                         front + ",seal" + back + ",snake" + back + " hand" +
                                         mover + "=zebra");
                REQUIRE(bool(position));
                BeastyBarSolver solver;
                CHECK(solver.value_to_move(*position) == (wins ? 1 : -1));
                CHECK(BeastyBarSolver::plies_to_end(*position, solver.score_to_move(*position)) ==
                      1);
                const auto leaf = solver.solve_leaf(*position);
                REQUIRE(bool(leaf));
                CHECK(leaf->outcomes_to_move[wins ? kWin : kLoss] == 1);
            }
}

TEST_CASE("an ending is proven by search alone, with the solver's value, from both seats") {
    int num_solved = 0, num_searched = 0;
    BeastyBarSolver solver;
    Rng rng(11);
    for (const auto root : {RootKind::puct, RootKind::gumbel})
        for (const uint32_t leaves : {1, 4})
            for (int i = 0; i < 40; ++i) {
                const BeastyBar ending = random_ending({}, 2 + i % 4, rng);
                SearchOptions options = simulations(600, root);
                options.max_leaves = leaves;
                const RootResult found = search_with(ending, options, rng.next());
                ++num_searched;
                if (!found.solved) continue;
                ++num_solved;
                const int score = solver.score_to_move(ending);
                CHECK(found.value_to_move == (score > 0) - (score < 0));
                BeastyBar after = ending;
                after.play(found.best_action);
                const int reward =
                    -(play_out_all(after).reward_first_player) * (ending.to_move() == 0 ? -1 : 1);
                CHECK(reward == (score > 0) - (score < 0));
            }
    CHECK(num_solved > num_searched / 2);
}

TEST_CASE("without `prove` nothing is proven in an ending") {
    Rng rng(5);
    for (int i = 0; i < 10; ++i) {
        SearchOptions options = simulations(300);
        options.prove = false;
        BeastyBarSolver solver;
        CHECK_FALSE(search_with(random_ending({}, 3, rng), options, 1, &solver).solved);
        CHECK(solver.num_nodes() == 0);
    }
}

TEST_CASE("the solver decides an ending at the root, whatever the budget") {
    Rng rng(13);
    for (const auto root : {RootKind::puct, RootKind::gumbel})
        for (const bool count_animals : {false, true})
            for (int i = 0; i < 40; ++i) {
                const BeastyBar ending = random_ending({count_animals}, 2 + i % 7, rng);
                BeastyBarSolver solver;
                const RootResult found = search_with(ending, simulations(1, root), 1, &solver);
                CHECK(found.solved);
                CHECK(found.value_to_move == solver.value_to_move(ending));
                std::vector<int> of_best;
                for (const auto& [action, score] : solver.score_actions(ending))
                    if (action == found.best_action) of_best.push_back(score);
                CHECK(of_best == std::vector<int>{solver.score_to_move(ending)});
            }
}

TEST_CASE("what was sampled is not proven: below the root nothing is hidden, at the root it is") {
    using Coin = ShownCoin<false>;
    const Facts facts = Coin::facts({});
    for (const auto root : {RootKind::puct, RootKind::gumbel})
        for (const auto nodes : {OpponentNodes::pooled, OpponentNodes::per_hand})
            for (const uint32_t leaves : {1, 4}) {
                SearchOptions options = simulations(1000, root);
                options.opponent_nodes = nodes;
                options.max_leaves = leaves;
                options.gumbel_scale = 1;
                Coin heads, tails;
                heads.heads = true;
                const RootResult found = search_on(heads, facts, options, EvaluatorKind::uniform);
                const RootResult other = search_on(tails, facts, options, EvaluatorKind::uniform);
                CHECK_FALSE(found.solved);
                CHECK(found.visits == other.visits);
                CHECK(found.values_to_move == other.values_to_move);
                REQUIRE(found.visits[0] > 100);
                // Four standard errors of a fair coin.
                CHECK(std::abs(found.values_to_move[0]) < 4 / std::sqrt(float(found.visits[0])));
            }
}

TEST_CASE("what a player cannot see does not change its search near the end") {
    // From the fifth last draw on, with and without the solver: other hidden states, equal
    // searches, and no proof but of a win at once.
    BeastyBarSolver solver;
    Rng rng(17);
    int num_hidden = 0, num_differing = 0;
    for (int game = 0; game < 6; ++game) {
        BeastyBar position = BeastyBar::start({}, rng);
        for (int ply = 0; position.to_move() != kOver; ++ply) {
            if (ply >= 11 && !position.nothing_hidden()) {
                ++num_hidden;
                BeastyBar other = position;
                other.resample_hidden(position.to_move(), rng);
                num_differing +=
                    other.hand(0) != position.hand(0) || other.hand(1) != position.hand(1);
                for (LeafSolver<BeastyBar>* by :
                     {(LeafSolver<BeastyBar>*)nullptr, (LeafSolver<BeastyBar>*)&solver})
                    for (const auto root : {RootKind::puct, RootKind::gumbel}) {
                        const SearchOptions options = simulations(200, root);
                        const RootResult found = search_with(position, options, 3, by),
                                         again = search_with(other, options, 3, by);
                        CHECK(found.visits == again.visits);
                        CHECK(found.values_to_move == again.values_to_move);
                        CHECK(found.outcomes_to_move == again.outcomes_to_move);
                        CHECK(found.best_action == again.best_action);
                        BeastyBar after = position;
                        after.play(found.best_action);
                        if (after.to_move() != kOver) CHECK_FALSE(found.solved);
                    }
            }
            position.play(position.random_action(rng));
        }
    }
    CHECK(num_hidden > 20);
    CHECK(num_differing > 10);
}

TEST_CASE("a leaf where nothing is hidden any more has its exact value, whoever searches") {
    // The last to draw moves: it knows its last card, and all that follows is known. So the value
    // of each action is exact, though something is hidden from the other player.
    BeastyBarSolver solver;
    Rng rng(19);
    for (int i = 0; i < 20; ++i) {
        BeastyBar position = BeastyBar::start({}, rng);
        for (int ply = 0; ply < 15 && position.to_move() != kOver; ++ply)
            position.play(position.random_action(rng));
        if (position.to_move() == kOver) continue;
        const RootResult found = search_with(position, simulations(200), 1, &solver);
        for (size_t at = 0; at < found.actions.size(); ++at) {
            if (found.visits[at] == 0) continue;
            BeastyBar after = position;
            after.play(found.actions[at]);
            if (after.to_move() == kOver || after.to_move() == position.to_move()) continue;
            CHECK(found.values_to_move[at] == doctest::Approx(-solver.value_to_move(after)));
        }
    }
}
