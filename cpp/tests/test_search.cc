// Searches whose answer is known by hand, and promises that hold for every search.
#include <doctest/doctest.h>

#include <cmath>

#include "games/check.h"
#include "games/connect4.h"
#include "games/gomoku.h"
#include "tests/searching.h"
#include "tests/toy_games.h"

using namespace zf;

namespace {

uint32_t total(const std::vector<uint32_t>& visits) {
    uint32_t sum = 0;
    for (const uint32_t each : visits) sum += each;
    return sum;
}

bool same(const RootResult& a, const RootResult& b) {
    return a.visits == b.visits && a.values_to_move == b.values_to_move && a.policy == b.policy &&
           a.target == b.target && a.outcomes_to_move == b.outcomes_to_move &&
           a.best_action == b.best_action;
}

}  // namespace

TEST_CASE("PUCT visits three actions as worked out by hand") {
    // Priors 1/3 each, values -1, 0, +1 known at the first visit, c = 1, untried actions count as
    // the node's mean. Visits of the node N start at 1 with mean 0; score = value +
    // sqrt(N)/3/(1+n).
    //   N=1: all untried, first slot: action 0 -> mean -1/2.
    //   N=2: 0: -1+.24; untried -.5+.47 -> action 1, value 0 -> mean -1/3.
    //   N=3: 0: -1+.29, 1: 0+.29; untried -.33+.58=.24 -> action 1 again (.29) -> mean -1/4.
    //   N=4: 1: 0+.22; untried -.25+.67=.42 -> action 2, value 1 -> mean 0.
    //   from N=5 on action 2 (1+.37) leads, and stays ahead.
    SearchOptions options = without_exploration({});
    options.c_puct = 1;
    options.fpu_reduction = 0;
    options.prove = false;
    const PickOne position = new_position<PickOne>();
    const Facts facts = PickOne::facts({});
    const std::vector<std::vector<uint32_t>> expected = {{1, 0, 0}, {1, 1, 0}, {1, 2, 0},
                                                         {1, 2, 1}, {1, 2, 2}, {1, 2, 3}};
    for (uint32_t n = 1; n <= expected.size(); ++n) {
        options.num_simulations = n;
        const RootResult result = search_on(position, facts, options, EvaluatorKind::uniform);
        CHECK(result.visits == expected[n - 1]);
        CHECK(result.num_simulations == n);
    }
    options.num_simulations = 100;
    const RootResult result = search_on(position, facts, options, EvaluatorKind::uniform);
    CHECK(result.best_action == 2);
    CHECK(result.values_to_move == std::vector<float>{-1, 0, 1});
    CHECK(result.outcomes_to_move[kWin] == doctest::Approx(result.policy[2]));
    CHECK(result.outcomes_to_move[kLoss] == doctest::Approx(result.policy[0]));
    CHECK(result.depth == 1);
}

TEST_CASE("dice are visited in proportion to their probability") {
    SearchOptions options = without_exploration({});
    options.num_simulations = 400;
    options.prove = false;
    Gamble rolling = new_position<Gamble>();
    rolling.play(1);
    const RootResult result =
        search_on(rolling, Gamble::facts({}), options, EvaluatorKind::uniform);
    CHECK(result.actions == std::vector<Action>{0, 1, 2});
    const std::vector<uint32_t> expected = {200, 100, 100};
    for (int i = 0; i < 3; ++i) CHECK(std::abs(int(result.visits[i]) - int(expected[i])) <= 1);
    CHECK(result.depth == 3);
}

TEST_CASE("a player who moves twice in a row keeps its own view") {
    SearchOptions options = without_exploration({});
    options.num_simulations = 100;
    options.prove = false;
    Gamble position = new_position<Gamble>();
    position.play(1);
    position.play(0);
    const RootResult result =
        search_on(position, Gamble::facts({}), options, EvaluatorKind::uniform);
    CHECK(result.value_to_move > 0.8);
}

