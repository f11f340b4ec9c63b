// Connect Four and Gomoku against what is known of them from elsewhere.
#include <doctest/doctest.h>

#include "games/checked.h"
#include "games/connect4.h"
#include "games/gomoku.h"

using namespace zf;

namespace {

template <Game P>
P new_position(const typename P::Options& options) {
    Rng unused(0);
    return P::start(options, unused);
}

// The sequences of exactly `plies` actions, or, where `plies` is -1, of whole games.
template <Game P>
int64_t count_sequences(const P& position, const Facts& facts, int plies) {
    if (plies == 0) return 1;
    if (position.to_move() == kOver) return plies < 0;
    int64_t count = 0;
    for (const Action action : legal_actions(position, facts)) {
        P next = position;
        next.play(action);
        count += count_sequences(next, facts, plies - 1);
    }
    return count;
}

constexpr Gomoku::Options kTicTacToe{3, 3, false};

Mover mover_after(const Gomoku::Options& options, const std::string& text) {
    const auto position = Gomoku::from_text(options, text);
    REQUIRE(position);
    return position->to_move();
}

}  // namespace

TEST_CASE("Connect Four has its known numbers of sequences to seven plies") {
    const Connect4 start = new_position<Connect4>({});
    const Facts facts = Connect4::facts({});
    const int64_t known[] = {7, 49, 343, 2401, 16807, 117649, 823536};
    for (int plies = 1; plies <= 7; ++plies)
        CHECK(count_sequences(start, facts, plies) == known[plies - 1]);
}

TEST_CASE("tic-tac-toe has 255,168 games") {
    CHECK(count_sequences(new_position<Gomoku>(kTicTacToe), Gomoku::facts(kTicTacToe), -1) ==
          255168);
}

TEST_CASE("six in a row wins freestyle and not exact; five wins both") {
    // X fills the gap in e8 f8 g8 . i8 j8, or in e8 f8 . h8 i8.
    const std::string six = "e8 a1 f8 c1 g8 e1 i8 g1 j8 i1 h8", five = "e8 a1 f8 c1 h8 e1 i8 g1 g8";
    CHECK(mover_after({15, 5, false}, six) == kOver);
    CHECK(mover_after({15, 5, true}, six) == 1);
    CHECK(mover_after({15, 5, false}, five) == kOver);
    CHECK(mover_after({15, 5, true}, five) == kOver);
}

TEST_CASE("a line does not wrap around the board") {
    // m8 n8 o8 are the end of a row, a7 b7 the start of the row below.
    CHECK(mover_after({15, 5, false}, "m8 a1 n8 c1 o8 e1 a7 g1 b7") == 1);
}
