// Proofs: what is proven is worth exactly that, played and taught.
#include <doctest/doctest.h>

#include "games/backgammon.h"
#include "games/beastybar.h"
#include "games/connect4.h"
#include "games/gomoku.h"
#include "tests/searching.h"
#include "tests/toy_games.h"

using namespace zf;

namespace {

// A decision of up to two equally likely actions that was evaluated once.
uint32_t add_evaluated(Tree& tree, int mover, uint32_t num_actions, float value_first_player) {
    const Half prior[] = {to_half(0.5f), to_half(0.5f)};
    const Action ids[] = {0, 1};
    const uint32_t index = tree.add_node(NodeKind::decision, Mover(mover));
    tree.set_priors(index, {ids, num_actions}, {prior, num_actions}, 2);
    tree.node(index).mean_first_player = value_first_player;
    tree.node(index).visits = 1;
    tree.node(index).provable = true;
    return index;
}

}  // namespace

TEST_CASE("a proven position has its exact value") {
    SearchOptions options = without_exploration({});
    options.num_simulations = 10;
    const RootResult picked =
        search_on(new_position<PickOne>(), PickOne::facts({}), options, EvaluatorKind::uniform);
    CHECK(picked.solved);
    CHECK(picked.value_to_move == 1);
    options.num_simulations = 200;
    Gamble rolling = new_position<Gamble>();
    rolling.play(1);
    const RootResult rolled =
        search_on(rolling, Gamble::facts({}), options, EvaluatorKind::uniform);
    CHECK(rolled.solved);
    CHECK(rolled.value_to_move == 0);  // 1/2 (+1) + 1/4 (-1) + 1/4 (-1)
}

TEST_CASE("visits before a proof do not stay in the means above it, from both seats") {
    // The root has actions a and b, after a the opponent has c and d, after c the root's player e,
    // which ends the game. Visits, in the root player's view: a 0.6, ac 0.2, b 0, then ace.
    for (const int seat : {0, 1})
        for (const float end : {1.0f, -1.0f}) {
            const float view = sign(Mover(seat));
            Tree tree;
            const auto add = [&](int mover, uint32_t num_actions, float value) {
                return add_evaluated(tree, mover, num_actions, view * value);
            };
            const uint32_t root = add(seat, 2, 0);
            const PathStep a = {root, tree.visit_slot(root, 0), 0};
            const PathStep b = {root, tree.visit_slot(root, 1), 0};
            const uint32_t after_a = add(1 - seat, 2, 0.6f);
            backup_value(tree, {{a}}, view * 0.6f);
            const PathStep c = {after_a, tree.visit_slot(after_a, 0), 0};
            const uint32_t after_ac = add(seat, 1, 0.2f);
            backup_value(tree, {{a, c}}, view * 0.2f);
            backup_value(tree, {{b}}, 0);
            const PathStep e = {after_ac, tree.visit_slot(after_ac, 0), 0};
            Edge& last = tree.edge(tree.node(after_ac), 0);
            last.solved = true;
            last.mean_first_player = view * end;
            const std::vector<PathStep> path = {a, c, e};
            backup_value(tree, path, view * end);
            backup_proofs(tree, path);

            const Node& opponent = tree.node(after_a);
            const Edge& first = tree.edge(tree.node(root), 0);
            CHECK(tree.node(after_ac).solved);
            CHECK(opponent.solved == (end == -1));  // c wins for the opponent, who has d besides
            CHECK(first.solved == opponent.solved);
            CHECK_FALSE(tree.node(root).solved);
            const float of_a = end == -1 ? -1 : (0.6f + 2) / 3;
            CHECK(view * opponent.mean_first_player == doctest::Approx(of_a));
            CHECK(view * first.mean_first_player == doctest::Approx(of_a));
            CHECK(view * tree.node(root).mean_first_player == doctest::Approx(3 * of_a / 5));
        }
}

TEST_CASE("with leaves in flight a proven edge counts as exact, whenever its visits arrive") {
    // The means of all nodes are those of their own evaluation and of their edges at the end of a
    // search with eight leaves out, in which much is proven.
    const Facts facts = Connect4::facts({});
    SearchOptions options = without_exploration({});
    options.num_simulations = 1000;
    for (const uint32_t leaves : {1, 8}) {
        options.max_leaves = leaves;
        const RootResult result =
            search_on(*Connect4::from_text({}, "1122"), facts, options, EvaluatorKind::hash);
        float sum = 0;
        for (size_t i = 0; i < result.actions.size(); ++i)
            sum += float(result.visits[i]) * result.values_to_move[i];
        CHECK(result.value_to_move == doctest::Approx(sum / 1000));
    }
}

