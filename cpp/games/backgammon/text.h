// Backgammon's positions as text, as descriptions and as pictures.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "games/backgammon/id.h"
#include "games/backgammon/rules.h"

namespace zf {

namespace backgammon {

inline std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts(1);
    for (const char character : text) {
        if (character == separator) {
            parts.emplace_back();
        } else {
            parts.back() += character;
        }
    }
    return parts;
}

// What stands between blanks.
inline std::vector<std::string> words_of(const std::string& text) {
    std::vector<std::string> words;
    for (const std::string& part : split(text, ' '))
        if (!part.empty()) words.push_back(part);
    return words;
}

// A number from text, or -1.
inline int small_number(const std::string& text) {
    if (text.empty() || text.size() > 2) return -1;
    int number = 0;
    for (const char digit : text) {
        if (digit < '0' || digit > '9') return -1;
        number = number * 10 + (digit - '0');
    }
    return number;
}

// The numbers in a list of a description, each from `least` to `most`; those in `missing` where the
// description lacks it.
inline Result<std::vector<int>> read_numbers(const Described& described, const std::string& name,
                                             int least, int most, const std::vector<int>& missing) {
    const Described* field = described.field(name);
    if (!field) return missing;
    const Error bad{Error::Kind::bad_text, "'" + name + "' must be a list of numbers from " +
                                               std::to_string(least) + " to " +
                                               std::to_string(most)};
    if (!field->list()) return bad;
    std::vector<int> numbers;
    for (const Described& item : *field->list()) {
        if (!item.number() || *item.number() < least || *item.number() > most) return bad;
        numbers.push_back(int(*item.number()));
    }
    return numbers;
}

// The same for a single number.
inline Result<int> read_number(const Described& described, const std::string& name, int most) {
    const Described* field = described.field(name);
    if (!field) return 0;
    if (!field->number() || *field->number() < 0 || *field->number() > most)
        return Error{Error::Kind::bad_text,
                     "'" + name + "' must be a number from 0 to " + std::to_string(most)};
    return int(*field->number());
}

}  // namespace backgammon

// ---- positions

inline Result<Backgammon> Backgammon::from_setup(const Options& options, const Setup& setup) {
    Backgammon position(options);
    position.turn_ = uint8_t(setup.player);
    const std::string fault = position.place_checkers(setup.count);
    if (!fault.empty()) return Error{Error::Kind::inconsistent, fault};
    const std::string fault_of_turn = position.begin_in(setup);
    if (!fault_of_turn.empty()) return Error{Error::Kind::inconsistent, fault_of_turn};
    return position;
}

// Puts checkers on an empty board; gives what is wrong with them, or an empty text.
inline std::string Backgammon::place_checkers(const std::array<Counts, 2>& count) {
    for (const int player : {0, 1}) {
        const std::string whose = "player " + std::to_string(player);
        int on_board = 0;
        for (int slot = 1; slot <= kBar; ++slot) {
            if (slot < kBar && count[player][slot] != 0 && count[player ^ 1][across(slot)] != 0)
                return "both players have checkers on " + whose + "'s point " +
                       std::to_string(slot);
            for (int i = 0; i < count[player][slot]; ++i) put(player, slot);
            on_board += count[player][slot];
        }
        if (on_board > options_.checkers)
            return whose + " has " + std::to_string(on_board) +
                   " checkers on the board; the game has " + std::to_string(options_.checkers);
        count_[player][kOff] = uint8_t(options_.checkers - on_board);
    }
    return has_borne_off_all(0) && has_borne_off_all(1) ? "both players have borne off all checkers"
                                                        : "";
}

// Sets how far the turn has come; the checkers stand. Gives what is wrong, or an empty text.
inline std::string Backgammon::begin_in(const Setup& setup) {
    const int num_dice = int(setup.dice.size());
    const bool constrained = setup.from != 0 || setup.skip != 0;
    if (setup.opening) {
        const bool starts =
            turn_ == 0 && num_dice == 0 && !constrained && count_ == opening(options_).count_;
        return starts ? "" : "an opening roll needs the starting position, player 0 and no dice";
    }
    const bool over = has_borne_off_all(0) || has_borne_off_all(1);
    if (over && (num_dice != 0 || !has_borne_off_all(turn_)))
        return "the game is over: it must be the winner's turn, without dice";
    if (num_dice == 0) {
        stop(over ? Phase::over : Phase::roll);
        return constrained ? "'from' and 'skip' need dice that are left" : "";
    }
    return begin_with_dice(setup);
}

