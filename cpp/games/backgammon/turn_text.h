// Backgammon's moves as players write them.
#pragma once

#include <string>
#include <vector>

#include "games/backgammon/rules.h"
#include "games/backgammon/text.h"

namespace zf {

namespace backgammon {

inline std::string slot_text(int slot) {
    return slot == kBar ? "bar" : slot == kOff ? "off" : std::to_string(slot);
}

// One checker's way between two points that are written: `24/18*/14` is two legs.
struct Leg {
    int from, to;
    bool hits;  // marked with a star
};

// A point, `bar` or `off`, or -1.
inline int slot_from_text(const std::string& text) {
    if (text == "bar") return kBar;
    if (text == "off") return kOff;
    const int point = small_number(text);
    return point <= 24 && point != 0 ? point : -1;
}

// The legs of one word such as `24/18*/14` or `8/5(2)`.
inline Result<std::vector<Leg>> legs_of_word(const std::string& word) {
    const Error bad{
        Error::Kind::bad_text,
        "'" + word +
            "' is no checker move; one is written 8/5, 24/18*/14, 8/5(2), bar/22 or 6/off"};
    std::string path = word;
    int times = 1;
    if (const size_t bracket = word.find('('); bracket != std::string::npos) {
        if (!word.ends_with(')')) return bad;
        times = small_number(word.substr(bracket + 1, word.size() - bracket - 2));
        path = word.substr(0, bracket);
        if (times < 1 || times > 4) return bad;
    }
    std::vector<Leg> once, all;
    int from = -1;
    for (const std::string& part : split(path, '/')) {
        const bool hits = part.ends_with('*');
        const int slot = slot_from_text(hits ? part.substr(0, part.size() - 1) : part);
        if (slot < 0 || (from >= 0 && slot >= from) || (hits && (from < 0 || slot == kOff)))
            return bad;
        if (from >= 0) once.push_back({from, slot, hits});
        from = slot;
    }
    if (once.empty()) return bad;
    for (int i = 0; i < times; ++i) all.insert(all.end(), once.begin(), once.end());
    return all;
}

inline Result<std::vector<Leg>> legs_of_text(const std::string& text) {
    std::vector<Leg> all;
    for (const std::string& word : words_of(text)) {
        const auto legs = legs_of_word(word);
        if (!legs) return legs.error();
        all.insert(all.end(), legs->begin(), legs->end());
    }
    if (all.empty())
        return Error{Error::Kind::bad_text,
                     "there is no move in the text; a turn is written 8/5 6/5"};
    return all;
}

}  // namespace backgammon

// ---- one action or one roll

inline std::string Backgammon::roll_text(Action id) {
    const auto [first, second] = dice_of(id);
    return std::string{char('0' + first), char('0' + second)};
}

inline std::string Backgammon::action_text(Action action) const {
    if (to_move() == kChance) return roll_text(action);
    const int source = source_of(action), die = die_of(action);
    return backgammon::slot_text(source) + "/" +
           backgammon::slot_text(source > die ? source - die : kOff);
}

inline Result<Action> Backgammon::roll_from_text(const std::string& text) const {
    std::string dice = text;
    if (dice.size() == 3 && dice[1] == '-') dice.erase(1, 1);
    if (dice.size() != 2 || dice.find_first_not_of("123456") != std::string::npos)
        return Error{Error::Kind::bad_text,
                     "'" + text + "' is no roll; a roll is two dice, such as 31"};
    const int first = dice[0] - '0', second = dice[1] - '0';
    if (phase_ != Phase::opening) return roll_id(first, second);
    if (first == second)
        return Error{Error::Kind::illegal, text + ": an opening roll is never a double"};
    return opening_id(first, second);
}

inline std::string Backgammon::legal_texts() const {
    Action actions[kBar * 6];
    const int count = legal_actions(actions);
    std::string text;
    for (int i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + action_text(actions[i]);
    return text;
}

// No two legal actions have the same text: a checker is borne off by either die only where one of
// them is not legal.
inline Result<Action> Backgammon::action_from_text(const std::string& text) const {
    if (to_move() == kOver) return Error{Error::Kind::illegal, text + ": the game is over"};
    if (to_move() == kChance) return roll_from_text(text);
    const std::string wanted = text.ends_with('*') ? text.substr(0, text.size() - 1) : text;
    Action actions[kBar * 6];
    const int count = legal_actions(actions);
    for (int i = 0; i < count; ++i)
        if (action_text(actions[i]) == wanted) return actions[i];
    return Error{Error::Kind::illegal, "'" + text + "' is not legal with " + dice_text() +
                                           " left; legal: " + legal_texts() +
                                           " (of two checkers the one farther back moves first)"};
}

// ---- whole turns

// All ways to play out the turn; they lead to different positions.
inline std::vector<Backgammon::Line> Backgammon::lines() const {
    std::vector<Line> all;
    add_lines({}, all);
    return all;
}
inline void Backgammon::add_lines(const Line& played, std::vector<Line>& all) const {
    Action actions[kBar * 6];
    const int count = legal_actions(actions);
    for (int i = 0; i < count; ++i) {
        Line line = played;
        line.actions.push_back(actions[i]);
        line.text += (line.text.empty() ? "" : " ") + action_text(actions[i]);
        Backgammon next = *this;
        next.play(actions[i]);
        if (next.to_move() == to_move()) {
            next.add_lines(line, all);
        } else {
            all.push_back(line);
        }
    }
}

// Why a leg cannot be part of this turn, or an empty text.
inline std::string Backgammon::fault_of_leg(const Leg& leg) const {
    const std::string text = backgammon::slot_text(leg.from) + "/" + backgammon::slot_text(leg.to);
    if (leg.to != kOff && is_wall(leg.to)) return text + ": the other player holds that point";
    if (leg.hits && !is_blot(leg.to)) return text + "*: there is nothing to hit";
    const int distance = leg.from - leg.to,
              sum = num_left_ > 2 ? num_left_ * die_[0] : die_[0] + die_[1];
    const bool by_one = distance == die_[0] || distance == die_[1];
    const bool by_more = distance <= sum && (leg.to == kOff || distance == sum ||
                                             (num_left_ > 2 && distance % die_[0] == 0));
    return by_one || by_more ? "" : text + " does not fit the dice " + dice_text();
}

// The checkers of both players where these legs were played, and nothing was hit but on their ends.
inline Result<std::array<Backgammon::Counts, 2>> Backgammon::checkers_after(
    const std::vector<Leg>& legs) const {
    std::array<Counts, 2> count = count_;
    Counts &own = count[turn_], &other = count[turn_ ^ 1];
    for (const Leg& leg : legs) {
        ++own[leg.to];
        if (leg.to == kOff || !is_blot(leg.to) || other[across(leg.to)] == 0) continue;
        --other[across(leg.to)];
        ++other[kBar];
    }
    for (const Leg& leg : legs) {
        if (own[leg.from]-- == 0)
            return Error{Error::Kind::illegal, "there are not so many checkers to move from " +
                                                   backgammon::slot_text(leg.from)};
    }
    return count;
}

// The line that plays the turn in the text. Several lines can move the mover's checkers alike and
// hit on different points on the way; the points written tell which.
inline Result<Backgammon::Line> Backgammon::line_from_text(const std::string& text) const {
    const auto legs = backgammon::legs_of_text(text);
    if (!legs) return legs.error();
    if (legs->size() > num_left_)
        return Error{Error::Kind::illegal,
                     "'" + text + "' has more moves than dice are left (" + dice_text() + ")"};
    for (const Leg& leg : *legs)
        if (const std::string fault = fault_of_leg(leg); !fault.empty())
            return Error{Error::Kind::illegal, fault};
    const auto wanted = checkers_after(*legs);
    if (!wanted) return wanted.error();
    const Counts &wanted_own = (*wanted)[turn_], &wanted_other = (*wanted)[turn_ ^ 1];
    std::vector<Line> fitting;
    for (const Line& line : lines()) {
        Backgammon after = *this;
        for (const Action action : line.actions) after.play(action);
        if (after.count_ == *wanted) return line;
        const Counts& other = after.count_[turn_ ^ 1];
        bool hits_what_is_written = after.count_[turn_] == wanted_own;
        for (int point = 1; point <= 24; ++point)
            hits_what_is_written &= other[point] <= wanted_other[point];
        if (hits_what_is_written) fitting.push_back(line);
    }
    if (fitting.size() == 1) return fitting[0];
    return no_line(text, fitting);
}

inline Error Backgammon::no_line(const std::string& text, const std::vector<Line>& fitting) const {
    const size_t most = 20;
    const std::vector<Line> shown = fitting.empty() ? lines() : fitting;
    std::string known;
    for (size_t i = 0; i < shown.size() && i < most; ++i)
        known += (i == 0 ? "" : ", ") + shown[i].text;
    if (shown.size() > most) known += " and " + std::to_string(shown.size() - most) + " more";
    const std::string what = fitting.empty()
                                 ? "' is not a legal turn with " + dice_text() + " left; legal: "
                                 : "' can hit on different points on the way; write one of: ";
    return Error{Error::Kind::illegal, "'" + text + what + known};
}

inline Result<void> Backgammon::play_from_text(const std::string& text) {
    if (phase_ == Phase::move) {
        const Result<Line> line = line_from_text(text);
        if (line) {
            for (const Action action : line->actions) play(action);
            return {};
        }
        if (!action_from_text(text)) return line.error();
    }
    return PlainGame::play_from_text(text);
}

}  // namespace zf
