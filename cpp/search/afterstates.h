// Afterstates of a turn: every position that the player to move can reach by its own actions until
// the other player acts, chance moves or the game is over. For players without a tree.
//
// Hidden information is sampled before the turn, several times, so that nothing leaks that the
// player cannot see.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "games/game.h"

namespace zf {

// One row per afterstate; all vectors but the observations have one entry per row.
struct Afterstates {
    std::vector<uint8_t> observations;  // rows of observation_bytes
    std::vector<int32_t> action;        // the first of the turn
    std::vector<int32_t> draw;          // number of the sampled hidden state, from 0
    std::vector<float> observer_sign;   // 1: the player's own observation; -1: the other's
    std::vector<uint8_t> over;          // 1: the game is over
    std::vector<float> reward;          // the player's; 0 if it is not over
};

inline constexpr int kMaxTurnPositions = 100'000;

// Adds the afterstates of the turn that begins in `position`, for `num_draws` samples of the hidden
// state (one if nothing is hidden). Precondition: a player is to move. An afterstate is observed by
// the player who acts next, since the value head trains on such rows; with hidden information, by
// the player itself.
template <Game P>
Result<void> add_afterstates(const P& position, const Facts& facts, uint64_t seed, int num_draws,
                             Afterstates& ends) {
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
        ends.reward.push_back(mover == kOver ? facts.outcomes[end.outcome(player)].reward : 0.0f);
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
            if (num_positions > kMaxTurnPositions)
                return Error{Error::Kind::too_large,
                             "a turn with more than " + std::to_string(kMaxTurnPositions) +
                                 " positions (" + facts.name + "); use a search instead"};
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
