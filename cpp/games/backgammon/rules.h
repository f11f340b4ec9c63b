// The rules of backgammon; games/backgammon.h says what a position is and how ids are numbered.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "games/backgammon/id.h"
#include "games/game.h"

namespace zf {

namespace backgammon {
struct Leg;  // see turn_text.h
}

class Backgammon : public PlainGame<Backgammon> {
  public:
    using Counts = backgammon::Counts;
    static constexpr int kOff = backgammon::kOff, kBar = backgammon::kBar,
                         kNumSlots = backgammon::kNumSlots;

    struct Options {
        uint8_t checkers = 15;
    };
    static constexpr int kNumRolls = 21, kNumOpenings = 30;

    static std::vector<OptionSpec> option_specs() {
        return {{"checkers", "15", {"1", "2", "3", "15"}}};
    }
    static Result<Options> parse_options(const OptionValues& values) {
        return Options{uint8_t(std::stoi(values[0].second))};
    }
    static Facts facts(const Options&);

    static Backgammon start(const Options& options, Rng&) { return opening(options); }

    Mover to_move() const {
        if (phase_ == Phase::move) return Mover(turn_);
        return phase_ == Phase::over ? kOver : kChance;
    }

    int legal_actions(Action* actions) const {
        int count = 0;
        for (uint32_t rest = sources_[0] | sources_[1]; rest != 0; rest &= rest - 1) {
            const int source = lowest(rest);
            for (const int i : {1, 0}) {  // the smaller die first
                if (sources_[i] & bit(source)) actions[count++] = action_of(source, die_[i]);
            }
        }
        return count;
    }

    Action random_action(Rng& rng) const {
        const uint32_t num_larger = uint32_t(std::popcount(sources_[0]));
        const uint32_t num_smaller = uint32_t(std::popcount(sources_[1]));
        uint32_t chosen = rng.below(num_larger + num_smaller);
        const bool smaller = chosen >= num_larger;
        if (smaller) chosen -= num_larger;
        uint32_t rest = sources_[smaller];
        for (; chosen > 0; --chosen) rest &= rest - 1;
        return action_of(lowest(rest), die_[smaller]);
    }

    // The player who rolls next; player 0 before the opening roll.
    int roller() const { return turn_; }

    int chance_outcomes(ChanceOutcome* outcomes) const {
        const bool opening = phase_ == Phase::opening;
        const int count = opening ? kNumOpenings : kNumRolls;
        for (int i = 0; i < count; ++i) {
            outcomes[i].id = Action(opening ? kNumRolls + i : i);
            outcomes[i].probability = opening                        ? 1.0 / 30
                                      : kRolls[i][0] == kRolls[i][1] ? 1.0 / 36
                                                                     : 2.0 / 36;
        }
        return count;
    }

    Action random_outcome(Rng& rng) const {
        if (phase_ == Phase::opening) return Action(kNumRolls + rng.below(kNumOpenings));
        const uint32_t both = rng.below(36);
        return roll_id(1 + int(both / 6), 1 + int(both % 6));
    }

    void play(Action action) {
        if (phase_ == Phase::move) {
            move_checker(source_of(action), die_of(action));
        } else {
            const auto [first, second] = dice_of(action);
            begin_turn(phase_ == Phase::roll ? turn_ : first < second, first, second);
        }
    }

    int outcome(int player) const {
        const int winner = has_borne_off_all(1), loser = winner ^ 1;
        const bool gammon = count_[loser][kOff] == 0;
        const bool in_winners_home_or_on_bar = (held_[loser] >> 19) != 0;
        const int points = !gammon ? 1 : in_winners_home_or_on_bar ? 3 : 2;
        return player == winner ? 3 - points : 2 + points;
    }

    void observe(int player, uint8_t* bytes) const;

    std::string to_text() const;
    static Result<Backgammon> from_text(const Options& options, const std::string& text);
    // Where chance moves, the text of a roll: `31`; in an opening, player 0's die first.
    std::string action_text(Action action) const;
    Result<Action> action_from_text(const std::string& text) const;
    // A whole turn in any order, `8/5 6/5`, `24/18*/14`, `8/5(2)`; else one action or one roll.
    Result<void> play_from_text(const std::string& text);
    std::string picture() const;
    Described describe(int player) const;
    static Result<Backgammon> from_describe(const Options& options, const Described& described);

  private:
    enum class Phase : uint8_t { opening, roll, move, over };

