// The contract of a game. Search, records and self-play know games only through it.
//
// A game is one class, its position: a plain value, cheap to copy, that holds its options and
// shares nothing. Two players, 0 and 1, zero-sum. A player may move several times in a row; nothing
// may assume that turns alternate.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/described.h"
#include "base/random.h"
#include "base/result.h"

namespace zf {

// Who acts next: player 0, player 1, chance (dice), or nobody because the game is over.
using Mover = int8_t;
inline constexpr Mover kChance = 2;
inline constexpr Mover kOver = 3;

// The id of an action in [0, num_actions), or of a chance outcome in [0, num_chance_outcomes).
using Action = uint16_t;

struct ChanceOutcome {
    Action id;
    double probability;
    bool operator==(const ChanceOutcome&) const = default;
};

// Limits of a game: of search (outcomes) and of episodes (the others).
inline constexpr int kMaxOutcomes = 8;
inline constexpr int kMaxPlies = 1 << 16;
inline constexpr int kMaxNameBytes = 64;  // of a game, of an option and of an option's value
inline constexpr int kMaxOptions = 16;
inline constexpr int kMaxStartBytes = 1024;  // of `write_start`

// One way in which a game can end for a player.
struct Outcome {
    std::string name;
    float reward;  // for the player whose outcome it is
    int opposite;  // index of the outcome that the other player then has
};

// A symmetry of the rules: action i becomes action[i], observation byte i becomes byte[i].
struct Symmetry {
    std::vector<Action> action;
    std::vector<uint16_t> byte;
};

// What does not change during a game. Depends on the options only.
struct Facts {
    std::string name;
    int num_actions = 0;
    int num_chance_outcomes = 0;  // 0: the game has no chance
    int observation_bytes = 0;
    int max_plies =
        0;  // actions and chance outcomes together; a game that is not over then is truncated
    bool hidden = false;   // a player does not see everything
    float c_puct = 1.25f;  // PUCT exploration constant of this game, see search/options.h
    // With hidden information: a player's observation determines which of its actions end the game
    // at once, and how.
    bool ends_are_seen = false;
    std::vector<Outcome> outcomes;
    std::vector<Symmetry> symmetries;  // the identity first

    float largest_reward() const {
        float largest = 0;
        for (const Outcome& outcome : outcomes) {
            const float size = outcome.reward < 0 ? -outcome.reward : outcome.reward;
            largest = size > largest ? size : largest;
        }
        return largest;
    }

