// Calls that check their preconditions and report what was wrong: for people and other languages.
#pragma once

#include <algorithm>

#include "games/game.h"

namespace zf {

template <Game P>
std::vector<Action> legal_actions(const P& position, const Facts& facts) {
    std::vector<Action> actions;
    if (position.to_move() != 0 && position.to_move() != 1) return actions;
    actions.resize(facts.num_actions);
    actions.resize(position.legal_actions(actions.data()));
    return actions;
}

template <Game P>
std::vector<ChanceOutcome> chance_outcomes(const P& position, const Facts& facts) {
    std::vector<ChanceOutcome> outcomes;
    if (position.to_move() != kChance) return outcomes;
    outcomes.resize(facts.num_chance_outcomes);
    outcomes.resize(position.chance_outcomes(outcomes.data()));
    return outcomes;
}

template <Game P>
std::vector<uint8_t> observation(const P& position, const Facts& facts, int player) {
    std::vector<uint8_t> bytes(facts.observation_bytes);
    position.observe(player, bytes.data());
    return bytes;
}

inline std::string mover_text(Mover mover) {
    if (mover == kOver) return "the game is over";
    if (mover == kChance) return "chance to move";
    return "player " + std::to_string(mover) + " to move";
}

// Plays, or says why not: "action 31 is not legal here; legal: 0, 4, 7 (beastybar, player 1 to
// move)".
template <Game P>
Result<void> play_checked(P& position, const Facts& facts, int64_t id) {
    const Mover mover = position.to_move();
    std::string legal;
    int num_legal = 0;
    bool found = false;
    const auto consider = [&](Action each) {
        found |= each == id;
        if (++num_legal <= 40) legal += (num_legal > 1 ? ", " : "") + std::to_string(each);
    };
    for (const Action action : legal_actions(position, facts)) consider(action);
    for (const ChanceOutcome& outcome : chance_outcomes(position, facts)) consider(outcome.id);
    if (found) {
        position.play(Action(id));
        return {};
    }
    if (num_legal > 40) legal += ", … " + std::to_string(num_legal) + " in all";
    const std::string what = mover == kChance ? "chance outcome " : "action ";
    return Error{Error::Kind::illegal, what + std::to_string(id) + " is not legal here" +
                                           (num_legal ? "; legal: " + legal : "") + " (" +
                                           facts.name + ", " + mover_text(mover) + ")"};
}

}  // namespace zf
