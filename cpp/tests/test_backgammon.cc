// Backgammon against outside truth (counted plays, solved endings), and its one way to each result
// of a turn against a plain generator that tries everything, in this file.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "games/backgammon.h"
#include "games/check.h"

#ifndef ZF_ORACLES
#define ZF_ORACLES "tests/oracles"
#endif

using zf::Action;
using zf::Backgammon;
using zf::ChanceOutcome;
using zf::Described;
using zf::kChance;
using zf::kOver;
using zf::Rng;

namespace {

const std::string kStart = "4HPwATDgc/ABMA";
constexpr Backgammon::Options kStandard{15};

Backgammon read(const std::string& text, int checkers = 15) {
    const auto position = Backgammon::from_text({uint8_t(checkers)}, text);
    REQUIRE_MESSAGE(bool(position), text << ": " << position.error().text);
    return *position;
}

std::string error_of(const std::string& text, int checkers = 15) {
    const auto position = Backgammon::from_text({uint8_t(checkers)}, text);
    REQUIRE(!position);
    return position.error().text;
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

std::vector<Action> legal(const Backgammon& position) {
    return zf::legal_actions(position, Backgammon::facts(kStandard));
}

std::vector<std::string> legal_texts(const Backgammon& position) {
    std::vector<std::string> texts;
    for (const Action action : legal(position)) texts.push_back(position.action_text(action));
    return texts;
}

Backgammon after(Backgammon position, const std::string& turn) {
    const auto played = position.play_from_text(turn);
    REQUIRE_MESSAGE(bool(played), turn << ": " << played.error().text);
    return position;
}

std::string error_of_turn(Backgammon position, const std::string& turn) {
    const auto played = position.play_from_text(turn);
    REQUIRE(!played);
    return played.error().text;
}

// Both players' checkers as each counts its own points: 0 off, 1 to 24, 25 the bar.
struct Board {
    std::array<int, 26> own = {}, other = {};
    auto operator<=>(const Board&) const = default;
};

Board board_of(const Backgammon& position, int player) {
    std::vector<uint8_t> bytes(size_t(Backgammon::facts(kStandard).observation_bytes));
    position.observe(player, bytes.data());
    Board board;
    for (int point = 1; point <= 24; ++point) {
        board.own[point] = bytes[point - 1];
        board.other[25 - point] = bytes[26 + point - 1];
    }
    board.own[25] = bytes[24], board.own[0] = bytes[25];
    board.other[25] = bytes[50], board.other[0] = bytes[51];
    return board;
}

Described described(const Board& board, int player, const std::vector<int>& dice) {
    Described::List points, dice_list(dice.begin(), dice.end());
    const Board& b = board;
    for (int point = 1; point <= 24; ++point) {
        const int of_first = player == 0 ? b.own[point] : b.other[point];
        const int of_second = player == 0 ? b.other[25 - point] : b.own[25 - point];
        points.emplace_back(of_first - of_second);
    }
    const auto of_both = [&](int slot) {
        return player == 0 ? Described::List{b.own[slot], b.other[slot]}
                           : Described::List{b.other[slot], b.own[slot]};
    };
    return Described::Fields{{"points", points},
                             {"bar", of_both(25)},
                             {"off", of_both(0)},
                             {"dice", dice_list},
                             {"player", player}};
}

Backgammon position_of(const Board& board, int player, const std::vector<int>& dice, int checkers) {
    const auto position =
        Backgammon::from_describe({uint8_t(checkers)}, described(board, player, dice));
    REQUIRE_MESSAGE(bool(position), position.error().text);
    return *position;
}

// ---- a second implementation of the rules: every order of the dice, every checker

bool can_move(const Board& board, int source, int die) {
    if (board.own[source] == 0 || (board.own[25] > 0 && source != 25)) return false;
    const int to = source - die;
    if (to > 0) return board.other[25 - to] < 2;
    for (int point = 7; point <= 25; ++point)
        if (board.own[point] > 0) return false;
    for (int point = source + 1; point <= 6; ++point)
        if (to < 0 && board.own[point] > 0) return false;
    return true;
}

Board moved(Board board, int source, int die) {
    const int to = std::max(source - die, 0);
    --board.own[source];
    ++board.own[to];
    if (to > 0 && board.other[25 - to] == 1) --board.other[25 - to], ++board.other[25];
    return board;
}

// Results by number of dice used, and where one was used, which.
struct Results {
    std::map<int, std::set<Board>> by_num_dice;
    std::map<int, std::set<Board>> by_only_die;
};

void try_all(const Board& board, const std::vector<int>& dice, size_t used, Results& results) {
    results.by_num_dice[int(used)].insert(board);
    if (used == 1) results.by_only_die[dice[0]].insert(board);
    if (used == dice.size()) return;
    for (int source = 1; source <= 25; ++source)
        if (can_move(board, source, dice[used]))
            try_all(moved(board, source, dice[used]), dice, used + 1, results);
}

std::set<Board> all_results(const Board& board, int die, int other_die) {
    Results results;
    if (die == other_die) {
        try_all(board, {die, die, die, die}, 0, results);
    } else {
        try_all(board, {die, other_die}, 0, results);
        try_all(board, {other_die, die}, 0, results);
    }
    const int most = results.by_num_dice.rbegin()->first;
    if (most == 0) return {};
    if (most == 1 && die != other_die) return results.by_only_die.rbegin()->second;
    return results.by_num_dice.rbegin()->second;
}

// ---- the results of a turn by the game itself, one per sequence of actions

void add_results(const Backgammon& position, int player, std::vector<Board>& results) {
    for (const Action action : legal(position)) {
        Backgammon next = position;
        next.play(action);
        if (next.to_move() == player) {
            add_results(next, player, results);
        } else {
            results.push_back(board_of(next, player));
        }
    }
}

std::vector<Board> results_of_turn(const Backgammon& position, int player) {
    std::vector<Board> results;
    if (position.to_move() == player) add_results(position, player, results);
    return results;
}

// Each result once, and the same ones as by trying everything.
void check_turn(const Board& board, int player, int die, int other_die, int checkers) {
    const Backgammon position = position_of(board, player, {die, other_die}, checkers);
    const std::vector<Board> results = results_of_turn(position, player);
    const std::set<Board> distinct(results.begin(), results.end());
    INFO(position.to_text());
    REQUIRE(distinct.size() == results.size());
    REQUIRE(distinct == all_results(board, die, other_die));
    if (results.empty()) {
        REQUIRE(position.to_move() == kChance);
        REQUIRE(position.roller() == 1 - player);
        REQUIRE(board_of(position, player) == board);
    }
}

void check_all_rolls(const Board& board, int player, int checkers) {
    for (int die = 1; die <= 6; ++die)
        for (int other_die = 1; other_die <= die; ++other_die)
            check_turn(board, player, die, other_die, checkers);
}

// Checkers thrown at random, all points from `lowest` to `highest` as likely, some off, some on the
// bar.
Board random_board(Rng& rng, int checkers, int lowest, int highest) {
    Board board;
    for (auto* side : {&board.own, &board.other}) {
        const auto& against = side == &board.own ? board.other : board.own;
        for (int i = 0; i < checkers; ++i) {
            const uint32_t drawn = rng.below(12);
            int slot = drawn == 0   ? 25
                       : drawn == 1 ? 0
                                    : lowest + int(rng.below(uint32_t(highest - lowest + 1)));
            if (slot >= 1 && slot <= 24 && against[25 - slot] > 0) slot = 0;
            ++(*side)[slot];
        }
        if ((*side)[0] == checkers) --(*side)[0], ++(*side)[25];
    }
    return board;
}

// Plays to the end at random and gives every position before a roll to `visit`.
template <class Visit>
void play_at_random(int checkers, Rng& rng, Visit visit) {
    Backgammon position = Backgammon::start({uint8_t(checkers)}, rng);
    while (position.to_move() != kOver) {
        if (position.to_move() == kChance) visit(position);
        position.play(position.to_move() == kChance ? position.random_outcome(rng)
                                                    : position.random_action(rng));
    }
}

// ---- solving small endings through the game's own chance nodes

std::vector<ChanceOutcome> chances(const Backgammon& position) {
    return zf::chance_outcomes(position, Backgammon::facts(kStandard));
}

// The positions in which a turn can end, each with another to move.
void add_ends(const Backgammon& position, int player, std::vector<Backgammon>& ends) {
    if (position.to_move() != player) return ends.push_back(position);
    for (const Action action : legal(position)) {
        Backgammon next = position;
        next.play(action);
        add_ends(next, player, ends);
    }
}

std::vector<Backgammon> ends_after(const Backgammon& before_roll, Action roll) {
    const int player = before_roll.roller();
    Backgammon position = before_roll;
    position.play(roll);
    std::vector<Backgammon> ends;
    add_ends(position, player, ends);
    return ends;
}

// The fewest rolls, on average, that bear off a player's checkers when the other always passes.
double mean_rolls(const Board& board, std::map<Board, double>& known) {
    if (board.own[0] == 15) return 0;
    if (const auto found = known.find(board); found != known.end()) return found->second;
    const Backgammon position = position_of(board, 0, {}, 15);
    double mean = 1;
    for (const auto& [roll, probability] : chances(position)) {
        double best = 1e9;
        for (const Backgammon& end : ends_after(position, roll))
            best = std::min(best, mean_rolls(board_of(end, 0), known));
        mean += probability * best;
    }
    return known[board] = mean;
}

double mean_rolls(const std::vector<int>& points) {
    Board board;
    for (const int point : points) ++board.own[point];
    board.own[0] = 15 - int(points.size());
    board.other[1] = 15;
    std::map<Board, double> known;
    return mean_rolls(board, known);
}

// Every position before a roll that can follow `start`, solved by value iteration: the points that
// the player about to roll wins on average when both play best.
class Solver {
  public:
    explicit Solver(const Backgammon& start) : rewards_(Backgammon::facts(kStandard).outcomes) {
        add(start);
        for (size_t i = 0; i < positions_.size(); ++i) expand(i);
        values_roller_.assign(positions_.size(), 0);
        while (sweep() > 1e-15) {
        }
    }
    double value_roller(const Backgammon& position) const {
        return values_roller_[index_.at(position.to_text())];
    }

  private:
    struct Roll {
        double probability;
        double best_reward;        // of the games that end at once; -4 where none does
        std::vector<size_t> next;  // positions before the other's roll
    };

    size_t add(const Backgammon& position) {
        const auto [at, is_new] = index_.emplace(position.to_text(), positions_.size());
        if (is_new) positions_.push_back(position);
        return at->second;
    }
    void expand(size_t i) {
        const Backgammon position = positions_[i];
        std::vector<Roll> rolls;
        for (const auto& [id, probability] : chances(position)) {
            Roll roll{probability, -4, {}};
            for (const Backgammon& end : ends_after(position, id)) {
                if (end.to_move() == kOver) {
                    const double reward = rewards_[end.outcome(position.roller())].reward;
                    roll.best_reward = std::max(roll.best_reward, reward);
                } else {
                    REQUIRE(end.roller() == 1 - position.roller());
                    roll.next.push_back(add(end));
                }
            }
            rolls.push_back(roll);
        }
        rolls_.push_back(rolls);
    }
    double sweep() {
        double largest_change = 0;
        for (size_t i = 0; i < rolls_.size(); ++i) {
            double value_roller = 0;
            for (const Roll& roll : rolls_[i]) {
                double best = roll.best_reward;
                for (const size_t next : roll.next) best = std::max(best, -values_roller_[next]);
                value_roller += roll.probability * best;
            }
            largest_change = std::max(largest_change, std::abs(value_roller - values_roller_[i]));
            values_roller_[i] = value_roller;
        }
        return largest_change;
    }

    std::vector<zf::Outcome> rewards_;
    std::vector<Backgammon> positions_;
    std::map<std::string, size_t> index_;
    std::vector<std::vector<Roll>> rolls_;
    std::vector<double> values_roller_;
};

}  // namespace

TEST_SUITE("backgammon") {
    TEST_CASE("the plays from the start are as many as known") {
        const std::map<std::string, size_t> known = {{"31", 16}, {"22", 75}, {"65", 7}, {"11", 42}};
        for (const auto& [roll, count] : known)
            CHECK(results_of_turn(read(kStart + " " + roll), 0).size() == count);
        size_t sum = 0;
        for (const auto& [roll, probability] : chances(read(kStart)))
            sum += ends_after(read(kStart), roll).size();
        CHECK(sum == 447);
    }

    TEST_CASE(
        "the distinct results of a turn are as many as another engine counts, from both seats") {
        std::ifstream file(ZF_ORACLES "/backgammon_play_counts.txt");
        std::string row;
        int num_rows = 0;
        while (std::getline(file, row)) {
            if (row.empty() || row[0] == '#') continue;
            std::istringstream numbers(row);
            Board board;
            board.own[0] = board.other[0] = 15;
            for (auto* side : {&board.own, &board.other})
                for (int slot = 1; slot <= 25; ++slot) {
                    numbers >> (*side)[slot];
                    (*side)[0] -= (*side)[slot];
                }
            int die, other_die, count;
            REQUIRE(bool(numbers >> die >> other_die >> count));
            for (const int player : {0, 1}) {
                const std::vector<Board> results =
                    results_of_turn(position_of(board, player, {die, other_die}, 15), player);
                INFO(row);
                CHECK(int(results.size()) == count);
                CHECK(int(std::set<Board>(results.begin(), results.end()).size()) == count);
            }
            ++num_rows;
        }
        CHECK(num_rows == 300);
    }

    TEST_CASE(
        "each result of a turn is reached by one sequence of actions, in positions of random "
        "games") {
        Rng rng(1);
        for (const int checkers : {1, 2, 3, 15}) {
            for (int game = 0; game < 60; ++game) {
                play_at_random(checkers, rng, [&](const Backgammon& position) {
                    if (rng.below(checkers == 15 ? 40 : 4) != 0) return;
                    check_all_rolls(board_of(position, position.roller()), position.roller(),
                                    checkers);
                });
            }
        }
    }

    TEST_CASE(
        "each result of a turn is reached by one sequence of actions, in positions thrown at "
        "random") {
        Rng rng(2);
        for (const int checkers : {1, 2, 3, 15}) {
            for (int i = 0; i < 150; ++i) {
                const int lowest = 1 + int(rng.below(3)), highest = 24 - int(rng.below(19));
                check_all_rolls(random_board(rng, checkers, lowest, highest), i & 1, checkers);
            }
        }
        for (int i = 0; i < 400; ++i)
            check_all_rolls(random_board(rng, 3, 1, 7), 0, 3);  // bearing off
    }

    TEST_CASE("no two legal actions have the same text") {
        Rng rng(3);
        for (int i = 0; i < 3000; ++i) {
            const Board board = random_board(rng, i % 2 == 0 ? 3 : 15, 1, 7 + int(rng.below(4)));
            const int die = 1 + int(rng.below(6)), other_die = 1 + int(rng.below(6));
            const Backgammon position =
                position_of(board, 0, {die, other_die}, i % 2 == 0 ? 3 : 15);
            const auto texts = legal_texts(position);
            INFO(position.to_text());
            CHECK(std::set<std::string>(texts.begin(), texts.end()).size() == texts.size());
        }
    }

    TEST_CASE(
        "a new game opens with one of thirty equally likely rolls, and the higher die starts") {
        Rng rng(4);
        Backgammon start = Backgammon::start(kStandard, rng);
        REQUIRE(start.to_move() == kChance);
        CHECK(start.roller() == 0);
        const auto outcomes = chances(start);
        CHECK(outcomes.size() == 30);
        for (const auto& [id, probability] : outcomes) {
            CHECK(probability == 1.0 / 30);
            const std::string dice = start.action_text(id);
            CHECK(dice[0] != dice[1]);
            Backgammon opened = start;
            opened.play(id);
            CHECK(opened.to_move() == (dice[0] > dice[1] ? 0 : 1));
            CHECK(*start.action_from_text(dice) == id);
        }
        CHECK(after(start, "31").to_text() == kStart + " 31");
        CHECK(after(start, "13").to_text() == kStart + " 31 p=1");
        CHECK(contains(error_of_turn(start, "33"), "never a double"));
    }

    TEST_CASE("later any of the 21 rolls comes, a double half as often") {
        const Backgammon position = read(kStart + " p=1");
        CHECK(position.to_move() == kChance);
        CHECK(position.roller() == 1);
        CHECK(chances(position).size() == 21);
        for (const auto& [id, probability] : chances(position)) {
            const std::string dice = position.action_text(id);
            CHECK(probability == (dice[0] == dice[1] ? 1.0 / 36 : 2.0 / 36));
            CHECK(*position.action_from_text(dice) == id);
        }
    }

    TEST_CASE("random outcomes and actions are drawn as often as they are likely") {
        Rng rng(5);
        const int draws = 360'000;
        std::map<Action, double> rolls, openings, actions;
        const Backgammon before = read(kStart), mid = read(kStart + " 31");
        const Backgammon start = Backgammon::start(kStandard, rng);
        for (int i = 0; i < draws; ++i) {
            rolls[before.random_outcome(rng)] += 1.0 / draws;
            openings[start.random_outcome(rng)] += 1.0 / draws;
            actions[mid.random_action(rng)] += 1.0 / draws;
        }
        for (const auto& [id, probability] : chances(before))
            CHECK(std::abs(rolls[id] - probability) < 0.002);
        for (const auto& [id, probability] : chances(start))
            CHECK(std::abs(openings[id] - probability) < 0.002);
        const auto all = legal(mid);
        CHECK(actions.size() == all.size());
        for (const Action id : all) CHECK(std::abs(actions[id] - 1.0 / double(all.size())) < 0.004);
    }

    TEST_CASE("a roll that cannot be played goes to the other player's roll") {
        Board board;
        board.own[25] = 2, board.own[6] = 13;
        for (int point = 1; point <= 6; ++point) board.other[point] = 2;
        board.other[8] = 3;
        for (const int player : {0, 1}) {
            Backgammon position = position_of(board, player, {}, 15);
            position.play(0);
            CHECK(position.to_move() == kChance);
            CHECK(position.roller() == 1 - player);
        }
    }

    TEST_CASE(
        "the game ends with as many points as the loser's last checkers give, from both seats") {
        struct Case {
            int losers_slot, num_off, outcome_winner;
        };
        for (const auto& [losers_slot, num_off, outcome_winner] :
             {Case{1, 1, 2}, Case{25, 1, 2}, Case{18, 0, 1}, Case{19, 0, 0}, Case{25, 0, 0},
              Case{1, 0, 1}}) {
            Board board;
            board.own[1] = 1, board.own[0] = 14;
            board.other[losers_slot] = 1;
            board.other[2] = 14 - num_off;
            board.other[0] = num_off;
            for (const int player : {0, 1}) {
                Backgammon position = after(position_of(board, player, {2, 1}, 15), "1/off");
                REQUIRE(position.to_move() == kOver);
                CHECK(position.outcome(player) == outcome_winner);
                CHECK(position.outcome(1 - player) == 5 - outcome_winner);
                CHECK(read(position.to_text()).outcome(player) == outcome_winner);
            }
        }
    }

    TEST_CASE("the mean number of rolls to bear off is the known one") {
        CHECK(mean_rolls({6}) == doctest::Approx(5.0 / 4).epsilon(1e-13));
        CHECK(mean_rolls({1, 1, 1}) == doctest::Approx(11.0 / 6).epsilon(1e-13));
        CHECK(mean_rolls({6, 6}) == doctest::Approx(49213.0 / 23328).epsilon(1e-13));
    }

    TEST_CASE("hypergammon with one checker each has its known value, from both seats") {
        for (const std::string text : {"AACAAAAAAgAAAA", "AACAAAAAAgAAAA p=1"}) {
            const Backgammon start = read(text, 1);
            CHECK(std::abs(Solver(start).value_roller(start) - 0.452773137042) < 1e-12);
        }
    }

    TEST_CASE("a position ID is the one that GNU Backgammon shows for the player on roll") {
        Rng rng(6);
        CHECK(Backgammon::start(kStandard, rng).to_text() == kStart + " opening");
        // Seen in gnubg 1.07: X on roll has played 8/5 6/5, O stands as at the start.
        const std::string shown = "4HPwATCwZ/ABMA";
        for (const std::string seat : {"", " p=1"}) {
            const Backgammon position = read(shown + seat);
            const Board board = board_of(position, position.roller());
            CHECK(board.own[5] == 2);
            CHECK(board.own[6] == 4);
            CHECK(board.own[8] == 2);
            CHECK(board.other[5] == 0);
            CHECK(board.other[6] == 5);
            CHECK(position.to_text() == shown + seat);
        }
    }

    TEST_CASE("a text says what is left of the turn") {
        const Backgammon start = read(kStart + " 31");
        CHECK(start.to_text() == kStart + " 31");
        CHECK(read(kStart + " 13").to_text() == kStart + " 31");
        CHECK(read(kStart + " 22").to_text() == kStart + " 2222");
        CHECK(read(kStart + " p=0").to_text() == kStart);
        CHECK(after(start, "8/5").to_text() == "4HPwATDQZ/ABMA 1 from=8");
        CHECK(after(start, "8/7").to_text() == "4HPwATDga/ABMA 3 from=7 skip=7");
        CHECK(after(read(kStart + " 11 p=1"), "8/7").to_text() == "4HPwATDga/ABMA 111 p=1 from=8");
        CHECK(after(start, "8/5 6/5").to_text() == "sGfwATDgc/ABMA p=1");
    }

    TEST_CASE("sources do not rise, and no checker's path is generated twice") {
        const Backgammon start = read(kStart + " 31");
        CHECK(legal_texts(after(start, "8/5")) == std::vector<std::string>{"5/4", "6/5", "8/7"});
        CHECK(legal_texts(after(start, "8/7")) ==
              std::vector<std::string>{"6/3"});  // not 8/5, not 7/4
    }

    TEST_CASE("the dice that are left must all be playable") {
        // One checker, on 24; the other player holds 18 and 13.
        Board board;
        board.own[24] = 1, board.own[0] = 14;
        board.other[25 - 18] = 2, board.other[25 - 13] = 2, board.other[2] = 11;
        // After 24/19 the six would go to 13, and 24/18 is closed: only the five can be played.
        CHECK(legal_texts(position_of(board, 0, {6, 5}, 15)) == std::vector<std::string>{"24/19"});
        // Either die can be played, but both together lead to 18: the larger must be played.
        CHECK(legal_texts(position_of(board, 0, {4, 2}, 15)) == std::vector<std::string>{"24/20"});
    }

    TEST_CASE("a turn is read in any order and in the ways players write it") {
        const auto same = [](const std::string& text, const std::string& one,
                             const std::string& other) {
            const Backgammon position = read(text);
            CHECK(after(position, one).to_text() == after(position, other).to_text());
            CHECK(after(position, one).to_move() == kChance);
        };
        same(kStart + " 31", "8/5 6/5", "6/5 8/5");
        same(kStart + " 31", "24/21 21/20", "24/20");
        same(kStart + " 62", "13/7/5", "13/11/5");
        same(kStart + " 33", "8/5(2) 6/3(2)", "6/3 8/5 6/3 8/5");
        same(kStart + " 33", "24/18(2)", "24/21/18(2)");
        same(kStart + " 33 p=1", "13/4 8/5", "8/5 10/7 13/10 7/4");
    }

    TEST_CASE("bearing off is read as one way where the checker goes there by both dice") {
        Board board;
        board.own[6] = 2, board.own[0] = 13;
        board.other[1] = 15;
        const Backgammon position = position_of(board, 0, {6, 1}, 15);
        CHECK(board_of(after(position, "6/off"), 0).own[6] == 1);  // 6/5/off: a whole turn
        CHECK(board_of(after(position, "6/off 6/5"), 0).own[5] == 1);
    }

    TEST_CASE("the written points show what is hit in passing") {
        Board board;
        board.own[24] = 1, board.own[6] = 14;
        board.other[25 - 20] = board.other[25 - 18] = 1, board.other[2] = 13;
        const Backgammon position = position_of(board, 0, {6, 4}, 15);
        CHECK(board_of(after(position, "24/18*/14"), 0).other[25 - 20] == 1);
        CHECK(board_of(after(position, "24/18/14"), 0).other[25 - 20] == 1);
        CHECK(board_of(after(position, "24/20*/14"), 0).other[25 - 18] == 1);
        CHECK(contains(error_of_turn(position, "24/14"), "write one of: 24/20 20/14, 24/18 18/14"));
        CHECK(contains(error_of_turn(position, "24/18*/14*"), "18/14*: there is nothing to hit"));
        board.other[25 - 18] = 0, board.other[2] = 14;
        const Backgammon one_blot = position_of(board, 0, {6, 4}, 15);
        CHECK(board_of(after(one_blot, "24/14"), 0).other[25] == 0);
        CHECK(board_of(after(one_blot, "24/20*/14"), 0).other[25] == 1);
        board.other[25 - 18] = 2, board.other[2] = 12;
        CHECK(board_of(after(position_of(board, 0, {6, 4}, 15), "24/14"), 0).other[25] == 1);
    }

    TEST_CASE("a turn from the bar is read") {
        Board board;
        board.own[25] = 1, board.own[6] = 14;
        board.other[25 - 22] = 1, board.other[2] = 14;
        const Backgammon position = position_of(board, 1, {3, 1}, 15);
        CHECK(legal_texts(position) == std::vector<std::string>{"bar/24", "bar/22"});
        CHECK(board_of(after(position, "6/5 bar/22*"), 1).other[25] == 1);
        CHECK(board_of(after(position, "bar/22*/21"), 1).own[21] == 1);
        CHECK(contains(error_of_turn(position, "6/5 6/3"), "legal: bar/24 6/3, bar/24 24/21"));
    }

    TEST_CASE("an error says what is wrong with a move or a turn") {
        const Backgammon position = read(kStart + " 31");
        CHECK(contains(error_of_turn(position, "8/3"), "8/3 does not fit the dice 31"));
        CHECK(contains(error_of_turn(position, "8/5 6/5 6/3"),
                       "has more moves than dice are left (31)"));
        CHECK(contains(error_of_turn(position, "8/"), "'8/' is no checker move"));
        CHECK(contains(error_of_turn(position, "8-5"),
                       "'8-5' is no checker move; one is written 8/5"));
        CHECK(contains(error_of_turn(position, "5/8 6/5"), "'5/8' is no checker move"));
        CHECK(contains(error_of_turn(position, "24/20 6/5"),
                       "is not a legal turn with 31 left; legal: 6/3 3/2, 6/3 6/5"));
        CHECK(contains(error_of_turn(position, "11/10 13/10"),
                       "not so many checkers to move from 11"));
        CHECK(contains(error_of_turn(read(kStart + " 52"), "6/1 13/11"),
                       "6/1: the other player holds that point"));
        CHECK(contains(error_of_turn(position, ""), "there is no move in the text"));
        CHECK(contains(position.action_from_text("7/6").error().text,
                       "'7/6' is not legal with 31 left; legal: 6/3, 8/7"));
        CHECK(contains(error_of_turn(read(kStart), "8/5"), "'8/5' is no roll"));
    }

    TEST_CASE("an error says what is wrong with a text") {
        CHECK(contains(error_of(""), "'' is no position ID"));
        CHECK(contains(error_of("4HPwATDgc/ABM"), "one has 14 characters"));
        CHECK(contains(error_of("4HPwATDgc/ABM?"), "is no position ID"));
        CHECK(contains(error_of("//////////////"), "is no position ID"));
        CHECK(contains(error_of(kStart + " 37"), "'37' is not known here"));
        CHECK(contains(error_of(kStart + " 321"), "at most two dice"));
        CHECK(contains(error_of(kStart + " p=2"), "'p=2' is not known here"));
        CHECK(contains(error_of(kStart + " from=8"), "need dice that are left"));
        CHECK(contains(error_of(kStart + " 31 from=8"), "here all dice are left"));
        CHECK(contains(error_of(kStart + " 22 from=8 skip=3"), "'skip' needs one die left"));
        CHECK(contains(error_of(kStart + " opening p=1"), "needs the starting position"));
        CHECK(contains(error_of("4HPwATCwZ/ABMA opening"), "needs the starting position"));
        CHECK(
            contains(error_of(kStart, 3), "player 0 has 15 checkers on the board; the game has 3"));
        CHECK(contains(error_of("AAAAAAAAAAAAAA"), "both players have borne off"));
    }

    TEST_CASE("a description has player 0's checkers positive, its ace point first") {
        const std::vector<int> points = {-2, 0, 0, 0, 0,  5, 0,  3, 0, 0, 0, -5,
                                         5,  0, 0, 0, -3, 0, -5, 0, 0, 0, 0, 2};
        const Described told = read(kStart + " 31 p=1").describe(-1);
        for (int i = 0; i < 24; ++i)
            CHECK(*(*told.field("points")->list())[size_t(i)].number() == points[size_t(i)]);
        CHECK(*told.field("player")->number() == 1);
        CHECK(told.field("dice")->list()->size() == 2);
        CHECK(told.field("from") == nullptr);
        CHECK(*after(read(kStart + " 31"), "8/7").describe(-1).field("from")->number() == 7);
        CHECK(read(kStart + " 22").describe(-1).field("dice")->list()->size() == 4);
    }

    TEST_CASE("a description whose checkers do not add up is refused") {
        Board board;
        board.own[6] = 15, board.other[6] = 14;
        const auto position = Backgammon::from_describe(kStandard, described(board, 0, {}));
        REQUIRE(!position);
        CHECK(position.error().text ==
              "player 1 has 14 checkers on points and bar and 0 off; that must make 15");
    }

    TEST_CASE("an observation is the position from the observer's side") {
        const Backgammon mid = after(read(kStart + " 61"), "13/7");
        std::vector<uint8_t> mover(62), waiter(62);
        mid.observe(0, mover.data());
        mid.observe(1, waiter.data());
        const auto byte_of = [](int point) { return size_t(point - 1); };
        CHECK(mover[byte_of(13)] == 4);
        CHECK(mover[byte_of(7)] == 1);
        CHECK(mover[26 + byte_of(12)] == 5);
        CHECK(waiter[26 + byte_of(25 - 13)] == 4);
        CHECK(waiter[byte_of(13)] == 5);
        const std::vector<uint8_t> turn = {1, 0, 0, 0, 0, 0, 13, 0, 1, 0};
        CHECK(std::vector<uint8_t>(mover.begin() + 52, mover.end()) == turn);
        const std::vector<uint8_t> not_mine = {1, 0, 0, 0, 0, 0, 13, 0, 0, 0};
        CHECK(std::vector<uint8_t>(waiter.begin() + 52, waiter.end()) == not_mine);
        const auto last_byte = [](const std::string& text, int player) {
            std::vector<uint8_t> bytes(62);
            read(text).observe(player, bytes.data());
            return int(bytes.back());
        };
        CHECK(last_byte(kStart, 0) == 1);
        CHECK(last_byte(kStart, 1) == 0);
        CHECK(last_byte(kStart + " p=1", 1) == 1);
        CHECK(last_byte(kStart + " opening", 1) == 2);
    }

    TEST_CASE("the picture shows both players' checkers in 80 columns") {
        const std::string picture = read("4HPwATCwZ/ABMA 31").picture();
        CHECK(contains(picture, " +-12-11-10--9--8--7--------6--5--4--3--2--1-+"));
        CHECK(contains(picture, " |  O           X    |   |  X  X           O |  X off 0"));
        CHECK(contains(picture, "X to move with 31"));
        std::istringstream lines(picture);
        for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 80);
    }

    TEST_CASE("check_game finds no fault") {
        for (const int checkers : {1, 2, 3, 15}) {
            const auto report =
                zf::check_game<Backgammon>({uint8_t(checkers)}, checkers == 15 ? 100 : 300, 7);
            REQUIRE_MESSAGE(bool(report), report.error().text);
            CHECK(report->num_truncated == 0);
        }
    }
}
