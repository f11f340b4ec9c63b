// Episodes: what is written is read back, and nothing else is accepted.
#include <doctest/doctest.h>

#include <array>
#include <cmath>

#include "games/connect4.h"
#include "games/gomoku.h"
#include "record/replay.h"
#include "record/rows.h"
#include "selfplay/group.h"

using namespace zf;

namespace {

const Connect4::Options kOptions;
const Facts kFacts = Connect4::facts(kOptions);

// First player stacks column 1, second column 2; the first wins with its fourth.
Episode won_game() {
    Episode episode;
    episode.game = "connect4";
    episode.worker = 77;
    episode.sequence = 5;
    for (const Action action : {0, 1, 0, 1, 0, 1, 0}) {
        Event event;
        event.kind = SearchKind::full;
        event.id = action;
        event.version = 3 + episode.events.size() / 3;
        event.num_simulations = 100;
        event.outcomes_to_move = quantise_outcomes(std::vector<float>{0.5f, 0.25f, 0.25f});
        event.surprise = 9;
        event.policy = {{0, 4000}, {1, 95}};
        episode.events.push_back(event);
    }
    episode.outcome_first_player = kWin;
    return episode;
}

Error::Kind kind_of(const Result<void>& result) {
    REQUIRE_FALSE(bool(result));
    return result.error().kind;
}

}  // namespace

TEST_CASE("an episode is read back as it was written and verifies") {
    const Episode episode = won_game();
    const Result<Episode> read = decode(encode(episode));
    REQUIRE(bool(read));
    CHECK(*read == episode);
    CHECK(bool(verify<Connect4>(*read, kOptions, kFacts)));
}

TEST_CASE("a turn-ahead value at a chance outcome is read back, and the versions around it") {
    Episode episode = won_game();
    for (const size_t at : {size_t(0), size_t(4), episode.events.size()}) {
        Event rolled;
        rolled.kind = SearchKind::chance;
        rolled.id = 7;
        if (at != 4) rolled.outcomes_to_move = quantise_outcomes(std::vector<float>{0.5f, 0, 0.5f});
        episode.events.insert(episode.events.begin() + int64_t(at), rolled);
    }
    const Result<Episode> read = decode(encode(episode));
    REQUIRE(bool(read));
    CHECK(*read == episode);
}

TEST_CASE("an episode is read back up to the maximum of plies and the longest name of a game") {
    Episode episode;
    episode.game = std::string(64, 'x');
    episode.events.resize(65536);
    const Result<Episode> read = decode(encode(episode));
    REQUIRE(bool(read));
    CHECK(*read == episode);
    episode.events.resize(65537);
    CHECK(decode(encode(episode)).error().text == "more than 65536 events");
    episode = won_game();
    episode.game = std::string(65, 'x');
    CHECK_FALSE(bool(decode(encode(episode))));
}

TEST_CASE("episodes of self-play are accepted, byte for byte the same when written again") {
    SelfPlayOptions options;
    options.search.num_simulations = 20;
    options.full_search_probability = 0.5f;
    Group<Connect4> group(kOptions, {}, kFacts, options, make_cache(options), 0, 1, 8);
    CoreEvaluator evaluator(EvaluatorKind::hash, kFacts, 1);
    int num_episodes = 0;
    while (num_episodes < 40) {
        group.step(evaluator);
        for (const auto& bytes : group.take_episodes()) {
            const Result<Episode> read = decode(bytes);
            REQUIRE(bool(read));
            CHECK(bool(verify<Connect4>(*read, kOptions, kFacts)));
            CHECK(encode(*read) == bytes);
            ++num_episodes;
        }
    }
}

TEST_CASE("every single damaged byte and every shortening is noticed") {
    const std::vector<uint8_t> bytes = encode(won_game());
    for (size_t i = 0; i < bytes.size(); ++i) {
        std::vector<uint8_t> damaged = bytes;
        damaged[i] ^= 0x20;
        CHECK_FALSE(bool(decode(damaged)));
        CHECK_FALSE(bool(decode(std::span(bytes).first(i))));
    }
}

