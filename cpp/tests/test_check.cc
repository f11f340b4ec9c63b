// Games that break one promise each, and the check that finds it.
#include <doctest/doctest.h>

#include "games/check.h"
#include "tests/toy_games.h"

using namespace zf;

namespace {

// A game of one action that says of itself what a test wants it to say.
struct Declared : Toy<Declared> {
    static inline Facts declared;
    static inline std::vector<OptionSpec> declared_options;
    static inline size_t num_start_bytes = 0;

    static std::vector<OptionSpec> option_specs() { return declared_options; }
    static Facts facts(const Options&) { return declared; }
    static Declared start(const Options&, Rng&) { return {}; }
    std::vector<uint8_t> write_start() const { return std::vector<uint8_t>(num_start_bytes); }
    static Result<Declared> read_start(const Options&, std::span<const uint8_t>) {
        return Declared();
    }
    Mover to_move() const { return picked ? kOver : Mover(0); }
    int legal_actions(Action* actions) const {
        actions[0] = 0;
        return 1;
    }
    void play(Action) { picked = true; }
    int outcome(int player) const { return player == 0 ? kWin : kLoss; }
    void observe(int player, uint8_t* bytes) const { *bytes = to_move() == player; }
    bool picked = false;
};

void tell_the_truth() {
    Declared::declared = {};
    Declared::declared.name = "declared";
    Declared::declared.num_actions = 1;
    Declared::declared.observation_bytes = 1;
    Declared::declared.max_plies = 1;
    Declared::declared.outcomes = win_draw_loss();
    Declared::declared_options.clear();
    Declared::num_start_bytes = 0;
}

std::string fault(int num_games) {
    const Result<CheckReport> checked = check_game<Declared>({}, num_games, 1);
    return checked ? "" : checked.error().text;
}

std::vector<Outcome> outcomes(int count) {
    std::vector<Outcome> made;
    for (int i = 0; i < count; ++i)
        made.push_back({"by " + std::to_string(i), float(2 * i + 1 - count), count - 1 - i});
    return made;
}

}  // namespace

TEST_CASE("a game has two outcomes at least, and as many at the most as a search has room for") {
    tell_the_truth();
    for (const int count : {2, 8}) {
        Declared::declared.outcomes = outcomes(count);
        CHECK(fault(0) == "");
    }
    for (const int count : {0, 1, 9, 40}) {
        Declared::declared.outcomes = outcomes(count);
        CHECK(fault(0) == "declared: facts: the number of outcomes must be in 2..8, got " +
                              std::to_string(count));
    }
}

TEST_CASE("a game whose episodes could not be read back is refused") {
    tell_the_truth();
    Declared::declared.max_plies = 65536;
    CHECK(fault(0) == "");
    Declared::declared.max_plies = 65537;
    CHECK(fault(0) == "declared: facts: max_plies must be in 1..65536, got 65537");

    tell_the_truth();
    Declared::declared.name = std::string(64, 'x');
    CHECK(fault(0) == "");
    Declared::declared.name += "x";
    CHECK(fault(0) ==
          Declared::declared.name + ": facts: the bytes of name must be in 1..64, got 65");

    tell_the_truth();
    Declared::declared_options.assign(17, {"size", "3", {"3"}});
    CHECK(fault(0) == "declared: facts: the number of options must be in 0..16, got 17");
    const std::string longest(64, 'y'), longer = longest + "y";
    Declared::declared_options = {{longest, longest, {longest}}};
    CHECK(fault(0) == "");
    const std::string refused =
        "declared: facts: the bytes of '" + longer + "', of an option, must be in 1..64, got 65";
    Declared::declared_options = {{longer, "3", {"3"}}};
    CHECK(fault(0) == refused);
    Declared::declared_options = {{"size", longer, {longer}}};
    CHECK(fault(0) == refused);

    tell_the_truth();
    Declared::num_start_bytes = 1024;
    CHECK(fault(0) == "");
    Declared::num_start_bytes = 1025;
    CHECK(fault(1) ==
          "declared: game 0, start: the bytes of write_start must be in 0..1024, got 1025");
    tell_the_truth();
}

TEST_CASE("a game that says too soon that nothing is hidden is refused") {
    CHECK(bool(check_game<ShownCoin<false>>({}, 100, 1)));
    const Result<CheckReport> checked = check_game<ShownCoin<true>>({}, 100, 1);
    REQUIRE_FALSE(bool(checked));
    CHECK(
        checked.error().text ==
        "shown coin: game 0, ply 0: nothing_hidden is true, but something is hidden from player 0");
}
