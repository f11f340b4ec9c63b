// Connect Four: discs dropped into seven columns of six; four in a row win, a full board is a draw.
//
// The game whose truth is known, so the one to test search and training on. Action ids are columns
// from the left. Text: the columns played, counted from 1, `4453`. Observation: a byte per cell,
// top row first (0 empty, 1 own, 2 the other's), then 1 if the observer is to move.
#pragma once

#include <bit>
#include <cstdint>

#include "games/board.h"
#include "games/game.h"

namespace zf {

class Connect4 : public PlainGame<Connect4> {
  public:
    struct Options {};
    static constexpr int kColumns = 7, kRows = 6;

    static std::vector<OptionSpec> option_specs() { return {}; }
    static Result<Options> parse_options(const OptionValues&) { return Options{}; }
    static Facts facts(const Options&) {
        Facts facts;
        facts.name = "connect4";
        facts.num_actions = kColumns;
        facts.observation_bytes = kColumns * kRows + 1;
        facts.max_plies = kColumns * kRows;
        facts.outcomes = win_draw_loss();
        facts.symmetries = cell_symmetries(kRows, kColumns, true, 1);
        for (Symmetry& symmetry : facts.symmetries) symmetry.action.resize(kColumns);
        return facts;
    }

    static Connect4 start(const Options&, Rng&) { return Connect4(); }

    Mover to_move() const { return state_ == State::playing ? Mover(turn_) : kOver; }

    int legal_actions(Action* actions) const {
        int count = 0;
        for (int column = 0; column < kColumns; ++column) {
            actions[count] = Action(column);
            count += can_drop(column);
        }
        return count;
    }

    Action random_action(Rng& rng) const {
        for (;;) {
            const int column = int(rng.below(kColumns));
            if (can_drop(column)) return Action(column);
        }
    }

    void play(Action action) {
        const uint64_t taken = discs_[0] | discs_[1];
        const uint64_t disc = (taken + bottom(action)) & column_mask(action);
        discs_[turn_] |= disc;
        history_[num_plies_ / 21] |= uint64_t(action) << (3 * (num_plies_ % 21));
        ++num_plies_;
        if (has_four(discs_[turn_])) {
            state_ = State::won;
        } else if (num_plies_ == kColumns * kRows) {
            state_ = State::drawn;
        }
        turn_ ^= 1;
    }

    int outcome(int player) const {
        if (state_ == State::drawn) return kDraw;
        return player == (turn_ ^ 1) ? kWin : kLoss;  // the winner moved last
    }

    void observe(int player, uint8_t* bytes) const {
        for (int row = kRows - 1; row >= 0; --row)
            for (int column = 0; column < kColumns; ++column) {
                const int at = column * kStride + row;
                *bytes++ =
                    uint8_t(((discs_[player] >> at) & 1) | (((discs_[player ^ 1] >> at) & 1) << 1));
            }
        *bytes = to_move() == player;
    }

    std::string action_text(Action action) const { return std::string(1, char('1' + action)); }
    Result<Action> action_from_text(const std::string& text) const {
        if (text.size() != 1 || text[0] < '1' || text[0] > '7')
            return Error{Error::Kind::bad_text,
                         "'" + text + "' is no move; a move is a column 1-7"};
        if (to_move() == kOver) return Error{Error::Kind::illegal, text + ": the game is over"};
        if (!can_drop(text[0] - '1'))
            return Error{Error::Kind::illegal, "column " + text + " is full"};
        return Action(text[0] - '1');
    }
    std::string to_text() const {
        std::string columns;
        for (int ply = 0; ply < num_plies_; ++ply) columns += char('1' + played(ply));
        return columns;
    }
    static Result<Connect4> from_text(const Options&, const std::string& text) {
        Connect4 position;
        for (const char column : text) {
            const Result<void> played = position.play_from_text(std::string(1, column));
            if (!played) return played.error();
        }
        return position;
    }
    std::string picture() const {
        return board_picture(rows_top_first(), '1') +
               line_of_result(to_move(), to_move() == kOver ? outcome(0) : 0);
    }
    Described describe(int) const { return describe_board(rows_top_first(), turn_); }
    static Result<Connect4> from_describe(const Options&, const Described& described);

