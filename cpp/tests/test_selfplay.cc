// Self-play: whole games, with ids, in any number of groups and threads.
#include <doctest/doctest.h>

#include <map>
#include <set>

#include "games/connect4.h"
#include "games/gomoku.h"
#include "record/replay.h"
#include "selfplay/driver.h"
#include "tests/toy_games.h"

using namespace zf;

namespace {

const Facts kFacts = Connect4::facts({});

std::map<uint64_t, std::vector<uint8_t>> play_episodes(const SelfPlayOptions& options,
                                                       uint32_t num_groups, uint32_t num_games,
                                                       uint64_t below) {
    std::map<uint64_t, std::vector<uint8_t>> by_sequence;
    const auto cache = make_cache(options);
    std::vector<std::unique_ptr<Group<Connect4>>> groups;
    for (uint32_t g = 0; g < num_groups; ++g)
        groups.push_back(std::make_unique<Group<Connect4>>(
            Connect4::Options{}, OptionValues{}, kFacts, options, cache, g, num_groups, num_games));
    CoreEvaluator evaluator(EvaluatorKind::hash, kFacts, 1);
    const auto all_there = [&] {
        for (uint64_t i = 0; i < below; ++i)
            if (!by_sequence.contains(i)) return false;
        return true;
    };
    while (!all_there())
        for (auto& group : groups) {
            group->step(evaluator);
            for (auto& bytes : group->take_episodes()) {
                const uint64_t sequence = decode(bytes)->sequence;
                CHECK_FALSE(by_sequence.contains(sequence));
                by_sequence[sequence] = std::move(bytes);
            }
        }
    return by_sequence;
}

std::unique_ptr<Driver> drive(const SelfPlayOptions& options, uint32_t num_groups,
                              uint32_t num_games, uint32_t num_threads,
                              std::optional<EvaluatorKind> evaluator) {
    const auto cache = make_cache(options);
    std::vector<std::unique_ptr<AnyGroup>> groups;
    for (uint32_t g = 0; g < num_groups; ++g)
        groups.push_back(std::make_unique<Group<Connect4>>(
            Connect4::Options{}, OptionValues{}, kFacts, options, cache, g, num_groups, num_games));
    return std::make_unique<Driver>(std::move(groups), std::make_shared<Facts>(kFacts), num_threads,
                                    evaluator, options.seed);
}

SelfPlayOptions small_options() {
    SelfPlayOptions options;
    options.search.num_simulations = 24;
    options.worker = 9;
    return options;
}

}  // namespace

TEST_CASE("a game depends on the seed and its number, not on how games are grouped") {
    const auto one = play_episodes(small_options(), 1, 8, 16),
               four = play_episodes(small_options(), 4, 2, 16);
    for (uint64_t i = 0; i < 16; ++i) CHECK(one.at(i) == four.at(i));
    SelfPlayOptions other = small_options();
    other.seed = 2;
    CHECK(play_episodes(other, 1, 8, 1).at(0) != one.at(0));
}

TEST_CASE(
    "answers from outside give the same games as the core's own, however few leaves there are") {
    const SelfPlayOptions options =
        small_options();  // whose cache leaves games out of many batches
    const auto expected = play_episodes(options, 1, 8, 64);
    Group<Connect4> group({}, {}, kFacts, options, make_cache(options), 0, 1, 8);
    CoreEvaluator evaluator(EvaluatorKind::hash, kFacts, 1);
    Rng rng(1);
    const Connect4 any = Connect4::start({}, rng);
    const int num_bytes = kFacts.observation_bytes;
    std::vector<float> logits(8 * 7), outcomes(8 * 3);
    int num_compared = 0;
    uint32_t fewest_rows = 8;
    for (group.gather(); num_compared < 64;) {
        fewest_rows = std::min(fewest_rows, group.num_rows());
        for (uint32_t r = 0; r < group.num_rows(); ++r) {
            const Evaluation answer = evaluator.evaluate(
                any, 0, {group.observations() + r * num_bytes, size_t(num_bytes)});
            std::copy_n(answer.policy_logits, 7, &logits[r * 7]);
            std::copy_n(answer.outcomes_observer, 3, &outcomes[r * 3]);
        }
        REQUIRE(group.play_on(logits.data(), outcomes.data(), 0) == -1);
        for (const auto& bytes : group.take_episodes()) {
            const uint64_t sequence = decode(bytes)->sequence;
            if (sequence >= 64) continue;
            CHECK(bytes == expected.at(sequence));
            ++num_compared;
        }
    }
    CHECK(fewest_rows < 8);
}

