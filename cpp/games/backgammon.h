// Backgammon: cubeless money play; gammons and backgammons count, no Jacoby rule.
//
// Options: `checkers` 15, or 1 to 3 for hypergammon (on the 24, then the 23, then the 22 point).
//
// Dice are chance. A new game opens with a roll that is never a double: each player throws one die,
// and the higher starts with both. Each later turn begins with one of the 21 rolls. One checker
// move is one action; the same player moves until the dice are used. A player who cannot move
// loses the turn without an action.
//
// Each distinct result of a turn is reached by exactly one sequence of actions. Sources never rise
// within a turn. With two different dice, the larger first and the smaller first could still reach
// the same result in three ways; then only the larger first is legal:
// - two checkers from one point: after the smaller die the next source is below the first;
// - one checker with both dice, nothing hit between: after the smaller die it stops (`skip`);
// - two checkers borne off: the smaller die may not bear off first.
//
// Players count points from their own side: 1 to 24, 25 the bar, 0 off the board. Action ids are
// (source - 1) * 6 + die - 1. Chance ids: 0 to 20 the rolls 11, 21, 22, 31 ... 66; 21 to 50 the
// openings 12, 13 ... 65, player 0's die first.
//
// Text: `ID [dice left] [p=1] [from=N] [skip=M] [opening]`. ID is the GNU Backgammon position ID
// for the player who moves or rolls; `p=1` says that this is player 1. Without dice any of the 21
// rolls comes next; with dice that cannot be played the other player rolls. In mid-turn, `from=N`
// keeps the next source at N or below, and `skip=M` closes M. Two equal dice without `from=` are a
// fresh roll, with four moves left.
//
// Observation, as the observer counts points:
// - its checkers on 1 to 24, on the bar and off: 26 bytes;
// - the other's likewise: 26 bytes;
// - how many of each die 1 to 6 are left: 6 bytes;
// - `from` and `skip` as the mover counts points, 0 where no turn is in progress: 2 bytes;
// - 1 if the observer is to move: 1 byte;
// - 1 if the observer is about to roll, 2 before the opening roll: 1 byte.
#pragma once

#include "games/backgammon/rules.h"
#include "games/backgammon/text.h"
#include "games/backgammon/turn_text.h"

static_assert(zf::Game<zf::Backgammon>);