TEST_CASE("hidden information does not change the search") {
    const Facts facts = HiddenCoin::facts({});
    REQUIRE(bool(check_game<HiddenCoin>({}, 0, 1)));
    for (const auto root : {RootKind::puct, RootKind::gumbel})
        for (const auto nodes : {OpponentNodes::pooled, OpponentNodes::per_hand})
            for (const auto kind : {EvaluatorKind::hash, EvaluatorKind::playout}) {
                SearchOptions options = without_exploration({});
                options.num_simulations = 2000;
                options.root = root;
                options.gumbel_scale = 1;
                options.opponent_nodes = nodes;
                HiddenCoin heads, tails;
                heads.heads = true;
                const RootResult with_heads = search_on(heads, facts, options, kind);
                CHECK(same(with_heads, search_on(tails, facts, options, kind)));
                for (const int guess : {0, 1}) {  // four standard errors of a fair coin
                    const float error = 4 / std::sqrt(float(with_heads.visits[guess]));
                    CHECK(std::abs(with_heads.values_to_move[guess]) < error);
                }
                CHECK(with_heads.values_to_move[2] < -0.5);  // the opponent sees the coin
                CHECK(with_heads.best_action != 2);
                CHECK_FALSE(with_heads.solved);
            }
}

TEST_CASE("every simulation is one visit at the root, whatever the options") {
    const Connect4 position = new_position<Connect4>();
    const Facts facts = Connect4::facts({});
    for (const auto root : {RootKind::puct, RootKind::gumbel})
        for (const uint32_t leaves : {1, 8})
            for (const auto kind :
                 {EvaluatorKind::uniform, EvaluatorKind::hash, EvaluatorKind::playout}) {
                SearchOptions options;
                options.num_simulations = 300;
                options.root = root;
                options.max_leaves = leaves;
                const RootResult result = search_on(position, facts, options, kind);
                CHECK(result.num_simulations == 300);
                CHECK(total(result.visits) == 300);
                float policy = 0, target = 0, outcomes = 0;
                for (const float share : result.policy) policy += share;
                for (const float share : result.target) target += share;
                for (const float share : result.outcomes_to_move) outcomes += share;
                CHECK(policy == doctest::Approx(1));
                CHECK(target == doctest::Approx(1));
                CHECK(outcomes == doctest::Approx(1));
                CHECK(result.depth > 1);
                CHECK(result.surprise >= 0);
            }
}

TEST_CASE("equal seeds give equal searches, and a cache changes nothing") {
    const Facts facts = Connect4::facts({});
    const Connect4 position = *Connect4::from_text({}, "44");
    SearchOptions options = without_exploration({});
    options.num_simulations = 500;
    options.dirichlet_epsilon = 0.25f;
    const RootResult plain = search_on(position, facts, options, EvaluatorKind::hash);
    CHECK(same(plain, search_on(position, facts, options, EvaluatorKind::hash)));
    CHECK_FALSE(same(plain, search_on(position, facts, options, EvaluatorKind::hash, nullptr, 2)));
    for (const uint64_t bytes : {1 << 12, 1 << 20}) {
        EvaluationCache cache(bytes);
        CHECK(same(plain, search_on(position, facts, options, EvaluatorKind::hash, &cache)));
        CHECK(same(plain, search_on(position, facts, options, EvaluatorKind::hash, &cache)));
    }
}

