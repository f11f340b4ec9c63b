// Plays random games and checks that a game meets the contract of game.h.
//
// The same check serves built-in and custom games. It stops at the first fault and names its game
// and ply.
#pragma once

#include <cmath>

#include "games/check_draws.h"
#include "games/check_facts.h"
#include "games/checked.h"
#include "games/game.h"

namespace zf {

struct CheckReport {
    int64_t num_games = 0;
    int64_t num_plies = 0;
    int64_t num_truncated = 0;  // games that reached max_plies
    int64_t num_resampling_tests = 0;
    int64_t longest = 0;  // plies
};

template <Game P>
class GameChecker {
  public:
    GameChecker(const typename P::Options& options, uint64_t seed)
        : options_(options), facts_(P::facts(options)), rng_(seed) {}

    // Where it is now: "game 3, ply 5: ".
    const std::string& where() const { return where_; }

    Result<CheckReport> run(int num_games) {
        where_ = "facts: ";
        refuse(fault_in_facts(facts_, P::option_specs()));
        for (int game = 0; game < num_games && fault_.empty(); ++game) {
            play_one_game(report_.num_games);
            ++report_.num_games;
        }
        if (!fault_.empty()) return Error{Error::Kind::inconsistent, facts_.name + ": " + fault_};
        return report_;
    }

  private:
    void require(bool holds, const std::string& what) {
        if (!holds && fault_.empty()) fault_ = where_ + what;
    }

    // Takes the fault of another check; an empty text is none.
    void refuse(const std::string& fault) { require(fault.empty(), fault); }

    void play_one_game(int64_t game) {
        where_ = "game " + std::to_string(game) + ", start: ";
        P position = P::start(options_, rng_);
        check_start(position);
        std::vector<P> mirrored(facts_.symmetries.size(), position);
        const bool thorough_game = game % 16 == 0;
        int ply = 0;
        for (; position.to_move() != kOver && ply < facts_.max_plies && fault_.empty(); ++ply) {
            where_ = "game " + std::to_string(game) + ", ply " + std::to_string(ply) + ": ";
            const bool thorough = thorough_game || rng_.below(16) == 0;
            check_position(position, thorough);
            if (thorough) check_symmetries(position, mirrored);
            if (facts_.hidden && thorough) check_hidden(position);
            if (facts_.hidden && nothing_hidden(position, facts_)) check_nothing_hidden(position);
            if (!fault_.empty()) return;
            const bool chance = position.to_move() == kChance;
            const Action id = chance ? position.random_outcome(rng_) : position.random_action(rng_);
            position.play(id);
            for (size_t i = 0; i < mirrored.size(); ++i)
                mirrored[i].play(chance ? id : facts_.symmetries[i].action[id]);
        }
        report_.num_plies += ply;
        report_.longest = std::max<int64_t>(report_.longest, ply);
        where_ = "game " + std::to_string(game) + ", end: ";
        if (position.to_move() == kOver) {
            check_end(position);
        } else {
            ++report_.num_truncated;
            require(facts_.num_chance_outcomes > 0, "the game is not over after max_plies (" +
                                                        std::to_string(facts_.max_plies) + ")");
        }
    }

    void check_start(const P& position) {
        const std::vector<uint8_t> bytes = position.write_start();
        refuse(fault_of_range("the bytes of write_start", 0, kMaxStartBytes, bytes.size()));
        const Result<P> again = P::read_start(options_, bytes);
        require(bool(again), "write_start gives bytes that read_start refuses");
        if (again)
            require(same(position, *again),
                    "write_start and read_start do not give the same position back");
    }

    void check_position(const P& position, bool thorough) {
        const Mover mover = position.to_move();
        require(mover == 0 || mover == 1 || mover == kChance,
                "to_move must be 0, 1, chance or over");
        if (mover == kChance) {
            check_chance(position);
        } else {
            check_actions(position, thorough);
        }
        for (const int player : {0, 1}) check_observation(position, player);
        if (thorough) check_texts(position);
    }

