// Gomoku: two players place stones on an empty square board; a line of five wins.
//
// Options: size of the board, length of the line, and the rule for overlines: `freestyle` (longer
// lines win too) or `exact` (only a line of that very length wins, for both players). Tic-tac-toe
// is size=3 line=3. A full board without a line is a draw.
//
// Action ids are cells in row-major order from the top left. Text: moves in turn, `h8 i9`, columns
// from a, row 1 at the bottom. Observation: a byte per cell (0 empty, 1 own, 2 the other's), then 1
// if the observer is to move.
#pragma once

#include <array>
#include <cstdint>

#include "games/board.h"
#include "games/game.h"

namespace zf {

class Gomoku : public PlainGame<Gomoku> {
  public:
    struct Options {
        uint8_t size = 15;
        uint8_t line = 5;
        bool exact = false;
    };

    static std::vector<OptionSpec> option_specs() {
        std::vector<std::string> sizes, lines;
        for (int size = 3; size <= 19; ++size) sizes.push_back(std::to_string(size));
        for (int line = 3; line <= 6; ++line) lines.push_back(std::to_string(line));
        return {{"size", "15", sizes},
                {"line", "5", lines},
                {"rule", "freestyle", {"freestyle", "exact"}}};
    }
    static Result<Options> parse_options(const OptionValues& values) {
        Options options{uint8_t(std::stoi(values[0].second)), uint8_t(std::stoi(values[1].second)),
                        values[2].second == "exact"};
        if (options.line > options.size)
            return Error{Error::Kind::bad_text, "gomoku: a line of " + values[1].second +
                                                    " does not fit a board of size " +
                                                    values[0].second};
        return options;
    }
    static Facts facts(const Options& options) {
        Facts facts;
        const int cells = options.size * options.size;
        facts.name = "gomoku";
        facts.num_actions = cells;
        facts.observation_bytes = cells + 1;
        facts.max_plies = cells;
        facts.outcomes = win_draw_loss();
        facts.symmetries = cell_symmetries(options.size, options.size, false, 1);
        return facts;
    }

    static Gomoku start(const Options& options, Rng&) { return Gomoku(options); }

    Mover to_move() const { return state_ == State::playing ? Mover(turn_) : kOver; }

    int legal_actions(Action* actions) const {
        int count = 0;
        for (int row = 0, cell = 0; row < options_.size; ++row) {
            const uint32_t taken = row_bits(0, row) | row_bits(1, row);
            for (int column = 0; column < options_.size; ++column, ++cell) {
                actions[count] = Action(cell);
                count += !((taken >> column) & 1);
            }
        }
        return count;
    }

    // Whether this is an action and no stone lies there.
    bool is_free(Action action) const {
        return action < options_.size * options_.size && stone_at(square(action)) == 0;
    }

    Action random_action(Rng& rng) const {
        const int cells = options_.size * options_.size;
        if (num_empty_ * 8 >= cells) {
            for (;;) {  // more than one try in eight succeeds
                const int cell = int(rng.below(uint32_t(cells)));
                if (stone_at(square(cell)) == 0) return Action(cell);
            }
        }
        int skip = int(rng.below(num_empty_));
        for (int cell = 0;; ++cell)
            if (stone_at(square(cell)) == 0 && skip-- == 0) return Action(cell);
    }

    void play(Action action) {
        const int at = square(action);
        stones_[turn_][at >> 6] |= 1ULL << (at & 63);
        last_ = action;
        --num_empty_;
        if (makes_line(turn_, at)) {
            state_ = State::won;
        } else if (num_empty_ == 0) {
            state_ = State::drawn;
        }
        turn_ ^= 1;
    }

    int outcome(int player) const {
        if (state_ == State::drawn) return kDraw;
        return player == (turn_ ^ 1) ? kWin : kLoss;  // the winner moved last
    }

    // False where no line of the player to move is short of one stone.
    bool may_win_at_once() const {
        const Stones& own = stones_[turn_];
        Stones not_others;
        for (int i = 0; i < kWords; ++i) not_others[i] = ~stones_[turn_ ^ 1][i];
        Stones runs[kMaxInLine];  // runs[n]: squares at which n stones in a row begin
        for (const int step : {1, stride() - 1, stride(), stride() + 1}) {
            for (uint64_t& word : runs[0]) word = ~0ULL;
            for (int length = 1; length < options_.line; ++length)
                runs[length] = both(runs[length - 1], own, (length - 1) * step);
            for (int before = 0; before < options_.line; ++before) {
                const Stones found =
                    both(runs[before], runs[options_.line - 1 - before], (before + 1) * step);
                for (const uint64_t word : both(found, not_others, before * step))
                    if (word != 0) return true;
            }
        }
        return false;
    }

