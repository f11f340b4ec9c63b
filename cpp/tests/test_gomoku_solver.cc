// The solver of Gomoku against plain search by the rules, and its verifier against wrong proofs.
#include <doctest/doctest.h>

#include <optional>
#include <set>

#include "games/gomoku.h"
#include "solve/gomoku.h"
#include "tests/searching.h"

using namespace zf;

namespace {

Gomoku position_of(const Gomoku::Options& options, const std::string& moves) {
    return *Gomoku::from_text(options, moves);
}

// Plays random moves that lie near others, so that lines arise; nothing where the game is over.
std::optional<Gomoku> random_position(const Gomoku::Options& options, int num_moves, Rng& rng) {
    Gomoku position = Gomoku::start(options, rng);
    for (int i = 0; i < num_moves; ++i) {
        position.play(position.random_action(rng));
        if (position.to_move() == kOver) return {};
    }
    return position;
}

// Win 1, draw 0, loss -1 to the player to move, by trying everything; nothing after so many nodes.
struct BruteForce {
    int64_t nodes_left;

    std::optional<int> value(const Gomoku& position) {
        if (--nodes_left < 0) return {};
        Action actions[361];
        const int count = position.legal_actions(actions);
        std::vector<Gomoku> open;
        int best = -1;
        for (int i = 0; i < count; ++i) {
            Gomoku after = position;
            after.play(actions[i]);
            if (after.to_move() != kOver) {
                open.push_back(after);
            } else if (after.outcome(position.to_move()) == kWin) {
                return 1;
            } else {
                best = 0;
            }
        }
        for (const Gomoku& after : open) {
            const std::optional<int> others = value(after);
            if (!others) return {};
            best = std::max(best, -*others);
            if (best == 1) return 1;
        }
        return best;
    }
};

int sign_of(int score) { return (score > 0) - (score < 0); }

int value_of(const ProvenValue& proven) {
    return proven.outcomes_to_move[kWin] == 1 ? 1 : proven.outcomes_to_move[kLoss] == 1 ? -1 : 0;
}

std::vector<Gomoku::Options> small_variants() {
    std::vector<Gomoku::Options> variants;
    for (const uint8_t size : {6, 7, 8})
        for (const uint8_t line : {4, 5})
            for (const bool exact : {false, true}) variants.push_back({size, line, exact});
    return variants;
}

}  // namespace