    void check_chance(const P& position) {
        double sum = 0;
        int previous = -1;
        bool drawn_found = false;
        Rng rng = rng_;
        const Action drawn = position.random_outcome(rng);
        for (const ChanceOutcome& outcome : chance_outcomes(position, facts_)) {
            require(outcome.id > previous && outcome.id < facts_.num_chance_outcomes,
                    "chance outcomes must be ascending and below num_chance_outcomes");
            require(outcome.probability > 0, "a chance outcome must have a positive probability");
            previous = outcome.id;
            sum += outcome.probability;
            drawn_found |= outcome.id == drawn;
        }
        require(std::abs(sum - 1) < 1e-12,
                "probabilities add up to " + std::to_string(sum) + " instead of 1");
        require(drawn_found,
                "random_outcome gave " + std::to_string(drawn) + ", which is not possible");
        require(position.roller() == 0 || position.roller() == 1, "roller must be 0 or 1");
    }

    void check_actions(const P& position, bool thorough) {
        const std::vector<Action> actions = legal_actions(position, facts_);
        require(!actions.empty(), "a player is to move but has no legal action");
        std::vector<bool> legal(facts_.num_actions + 1, false);
        int previous = -1;
        for (const Action action : actions) {
            require(action > previous && action < facts_.num_actions,
                    "legal actions must be ascending and below num_actions");
            if (!fault_.empty()) return;
            previous = action;
            legal[action] = true;
        }
        Rng rng = rng_;
        require(legal[position.random_action(rng)],
                "random_action gave an action that is not legal");
        if (!thorough) return;
        for (int id = -1; id <= facts_.num_actions; ++id) {
            P copy = position;
            const bool is_legal = id >= 0 && legal[id];
            require(bool(play_checked(copy, facts_, id)) == is_legal,
                    "an illegal id was played or a legal one refused");
            if (!is_legal) continue;
            if (copy.to_move() == kOver &&
                facts_.outcomes[copy.outcome(position.to_move())].reward > 0)
                require(may_win_at_once(position), "may_win_at_once is false where an action wins");
            const std::string text = position.action_text(Action(id));
            const Result<Action> read = position.action_from_text(text);
            require(read && *read == id, "the text '" + text + "' of action " + std::to_string(id) +
                                             " is not read back");
        }
    }

    void check_observation(const P& position, int player) {
        constexpr uint8_t kCanary = 0xa5;
        std::vector<uint8_t> first(facts_.observation_bytes + 1, kCanary),
            second(facts_.observation_bytes, 0);
        position.observe(player, first.data());
        position.observe(player, second.data());
        require(first.back() == kCanary, "observe writes more than observation_bytes");
        first.pop_back();
        require(first == second, "observe does not write every byte");
    }

    // Whether two positions are the same to players: same mover, actions and observations.
    bool same(const P& a, const P& b) const {
        if (a.to_move() != b.to_move() || legal_actions(a, facts_) != legal_actions(b, facts_))
            return false;
        for (const int player : {0, 1})
            if (observation(a, facts_, player) != observation(b, facts_, player)) return false;
        return a.to_move() != kOver || a.outcome(0) == b.outcome(0);
    }

    void check_texts(const P& position) {
        const std::string text = position.to_text();
        const Result<P> read = P::from_text(options_, text);
        require(bool(read),
                "from_text refuses '" + text + "'" + (read ? "" : ": " + read.error().text));
        if (!read) return;
        require(same(position, *read) && read->to_text() == text,
                "the text '" + text + "' is not read back");
        const Result<P> described = P::from_describe(options_, position.describe(-1));
        require(bool(described), "from_describe refuses what describe gives" +
                                     (described ? "" : ": " + described.error().text));
        if (described)
            require(same(position, *described),
                    "from_describe does not give the described position back");
    }

    void check_symmetries(const P& position, const std::vector<P>& mirrored) {
        for (size_t i = 0; i < mirrored.size(); ++i) {
            const Symmetry& symmetry = facts_.symmetries[i];
            require(mirrored[i].to_move() == position.to_move(),
                    "a symmetry changes who is to move");
            std::vector<Action> mapped = legal_actions(position, facts_);
            for (Action& action : mapped) action = symmetry.action[action];
            std::sort(mapped.begin(), mapped.end());
            require(mapped == legal_actions(mirrored[i], facts_),
                    "a symmetry changes what is legal");
            for (const int player : {0, 1}) {
                const auto plain = observation(position, facts_, player);
                const auto seen = observation(mirrored[i], facts_, player);
                for (size_t byte = 0; byte < plain.size(); ++byte)
                    require(plain[byte] == seen[symmetry.byte[byte]],
                            "a symmetry does not commute with play");
            }
        }
    }