    void observe(int player, uint8_t* bytes) const {
        for (int row = 0; row < options_.size; ++row) {
            const uint32_t own = row_bits(player, row), other = row_bits(player ^ 1, row);
            for (int column = 0; column < options_.size; ++column)
                *bytes++ = uint8_t(((own >> column) & 1) | (((other >> column) & 1) << 1));
        }
        *bytes = to_move() == player;
    }

    std::string to_text() const;
    static Result<Gomoku> from_text(const Options& options, const std::string& text);
    std::string action_text(Action action) const;
    Result<Action> action_from_text(const std::string& text) const;
    std::string picture() const;
    Described describe(int player) const;
    static Result<Gomoku> from_describe(const Options& options, const Described& described);

  private:
    enum class State : uint8_t { playing, won, drawn };
    static constexpr int kWords = 6;  // 19 rows of 20 squares
    static constexpr int kMaxInLine = 6;
    using Stones = std::array<uint64_t, kWords>;  // a bit per square

    explicit Gomoku(const Options& options)
        : options_(options), num_empty_(uint16_t(options.size * options.size)) {}

    // Squares are cells with one empty column at the right of each row, so that lines do not wrap.
    int stride() const { return options_.size + 1; }
    int square(int cell) const { return cell + cell / options_.size; }
    int stone_at(int square) const {  // 0 empty, 1 X, 2 O
        const uint64_t x = stones_[0][square >> 6] >> (square & 63),
                       o = stones_[1][square >> 6] >> (square & 63);
        return int((x & 1) | ((o & 1) << 1));
    }
    // Squares of `first` from which so many squares on is one of `second`.
    static Stones both(const Stones& first, const Stones& second, int on) {
        Stones found;
        for (int i = 0; i < kWords; ++i) {
            const int word = i + (on >> 6), shift = on & 63;
            uint64_t bits = word < kWords ? second[word] >> shift : 0;
            if (shift > 0 && word + 1 < kWords) bits |= second[word + 1] << (64 - shift);
            found[i] = first[i] & bits;
        }
        return found;
    }
    uint32_t row_bits(int player, int row) const {
        const int at = row * stride(), word = at >> 6, shift = at & 63;
        uint64_t bits = stones_[player][word] >> shift;
        if (shift > 44 && word + 1 < kWords) bits |= stones_[player][word + 1] << (64 - shift);
        return uint32_t(bits) & ((1u << options_.size) - 1);
    }
    int run_length(int player, int from, int step) const {
        const int end = options_.size * stride();
        int length = 0;
        for (int at = from + step; at >= 0 && at < end; at += step, ++length)
            if (!((stones_[player][at >> 6] >> (at & 63)) & 1)) break;
        return length;
    }
    // Whether the player's stone on this square lies in a winning line.
    bool makes_line(int player, int at) const {
        for (const int step : {1, stride() - 1, stride(), stride() + 1}) {
            const int length = 1 + run_length(player, at, step) + run_length(player, at, -step);
            if (options_.exact ? length == options_.line : length >= options_.line) return true;
        }
        return false;
    }
    std::vector<std::string> rows_top_first() const;
    // Sets the stones of both players and works out whether the game is over; -1 for an unknown
    // last cell.
    static Result<Gomoku> from_stones(const Options& options, const std::vector<uint8_t>& cells,
                                      int player, int last);