    // What a text or a description says of a position.
    struct Setup {
        std::array<Counts, 2> count = {};  // kOff is worked out from the rest
        std::vector<int> dice;
        int player = 0;
        int from = 0, skip = 0;  // 0 where not said
        bool opening = false;
    };
    using Leg = backgammon::Leg;
    // One way to play out a turn.
    struct Line {
        std::vector<Action> actions;
        std::string text;
    };

    explicit Backgammon(const Options& options) : options_(options) {}
    static Backgammon opening(const Options& options);
    static Result<std::array<Counts, 2>> checkers_from_describe(const Options& options,
                                                                const Described& described);
    static Result<Backgammon> from_setup(const Options& options, const Setup& setup);
    std::string place_checkers(const std::array<Counts, 2>& count);
    std::string begin_in(const Setup& setup);
    std::string begin_with_dice(const Setup& setup);

    // ---- ids

    // The 21 rolls in the order of their ids, the larger die first.
    static constexpr auto kRolls = [] {
        std::array<std::array<uint8_t, 2>, kNumRolls> rolls{};
        int id = 0;
        for (uint8_t large = 1; large <= 6; ++large)
            for (uint8_t small = 1; small <= large; ++small) rolls[id++] = {large, small};
        return rolls;
    }();
    static Action roll_id(int a, int b) {
        const int large = a > b ? a : b, small = a > b ? b : a;
        return Action(large * (large - 1) / 2 + small - 1);
    }
    static Action opening_id(int first, int second) {
        return Action(kNumRolls + (first - 1) * 5 + second - 1 - (second > first));
    }
    // The dice of a chance id; in an opening player 0's first.
    static std::array<uint8_t, 2> dice_of(Action id) {
        if (id < kNumRolls) return kRolls[id];
        const int first = (id - kNumRolls) / 5, second = (id - kNumRolls) % 5;
        return {uint8_t(first + 1), uint8_t(second + 1 + (second >= first))};
    }
    static Action action_of(int source, int die) { return Action((source - 1) * 6 + die - 1); }
    static int source_of(Action action) { return action / 6 + 1; }
    static int die_of(Action action) { return action % 6 + 1; }

    // ---- sets of points: bit p is point p, bit 25 the bar

    static constexpr uint32_t bit(int point) { return 1u << point; }
    static constexpr uint32_t up_to(int point) { return (2u << point) - 1; }
    static int lowest(uint32_t set) { return std::countr_zero(set); }
    static int highest(uint32_t set) { return 31 - std::countl_zero(set); }
    // A point as the other player counts it.
    static int across(int point) { return 25 - point; }

    // The points from which a player who holds `held` can move by `die`, whatever is done next.
    static uint32_t movable(uint32_t held, uint32_t walls, int die) {
        const uint32_t open = held & ~(walls << die);
        if (held & bit(kBar)) return open & bit(kBar);
        const bool all_home = (held >> 7) == 0;
        return (open & ~up_to(die)) | (all_home ? bearing_off(held, die) : 0);
    }
    // All checkers are home: an exact point bears off, or the highest if it is below the die.
    static uint32_t bearing_off(uint32_t held, int die) {
        if (held & bit(die)) return bit(die);
        return held != 0 && (held >> die) == 0 ? bit(highest(held)) : 0;
    }

    uint32_t walls() const { return wall_[turn_ ^ 1]; }
    uint32_t movable_now(int die) const { return movable(held_[turn_], walls(), die); }
    // The mover's points after one checker moved.
    uint32_t held_after(int source, int die) const {
        const uint32_t left = held_[turn_] & ~(count_[turn_][source] == 1 ? bit(source) : 0);
        return source > die ? left | bit(source - die) : left;
    }
    uint32_t movable_after(int source, int die, int next_die) const {
        return movable(held_after(source, die), walls(), next_die);
    }
    bool is_blot(int point) const { return count_[turn_ ^ 1][across(point)] == 1; }
    bool is_wall(int point) const { return (walls() & bit(point)) != 0; }

    // ---- one turn

    void begin_turn(int player, int die, int other_die) {
        phase_ = Phase::move;
        turn_ = uint8_t(player);
        die_ = {uint8_t(die > other_die ? die : other_die),
                uint8_t(die > other_die ? other_die : die)};
        num_left_ = die == other_die ? 4 : 2;
        limit_ = kBar;
        find_sources();
    }

