// The action ids of Beasty Bar: a species and the choices that its ability asks for.
//
//   0-11   a species, weakest first, without a choice
//   12-13  the kangaroo hops over 1 or 2
//   14-17  the parrot expels the animal at index 0-3
//   18-21  the chameleon copies the animal at index 0-3, whose ability asks for no choice
//   22-37  22 + 4 i + c: the chameleon copies the animal at index i, a parrot or a kangaroo, with
//          the choice c, an index to expel or a number of animals to hop over
//
// An index is a place in the queue before the card is played; the front is 0.
#pragma once

#include <array>
#include <string>

#include "games/beastybar/cards.h"
#include "games/game.h"

namespace zf::beastybar {

inline constexpr int kMaxInQueue = 4;  // before a card is played
inline constexpr int kMaxHops = 2;
inline constexpr Action kHop = kNumSpecies, kExpel = kHop + kMaxHops, kCopy = kExpel + kMaxInQueue,
                        kCopyAndChoose = kCopy + kMaxInQueue;
inline constexpr int kNumActions = kCopyAndChoose + kMaxInQueue * kMaxInQueue;

constexpr Action bare_action(int species) { return Action(species - 1); }
constexpr Action hop_action(int hops) { return Action(kHop + hops - 1); }
constexpr Action expel_action(int target) { return Action(kExpel + target); }
constexpr Action copy_action(int copied) { return Action(kCopy + copied); }
constexpr Action copy_action(int copied, int choice) {
    return Action(kCopyAndChoose + copied * kMaxInQueue + choice);
}

inline constexpr int8_t kNoChoice = -1;

// What an action id stands for.
struct Turn {
    Species species = kSkunk;
    int8_t copied = kNoChoice;  // index of the animal that the chameleon copies
    int8_t choice = kNoChoice;  // index to expel or number of animals to hop over
};

constexpr std::array<Turn, kNumActions> make_turns() {
    std::array<Turn, kNumActions> turns;
    for (int s = 1; s <= kNumSpecies; ++s) turns[bare_action(s)] = {Species(s)};
    for (int8_t hops = 1; hops <= kMaxHops; ++hops)
        turns[hop_action(hops)] = {kKangaroo, kNoChoice, hops};
    for (int8_t i = 0; i < kMaxInQueue; ++i) {
        turns[expel_action(i)] = {kParrot, kNoChoice, i};
        turns[copy_action(i)] = {kChameleon, i, kNoChoice};
        for (int8_t choice = 0; choice < kMaxInQueue; ++choice)
            turns[copy_action(i, choice)] = {kChameleon, i, choice};
    }
    return turns;
}
inline constexpr std::array<Turn, kNumActions> kTurns = make_turns();

inline std::string turn_text(const Turn& turn) {
    std::string text = kSpeciesNames[turn.species];
    if (turn.copied != kNoChoice) text += " " + std::to_string(turn.copied);
    if (turn.choice != kNoChoice) text += " " + std::to_string(turn.choice);
    return text;
}

}  // namespace zf::beastybar
