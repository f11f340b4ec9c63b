// Decisions by whole turns: every end once, each worth what it is to the player.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "games/backgammon.h"
#include "search/afterstate_search.h"
#include "search/evaluators.h"

using namespace zf;

namespace {

const Facts kFacts = Backgammon::facts({});

Backgammon read(const std::string& text) { return *Backgammon::from_text({}, text); }

RootResult searched(AfterstateSearch<Backgammon>& search, const Backgammon& position,
                    EvaluatorKind kind) {
    CoreEvaluator evaluator(kind, kFacts, 1);
    std::vector<uint8_t> observation(kFacts.observation_bytes);
    search.begin(position, 1 << 26);
    while (search.gather(observation.data()))
        REQUIRE(search.absorb(
            evaluator.evaluate(search.leaf_position(), search.leaf_observer(), observation)));
    REQUIRE(search.finished());
    return search.result(25);
}

// The best end of a turn by trying every order of moves, with the same evaluator.
float best_by_trying(const Backgammon& position, int player) {
    if (position.to_move() == player) {
        std::vector<Action> legal(kFacts.num_actions);
        legal.resize(position.legal_actions(legal.data()));
        float best = -10;
        for (const Action action : legal) {
            Backgammon next = position;
            next.play(action);
            best = std::max(best, best_by_trying(next, player));
        }
        return best;
    }
    if (position.to_move() == kOver) return kFacts.outcomes[position.outcome(player)].reward;
    std::vector<uint8_t> observation(kFacts.observation_bytes);
    position.observe(position.roller(), observation.data());
    CoreEvaluator evaluator(EvaluatorKind::hash, kFacts, 1);
    const Evaluation found = evaluator.evaluate(position, position.roller(), observation);
    float value = 0;
    for (size_t i = 0; i < kFacts.outcomes.size(); ++i)
        value += found.outcomes_observer[i] * kFacts.outcomes[i].reward;
    return position.roller() == player ? value : -value;
}

const std::string kStart = "4HPwATDgc/ABMA";

// Before the roll, with all other checkers borne off.
Backgammon ending(const std::vector<int>& on_roll, const std::vector<int>& other) {
    backgammon::Counts counts[2] = {};
    for (const int point : on_roll) ++counts[0][point];
    for (const int point : other) ++counts[1][point];
    return read(backgammon::encode_id(counts[0], counts[1]));
}

// The exact chance that the player about to roll wins a bear-off, by expectimax.
double exact_win(const Backgammon& position, std::map<std::string, double>& known);

double best_win(const Backgammon& position, int player, std::map<std::string, double>& known) {
    if (position.to_move() == kOver)
        return kFacts.outcomes[position.outcome(player)].reward > 0 ? 1 : 0;
    if (position.to_move() == kChance) {
        const double win = exact_win(position, known);
        return position.roller() == player ? win : 1 - win;
    }
    std::vector<Action> legal(kFacts.num_actions);
    legal.resize(position.legal_actions(legal.data()));
    double best = 0;
    for (const Action action : legal) {
        Backgammon next = position;
        next.play(action);
        best = std::max(best, best_win(next, player, known));
    }
    return best;
}

double exact_win(const Backgammon& position, std::map<std::string, double>& known) {
    const auto found = known.find(position.to_text());
    if (found != known.end()) return found->second;
    std::vector<ChanceOutcome> rolls(kFacts.num_chance_outcomes);
    rolls.resize(position.chance_outcomes(rolls.data()));
    double win = 0;
    for (const ChanceOutcome& roll : rolls) {
        Backgammon next = position;
        next.play(roll.id);
        win += roll.probability * best_win(next, position.roller(), known);
    }
    return known[position.to_text()] = win;
}

// The turn-ahead chance of winning, with afterstates evaluated exactly.
float turn_ahead_win(const Backgammon& position, std::map<std::string, double>& known) {
    AfterstateSearch<Backgammon> search(kFacts);
    std::vector<uint8_t> observation(kFacts.observation_bytes);
    std::vector<float> logits(kFacts.num_actions, 0.0f), outcomes(kFacts.outcomes.size(), 0.0f);
    const auto single = [](float reward) {
        return std::find_if(kFacts.outcomes.begin(), kFacts.outcomes.end(),
                            [&](const Outcome& outcome) { return outcome.reward == reward; }) -
               kFacts.outcomes.begin();
    };
    search.begin(position, 1 << 26);
    while (search.gather(observation.data())) {
        CHECK(search.leaf_observer() != position.roller());
        const double win = exact_win(search.leaf_position(), known);
        outcomes[single(1)] = float(win);
        outcomes[single(-1)] = float(1 - win);
        REQUIRE(search.absorb({logits.data(), outcomes.data()}));
    }
    const RootResult result = search.result(25);
    CHECK(result.value_to_move == doctest::Approx(2 * result.outcomes_to_move[single(1)] - 1));
    return result.outcomes_to_move[single(1)];
}

}  // namespace

