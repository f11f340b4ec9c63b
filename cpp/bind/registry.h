// The games by name. A game is known to Python and WebAssembly once it stands in `game_entries`.
#pragma once

#include "bind/game_entry.h"
#include "games/backgammon.h"
#include "games/beastybar.h"
#include "games/connect4.h"
#include "games/gomoku.h"

namespace zf {

// A game under another name, where these options have no other value.
inline GameEntry variant(GameEntry entry, const std::string& name, const OptionValues& fixed) {
    entry.name = name;
    for (OptionSpec& spec : entry.option_specs)
        for (const auto& [option, value] : fixed)
            if (spec.name == option) spec = {option, value, {value}};
    return entry;
}

inline const std::vector<GameEntry>& game_entries() {
    static const std::vector<GameEntry> entries = {
        game_entry<Backgammon>(),
        game_entry<BeastyBar>(),
        game_entry<Connect4>(),
        game_entry<Gomoku>(),
        variant(game_entry<Gomoku>(), "tictactoe",
                {{"size", "3"}, {"line", "3"}, {"rule", "freestyle"}}),
    };
    return entries;
}

inline Result<const GameEntry*> find_game(const std::string& name) {
    std::vector<std::string> known;
    for (const GameEntry& entry : game_entries()) {
        if (entry.name == name) return &entry;
        known.push_back(entry.name);
    }
    return Error{Error::Kind::unsupported, unknown_name("game", name, known)};
}

inline Result<std::unique_ptr<AnyGame>> make_game(const std::string& name,
                                                  const OptionValues& given) {
    const Result<const GameEntry*> entry = find_game(name);
    if (!entry) return entry.error();
    return make_game(**entry, given);
}

}  // namespace zf