  private:
    enum class State : uint8_t { playing, won, drawn };

    // Bit column * 7 + row, row 0 at the bottom; the seventh bit of a column stays empty.
    static constexpr int kStride = kRows + 1;
    static constexpr uint64_t bottom(int column) { return 1ULL << (column * kStride); }
    static constexpr uint64_t column_mask(int column) {
        return ((1ULL << kRows) - 1) << (column * kStride);
    }
    bool can_drop(int column) const {
        return !(((discs_[0] | discs_[1]) >> (column * kStride + kRows - 1)) & 1);
    }
    static bool has_four(uint64_t discs) {
        for (const int step : {1, kStride - 1, kStride, kStride + 1}) {
            const uint64_t pairs = discs & (discs >> step);
            if (pairs & (pairs >> (2 * step))) return true;
        }
        return false;
    }
    std::vector<std::string> rows_top_first() const {
        std::vector<std::string> rows;
        for (int row = kRows - 1; row >= 0; --row) {
            std::string text;
            for (int column = 0; column < kColumns; ++column) {
                const int at = column * kStride + row;
                text += kStones[((discs_[0] >> at) & 1) | (((discs_[1] >> at) & 1) << 1)];
            }
            rows.push_back(text);
        }
        return rows;
    }
    int played(int ply) const { return int((history_[ply / 21] >> (3 * (ply % 21))) & 7); }
    // Finds columns that lead from the empty board to these discs, taking discs away from the top;
    // an order always exists for a position that was reached by play.
    static bool unplay(uint64_t (&discs)[2], int player, std::string& columns_backwards,
                       int& tries_left);

    uint64_t discs_[2] = {0, 0};
    uint64_t history_[2] = {0, 0};  // three bits a ply
    uint8_t num_plies_ = 0;
    uint8_t turn_ = 0;
    State state_ = State::playing;
};

inline bool Connect4::unplay(uint64_t (&discs)[2], int player, std::string& columns_backwards,
                             int& tries_left) {
    if ((discs[0] | discs[1]) == 0) return true;
    if (--tries_left < 0) return false;
    for (int column = 0; column < kColumns; ++column) {
        const uint64_t in_column = (discs[0] | discs[1]) & column_mask(column);
        if (in_column == 0) continue;
        const uint64_t top = 1ULL << (63 - std::countl_zero(in_column));
        // The disc on top must be the last mover's, and before it nobody may have had a line.
        if (!(discs[player] & top) || has_four(discs[player] & ~top) || has_four(discs[player ^ 1]))
            continue;
        discs[player] &= ~top;
        columns_backwards += char('1' + column);
        if (unplay(discs, player ^ 1, columns_backwards, tries_left)) return true;
        columns_backwards.pop_back();
        discs[player] |= top;
    }
    return false;
}

inline Result<Connect4> Connect4::from_describe(const Options&, const Described& described) {
    const auto read = read_board(described, kRows, kColumns);
    if (!read) return read.error();
    uint64_t discs[2] = {0, 0};
    for (int column = 0; column < kColumns; ++column) {
        bool ended = false;
        for (int row = 0; row < kRows; ++row) {
            const char stone = read->rows_top_first[kRows - 1 - row][column];
            if (stone == '.') {
                ended = true;
            } else if (ended) {
                return Error{Error::Kind::inconsistent,
                             "column " + std::to_string(column + 1) + " has a disc over a gap"};
            } else {
                discs[stone == 'O'] |= 1ULL << (column * kStride + row);
            }
        }
    }
    if (has_four(discs[read->player]))
        return Error{Error::Kind::inconsistent, "the game was over before the last move"};
    std::string columns_backwards;
    int tries_left = 1'000'000;
    if (!unplay(discs, read->player ^ 1, columns_backwards, tries_left))
        return Error{Error::Kind::inconsistent,
                     "no order of play was found that leads to this board"};
    return from_text({}, std::string(columns_backwards.rbegin(), columns_backwards.rend()));
}

}  // namespace zf