inline std::string Backgammon::begin_with_dice(const Setup& setup) {
    const int num_dice = int(setup.dice.size()), first = setup.dice[0],
              last = setup.dice[num_dice - 1];
    bool all_equal = true;
    for (const int die : setup.dice) all_equal = all_equal && die == first;
    if (num_dice > 4 || (num_dice > 2 && !all_equal))
        return "at most two dice can be left, or four of a kind";
    const bool is_double = num_dice > 1 && all_equal;
    const bool fresh = num_dice == 4 || (num_dice == 2 && !(is_double && setup.from != 0));
    if (fresh && setup.from != 0) return "'from' is for a turn in progress; here all dice are left";
    if (setup.skip != 0 && num_dice != 1) return "'skip' needs one die left";
    phase_ = Phase::move;
    die_ = {uint8_t(std::max(first, last)), uint8_t(num_dice > 1 ? std::min(first, last) : 0)};
    num_left_ = uint8_t(fresh && is_double ? 4 : num_dice);
    limit_ = uint8_t(setup.from != 0 ? setup.from : kBar);
    skip_ = uint8_t(setup.skip);
    find_sources();
    return "";
}

inline std::string Backgammon::dice_text() const {
    std::string text;
    for (int i = 0; i < num_left_; ++i) text += char('0' + (i == 1 ? die_[1] : die_[0]));
    return text;
}

inline std::string Backgammon::to_text() const {
    std::string text = backgammon::encode_id(count_[turn_], count_[turn_ ^ 1]);
    if (num_left_ != 0) text += " " + dice_text();
    if (turn_ == 1) text += " p=1";
    if (says_from()) text += " from=" + std::to_string(limit_);
    if (skip_ != 0) text += " skip=" + std::to_string(skip_);
    if (phase_ == Phase::opening) text += " opening";
    return text;
}

inline Result<Backgammon> Backgammon::from_text(const Options& options, const std::string& text) {
    const std::vector<std::string> words = backgammon::words_of(text);
    const auto checkers = backgammon::decode_id(words.empty() ? "" : words[0]);
    if (!checkers) return checkers.error();
    Setup setup;
    for (size_t i = 1; i < words.size(); ++i) {
        const std::string& word = words[i];
        const size_t equals = word.find('=') + 1;  // 0 where there is none
        const std::string name = word.substr(0, equals);
        const int number = backgammon::small_number(word.substr(equals));
        if (word == "opening") {
            setup.opening = true;
        } else if (equals == 0 && word.find_first_not_of("123456") == std::string::npos &&
                   setup.dice.empty()) {
            for (const char die : word) setup.dice.push_back(die - '0');
        } else if (name == "p=" && (number == 0 || number == 1)) {
            setup.player = number;
        } else if (name == "from=" && number >= 1 && number <= kBar) {
            setup.from = number;
        } else if (name == "skip=" && number >= 1 && number <= 24) {
            setup.skip = number;
        } else {
            return Error{Error::Kind::bad_text,
                         "'" + word +
                             "' is not known here; after the ID may stand the dice left (31), "
                             "p=0 or p=1, from=1 to from=25, skip=1 to skip=24, opening"};
        }
    }
    setup.count[setup.player] = (*checkers)[0];
    setup.count[setup.player ^ 1] = (*checkers)[1];
    return from_setup(options, setup);
}

// ---- descriptions

// `from`, `skip` and `opening` stand there only where the text has them too.
inline Described Backgammon::describe(int) const {
    Described::List points, dice;
    for (int point = 1; point <= 24; ++point)
        points.emplace_back(int(count_[0][point]) - int(count_[1][across(point)]));
    for (const char die : dice_text()) dice.emplace_back(die - '0');
    const auto of_both = [&](int slot) {
        return Described::List{int(count_[0][slot]), int(count_[1][slot])};
    };
    Described::Fields fields = {{"points", points},
                                {"bar", of_both(kBar)},
                                {"off", of_both(kOff)},
                                {"dice", dice},
                                {"player", int(turn_)}};
    if (says_from()) fields.push_back({"from", int(limit_)});
    if (skip_ != 0) fields.push_back({"skip", int(skip_)});
    if (phase_ == Phase::opening) fields.push_back({"opening", 1});
    return fields;
}