TEST_SUITE("turn search") {
    TEST_CASE("each end of a turn is evaluated once, as many as are known from the start") {
        const std::map<std::string, uint32_t> known = {
            {"31", 16}, {"22", 75}, {"65", 7}, {"11", 42}};
        for (const auto& [roll, count] : known) {
            AfterstateSearch<Backgammon> search(kFacts);
            const RootResult result =
                searched(search, read(kStart + " " + roll), EvaluatorKind::uniform);
            CHECK(result.num_simulations == count);
        }
    }

    TEST_CASE("an action is worth the best end it leads to, for either player") {
        Rng rng(7);
        AfterstateSearch<Backgammon> search(kFacts);
        int num_by_player[2] = {0, 0};
        for (int game = 0; game < 6; ++game) {
            Backgammon position = Backgammon::start({}, rng);
            for (int ply = 0; ply < 60 && position.to_move() != kOver; ++ply) {
                if (position.to_move() == kChance) {
                    position.play(position.random_outcome(rng));
                    continue;
                }
                const int player = position.to_move();
                search.clear();
                const RootResult result = searched(search, position, EvaluatorKind::hash);
                for (size_t i = 0; i < result.actions.size(); ++i) {
                    Backgammon next = position;
                    next.play(result.actions[i]);
                    CHECK(result.values_to_move[i] ==
                          doctest::Approx(best_by_trying(next, player)).epsilon(1e-4));
                }
                CHECK(result.value_to_move ==
                      doctest::Approx(best_by_trying(position, player)).epsilon(1e-4));
                ++num_by_player[player];
                position.play(position.random_action(rng));
            }
        }
        CHECK(num_by_player[0] > 20);
        CHECK(num_by_player[1] > 20);
    }

    TEST_CASE("the later decisions of a turn ask for nothing, and find the same best end") {
        AfterstateSearch<Backgammon> search(kFacts);
        Backgammon position = read(kStart + " 42");
        const RootResult first = searched(search, position, EvaluatorKind::hash);
        position.play(first.best_action);
        const RootResult second = searched(search, position, EvaluatorKind::hash);
        CHECK(second.num_simulations == 0);
        CHECK(second.value_to_move == first.value_to_move);
        CHECK(second.outcomes_to_move == first.outcomes_to_move);
    }

    TEST_CASE("the policy prefers what is worth more, and adds up to 1") {
        AfterstateSearch<Backgammon> search(kFacts);
        const RootResult result = searched(search, read(kStart + " 64"), EvaluatorKind::hash);
        float sum = 0;
        for (size_t i = 0; i < result.actions.size(); ++i) {
            sum += result.policy[i];
            for (size_t j = 0; j < result.actions.size(); ++j)
                if (result.values_to_move[i] > result.values_to_move[j])
                    CHECK(result.policy[i] > result.policy[j]);
            if (result.actions[i] == result.best_action)
                CHECK(result.values_to_move[i] == result.value_to_move);
        }
        CHECK(sum == doctest::Approx(1));
    }

    TEST_CASE("where memory is short, positions within the turn are evaluated as they are") {
        AfterstateSearch<Backgammon> search(kFacts);
        const Backgammon position = read(kStart + " 22");
        std::vector<uint8_t> observation(kFacts.observation_bytes);
        CoreEvaluator evaluator(EvaluatorKind::uniform, kFacts, 1);
        REQUIRE(search.begin(position, 1));
        uint32_t num_within = 0;
        while (search.gather(observation.data())) {
            num_within += search.leaf_position().to_move() == position.to_move();
            REQUIRE(search.absorb(
                evaluator.evaluate(search.leaf_position(), search.leaf_observer(), observation)));
        }
        std::vector<Action> legal(kFacts.num_actions);
        CHECK(num_within == uint32_t(position.legal_actions(legal.data())));
        CHECK(search.result(25).num_simulations == num_within);
    }

    TEST_CASE("looking a turn ahead gives the odds of bearing off the last two checkers") {
        // Of 36 rolls; the other player needs one more turn.
        const std::map<std::vector<int>, int> odds = {{{1, 1}, 36}, {{3, 2}, 25}, {{4, 4}, 11},
                                                      {{6, 1}, 15}, {{5, 5}, 6},  {{6, 6}, 4}};
        std::map<std::string, double> known;
        for (const auto& [checkers, count] : odds)
            CHECK(turn_ahead_win(ending(checkers, {1}), known) ==
                  doctest::Approx(float(count) / 36));
    }

    TEST_CASE("looking a turn ahead with exact afterstates gives the exact value") {
        std::map<std::string, double> known;
        for (const auto& [on_roll, other] :
             std::vector<std::pair<std::vector<int>, std::vector<int>>>{
                 {{6, 6}, {6}}, {{6, 5, 4}, {6, 5}}, {{5, 5, 2}, {6, 3, 1}}, {{6}, {6, 6, 1}}}) {
            const Backgammon position = ending(on_roll, other);
            CHECK(turn_ahead_win(position, known) ==
                  doctest::Approx(exact_win(position, known)).epsilon(1e-5));
        }
    }

    TEST_CASE("after a look ahead, the roll that comes asks for nothing") {
        AfterstateSearch<Backgammon> ahead(kFacts), alone(kFacts);
        Backgammon position = ending({22, 17, 6, 5}, {18, 13, 9, 1});
        const RootResult before = searched(ahead, position, EvaluatorKind::hash);
        CHECK(before.actions.empty());
        CHECK(before.num_simulations > 21);
        position.play(9);
        const RootResult rolled = searched(ahead, position, EvaluatorKind::hash);
        const RootResult expected = searched(alone, position, EvaluatorKind::hash);
        CHECK(rolled.num_simulations == 0);
        CHECK(rolled.values_to_move == expected.values_to_move);
        CHECK(rolled.outcomes_to_move == expected.outcomes_to_move);
        CHECK(rolled.policy == expected.policy);
    }

    TEST_CASE("numbers that are not finite are refused") {
        AfterstateSearch<Backgammon> search(kFacts);
        search.begin(read(kStart + " 31"), 1 << 26);
        std::vector<uint8_t> observation(kFacts.observation_bytes);
        REQUIRE(search.gather(observation.data()));
        std::vector<float> logits(kFacts.num_actions, 0.0f);
        std::vector<float> outcomes(kFacts.outcomes.size(), NAN);
        CHECK_FALSE(search.absorb({logits.data(), outcomes.data()}));
        CHECK(search.num_simulations() == 0);
    }
}