TEST_CASE("the bound on memory ends a search early and says so") {
    const Facts facts = Gomoku::facts({});
    Rng rng(1);
    const Gomoku position = Gomoku::start({}, rng);
    SearchOptions options = without_exploration({});
    options.num_simulations = 5000;
    options.max_bytes = 200'000;
    const RootResult bounded = search_on(position, facts, options, EvaluatorKind::hash);
    CHECK(bounded.memory_full);
    CHECK(bounded.num_bytes <= 200'000);
    CHECK(bounded.num_simulations > 100);
    CHECK(bounded.num_simulations < 5000);
    CHECK(total(bounded.visits) == bounded.num_simulations);
}

TEST_CASE("a reused tree grows, and the budget counts new simulations") {
    const Facts facts = Connect4::facts({});
    Connect4 position = new_position<Connect4>();
    Search<Connect4> search(facts);
    CoreEvaluator evaluator(EvaluatorKind::hash, facts, 1);
    SearchOptions options = without_exploration({});
    options.num_simulations = 400;
    search.begin(position, options, 1, 0, nullptr);
    run_search(search, evaluator, facts);
    const RootResult before = search.result();
    const uint32_t kept = before.visits[before.best_action];
    position.play(before.best_action);
    Tree scratch;
    const std::vector<Action> played = {before.best_action};
    search.begin_after(played, scratch, position, options, 2, 0, nullptr);
    run_search(search, evaluator, facts);
    const RootResult after = search.result();
    CHECK(after.num_simulations == 400);
    CHECK(total(after.visits) == 400 + kept - 1);  // its own evaluation was one of its visits
    const std::vector<Action> elsewhere = {6, 6, 6};
    Connect4 other = *Connect4::from_text({}, "777");
    search.begin_after(elsewhere, scratch, other, options, 2, 0, nullptr);
    run_search(search, evaluator, facts);
    CHECK(total(search.result().visits) >= 400);
}

TEST_CASE("numbers that are not finite are refused") {
    const Facts facts = PickOne::facts({});
    Search<PickOne> search(facts);
    search.begin(new_position<PickOne>(), {}, 1, 0, nullptr);
    uint8_t observation[1];
    const int slot = search.gather(observation);
    REQUIRE(slot >= 0);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float logits[3] = {0, nan, 0}, good_logits[3] = {}, outcomes[3] = {1, 0, 0},
                bad_outcomes[3] = {nan, 0, 0};
    CHECK_FALSE(search.absorb(slot, {logits, outcomes}));
    CHECK_FALSE(search.absorb(slot, {good_logits, bad_outcomes}));
    CHECK(search.absorb(slot, {good_logits, outcomes}));
}

TEST_CASE("a tree is full before an index overflows, however much memory it may have") {
    constexpr uint64_t kMuchMemory = 1ULL << 40, kMaxEdges = 7;
    constexpr uint32_t kMaxItems = 200;
    const std::vector<Action> legal = {0, 1, 2};
    const std::vector<Half> priors(3, to_half(1.0f / 3));
    Tree tree(kMaxItems);
    uint32_t num_nodes = 0;
    while (tree.has_room(1, kMaxEdges, kMuchMemory)) {
        const uint32_t index = tree.add_node(NodeKind::decision, 0);
        tree.set_priors(index, legal, priors, kMaxEdges);
        tree.visit_best_slot(index);
        REQUIRE(++num_nodes < kMaxItems);
    }
    CHECK(num_nodes > 1);
    CHECK(!tree.has_room(1000, kMaxEdges, kMuchMemory));
    CHECK(Tree(kMaxItems).has_room(1, kMaxEdges, kMuchMemory));
    // Leaves that are out each take their part.
    CHECK(!Tree(kMaxItems).has_room(3, kMaxEdges, kMuchMemory));
    CHECK(Tree().has_room(kMaxTreeItems / (2 * kMaxEdges + 64), kMaxEdges, kMuchMemory));
    CHECK(!Tree().has_room(kMaxTreeItems, kMaxEdges, kMuchMemory));
}

static std::vector<uint32_t> halving_schedule(uint32_t num_candidates, uint32_t num_simulations) {
    HalvingSchedule schedule;
    schedule.begin(num_candidates, num_simulations);
    std::vector<uint32_t> visits;
    for (uint32_t i = 0; i < num_simulations; ++i) visits.push_back(schedule.visits_before(i));
    return visits;
}

TEST_CASE("sequential halving spends its simulations as worked out by hand") {
    // Four candidates, eight simulations, two rounds: one visit each, then two more for the better
    // two.
    CHECK(halving_schedule(4, 8) == std::vector<uint32_t>{0, 0, 0, 0, 1, 1, 2, 2});
    // 16 simulations: two visits each, then four more for the better two.
    CHECK(halving_schedule(4, 16) ==
          std::vector<uint32_t>{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5});
    // Three candidates are halved to two, never to one.
    CHECK(halving_schedule(3, 7) == std::vector<uint32_t>{0, 0, 0, 1, 1, 2, 2});
    CHECK(halving_schedule(1, 3) == std::vector<uint32_t>{0, 1, 2});
    CHECK(halving_schedule(2, 4) == std::vector<uint32_t>{0, 0, 1, 1});
}

TEST_CASE("a Gumbel root gives each candidate of a round the same visits and finds the best") {
    const Facts facts = PickOne::facts({});
    SearchOptions options;
    options.root = RootKind::gumbel;
    options.num_simulations = 12;
    options.prove = false;
    const RootResult result =
        search_on(new_position<PickOne>(), facts, options, EvaluatorKind::uniform);
    CHECK(result.best_action == 2);
    CHECK(result.policy[2] > 0.99);
    for (const uint32_t visits : result.visits) CHECK(visits >= 2);
}

TEST_CASE(
    "a Gumbel root is worth what its policy makes of its actions, not the mean of its visits") {
    // Priors 1/3, values -1, 0, +1, the root itself thought drawn; four simulations: one visit
    // each, then one more for the best (or by noise another). The mean over them is at most 1/4.
    // Improved policy: values times (50 + 2) * 0.5 = 26, so action 2 but for exp(-26). Its n visits
    // count as n + 1, one of them the mixed value: thirds of each outcome, worth 0.
    SearchOptions options;
    options.root = RootKind::gumbel;
    options.num_simulations = 4;
    options.prove = false;
    const Facts facts = PickOne::facts({});
    const RootResult all =
        search_on(new_position<PickOne>(), facts, options, EvaluatorKind::uniform);
    CHECK(total(all.visits) == 4);
    const float mixed_share = 1 / float(all.visits[2] + 1);
    CHECK(all.value_to_move == doctest::Approx(1 - mixed_share));
    CHECK(all.outcomes_to_move[kWin] == doctest::Approx(1 - mixed_share * 2 / 3));

    // One simulation: the others count as the mix of what it found, v, and of the root's own
    // evaluation, thirds of each outcome: (0 + v) / 2. So the policy moves by exp(51 * 0.5 * v /
    // 2): a win leaves nothing to the others, a loss gives them all, a draw leaves it uniform.
    // The mix is half of the visited action's share too, so 5/6 of all after a draw.
    options.num_simulations = 1;
    const float expected[3][3] = {{1 / 6.0f, 1 / 6.0f, 4 / 6.0f},  // by action: win, draw, loss
                                  {5 / 36.0f, 26 / 36.0f, 5 / 36.0f},
                                  {5 / 6.0f, 1 / 12.0f, 1 / 12.0f}};
    bool seen[3] = {};
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        const RootResult one = search_on(new_position<PickOne>(), facts, options,
                                         EvaluatorKind::uniform, nullptr, seed);
        const int visited = one.visits[0] ? 0 : one.visits[1] ? 1 : 2;
        seen[visited] = true;
        for (const int i : {kWin, kDraw, kLoss})
            CHECK(one.outcomes_to_move[i] == doctest::Approx(expected[visited][i]).epsilon(1e-4));
        const float mean = expected[visited][kWin] - expected[visited][kLoss];
        CHECK(one.value_to_move == doctest::Approx(mean).epsilon(1e-4));
    }
    CHECK((seen[0] && seen[1] && seen[2]));
}