TEST_CASE("playout cap randomisation searches the stated share fully and marks the rest") {
    SelfPlayOptions options = small_options();
    options.full_search_probability = 0.25f;
    options.fast_simulations = 6;
    options.reuse_tree = false;
    int full = 0, fast = 0;
    for (const auto& [sequence, bytes] : play_episodes(options, 1, 16, 64)) {
        const Result<Episode> episode = decode(bytes);
        for (const Event& event : episode->events) {
            if (event.kind == SearchKind::full) {
                ++full;
                CHECK(event.num_simulations == 24);
                CHECK_FALSE(event.policy.empty());
            } else if (event.kind == SearchKind::fast) {
                ++fast;
                CHECK(event.num_simulations == 6);
                CHECK(event.policy.empty());
            }
        }
    }
    CHECK(double(full) / (full + fast) == doctest::Approx(0.25).epsilon(0.2));
}

TEST_CASE("temperature varies games while it lasts") {
    SelfPlayOptions options = small_options();
    options.search.dirichlet_epsilon = 0;
    const auto distinct_openings = [&] {
        std::set<std::vector<Action>> openings;
        for (const auto& [sequence, bytes] : play_episodes(options, 1, 16, 32)) {
            std::vector<Action> opening;
            const Result<Episode> episode = decode(bytes);
            for (const Event& event : episode->events)
                if (opening.size() < 4) opening.push_back(event.id);
            openings.insert(opening);
        }
        return openings.size();
    };
    options.temperature = 0;
    CHECK(distinct_openings() == 1);
    options.temperature = 1;
    CHECK(distinct_openings() > 10);
}

TEST_CASE("games that are truncated say so") {
    // A game that never ends by itself: a coin that is passed on forever.
    struct Endless : Toy<Endless> {
        static Facts facts(const Options&) {
            Facts facts;
            facts.name = "endless";
            facts.num_actions = 2;
            facts.observation_bytes = 1;
            facts.max_plies = 10;
            facts.outcomes = win_draw_loss();
            return facts;
        }
        static Endless start(const Options&, Rng&) { return {}; }
        Mover to_move() const { return turn; }
        int legal_actions(Action* actions) const {
            actions[0] = 0;
            actions[1] = 1;
            return 2;
        }
        void play(Action) { turn ^= 1; }
        int outcome(int) const { return kDraw; }
        void observe(int player, uint8_t* bytes) const { *bytes = turn == player; }
        Mover turn = 0;
    };
    const Facts facts = Endless::facts({});
    SelfPlayOptions options = small_options();
    Group<Endless> group({}, {}, facts, options, make_cache(options), 0, 1, 1);
    CoreEvaluator evaluator(EvaluatorKind::uniform, facts, 1);
    std::vector<std::vector<uint8_t>> episodes;
    while (episodes.empty()) {
        group.step(evaluator);
        episodes = group.take_episodes();
    }
    const Result<Episode> episode = decode(episodes[0]);
    REQUIRE(bool(episode));
    CHECK(episode->outcome_first_player == -1);
    CHECK(episode->events.size() == 10);
    CHECK(bool(verify<Endless>(*episode, {}, facts)));
}