TEST_CASE(
    "proven losses are not taught while another action is open, and a won root teaches wins") {
    const Facts facts = Connect4::facts({});
    for (const auto root : {RootKind::puct, RootKind::gumbel})
        for (const uint32_t leaves : {1, 4})
            for (uint64_t seed = 1; seed <= 5; ++seed) {
                SearchOptions options;
                options.root = root;
                options.num_simulations = 128;
                options.max_leaves = leaves;
                // Three of the mover's stones lie beside column 4: it wins at once, from each seat.
                for (const char* text : {"112233", "7112233"}) {
                    const RootResult won = search_on(*Connect4::from_text({}, text), facts, options,
                                                     EvaluatorKind::hash, nullptr, seed);
                    CHECK(won.solved);
                    float on_wins = 0;
                    for (size_t i = 0; i < won.actions.size(); ++i)
                        on_wins += won.values_to_move[i] == 1 ? won.target[i] : 0;
                    CHECK(on_wins == doctest::Approx(1));
                    CHECK(won.target[3] > 0);
                    CHECK(won.best_action == 3);
                    CHECK(won.outcomes_to_move[kWin] == 1);
                }
                // Three of the opponent's do: all but column 4 loses, and is soon proven lost.
                options.num_simulations = 400;  // enough to find each reply
                for (const char* text : {"11223", "711223"}) {
                    const RootResult blocks =
                        search_on(*Connect4::from_text({}, text), facts, options,
                                  EvaluatorKind::uniform, nullptr, seed);
                    CHECK(blocks.best_action == 3);
                    for (size_t i = 0; i < blocks.actions.size(); ++i)
                        if (blocks.visits[i] > 0 && blocks.values_to_move[i] == -1)
                            CHECK(blocks.target[i] == 0);
                    CHECK(blocks.target[3] > 0.99);
                }
            }
}

TEST_CASE(
    "where all that was visited is proven lost, the other actions are taught by their priors") {
    // One simulation, which picks the loss where its noise says so.
    SearchOptions options = without_exploration({});
    options.num_simulations = 1;
    options.gumbel_scale = 1;
    const Facts facts = LoseOrDraw::facts({});
    bool seen = false;
    for (const auto root : {RootKind::puct, RootKind::gumbel})
        for (uint64_t seed = 1; seed <= 20; ++seed) {
            options.root = root;
            const RootResult one = search_on(new_position<LoseOrDraw>(), facts, options,
                                             EvaluatorKind::uniform, nullptr, seed);
            if (one.visits[0] == 0) continue;
            seen = true;
            CHECK(one.target[0] == 0);
            CHECK(one.target[1] == doctest::Approx(0.5));
            CHECK(one.target[2] == doctest::Approx(0.5));
            CHECK(one.best_action != 0);
            CHECK(one.principal_variation == std::vector<Action>{one.best_action});
        }
    CHECK(seen);
}

TEST_CASE("a visit in flight when an edge above it is proven settles below that edge too") {
    // The root has an action a, then the opponent c and d, then the root's player e. One visit of
    // ac is out when d is proven to win for the opponent; it comes back as 0.4.
    Tree tree;
    const uint32_t root = add_evaluated(tree, 0, 2, 0), after_a = add_evaluated(tree, 1, 2, 0),
                   after_ac = add_evaluated(tree, 0, 2, 0);
    const PathStep a = {root, tree.visit_slot(root, 0), 0};
    const PathStep c = {after_a, tree.visit_slot(after_a, 0), 0};
    const PathStep d = {after_a, tree.visit_slot(after_a, 1), 0};
    const PathStep e = {after_ac, tree.visit_slot(after_ac, 0), 0};
    std::vector<PathStep> out = {a, c, e}, proving = {a, d};
    for (PathStep& step : out) add_virtual_loss(tree, step);
    for (PathStep& step : proving) add_virtual_loss(tree, step);
    Edge& lost = tree.edge(tree.node(after_a), d.edge);
    lost.solved = true;
    lost.mean_first_player = -1;
    replace_virtual_loss(tree, proving, -1);
    backup_proofs(tree, proving);
    CHECK(tree.edge(tree.node(root), a.edge).solved);
    replace_virtual_loss(tree, out, 0.4f);
    CHECK(tree.node(root).mean_first_player == doctest::Approx(-2.0f / 3));
    CHECK(tree.edge(tree.node(after_a), c.edge).mean_first_player == doctest::Approx(0.4));
    CHECK(tree.edge(tree.node(after_ac), e.edge).mean_first_player == doctest::Approx(0.4));
    CHECK(tree.node(after_ac).mean_first_player == doctest::Approx(0.2));
}