    // Whether an action that wins at once is known to win, and no other action can be worth more.
    bool takes_immediate_wins() const {
        for (const Outcome& outcome : outcomes)
            if (outcome.reward > 0 && outcome.reward != largest_reward()) return false;
        return !hidden || ends_are_seen;
    }
};

// Hidden items that lie in slots; every way to deal the items out, each slot keeping its number of
// items, is equally likely. (A hand is one slot of several items, each place in a pile a slot of
// one.) The items of a group differ: things that look alike have numbers of their own.
struct HiddenGroup {
    std::vector<std::vector<uint8_t>> slots;
};

// An option of a game: its default and what it may be, for error messages and help.
struct OptionSpec {
    std::string name;
    std::string value;  // the default
    std::vector<std::string> allowed;
};

// Options as text, in the order of `option_specs`, all present and each one allowed.
using OptionValues = std::vector<std::pair<std::string, std::string>>;

template <class P>
concept Game = std::copyable<P> &&
               requires(P p, const P c, const typename P::Options& options,
                        const OptionValues& values, int player, Action action, Action* actions,
                        ChanceOutcome* chances, uint8_t* bytes, std::span<const uint8_t> read,
                        Rng& rng, const std::string& text, const Described& described) {
                   // Options and facts.
                   { P::option_specs() } -> std::same_as<std::vector<OptionSpec>>;
                   { P::parse_options(values) } -> std::same_as<Result<typename P::Options>>;
                   { P::facts(options) } -> std::same_as<Facts>;

                   // A fresh game; deals, where there is a deal, from rng. Dice stay chance.
                   { P::start(options, rng) } -> std::same_as<P>;
                   // The deal as bytes (none where every game starts alike), and back.
                   // `write_start` is called on a position made by `start` or `read_start` and not
                   // played on.
                   { c.write_start() } -> std::same_as<std::vector<uint8_t>>;
                   { P::read_start(options, read) } -> std::same_as<Result<P>>;

                   { c.to_move() } -> std::same_as<Mover>;
                   // Writes the legal ids, ascending, into room for num_actions; gives their number
                   // (at least 1). Needs a player to move.
                   { c.legal_actions(actions) } -> std::same_as<int>;
                   // Where chance moves: the player about to roll, whose view a value before the
                   // roll has.
                   { c.roller() } -> std::same_as<int>;
                   // Writes the possible outcomes, ascending, into room for num_chance_outcomes.
                   // Needs chance to move. Neither they nor their probabilities may depend on what
                   // is hidden from a player: a draw from hidden cards belongs to the deal.
                   { c.chance_outcomes(chances) } -> std::same_as<int>;
                   // Needs a legal action, or a possible outcome where chance moves.
                   { p.play(action) } -> std::same_as<void>;
                   // A legal action, uniformly. Needs a player to move.
                   { c.random_action(rng) } -> std::same_as<Action>;
                   // A possible outcome with its probability. Needs chance to move.
                   { c.random_outcome(rng) } -> std::same_as<Action>;
                   // Index into facts.outcomes. Needs the game to be over.
                   { c.outcome(player) } -> std::same_as<int>;
                   // Writes observation_bytes bytes: what that player may know and nothing else,
                   // among it whether that player is to move.
                   { c.observe(player, bytes) } -> std::same_as<void>;
                   // Draws anew, uniformly over what is consistent with what `player` has seen, all
                   // that it cannot see. The result may not depend on the hidden state held before.
                   { p.resample_hidden(player, rng) } -> std::same_as<void>;
                   // What `player` cannot see, for checking that `resample_hidden` is fair.
                   { c.hidden_groups(player) } -> std::same_as<std::vector<HiddenGroup>>;

                   // Texts. `action_from_text` accepts what `action_text` gives for a legal action;
                   // an error names the legal ones where that helps.
                   { c.to_text() } -> std::same_as<std::string>;
                   { P::from_text(options, text) } -> std::same_as<Result<P>>;
                   // Where chance moves, games may give chance outcomes a text in the same way.
                   { c.action_text(action) } -> std::same_as<std::string>;
                   { c.action_from_text(text) } -> std::same_as<Result<Action>>;
                   // Takes a turn written as people write it, of one action or more.
                   { p.play_from_text(text) } -> std::same_as<Result<void>>;
                   { c.picture() } -> std::same_as<std::string>;
                   // For player -1 everything, else only what that player may see.
                   { c.describe(player) } -> std::same_as<Described>;
                   { P::from_describe(options, described) } -> std::same_as<Result<P>>;
               };

// A game may say, faster than by trying, that no action of the player to move wins at once:
// `bool may_win_at_once() const` is false only there.
template <class P>
bool may_win_at_once(const P& position) {
    if constexpr (requires { position.may_win_at_once(); }) return position.may_win_at_once();
    return true;
}

// A game with hidden information may say that nothing is hidden at a position any more, for either
// player: `bool nothing_hidden() const`. Then what a player has seen determines the position and
// all that can follow from it, and resampling changes nothing.
template <class P>
bool nothing_hidden(const P& position, const Facts& facts) {
    if (!facts.hidden) return true;
    if constexpr (requires { position.nothing_hidden(); }) return position.nothing_hidden();
    return false;
}

// What games without chance, hidden state or a deal share; inherit what fits.
template <class P>
struct PlainGame {
    std::vector<uint8_t> write_start() const { return {}; }
    static Result<P> read_start(const auto& options, std::span<const uint8_t> bytes) {
        if (!bytes.empty())
            return Error{Error::Kind::inconsistent, "a start without a deal has no bytes"};
        Rng unused(0);
        return P::start(options, unused);
    }
    int roller() const { return 0; }
    int chance_outcomes(ChanceOutcome*) const { return 0; }
    Action random_outcome(Rng&) const { return 0; }
    void resample_hidden(int, Rng&) {}
    std::vector<HiddenGroup> hidden_groups(int) const { return {}; }
    Result<void> play_from_text(const std::string& text) {
        P& position = static_cast<P&>(*this);
        const Result<Action> action = position.action_from_text(text);
        if (!action) return action.error();
        position.play(*action);
        return {};
    }
};

// Win, draw, loss: the outcomes of most games. Names of their indices for `outcome`.
inline constexpr int kWin = 0, kDraw = 1, kLoss = 2;
inline std::vector<Outcome> win_draw_loss() {
    return {{"win", 1, kLoss}, {"draw", 0, kDraw}, {"loss", -1, kWin}};
}

}  // namespace zf