    Stones stones_[2] = {};
    Options options_;
    uint16_t num_empty_;
    Action last_ = 0;
    uint8_t turn_ = 0;
    State state_ = State::playing;
};

// Texts, away from the rules.

inline std::string Gomoku::action_text(Action action) const {
    const int row = action / options_.size, column = action % options_.size;
    return std::string(1, char('a' + column)) + std::to_string(options_.size - row);
}

inline Result<Action> Gomoku::action_from_text(const std::string& text) const {
    const Error malformed{Error::Kind::bad_text,
                          "'" + text + "' is no move; a move is a column a-" +
                              std::string(1, char('a' + options_.size - 1)) + " and a row 1-" +
                              std::to_string(options_.size) + ", such as " +
                              action_text(Action(options_.size * options_.size / 2))};
    if (text.size() < 2 || text.size() > 3) return malformed;
    int number = 0;
    for (size_t i = 1; i < text.size(); ++i) {
        if (text[i] < '0' || text[i] > '9') return malformed;
        number = number * 10 + (text[i] - '0');
    }
    const int column = text[0] - 'a', row = options_.size - number;
    if (column < 0 || column >= options_.size || row < 0 || row >= options_.size) return malformed;
    const Action action = Action(row * options_.size + column);
    if (to_move() == kOver) return Error{Error::Kind::illegal, text + ": the game is over"};
    if (stone_at(square(action)) != 0) return Error{Error::Kind::illegal, text + " is taken"};
    return action;
}

// Stones in the order of cells, X and O in turn, the last move last: a game that leads here.
inline std::string Gomoku::to_text() const {
    std::vector<Action> of[2];
    const int cells = options_.size * options_.size;
    for (int cell = 0; cell < cells; ++cell) {
        const int stone = stone_at(square(cell));
        if (stone != 0 && !(cell == last_)) of[stone - 1].push_back(Action(cell));
    }
    if (num_empty_ < cells) of[turn_ ^ 1].push_back(last_);
    std::string text;
    for (size_t i = 0; i < of[0].size(); ++i) {
        text += (i ? " " : "") + action_text(of[0][i]);
        if (i < of[1].size()) text += " " + action_text(of[1][i]);
    }
    return text;
}

inline Result<Gomoku> Gomoku::from_text(const Options& options, const std::string& text) {
    std::vector<uint8_t> cells(options.size * options.size, 0);
    const Gomoku empty(options);
    int player = 0, last = -1;
    for (size_t at = 0; at < text.size();) {
        if (text[at] == ' ') {
            ++at;
            continue;
        }
        const size_t end = std::min(text.find(' ', at), text.size());
        const std::string move = text.substr(at, end - at);
        const Result<Action> action = empty.action_from_text(move);
        if (!action) return action.error();
        if (cells[*action] != 0) return Error{Error::Kind::illegal, move + " is taken"};
        cells[*action] = uint8_t(player + 1);
        last = *action;
        player ^= 1;
        at = end;
    }
    return from_stones(options, cells, player, last);
}

inline Result<Gomoku> Gomoku::from_stones(const Options& options, const std::vector<uint8_t>& cells,
                                          int player, int last) {
    Gomoku position(options);
    for (int cell = 0; cell < int(cells.size()); ++cell) {
        if (cells[cell] == 0) continue;
        const int at = position.square(cell);
        position.stones_[cells[cell] - 1][at >> 6] |= 1ULL << (at & 63);
        --position.num_empty_;
    }
    position.turn_ = uint8_t(player);
    const int mover = player ^ 1;
    for (int cell = 0; cell < int(cells.size()); ++cell) {
        if (cells[cell] == 0 || !position.makes_line(cells[cell] - 1, position.square(cell)))
            continue;
        if (cells[cell] != mover + 1)
            return Error{Error::Kind::inconsistent,
                         "the game was over before the last move: there is a line of the "
                         "player who is to move"};
        position.state_ = State::won;
        if (last < 0) last = cell;
    }
    if (position.state_ == State::won && !position.makes_line(mover, position.square(last)))
        return Error{Error::Kind::inconsistent, "the game was over before the last move"};
    if (position.state_ == State::playing && position.num_empty_ == 0)
        position.state_ = State::drawn;
    for (int cell = 0; last < 0 && cell < int(cells.size()); ++cell)
        if (cells[cell] == mover + 1) last = cell;
    position.last_ = Action(last < 0 ? 0 : last);
    return position;
}

inline std::vector<std::string> Gomoku::rows_top_first() const {
    std::vector<std::string> rows;
    for (int row = 0; row < options_.size; ++row) {
        std::string text;
        for (int column = 0; column < options_.size; ++column)
            text += kStones[stone_at(row * stride() + column)];
        rows.push_back(text);
    }
    return rows;
}

inline std::string Gomoku::picture() const {
    return board_picture(rows_top_first(), 'a') +
           line_of_result(to_move(), to_move() == kOver ? outcome(0) : 0);
}

inline Described Gomoku::describe(int) const { return describe_board(rows_top_first(), turn_); }

inline Result<Gomoku> Gomoku::from_describe(const Options& options, const Described& described) {
    const auto read = read_board(described, options.size, options.size);
    if (!read) return read.error();
    std::vector<uint8_t> cells;
    for (const std::string& row : read->rows_top_first)
        for (const char stone : row) cells.push_back(stone == 'X' ? 1 : stone == 'O' ? 2 : 0);
    return from_stones(options, cells, read->player, -1);
}

}  // namespace zf
