// Where a turn can lead: every position that the player to move can reach by its own actions until
// the other player acts, chance rolls or the game is over. For players without a tree.
//
// Where something is hidden it is drawn anew before the turn, several times, so that nothing that
// the player cannot see shows in what is reached.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "games/game.h"

namespace zf {

// One row for each end of a turn; all vectors but the observations have one entry per row.
struct TurnEnds {
    std::vector<uint8_t> observations;      // rows of observation_bytes
    std::vector<int32_t> action;            // that the turn begins with
    std::vector<int32_t> draw;              // number of the hidden state drawn, from 0
    std::vector<float> observer_sign;       // 1: the player's own observation; -1: the other's
    std::vector<uint8_t> over;              // 1: the game is over
    std::vector<float> reward_of_the_turn;  // what the player then has; 0 where it is not over
};

inline constexpr int kMostTurnPositions = 100'000;

// Adds the ends of the turn that `position`, in which a player is to move, begins; over so many
// draws of what is hidden (one where nothing is). An end is observed by whoever acts next, since
// that is where values are learnt; where something is hidden, by the player itself.
template <Game P>
Result<void> add_turn_ends(const P& position, const Facts& facts, uint64_t seed, int num_draws,
                           TurnEnds& ends) {
    const int player = position.to_move();
    std::vector<Action> legal(facts.num_actions);
    const auto add_end = [&](const P& end, Action first, int draw) {
        const Mover mover = end.to_move();
        int observer = player;
        if (!facts.hidden && mover != kOver) observer = mover == kChance ? end.roller() : mover;
        const size_t at = ends.observations.size();
        ends.observations.resize(at + facts.observation_bytes);
        end.observe(observer, &ends.observations[at]);
        ends.action.push_back(first);
        ends.draw.push_back(draw);
        ends.observer_sign.push_back(observer == player ? 1.0f : -1.0f);
        ends.over.push_back(mover == kOver);
        ends.reward_of_the_turn.push_back(
            mover == kOver ? facts.outcomes[end.outcome(player)].reward : 0.0f);
    };
    int num_positions = 0;
    for (int draw = 0; draw < (facts.hidden ? num_draws : 1); ++draw) {
        P start = position;
        Rng rng(derive_seed(seed, uint64_t(draw)));
        if (facts.hidden) start.resample_hidden(player, rng);
        std::vector<std::pair<P, int>> in_flight = {{start, -1}};  // and the first action
        while (!in_flight.empty()) {
            const auto [from, first] = std::move(in_flight.back());
            in_flight.pop_back();
            const int count = from.legal_actions(legal.data());
            num_positions += count;
            if (num_positions > kMostTurnPositions)
                return Error{Error::Kind::too_large, "a turn that goes through more than " +
                                                         std::to_string(kMostTurnPositions) +
                                                         " positions (" + facts.name +
                                                         "); only a search can weigh it"};
            for (int i = 0; i < count; ++i) {
                P next = from;
                next.play(legal[i]);
                const Action begun_with = first < 0 ? legal[i] : Action(first);
                if (next.to_move() == player) {
                    in_flight.emplace_back(std::move(next), begun_with);
                } else {
                    add_end(next, begun_with, draw);
                }
            }
        }
    }
    return {};
}

}  // namespace zf