    void move_checker(int source, int die) {
        const bool smaller_first = num_left_ == 2 && die < die_[0];
        skip_ = smaller_first && repeats_larger_first(source) ? uint8_t(source - die) : 0;
        limit_ = uint8_t(smaller_first ? source - 1 : source);
        take(turn_, source);
        put(turn_, source > die ? source - die : kOff);
        if (source > die && is_blot(source - die)) hit(source - die);
        use_die(die);
        if (has_borne_off_all(turn_)) {
            stop(Phase::over);
        } else {
            find_sources();
        }
    }

    void use_die(int die) {
        if (num_left_ <= 2) {
            if (die == die_[0]) die_[0] = die_[1];
            die_[1] = 0;
        }
        --num_left_;
    }

    // Nobody is to move: forgets what belongs to a turn.
    void stop(Phase phase) {
        phase_ = phase;
        die_ = {};
        num_left_ = limit_ = skip_ = 0;
        sources_ = {};
    }

    // Works out the legal actions; where there is none, the other player rolls.
    void find_sources() {
        sources_ = {};
        if (num_left_ == 1) {
            sources_[0] = sources_of_last_die();
        } else if (num_left_ != 0) {
            die_[0] == die_[1] ? find_sources_of_double() : find_sources_of_two_dice();
        }
        if ((sources_[0] | sources_[1]) != 0) return;
        turn_ ^= 1;
        stop(Phase::roll);
    }

    uint32_t sources_of_last_die() const {
        return movable_now(die_[0]) & up_to(limit_) & ~bit(skip_);
    }

    // Every order of the same moves is legal from the top down, so sources that fall are enough;
    // those count that leave as many moves as can be made.
    void find_sources_of_double() {
        const int most = num_moves_from(limit_);
        for (uint32_t rest = movable_now(die_[0]) & up_to(limit_); rest != 0;) {
            const int source = highest(rest);
            if (num_moves_from(source) < most) return;  // from lower down there are no more
            sources_[0] |= bit(source);
            rest ^= bit(source);
        }
    }
    // How many dice of a double can be used from `limit` and below. Always moving the highest
    // checker is best: it takes no move away from those below.
    int num_moves_from(int limit) const {
        Counts count = count_[turn_];
        uint32_t held = held_[turn_];
        const int die = die_[0];
        for (int moves = 0; moves < num_left_; ++moves) {
            const uint32_t sources = movable(held, walls(), die) & up_to(limit);
            if (sources == 0) return moves;
            limit = highest(sources);
            if (--count[limit] == 0) held &= ~bit(limit);
            if (limit > die) {
                ++count[limit - die];
                held |= bit(limit - die);
            }
        }
        return num_left_;
    }

    // Two different dice, none used: both must be used if possible, else the larger if possible.
    void find_sources_of_two_dice() {
        const int large = die_[0], small = die_[1];
        const uint32_t by_large = movable_now(large), by_small = movable_now(small);
        for (uint32_t rest = by_large; rest != 0; rest &= rest - 1) {
            const int source = lowest(rest);
            if (movable_after(source, large, small) & up_to(source)) sources_[0] |= bit(source);
        }
        for (uint32_t rest = by_small & ~up_to(small); rest != 0; rest &= rest - 1) {
            const int source = lowest(rest);
            if (can_go_on_after_smaller(source)) sources_[1] |= bit(source);
        }
        if ((sources_[0] | sources_[1]) != 0) return;
        sources_[0] = by_large;
        if (by_large == 0) sources_[1] = by_small;
    }
    bool can_go_on_after_smaller(int source) const {
        const int next = source - die_[1];
        const uint32_t sources = movable_after(source, die_[1], die_[0]) & up_to(source - 1);
        if (sources & ~bit(next)) return true;
        return sources != 0 && !repeats_larger_first(source);
    }
    // Two different dice, none used: whether one checker can go from `source` by the larger, then
    // by the smaller die, and the other order, if possible too, leads to the same position.
    bool repeats_larger_first(int source) const {
        const int large = die_[0], small = die_[1];
        if (source <= large || is_wall(source - large)) return false;
        if (is_blot(source - large) || is_blot(source - small)) return false;
        return (movable_after(source, large, small) & bit(source - large)) != 0;
    }

    // ---- checkers

    bool has_borne_off_all(int player) const { return count_[player][kOff] == options_.checkers; }