TEST_CASE("a Gumbel root's outcomes have its value as their mean, whoever searches what") {
    SearchOptions options;
    options.root = RootKind::gumbel;
    options.num_simulations = 50;
    const auto check = [&](const auto& position, const Facts& facts) {
        for (const uint32_t leaves : {1, 8}) {
            options.max_leaves = leaves;
            const RootResult result = search_on(position, facts, options, EvaluatorKind::hash);
            float mean = 0;
            for (size_t i = 0; i < facts.outcomes.size(); ++i)
                mean += result.outcomes_to_move[i] * facts.outcomes[i].reward;
            CHECK(mean == doctest::Approx(result.value_to_move).epsilon(1e-4));
        }
    };
    check(new_position<Connect4>(), Connect4::facts({}));
    check(*Connect4::from_text({}, "443"), Connect4::facts({}));  // player 1 searches
    check(new_position<Gamble>(), Gamble::facts({}));             // solved by dice
    check(new_position<HiddenCoin>(), HiddenCoin::facts({}));
}

TEST_CASE("forced visits to noise are pruned from the target") {
    const Facts facts = PickOne::facts({});
    SearchOptions options = without_exploration({});
    options.num_simulations = 400;
    options.prove = false;
    options.dirichlet_epsilon = 0.5f;
    options.forced_playouts = 2;
    const RootResult result =
        search_on(new_position<PickOne>(), facts, options, EvaluatorKind::uniform);
    CHECK(result.visits[0] > 1);
    CHECK(result.target[0] < result.policy[0]);
    CHECK(result.target[2] > result.policy[2]);
}