TEST_CASE("games that break the rules are refused by name") {
    const auto verdict = [](const Episode& episode) {
        return verify<Connect4>(episode, kOptions, kFacts);
    };
    Episode illegal_policy = won_game();
    illegal_policy.events[2].policy = {{7, 1}};
    CHECK(kind_of(verdict(illegal_policy)) == Error::Kind::inconsistent);
    Episode illegal_action = won_game();
    illegal_action.events[3].id = 9;
    CHECK(kind_of(verdict(illegal_action)) == Error::Kind::inconsistent);
    Episode unfinished = won_game();
    unfinished.events.pop_back();
    CHECK(kind_of(verdict(unfinished)) == Error::Kind::inconsistent);
    Episode wrong_result = won_game();
    wrong_result.outcome_first_player = kLoss;
    CHECK(kind_of(verdict(wrong_result)) == Error::Kind::inconsistent);
    Episode too_long = won_game();
    too_long.events.push_back(too_long.events[0]);
    CHECK(kind_of(verdict(too_long)) == Error::Kind::inconsistent);
    Episode chance = won_game();
    chance.events[0].kind = SearchKind::chance;
    CHECK(kind_of(verdict(chance)) == Error::Kind::inconsistent);
    Episode dealt = won_game();
    dealt.start = {1};
    CHECK(kind_of(verdict(dealt)) == Error::Kind::inconsistent);
    Episode other_game = won_game();
    other_game.game = "gomoku";
    CHECK(kind_of(verdict(other_game)) == Error::Kind::inconsistent);
    Episode outcomes = won_game();
    outcomes.events[1].outcomes_to_move = {65535};
    CHECK(kind_of(verdict(outcomes)) == Error::Kind::inconsistent);
}

TEST_CASE("replaying gives back what the mover saw, once per event") {
    const Result<ObservationRows> rows =
        replay_observations<Connect4>(won_game(), kOptions, kFacts);
    REQUIRE(bool(rows));
    REQUIRE(rows->event.size() == 7);
    for (uint32_t i = 0; i < 7; ++i) {
        CHECK(rows->event[i] == i);
        CHECK(rows->observer[i] == i % 2);
        int own = 0, other = 0;
        for (int cell = 0; cell < 42; ++cell) {
            own += rows->bytes[i * kFacts.observation_bytes + cell] == 1;
            other += rows->bytes[i * kFacts.observation_bytes + cell] == 2;
        }
        CHECK(own == int(i / 2));
        CHECK(other == int((i + 1) / 2));
    }
}

TEST_CASE("an episode is much smaller than what it replays to") {
    SelfPlayOptions options;
    options.search.num_simulations = 100;
    const Gomoku::Options gomoku;
    const Facts facts = Gomoku::facts(gomoku);
    Group<Gomoku> group(gomoku, {}, facts, options, make_cache(options), 0, 1, 2);
    CoreEvaluator evaluator(EvaluatorKind::uniform, facts, 1);
    std::vector<std::vector<uint8_t>> episodes;
    while (episodes.empty()) {
        group.step(evaluator);
        episodes = group.take_episodes();
    }
    const Result<ObservationRows> rows =
        replay_observations<Gomoku>(*decode(episodes[0]), gomoku, facts);
    REQUIRE(bool(rows));
    // Dense float planes and policies, as usual elsewhere: 3 planes and 225 probabilities a
    // position.
    const double usual = double(rows->event.size()) * 4 * 225 * 4;
    CHECK(usual / double(episodes[0].size()) > 10);
}

