// What training learns from: an episode as rows, one per position and observer, and how rows lie
// packed in memory. The layout is described here alone; Python asks for it (`row_layout`).
#pragma once

#include <optional>

#include "record/replay.h"
#include "search/leaf_solver.h"

namespace zf {

// How value targets are made of an episode.
struct RowOptions {
    float value_lambda = 0;          // of TD(lambda)
    bool use_solved_values = false;  // exact values where the game's solver knows them
};

// R rows. A decision gives a row of the mover, with a policy if its search was a full one; where
// hands are hidden also one of the other player; a position before a roll one of the player about
// to roll. Rows without a policy train the value. A truncated game gives none.
struct TrainingRows {
    std::vector<uint8_t> observations;  // [R, observation_bytes]
    std::vector<uint8_t> legal;         // [R, num_actions], 0 or 1; zeros where there is no policy
    std::vector<uint16_t> policy;       // [R, num_actions], in 1 / kPolicyUnit
    std::vector<uint8_t> outcome_observer;  // [R] the outcome of the game
    // [R, num_outcomes], the search value in 1 / kOutcomeUnit; zeros where there was no search.
    std::vector<uint16_t> search_outcomes_observer;
    std::vector<uint8_t> is_solved;           // [R] 1: the search value is exact
    std::vector<uint8_t> looks_ahead;         // [R] 1: the search value looks a turn ahead
    std::vector<float> surprise;              // [R]
    std::vector<int32_t> reply;               // [R] the other player's next action, or -1
    std::vector<uint8_t> observer;            // [R]
    std::vector<uint32_t> event;              // [R] the event that follows the position
    std::vector<uint8_t> final_observations;  // [2, observation_bytes], by player
};

// A field of a packed row: a value of type T, or `count` of them, from byte `offset` on.
template <class T>
struct RowScalar {
    const char* name;
    size_t offset;
};
template <class T>
struct RowArray {
    const char* name;
    size_t offset, count;
};

// Where the fields of a packed row lie: one after another without gaps, numbers as they are in
// memory.
class RowLayout {
    size_t num_bytes_ = 0;  // of the fields placed so far; first, since placing them counts it up

  public:
    explicit RowLayout(const Facts& facts);

    RowArray<uint8_t> observation;
    RowArray<uint8_t> legal_bits;  // the first of eight actions is the highest bit
    RowArray<uint16_t> policy;     // in 1 / kPolicyUnit
    RowScalar<bool> has_policy;
    RowScalar<uint8_t> outcome;
    RowArray<uint16_t> search_outcomes;  // in 1 / kOutcomeUnit; zeros where there was no search
    RowScalar<bool> is_solved;           // whether they are exact
    RowScalar<bool> looks_ahead;         // whether they look a turn ahead
    RowScalar<float> surprise;
    RowScalar<int32_t> reply;  // an action, or -1
    RowScalar<int64_t> final;  // the row's observation among final_observations

    size_t num_bytes() const { return num_bytes_; }

    // Calls visit(field) for each field in order.
    template <class Visit>
    void for_each(Visit visit) const {
        visit(observation);
        visit(legal_bits);
        visit(policy);
        visit(has_policy);
        visit(outcome);
        visit(search_outcomes);
        visit(is_solved);
        visit(looks_ahead);
        visit(surprise);
        visit(reply);
        visit(final);
    }

  private:
    template <class T>
    RowScalar<T> scalar(const char* name);
    template <class T>
    RowArray<T> array(const char* name, size_t count);
};

// The rows of episodes, packed one after another.
class PackedRows {
  public:
    explicit PackedRows(const Facts& facts) : layout(facts) {}

    RowLayout layout;
    std::vector<uint8_t> rows;                // [R, layout.num_bytes()]
    std::vector<uint32_t> num_rows;           // of each episode, in order; 0 where truncated
    std::vector<uint8_t> final_observations;  // [2 * episodes with rows, observation_bytes]

    void add(const TrainingRows& episode);

  private:
    void pack(const TrainingRows& episode, size_t row, uint8_t* out) const;

    int64_t num_episodes_ = 0;  // with rows
};

template <Game P>
class RowMaker {
  public:
    // The solver may be null: no value is exact but a search's own.
    RowMaker(const Episode& episode, const Facts& facts, float value_lambda, LeafSolver<P>* solver)
        : episode_(episode), facts_(facts), lambda_(value_lambda), solver_(solver) {}

    // Replays the episode, and so checks it.
    Result<TrainingRows> make(const typename P::Options& options) {
        const Result<void> played = replay<P>(
            episode_, options, facts_,
            [&](const P& position, const Event& event) { add_position(position, event); },
            [&](const P& position) {
                rows_.final_observations.resize(2 * facts_.observation_bytes);
                for (const int player : {0, 1})
                    position.observe(player, rows_.final_observations.data() +
                                                 player * facts_.observation_bytes);
            });
        if (!played) return played.error();
        if (episode_.outcome_first_player < 0) return TrainingRows{};
        add_replies();
        add_search_outcomes();
        return std::move(rows_);
    }