    void check_hidden(const P& position) {
        for (const int player : {0, 1}) {
            const uint64_t seed = rng_.next();
            P first = resampled(position, player, rng_.next()),
              second = resampled(position, player, rng_.next());
            require(observation(position, facts_, player) == observation(first, facts_, player),
                    "resampling what player " + std::to_string(player) +
                        " cannot see changes its observation");
            require(position.describe(player) == first.describe(player),
                    "resampling what player " + std::to_string(player) +
                        " cannot see changes what that player is shown (describe, or picture_for "
                        "in Python)");
            require(chance_outcomes(position, facts_) == chance_outcomes(first, facts_),
                    "resampling what player " + std::to_string(player) +
                        " cannot see changes the chance outcomes; they may not depend on what is "
                        "hidden, so a draw from hidden cards belongs to the deal");
            if (position.to_move() == player) {
                require(legal_actions(position, facts_) == legal_actions(first, facts_),
                        "resampling what the mover cannot see changes its legal actions");
                if (facts_.ends_are_seen) check_seen_ends(position, first);
            }
            const std::string text = resampled(position, player, seed).to_text();
            require(resampled(first, player, seed).to_text() == text &&
                        resampled(second, player, seed).to_text() == text,
                    "the hidden state before resampling leaks into the one drawn");
            if (rng_.below(8) == 0) check_fairness(position, player);
        }
    }

    // Precondition: the position says that nothing is hidden.
    void check_nothing_hidden(const P& position) {
        for (const int player : {0, 1})
            require(num_hidden_states(position.hidden_groups(player)) <= 1 &&
                        same(position, resampled(position, player, rng_.next())),
                    "nothing_hidden is true, but something is hidden from player " +
                        std::to_string(player));
        P after = position;
        after.play(position.to_move() == kChance ? position.random_outcome(rng_)
                                                 : position.random_action(rng_));
        require(after.to_move() == kOver || nothing_hidden(after, facts_),
                "nothing_hidden is true, but something is hidden after the next ply");
    }

    // Precondition: the mover cannot tell the two positions apart.
    void check_seen_ends(const P& position, const P& other) {
        for (const Action action : legal_actions(position, facts_)) {
            P after = position, other_after = other;
            after.play(action);
            other_after.play(action);
            const bool over = after.to_move() == kOver;
            require(over == (other_after.to_move() == kOver) &&
                        (!over || after.outcome(0) == other_after.outcome(0)),
                    "resampling what the mover cannot see changes whether an action ends the game, "
                    "or how, though the facts say that ends are seen");
        }
    }

    static P resampled(P position, int player, uint64_t seed) {
        Rng rng(seed);
        position.resample_hidden(player, rng);
        return position;
    }

    void check_fairness(const P& position, int player) {
        const std::vector<HiddenGroup> groups = position.hidden_groups(player);
        refuse(fault_in_items(groups));
        if (!fault_.empty() || num_hidden_states(groups) <= 1) return;
        refuse(fault_in_draws(groups, [&] {
            return resampled(position, player, rng_.next()).hidden_groups(player);
        }));
        ++report_.num_resampling_tests;
    }

    void check_end(const P& position) {
        const int outcomes = int(facts_.outcomes.size());
        const int mine = position.outcome(0), theirs = position.outcome(1);
        require(mine >= 0 && mine < outcomes && theirs >= 0 && theirs < outcomes,
                "outcome must be an index of outcomes");
        if (!fault_.empty()) return;
        require(
            facts_.outcomes[mine].opposite == theirs,
            "the players' outcomes are not each other's opposite: " + facts_.outcomes[mine].name +
                " for the first, " + facts_.outcomes[theirs].name + " for the second");
        for (const int player : {0, 1}) check_observation(position, player);
        check_texts(position);
    }

    typename P::Options options_;
    Facts facts_;
    Rng rng_;
    CheckReport report_;
    std::string where_, fault_;
};

// Plays `num_games` random games; an error names the first broken promise.
template <Game P>
Result<CheckReport> check_game(const typename P::Options& options, int num_games, uint64_t seed) {
    return GameChecker<P>(options, seed).run(num_games);
}

}  // namespace zf