    void take(int player, int slot) {
        const int left = --count_[player][slot];
        if (left == 0) held_[player] &= ~bit(slot);
        if (left == 1) wall_[player] &= ~bit(across(slot));
    }
    void put(int player, int slot) {
        const int now = ++count_[player][slot];
        if (slot == kOff) return;
        held_[player] |= bit(slot);
        if (now == 2 && slot != kBar) wall_[player] |= bit(across(slot));
    }
    void hit(int point) {
        take(turn_ ^ 1, across(point));
        put(turn_ ^ 1, kBar);
    }

    // ---- texts

    static std::string roll_text(Action id);
    Result<Action> roll_from_text(const std::string& text) const;
    std::string dice_text() const;
    bool says_from() const {
        return phase_ == Phase::move && (limit_ < kBar || (num_left_ == 2 && die_[0] == die_[1]));
    }
    std::string legal_texts() const;
    std::vector<Line> lines() const;
    void add_lines(const Line& played, std::vector<Line>& all) const;
    std::string fault_of_leg(const Leg& leg) const;
    Result<std::array<Counts, 2>> checkers_after(const std::vector<Leg>& legs) const;
    Result<Line> line_from_text(const std::string& text) const;
    Error no_line(const std::string& text, const std::vector<Line>& fitting) const;
    std::string half_picture(bool upper) const;
    std::string line_of_state() const;

    std::array<Counts, 2> count_ = {};
    std::array<uint32_t, 2> held_ = {};     // points with a checker, as their owner counts
    std::array<uint32_t, 2> wall_ = {};     // points with two or more, as the other player counts
    std::array<uint32_t, 2> sources_ = {};  // legal sources for each of die_
    std::array<uint8_t, 2> die_ =
        {};                 // the larger first; equal while two or more of a double are left
    uint8_t num_left_ = 0;  // dice left
    uint8_t limit_ = 0;     // the next source may not be above
    uint8_t skip_ = 0;      // nor this point; 0: none
    uint8_t turn_ = 0;      // who moves or rolls; when over, who won
    Phase phase_ = Phase::opening;
    Options options_;
};

inline Facts Backgammon::facts(const Options&) {
    Facts facts;
    facts.name = "backgammon";
    facts.num_actions = kBar * 6;
    facts.num_chance_outcomes = kNumRolls + kNumOpenings;
    facts.observation_bytes = 2 * kNumSlots + 6 + 2 + 2;
    facts.max_plies = 5000;
    facts.c_puct = 0.2f;  // what differs is often a hundredth of the largest reward
    facts.outcomes = {{"win backgammon", 3, 5}, {"win gammon", 2, 4},   {"win single", 1, 3},
                      {"lose single", -1, 2},   {"lose gammon", -2, 1}, {"lose backgammon", -3, 0}};
    Symmetry identity;
    for (int i = 0; i < facts.num_actions; ++i) identity.action.push_back(Action(i));
    for (int i = 0; i < facts.observation_bytes; ++i) identity.byte.push_back(uint16_t(i));
    facts.symmetries = {identity};
    return facts;
}

inline Backgammon Backgammon::opening(const Options& options) {
    Backgammon position(options);
    std::vector<int> points = {24, 24, 13, 13, 13, 13, 13, 8, 8, 8, 6, 6, 6, 6, 6};
    if (options.checkers < 15) points = {24, 23, 22};
    for (int i = 0; i < options.checkers; ++i)
        for (const int player : {0, 1}) position.put(player, points[i]);
    return position;
}

inline void Backgammon::observe(int player, uint8_t* bytes) const {
    const Counts &own = count_[player], &other = count_[player ^ 1];
    std::memcpy(bytes, &own[1], 25);
    bytes[25] = own[kOff];
    bytes += kNumSlots;
    for (int point = 1; point <= 24; ++point) bytes[point - 1] = other[across(point)];
    bytes[24] = other[kBar];
    bytes[25] = other[kOff];
    bytes += kNumSlots;
    std::memset(bytes, 0, 10);
    if (phase_ == Phase::move) {
        bytes[die_[0] - 1] = uint8_t(num_left_);
        if (die_[1] != 0 && die_[1] != die_[0]) bytes[die_[0] - 1] = bytes[die_[1] - 1] = 1;
        bytes[6] = limit_;
        bytes[7] = skip_;
        bytes[8] = turn_ == player;
    } else if (phase_ == Phase::opening) {
        bytes[9] = 2;
    } else if (phase_ == Phase::roll) {
        bytes[9] = turn_ == player;
    }
}

}  // namespace zf
