// Decisions by whole turns: every end once, each worth what it is to the player.
#include <doctest/doctest.h>

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