TEST_SUITE("threads") {
    TEST_CASE("batches evaluated externally give whole, verified games with unique ids") {
        SelfPlayOptions options = small_options();
        const auto driver = drive(options, 4, 16, 2, {});
        const std::vector<float> logits(16 * 7, 0), outcomes(16 * 3, 1.0f / 3);
        std::set<uint64_t> sequences;
        while (sequences.size() < 60) {
            const auto batch = driver->next_batch(10);
            REQUIRE(bool(batch));
            CHECK(batch->num_rows <= 16);
            REQUIRE(bool(driver->submit(batch->group, logits.data(), outcomes.data(), 41)));
            CHECK_FALSE(bool(driver->submit(batch->group, logits.data(), outcomes.data(), 41)));
            for (const auto& bytes : driver->take_episodes()) {
                const Result<Episode> episode = decode(bytes);
                REQUIRE(bool(episode));
                CHECK(bool(verify<Connect4>(*episode, {}, kFacts)));
                CHECK(episode->worker == 9);
                CHECK(sequences.insert(episode->sequence).second);
            }
        }
        driver->stop();
        CHECK_FALSE(bool(driver->next_batch(0)));
        CHECK(driver->counts().num_episodes >= 60);
    }

    TEST_CASE("two threads play the same games as one") {
        const auto expected = play_episodes(small_options(), 1, 8, 24);
        const auto driver = drive(small_options(), 4, 2, 2, EvaluatorKind::hash);
        driver->wait_for_episodes(40, 60);
        driver->stop();
        int compared = 0;
        for (const auto& bytes : driver->take_episodes()) {
            const uint64_t sequence = decode(bytes)->sequence;
            if (sequence >= 24) continue;
            CHECK(bytes == expected.at(sequence));
            ++compared;
        }
        CHECK(compared > 8);
    }

    TEST_CASE("without threads the caller does the work and plays the same games") {
        const auto expected = play_episodes(small_options(), 1, 8, 16);
        const auto driver = drive(small_options(), 2, 4, 0, EvaluatorKind::hash);
        driver->wait_for_episodes(24, 60);
        const auto episodes = driver->take_episodes();
        CHECK(episodes.size() >= 24);
        for (const auto& bytes : episodes) {
            const uint64_t sequence = decode(bytes)->sequence;
            if (sequence < 16) CHECK(bytes == expected.at(sequence));
        }
        const auto outside = drive(small_options(), 2, 4, 0, {});
        const auto first = outside->next_batch(0), second = outside->next_batch(0);
        REQUIRE(bool(first));
        REQUIRE(bool(second));
        CHECK(first->group != second->group);
        CHECK_FALSE(bool(outside->next_batch(0)));
    }

    TEST_CASE("a driver without threads returns although every leaf is cached") {
        std::vector<std::unique_ptr<AnyGroup>> groups;
        const Facts facts = PickOne::facts({});
        SelfPlayOptions options = small_options();
        groups.push_back(std::make_unique<Group<PickOne>>(PickOne::Options{}, OptionValues{}, facts,
                                                          options, make_cache(options), 0, 1, 4));
        Driver driver(std::move(groups), std::make_shared<Facts>(facts), 0, {}, 1);
        const std::vector<float> logits(4 * 3, 0), outcomes(4 * 3, 1.0f / 3);
        int num_batches = 0;
        for (int i = 0; i < 20; ++i)
            if (const auto batch = driver.next_batch(0)) {
                REQUIRE(bool(driver.submit(batch->group, logits.data(), outcomes.data(), 0)));
                ++num_batches;
            }
        CHECK(num_batches < 20);
        CHECK(driver.take_episodes().size() > 20);
    }

    TEST_CASE("answers that are not finite stop the driver by name") {
        const auto driver = drive(small_options(), 1, 4, 1, {});
        const std::vector<float> logits(4 * 7, 0);
        const std::vector<float> outcomes(4 * 3, std::numeric_limits<float>::infinity());
        const auto batch = driver->next_batch(10);
        REQUIRE(bool(batch));
        REQUIRE(bool(driver->submit(batch->group, logits.data(), outcomes.data(), 41)));
        CHECK_FALSE(bool(driver->next_batch(10)));
        CHECK(driver->fault().find("weights 41") != std::string::npos);
    }
}