TEST_CASE("gomoku: on small boards brute force agrees with all that the solver says") {
    int num_finished = 0, num_won = 0, num_lost = 0, num_drawn = 0;
    for (const Gomoku::Options& options : small_variants()) {
        Rng rng(options.size * 100 + options.line * 10 + options.exact);
        GomokuSolver solver(options);
        const int cells = options.size * options.size;
        for (int tried = 0; tried < 60; ++tried) {
            const int num_empty = 5 + int(rng.below(20));
            const auto position = random_position(options, cells - num_empty, rng);
            if (!position) continue;
            const auto truth = BruteForce{200'000}.value(*position);
            if (!truth) continue;
            ++num_finished;
            num_won += *truth > 0;
            num_lost += *truth < 0;
            num_drawn += *truth == 0;
            if (!solver.threats(*position, {.max_nodes = 20'000}).empty()) CHECK(*truth == 1);
            if (const auto leaf = solver.solve_leaf(*position)) CHECK(value_of(*leaf) == *truth);
            if (const auto score = solver.endgame_score(*position))
                CHECK(sign_of(*score) == *truth);
            const ProvenRoot root = solver.solve_root(*position);
            int best = -1;
            for (const auto& [action, value] : root.actions) best = std::max(best, value_of(value));
            if (root.decided) CHECK(best == *truth);
            for (const auto& [action, value] : root.actions) {
                Gomoku after = *position;
                after.play(action);
                if (after.to_move() == kOver) continue;
                const auto others = BruteForce{20'000}.value(after);
                if (others) CHECK(value_of(value) == -*others);
            }
        }
        CHECK(solver.num_refused() == 0);
    }
    CHECK(num_finished > 200);
    CHECK(num_won > 50);
    CHECK(num_lost > 10);
    CHECK(num_drawn > 10);
}

TEST_CASE("gomoku: the verifier takes every proof of the search, in both rules") {
    for (const bool exact : {false, true})
        for (const uint8_t size : {9, 15}) {
            const Gomoku::Options options{size, 5, exact};
            Rng rng(size + exact);
            GomokuSolver solver(options);
            int num_won = 0;
            for (int tried = 0; tried < 100; ++tried) {
                const int most = size * size / 3;
                const auto position = random_position(options, 8 + int(rng.below(most)), rng);
                if (!position) continue;
                const auto line = solver.threats(*position, {.max_nodes = 5'000});
                if (line.empty()) continue;
                ++num_won;
                CHECK(solver.verify_line(*position, line, {.max_nodes = 20'000}));
                CHECK_FALSE(solver.verify_line(*position, {line.data(), line.size() - 1},
                                               {.max_nodes = 1'000}));
            }
            CHECK(num_won > 20);
            CHECK(solver.num_refused() == 0);
        }
}

TEST_CASE("gomoku: the verifier refuses a proof with a hole") {
    // X has an open three d4-f4 and plays the open four; O may close either end.
    const Gomoku position = position_of({9, 5, false}, "d4 a9 e4 c9 f4 e9");
    GomokuProof proof;
    const Action ends[] = {*position.action_from_text("c4"), *position.action_from_text("h4")};
    const Action four = *position.action_from_text("g4");
    const int32_t left = proof.add(ends[0], {}, GomokuProof::kNone);
    const int32_t right = proof.add(ends[1], {}, GomokuProof::kNone);
    const GomokuProof::Reply reply{ends[0], right};
    proof.root = proof.add(four, {&reply, 1}, left);
    CHECK(verify_win(position, proof) == 3);

    GomokuProof unanswered = proof;  // nothing against the reply at the left end
    unanswered.nodes[size_t(proof.root)].num_replies = 0;
    CHECK(verify_win(position, unanswered) == 0);
    GomokuProof occupied = proof;  // answers where the reply's stone lies
    occupied.replies[0].answer = left;
    CHECK(verify_win(position, occupied) == 0);

    // With four stones of its own O does not close: it wins.
    const Gomoku raced = position_of({9, 5, false}, "d4 b9 e4 c9 f4 d9 i1 e9");
    CHECK(verify_win(raced, proof) == 0);
    CHECK(GomokuSolver({9, 5, false}).threats(raced, {}).empty() == true);
}

TEST_CASE("gomoku: an overline is a win in freestyle and none under the exact rule") {
    // X: c4 d4 e4 and g4 h4; f4 joins six.
    const std::string moves = "c4 a9 d4 c8 e4 g9 g4 e7 h4 i6";
    for (const bool exact : {false, true}) {
        const Gomoku::Options options{9, 5, exact};
        const Gomoku position = position_of(options, moves);
        const auto line = GomokuSolver(options).threats(position, {});
        const std::vector<Action> joins{*position.action_from_text("f4")};
        CHECK(line == (exact ? std::vector<Action>{} : joins));
    }
}

TEST_CASE("gomoku: a root reports the actions that do not answer a threat as lost") {
    // O to move; X has an open three e5-g5: only its ends and what lies beside them stop it.
    const Gomoku::Options options{9, 5, false};
    const Gomoku position = position_of(options, "e5 a1 f5 i9 g5");
    const ProvenRoot root = GomokuSolver(options).solve_root(position);
    CHECK_FALSE(root.decided);
    std::set<std::string> lost;
    for (const auto& [action, value] : root.actions) {
        CHECK(value_of(value) == -1);
        lost.insert(position.action_text(action));
    }
    for (const char* answer : {"d5", "h5"}) CHECK(lost.count(answer) == 0);
    for (const char* elsewhere : {"a9", "b2", "e6", "f4"}) CHECK(lost.count(elsewhere) == 1);
}

TEST_CASE("gomoku: a search that asks the solver finds a win by fours with one simulation") {
    const Gomoku::Options options{9, 5, false};
    // X: two lines of three, each closed at one end, that cross in an empty cell.
    const Gomoku position = position_of(options, "b5 a5 c5 e1 d5 a9 e2 i9 e3 g8 e4 h7");
    const Facts facts = Gomoku::facts(options);
    SearchOptions search_options = analysis_options();
    search_options.num_simulations = 1;
    GomokuSolver solver(options);
    Search<Gomoku> search(facts);
    search.use_solver(&solver);
    search.begin(position, search_options, 1, 0, nullptr);
    CoreEvaluator evaluator(EvaluatorKind::uniform, facts, 1);
    run_search(search, evaluator, facts);
    const RootResult result = search.result();
    CHECK(result.solved);
    CHECK(result.value_to_move == 1);
    Gomoku after = position;
    after.play(result.best_action);
    CHECK(value_of(*solver.solve_leaf(after)) == -1);
}
