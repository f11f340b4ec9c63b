// Games small enough to know every answer by hand.
#pragma once

#include "games/game.h"

namespace zf {

// What the toys share: one byte of observation apart from the turn, plain texts.
template <class P>
struct Toy : PlainGame<P> {
    struct Options {};
    static std::vector<OptionSpec> option_specs() { return {}; }
    static Result<Options> parse_options(const OptionValues&) { return Options{}; }
    std::string to_text() const { return "toy"; }
    static Result<P> from_text(const Options& options, const std::string&) {
        Rng rng(0);
        return P::start(options, rng);
    }
    std::string action_text(Action action) const { return std::to_string(action); }
    Result<Action> action_from_text(const std::string& text) const {
        return Action(std::stoi(text));
    }
    std::string picture() const { return "toy"; }
    Described describe(int) const { return 0; }
    static Result<P> from_describe(const Options& options, const Described&) {
        return from_text(options, "");
    }
    Action random_action(Rng& rng) const {
        Action actions[16];
        const int count = static_cast<const P&>(*this).legal_actions(actions);
        return actions[rng.below(uint32_t(count))];
    }
};

// Player 0 picks a number 0..2 and the game ends: 0 loses, 1 draws, 2 does as P says.
template <class P>
struct Picking : Toy<P> {
    static Facts facts(const typename Toy<P>::Options&) {
        Facts facts;
        facts.name = "pick one";
        facts.num_actions = 3;
        facts.observation_bytes = 1;
        facts.max_plies = 1;
        facts.outcomes = win_draw_loss();
        return facts;
    }
    static P start(const typename Toy<P>::Options&, Rng&) { return {}; }
    Mover to_move() const { return picked < 0 ? Mover(0) : kOver; }
    int legal_actions(Action* actions) const {
        for (int i = 0; i < 3; ++i) actions[i] = Action(i);
        return 3;
    }
    void play(Action action) { picked = int8_t(action); }
    int outcome(int player) const {
        const int first = picked == 2 ? P::kOutcomeOfTwo : picked == 1 ? kDraw : kLoss;
        return player == 0 ? first : kLoss - first;
    }
    void observe(int player, uint8_t* bytes) const { *bytes = to_move() == player; }
    int8_t picked = -1;
};
struct PickOne : Picking<PickOne> {
    static constexpr int kOutcomeOfTwo = kWin;
};
struct LoseOrDraw : Picking<LoseOrDraw> {
    static constexpr int kOutcomeOfTwo = kDraw;
};

// The first action says how long the game takes: action k ends it after kLengths[k] plies in all,
// of which all but the first are forced. The one who wins is known from the start.
struct Corridor : Toy<Corridor> {
    static constexpr int kLengths[] = {5, 3, 7, 3};
    static Facts facts(const Options&) {
        Facts facts;
        facts.name = "corridor";
        facts.num_actions = 4;
        facts.observation_bytes = 2;
        facts.max_plies = 7;
        facts.outcomes = win_draw_loss();
        return facts;
    }
    static Corridor start(const Options&, Rng&) { return {}; }
    Mover to_move() const {
        return num_plies > 0 && num_plies == kLengths[chosen] ? kOver
                                                              : Mover(first ^ (num_plies & 1));
    }
    int legal_actions(Action* actions) const {
        const int count = num_plies == 0 ? 4 : 1;
        for (int i = 0; i < count; ++i) actions[i] = Action(i);
        return count;
    }
    void play(Action action) {
        if (num_plies++ == 0) chosen = uint8_t(action);
    }
    int outcome(int player) const { return player == winner ? kWin : kLoss; }
    void observe(int player, uint8_t* bytes) const {
        bytes[0] = uint8_t(num_plies * 4 + chosen);
        bytes[1] = to_move() == player;
    }
    uint8_t first = 0, winner = 0, chosen = 0, num_plies = 0;
};

// Player 0 says 0 (the game is drawn) or 1 (a die with three faces is rolled: it wins on the face
// of probability 1/2, loses on the two of 1/4). So 1 is worth 0 as well. Player 0 then moves twice
// in a row where the face was 0: first anything, then win with 1, lose with 0.
struct Gamble : Toy<Gamble> {
    static Facts facts(const Options&) {
        Facts facts;
        facts.name = "gamble";
        facts.num_actions = 2;
        facts.num_chance_outcomes = 3;
        facts.observation_bytes = 1;
        facts.max_plies = 4;
        facts.outcomes = win_draw_loss();
        return facts;
    }
    static Gamble start(const Options&, Rng&) { return {}; }
    enum Stage : uint8_t { choosing, rolling, first_of_two, second_of_two, won, drawn, lost };
    Mover to_move() const {
        if (stage == rolling) return kChance;
        return stage == choosing || stage == first_of_two || stage == second_of_two ? Mover(0)
                                                                                    : kOver;
    }
    int legal_actions(Action* actions) const {
        actions[0] = 0;
        actions[1] = 1;
        return 2;
    }
    int chance_outcomes(ChanceOutcome* outcomes) const {
        outcomes[0] = {0, 0.5};
        outcomes[1] = {1, 0.25};
        outcomes[2] = {2, 0.25};
        return 3;
    }
    Action random_outcome(Rng& rng) const {
        const uint32_t quarter = rng.below(4);
        return Action(quarter < 2 ? 0 : quarter - 1);
    }
    void play(Action action) {
        switch (stage) {
            case choosing:
                stage = action == 0 ? drawn : rolling;
                break;
            case rolling:
                stage = action == 0 ? first_of_two : lost;
                break;
            case first_of_two:
                stage = second_of_two;
                break;
            default:
                stage = action == 1 ? won : lost;
        }
    }
    int outcome(int player) const {
        if (stage == drawn) return kDraw;
        return (stage == won) == (player == 0) ? kWin : kLoss;
    }
    void observe(int player, uint8_t* bytes) const {
        *bytes = uint8_t(stage * 2 + (to_move() == player));
    }
    Stage stage = choosing;
};

// A coin lies hidden, heads or tails. Player 0 may guess it (1 heads, 0 tails: right wins, wrong
// loses) or pass (2); then player 1, who can see the coin, may guess it (win) or give in (lose).
// So a guess is worth 0 to player 0 and a pass is worth -1, whatever lies under the hand.
struct HiddenCoin : Toy<HiddenCoin> {
    static Facts facts(const Options&) {
        Facts facts;
        facts.name = "hidden coin";
        facts.num_actions = 4;
        facts.observation_bytes = 2;
        facts.max_plies = 2;
        facts.hidden = true;
        facts.outcomes = win_draw_loss();
        return facts;
    }
    static HiddenCoin start(const Options&, Rng& rng) {
        HiddenCoin position;
        position.heads = rng.below(2);
        return position;
    }
    Mover to_move() const { return ended ? kOver : Mover(passed); }
    int legal_actions(Action* actions) const {
        if (!passed) {
            for (int i = 0; i < 3; ++i) actions[i] = Action(i);
            return 3;
        }
        actions[0] = Action(heads ? 1 : 0);  // player 1 guesses what it sees
        actions[1] = 3;                      // or gives in
        return 2;
    }
    void play(Action action) {
        if (action == 2) {
            passed = true;
            return;
        }
        ended = true;
        winner = passed ? action != 3 : !(action == (heads ? 1 : 0));
    }
    int outcome(int player) const { return player == winner ? kWin : kLoss; }
    void observe(int player, uint8_t* bytes) const {
        bytes[0] = uint8_t(player == 1 ? 1 + heads : 0);
        bytes[1] = uint8_t(passed * 4 + ended * 2 + (to_move() == player));
    }
    void resample_hidden(int player, Rng& rng) {
        if (player == 0) heads = rng.below(2);
    }
    std::vector<HiddenGroup> hidden_groups(int player) const {
        if (player == 1) return {};
        return {{{{uint8_t(heads)}, {uint8_t(!heads)}}}};
    }
    bool heads = false, passed = false, ended = false;
    int winner = 0;
};

// A coin lies hidden from both, heads or tails. Player 0 shows it (0), or stops for a draw (1).
// Once it is shown player 1 can only nod (0), and player 0 wins with heads: showing is worth 0.
// With kSaysTooSoon the game claims from the start that nothing is hidden.
template <bool kSaysTooSoon>
struct ShownCoin : Toy<ShownCoin<kSaysTooSoon>> {
    using Options = typename Toy<ShownCoin>::Options;
    static Facts facts(const Options&) {
        Facts facts;
        facts.name = "shown coin";
        facts.num_actions = 2;
        facts.observation_bytes = 3;
        facts.max_plies = 2;
        facts.hidden = true;
        facts.outcomes = win_draw_loss();
        return facts;
    }
    static ShownCoin start(const Options&, Rng& rng) {
        ShownCoin position;
        position.heads = rng.below(2);
        return position;
    }
    std::vector<uint8_t> write_start() const { return {uint8_t(heads)}; }
    static Result<ShownCoin> read_start(const Options&, std::span<const uint8_t> bytes) {
        ShownCoin position;
        position.heads = bytes[0];
        return position;
    }
    Mover to_move() const { return stage == hidden ? Mover(0) : stage == shown ? Mover(1) : kOver; }
    int legal_actions(Action* actions) const {
        actions[0] = 0;
        actions[1] = 1;
        return stage == hidden ? 2 : 1;
    }
    void play(Action action) { stage = stage == shown ? ended : action == 0 ? shown : stopped; }
    int outcome(int player) const {
        if (stage == stopped) return kDraw;
        return heads == (player == 0) ? kWin : kLoss;
    }
    bool nothing_hidden() const { return kSaysTooSoon || stage != hidden; }
    void observe(int player, uint8_t* bytes) const {
        bytes[0] = uint8_t(stage == hidden ? 0 : 1 + heads);
        bytes[1] = stage;
        bytes[2] = to_move() == player;
    }
    void resample_hidden(int, Rng& rng) {
        if (stage == hidden) heads = rng.below(2);
    }
    std::vector<HiddenGroup> hidden_groups(int) const {
        if (stage != hidden) return {};
        return {{{{uint8_t(heads)}, {uint8_t(!heads)}}}};
    }
    std::string to_text() const { return std::to_string(10 * heads + stage); }
    static Result<ShownCoin> from_text(const Options&, const std::string& text) {
        ShownCoin position;
        position.heads = std::stoi(text) >= 10;
        position.stage = Stage(std::stoi(text) % 10);
        return position;
    }
    Described describe(int player) const { return player < 0 || stage != hidden ? to_text() : "?"; }
    static Result<ShownCoin> from_describe(const Options& options, const Described& described) {
        return from_text(options, *described.text());
    }

    enum Stage : uint8_t { hidden, shown, stopped, ended };
    Stage stage = hidden;
    bool heads = false;
};

}  // namespace zf