// Needs `points`; without `bar` nobody is on it, without `off` the missing checkers are off,
// without `dice` any roll comes next, without `player` it is player 0's turn.
inline Result<Backgammon> Backgammon::from_describe(const Options& options,
                                                    const Described& described) {
    using backgammon::read_number;
    const auto count = checkers_from_describe(options, described);
    const auto dice = backgammon::read_numbers(described, "dice", 1, 6, {});
    const auto player = read_number(described, "player", 1),
               from = read_number(described, "from", kBar),
               skip = read_number(described, "skip", 24),
               opening = read_number(described, "opening", 1);
    if (!count) return count.error();
    if (!dice) return dice.error();
    for (const auto* number : {&player, &from, &skip, &opening})
        if (!*number) return number->error();
    return from_setup(options, {*count, *dice, *player, *from, *skip, *opening != 0});
}

inline Result<std::array<Backgammon::Counts, 2>> Backgammon::checkers_from_describe(
    const Options& options, const Described& described) {
    const int all = options.checkers;
    const auto points = backgammon::read_numbers(described, "points", -all, all, {});
    const auto bar = backgammon::read_numbers(described, "bar", 0, all, {0, 0});
    const auto off = backgammon::read_numbers(described, "off", 0, all, {-1, -1});
    for (const auto* list : {&points, &bar, &off})
        if (!*list) return list->error();
    if (points->size() != 24 || bar->size() != 2 || off->size() != 2)
        return Error{Error::Kind::bad_text,
                     "a description needs 24 'points' (player 0's checkers positive, its ace point "
                     "first), 2 numbers for the 'bar' and 2 for 'off'"};
    std::array<Counts, 2> count = {};
    for (const int player : {0, 1}) {
        int sum = count[player][kBar] = uint8_t((*bar)[player]);
        for (int point = 1; point <= 24; ++point) {
            const int here = player == 0 ? (*points)[point - 1] : -(*points)[across(point) - 1];
            sum += count[player][point] = uint8_t(std::max(here, 0));
        }
        if ((*off)[player] >= 0 && sum + (*off)[player] != all)
            return Error{Error::Kind::inconsistent,
                         "player " + std::to_string(player) + " has " + std::to_string(sum) +
                             " checkers on points and bar and " + std::to_string((*off)[player]) +
                             " off; that must make " + std::to_string(all)};
    }
    return count;
}

// ---- the picture: player 0 is X and moves towards the bottom right

// Points are numbered as the player to move or to roll counts them.
inline std::string Backgammon::half_picture(bool upper) const {
    const int rows = 5;
    std::string lines[rows + 1];
    for (int column = 0; column < 12; ++column) {
        const int point = upper ? 13 + column : 12 - column;
        const int x = count_[0][point], o = count_[1][across(point)], here = x + o;
        const std::string number = std::to_string(turn_ == 0 ? point : across(point));
        lines[0] +=
            (column == 6 ? "------" : "") + std::string(number.size() == 1 ? "--" : "-") + number;
        for (int row = 1; row <= rows; ++row) {
            const bool counted = row == rows && here > rows;
            const std::string cell = counted       ? std::to_string(here)
                                     : here >= row ? (x != 0 ? "X" : "O")
                                                   : "";
            lines[row] += (column == 6 ? " |   |" : "") + std::string(3 - cell.size(), ' ') + cell;
        }
    }
    const int whose = upper ? 1 : 0;  // whose bar and borne-off checkers stand in this half
    const std::string name = whose == 0 ? "X" : "O";
    std::string text;
    for (int i = 0; i <= rows; ++i) {
        const int row = upper ? i : rows - i;
        const std::string end = row == 0 ? "-+" : " |";
        text += (row == 0 ? " +" : " |") + lines[row] + end;
        if (row == 1) text += "  " + name + " off " + std::to_string(count_[whose][kOff]);
        if (row == 2) text += "  " + name + " on the bar " + std::to_string(count_[whose][kBar]);
        text += "\n";
    }
    return text;
}

inline std::string Backgammon::line_of_state() const {
    const std::string name = turn_ == 0 ? "X" : "O";
    if (phase_ == Phase::opening) return "opening roll\n";
    if (phase_ == Phase::roll) return name + " to roll\n";
    if (phase_ == Phase::move) {
        const std::string limit =
            limit_ < kBar ? " from " + std::to_string(limit_) + " or below" : "";
        const std::string skip = skip_ != 0 ? ", not from " + std::to_string(skip_) : "";
        return name + " to move with " + dice_text() + limit + skip + "\n";
    }
    const char* how[] = {"a backgammon", "a gammon", "a single game"};
    return name + " has won " + how[outcome(turn_)] + "\n";
}

inline std::string Backgammon::picture() const {
    const std::string blank(18, ' ');
    return half_picture(true) + " |" + blank + " |BAR|" + blank + " |\n" + half_picture(false) +
           line_of_state();
}

}  // namespace zf