TEST_CASE("a TD(lambda) target mixes the row's search, later searches and the outcome") {
    // Each search found 1/2, 1/4 and 1/4 for win, draw and loss of the player to move.
    const TrainingRows rows = *training_rows<Connect4>(won_game(), kOptions, kFacts, 0.5f);
    const auto is = [&](size_t row, std::array<float, 3> target, int outcome) {
        CHECK(rows.outcome_observer[row] == outcome);
        for (size_t i = 0; i < 3; ++i)
            CHECK(std::abs(float(rows.search_outcomes_observer[3 * row + i]) -
                           target[i] * float(kOutcomeUnit)) <= 1);
    };
    is(6, {0.75f, 0.125f, 0.125f}, kWin);     // half its search, half the win
    is(5, {0.3125f, 0.1875f, 0.5f}, kLoss);   // half its search, half row 6 from the other side
    is(4, {0.5f, 0.21875f, 0.28125f}, kWin);  // half its search, half row 5 from the other side
}

TEST_CASE("an exact value takes the place of a search's and ends the trace, in every view") {
    // Known from the fifth disc on: a distribution that is the same to both players but for the
    // view.
    struct FromFifthDisc : LeafSolver<Connect4> {
        std::optional<ProvenValue> solve_leaf(const Connect4& position) override {
            if (position.to_text().size() < 5) return {};
            ProvenValue value;
            value.outcomes_to_move[position.to_move() == 0 ? kWin : kLoss] = 0.75f;
            value.outcomes_to_move[kDraw] = 0.25f;
            return value;
        }
        ProvenRoot solve_root(const Connect4&) override { return {}; }
    } solver;
    const TrainingRows rows = *training_rows<Connect4>(won_game(), kOptions, kFacts, 0.5f, &solver);
    CHECK(rows.is_solved == std::vector<uint8_t>{0, 0, 0, 0, 0, 1, 1});
    const auto is = [&](size_t row, std::array<float, 3> target) {
        for (size_t i = 0; i < 3; ++i)
            CHECK(std::abs(float(rows.search_outcomes_observer[3 * row + i]) -
                           target[i] * float(kOutcomeUnit)) <= 1);
    };
    is(6, {0.75f, 0.25f, 0});
    is(5, {0, 0.25f, 0.75f});
    is(4, {0.625f, 0.25f, 0.125f});  // half its search, half row 5 from the other side
}

TEST_CASE("packed rows are those of the episode, field by field; a truncated game has none") {
    const Episode episode = won_game();
    const TrainingRows rows = *training_rows<Connect4>(episode, kOptions, kFacts, 0);
    PackedRows packed(kFacts);
    packed.add(TrainingRows{});
    packed.add(rows);
    CHECK(packed.num_rows == std::vector<uint32_t>{0, 7});
    REQUIRE(packed.layout.num_bytes() == 43 + 1 + 2 * 7 + 1 + 1 + 2 * 3 + 1 + 1 + 4 + 4 + 8);
    REQUIRE(packed.rows.size() == 7 * packed.layout.num_bytes());
    const uint8_t* third = &packed.rows[2 * packed.layout.num_bytes()];
    CHECK(std::equal(third, third + 43, &rows.observations[2 * 43]));
    CHECK(third[43] == 0b11111110);  // all seven columns, the first is the highest bit
    CHECK(third[44] + 256 * third[45] == 4000);
    CHECK(third[46] + 256 * third[47] == 95);
    CHECK(third[58] == 1);
    CHECK(third[59] == kWin);
    CHECK(third[60] + 256 * third[61] == (kOutcomeUnit + 1) / 2);
    float surprise;
    int32_t reply;
    int64_t final_row;
    CHECK(third[66] == 0);
    CHECK(third[67] == 0);
    std::memcpy(&surprise, third + 68, 4);
    std::memcpy(&reply, third + 72, 4);
    std::memcpy(&final_row, third + 76, 8);
    CHECK(surprise == float(9) / float(kSurpriseUnit));
    CHECK(reply == 1);
    CHECK(final_row == 0);
    CHECK(packed.final_observations == rows.final_observations);
}
