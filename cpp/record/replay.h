// Replays an episode: recovers its positions and observations, and checks untrusted games.
#pragma once

#include <algorithm>
#include <functional>

#include "games/checked.h"
#include "record/episode.h"

namespace zf {

// Replays from the start; calls see(position before the event, event) for each event and then
// see_end(final position). Refuses, by name, whatever the rules do not allow.
template <Game P>
Result<void> replay(const Episode& episode, const typename P::Options& options, const Facts& facts,
                    const std::function<void(const P&, const Event&)>& see,
                    const std::function<void(const P&)>& see_end) {
    const auto fault = [](size_t at, const std::string& text) {
        return Error{Error::Kind::inconsistent, "event " + std::to_string(at) + ": " + text};
    };
    if (episode.game != facts.name)
        return Error{Error::Kind::inconsistent,
                     "an episode of " + episode.game + ", not of " + facts.name};
    Result<P> started = P::read_start(options, episode.start);
    if (!started) return started.error();
    P position = *started;
    if (int64_t(episode.events.size()) > facts.max_plies)
        return Error{Error::Kind::inconsistent, std::to_string(episode.events.size()) +
                                                    " events; " + facts.name + " has at most " +
                                                    std::to_string(facts.max_plies)};
    std::vector<Action> legal;
    for (size_t i = 0; i < episode.events.size(); ++i) {
        const Event& event = episode.events[i];
        if (position.to_move() == kOver) return fault(i, "the game is over already");
        const bool chance = position.to_move() == kChance;
        if (chance != (event.kind == SearchKind::chance))
            return fault(i, chance ? "a decision where chance moves"
                                   : "a chance outcome where a player moves");
        legal = legal_actions(position, facts);
        for (const ChanceOutcome& outcome : chance_outcomes(position, facts))
            legal.push_back(outcome.id);
        if (!std::binary_search(legal.begin(), legal.end(), event.id))
            return fault(i, "id " + std::to_string(event.id) + " is not possible here");
        for (const PolicyEntry& entry : event.policy)
            if (!std::binary_search(legal.begin(), legal.end(), entry.action))
                return fault(i, "the policy names action " + std::to_string(entry.action) +
                                    ", which is not legal");
        if (!event.outcomes_to_move.empty() &&
            event.outcomes_to_move.size() != facts.outcomes.size())
            return fault(i, "a distribution over " + std::to_string(event.outcomes_to_move.size()) +
                                " outcomes; " + facts.name + " has " +
                                std::to_string(facts.outcomes.size()));
        see(position, event);
        position.play(event.id);
    }
    const int outcome = position.to_move() == kOver ? position.outcome(0) : -1;
    if (outcome < 0 && int64_t(episode.events.size()) < facts.max_plies)
        return Error{Error::Kind::inconsistent, "the episode ends before the game does"};
    if (outcome != episode.outcome_first_player)
        return Error{Error::Kind::inconsistent,
                     "the recorded result differs from that of the game"};
    see_end(position);
    return {};
}

// Whether the rules allow the game: every action legal, every chance outcome possible,
// targets on legal actions only, the result right.
template <Game P>
Result<void> verify(const Episode& episode, const typename P::Options& options,
                    const Facts& facts) {
    return replay<P>(episode, options, facts, [](const P&, const Event&) {}, [](const P&) {});
}

// What the players saw, one row per position and observer: the mover, or the player about to roll;
// where hands are hidden, the other player too.
struct ObservationRows {
    std::vector<uint8_t> bytes;   // rows of observation_bytes
    std::vector<uint32_t> event;  // the one that follows the position
    std::vector<uint8_t> observer;
};

template <Game P>
Result<ObservationRows> replay_observations(const Episode& episode,
                                            const typename P::Options& options,
                                            const Facts& facts) {
    ObservationRows rows;
    uint32_t event_number = 0;
    const auto see = [&](const P& position, const Event&) {
        const int first = position.to_move() == kChance ? position.roller() : position.to_move();
        for (int turn = 0; turn < (facts.hidden ? 2 : 1); ++turn) {
            const int observer = first ^ turn;
            rows.bytes.resize(rows.bytes.size() + facts.observation_bytes);
            position.observe(observer,
                             rows.bytes.data() + rows.bytes.size() - facts.observation_bytes);
            rows.event.push_back(event_number);
            rows.observer.push_back(uint8_t(observer));
        }
        ++event_number;
    };
    const Result<void> played = replay<P>(episode, options, facts, see, [](const P&) {});
    if (!played) return played.error();
    return rows;
}

}  // namespace zf