TEST_CASE("a proven win goes the shortest way and a proven loss the longest, from both seats") {
    const Facts facts = Corridor::facts({});
    for (const auto root : {RootKind::puct, RootKind::gumbel})
        for (const uint32_t leaves : {1, 4})
            for (const uint8_t first : {0, 1})
                for (const bool wins : {true, false}) {
                    Corridor position;
                    position.first = first;
                    position.winner = wins ? first : first ^ 1;
                    SearchOptions options = without_exploration({});
                    options.root = root;
                    options.gumbel_scale = 1;
                    options.num_simulations = 100;
                    options.max_leaves = leaves;
                    const RootResult found =
                        search_on(position, facts, options, EvaluatorKind::hash);
                    CHECK(found.solved);
                    CHECK(found.value_to_move == (wins ? 1 : -1));
                    const std::vector<bool> taught = {found.target[0] > 0, found.target[1] > 0,
                                                      found.target[2] > 0, found.target[3] > 0};
                    if (wins) {
                        CHECK((found.best_action == 1 || found.best_action == 3));
                        CHECK(taught == std::vector<bool>{false, true, false, true});
                        CHECK(found.principal_variation.size() == 3);
                    } else {
                        CHECK(found.best_action == 2);
                        CHECK(found.target[2] == 1);
                        CHECK(found.principal_variation.size() == 7);
                    }
                }
}

TEST_CASE("after a roll a proof is as long as its longest outcome") {
    Tree tree;
    const uint32_t root = tree.add_node(NodeKind::chance, 0);
    for (const uint32_t plies : {4, 300, 2}) {
        const uint32_t at = tree.add_edge(root, Action(plies), 1.0f / 3);
        set_solved(tree.edge(tree.node(root), at), 1, plies);
    }
    CHECK(proof_plies(tree, tree.node(root)) == kMaxProofPlies);
}

namespace {

// Plays random games until a player can win at once, so many times, and searches
// there with hardly any simulations. Gives how often each seat was to move.
template <Game P>
std::array<int, 2> win_at_once(const typename P::Options& game_options, int num_positions) {
    const Facts facts = P::facts(game_options);
    std::array<int, 2> num_by_seat = {0, 0};
    Rng rng(3);
    P position = P::start(game_options, rng);
    std::vector<Action> legal(facts.num_actions);
    while (num_by_seat[0] + num_by_seat[1] < num_positions) {
        const Mover mover = position.to_move();
        if (mover == kOver) {
            position = P::start(game_options, rng);
            continue;
        }
        if (mover == kChance) {
            position.play(position.random_outcome(rng));
            continue;
        }
        const auto reward_of = [&](Action action) {
            P after = position;
            after.play(action);
            return after.to_move() == kOver ? facts.outcomes[after.outcome(mover)].reward : 0;
        };
        const int count = position.legal_actions(legal.data());
        // Where a last checker can be borne off there is never a choice.
        if ((count > 1 || facts.num_chance_outcomes > 0) &&
            std::any_of(legal.begin(), legal.begin() + count,
                        [&](Action action) { return reward_of(action) > 0; })) {
            ++num_by_seat[mover];
            for (const auto root : {RootKind::puct, RootKind::gumbel})
                for (const uint32_t num_simulations : {1, 2, 16})
                    for (const uint32_t considered : {0, 1}) {
                        SearchOptions options;
                        options.root = root;
                        options.num_simulations = num_simulations;
                        options.max_considered = considered;
                        options.dirichlet_epsilon = 0.25f;
                        options.forced_playouts = 2;
                        const RootResult found = search_on(
                            position, facts, options, EvaluatorKind::hash, nullptr, rng.next());
                        CHECK(found.solved);
                        CHECK(found.num_simulations == num_simulations);
                        CHECK(found.principal_variation == std::vector<Action>{found.best_action});
                        CHECK(found.value_to_move == doctest::Approx(reward_of(found.best_action)));
                        CHECK(found.value_to_move > 0);
                        float sum = 0;
                        for (size_t i = 0; i < found.actions.size(); ++i) {
                            sum += found.target[i];
                            if (found.target[i] > 0) CHECK(reward_of(found.actions[i]) > 0);
                        }
                        CHECK(sum == doctest::Approx(1));
                    }
        }
        position.play(position.random_action(rng));
    }
    return num_by_seat;
}

}  // namespace

TEST_CASE("a root that wins at once plays and teaches it, whatever its budget, in every game") {
    for (const auto& num_by_seat :
         {win_at_once<Connect4>({}, 20), win_at_once<Gomoku>({3, 3, false}, 20),
          win_at_once<Gomoku>({9, 5, false}, 10), win_at_once<Backgammon>({3}, 10),
          win_at_once<BeastyBar>({}, 20)}) {
        CHECK(num_by_seat[0] > 0);
        CHECK(num_by_seat[1] > 0);
    }
}

TEST_CASE("a win that hidden information may prevent is not proven") {
    SearchOptions options;
    options.num_simulations = 1;
    Rng rng(1);
    const RootResult guessed = search_on(HiddenCoin::start({}, rng), HiddenCoin::facts({}), options,
                                         EvaluatorKind::uniform);
    CHECK_FALSE(guessed.solved);
}