  private:
    void add_position(const P& position, const Event& event) {
        const bool chance = position.to_move() == kChance;
        const int mover = chance ? position.roller() : position.to_move();
        movers_.push_back(chance ? kChance : Mover(mover));
        views_.push_back(mover);
        solved_.emplace_back();
        if (solver_ && nothing_hidden(position, facts_))
            solved_.back() = solver_->solve_leaf(position);
        for (int turn = 0; turn < (facts_.hidden ? 2 : 1); ++turn)
            add_row(position, event, mover ^ turn, mover);
    }

    void add_row(const P& position, const Event& event, int observer, int mover) {
        const size_t row = rows_.observer.size();
        rows_.observer.push_back(uint8_t(observer));
        rows_.event.push_back(uint32_t(movers_.size() - 1));
        rows_.is_solved.push_back(solved_.back().has_value());
        rows_.looks_ahead.push_back(event.kind == SearchKind::chance &&
                                    !event.outcomes_to_move.empty());
        rows_.surprise.push_back(0);
        rows_.observations.resize((row + 1) * facts_.observation_bytes);
        position.observe(observer, rows_.observations.data() + row * facts_.observation_bytes);

        const int first = episode_.outcome_first_player;
        if (first >= 0)
            rows_.outcome_observer.push_back(
                uint8_t(observer == 0 ? first : facts_.outcomes[first].opposite));
        rows_.legal.resize((row + 1) * facts_.num_actions);
        rows_.policy.resize((row + 1) * facts_.num_actions);
        if (observer != mover || event.policy.empty()) return;
        rows_.surprise[row] = float(event.surprise) / float(kSurpriseUnit);
        for (const Action action : legal_actions(position, facts_))
            rows_.legal[row * facts_.num_actions + action] = 1;
        for (const PolicyEntry& entry : event.policy)
            rows_.policy[row * facts_.num_actions + entry.action] = entry.weight;
    }

    // For each row, the first action after its event of the player who is not its observer.
    void add_replies() {
        for (size_t row = 0; row < rows_.observer.size(); ++row) {
            int32_t reply = -1;
            for (size_t at = rows_.event[row] + 1; at < movers_.size() && reply < 0; ++at)
                if (movers_[at] == (rows_.observer[row] ^ 1)) reply = episode_.events[at].id;
            rows_.reply.push_back(reply);
        }
    }

    // The search value of each row as a TD(lambda) target (Sutton, 1988): the value of the next
    // search, and with weight lambda what follows its turn, up to the outcome of the game. A turn
    // is all that one player does before the other, or chance, acts. A turn-ahead value ends the
    // trace: it expects over all rolls, and what follows is one of them. So does an exact value,
    // which takes the place of a search's. Rows without a later search have no search value.
    void add_search_outcomes() {
        const size_t num_outcomes = facts_.outcomes.size();
        rows_.search_outcomes_observer.resize(rows_.observer.size() * num_outcomes);
        std::vector<float> ahead_first_player(num_outcomes, 0.0f);
        ahead_first_player[episode_.outcome_first_player] = float(kOutcomeUnit);
        std::vector<float> after_turn_first_player;
        bool any_search = false;
        size_t row = rows_.observer.size();
        for (size_t at = movers_.size(); at-- > 0;) {
            const std::vector<uint16_t>& searched = episode_.events[at].outcomes_to_move;
            const std::optional<ProvenValue>& solved = solved_[at];
            any_search |= solved || !searched.empty();
            if (at + 1 == movers_.size() || movers_[at] != movers_[at + 1])
                after_turn_first_player = ahead_first_player;
            const float lambda = movers_[at] == kChance ? 0 : lambda_;
            for (size_t i = 0; solved && i < num_outcomes; ++i)
                ahead_first_player[in_view_of(views_[at], i)] =
                    solved->outcomes_to_move[i] * float(kOutcomeUnit);
            for (size_t i = 0; !solved && i < searched.size(); ++i) {
                const size_t to = in_view_of(views_[at], i);
                ahead_first_player[to] =
                    (1 - lambda) * float(searched[i]) + lambda * after_turn_first_player[to];
            }
            while (row > 0 && rows_.event[row - 1] == at) {
                --row;
                for (size_t i = 0; any_search && i < num_outcomes; ++i)
                    rows_.search_outcomes_observer[row * num_outcomes + i] =
                        uint16_t(ahead_first_player[in_view_of(rows_.observer[row], i)] + 0.5f);
            }
        }
    }

    // A player's outcome in the first player's view, and the reverse.
    size_t in_view_of(int player, size_t outcome) const {
        return player == 0 ? outcome : size_t(facts_.outcomes[outcome].opposite);
    }

    const Episode& episode_;
    const Facts& facts_;
    float lambda_;
    LeafSolver<P>* solver_;
    std::vector<Mover> movers_;  // by event
    std::vector<int> views_;     // by event: the mover, or who is about to roll
    std::vector<std::optional<ProvenValue>> solved_;  // by event, in that view
    TrainingRows rows_;
};

template <Game P>
Result<TrainingRows> training_rows(const Episode& episode, const typename P::Options& options,
                                   const Facts& facts, float value_lambda,
                                   LeafSolver<P>* solver = nullptr) {
    return RowMaker<P>(episode, facts, value_lambda, solver).make(options);
}

}  // namespace zf
