#include "bind/registry.h"

#include "bind/nearest.h"

namespace zf {
namespace {

// A game under another name, where these options have no other value.
GameEntry variant(GameEntry entry, const std::string& name, const OptionValues& fixed) {
    entry.name = name;
    for (OptionSpec& spec : entry.option_specs)
        for (const auto& [option, value] : fixed)
            if (spec.name == option) spec = {option, value, {value}};
    return entry;
}

}  // namespace

const std::vector<GameEntry>& game_entries() {
    static const std::vector<GameEntry> entries = {
        backgammon_entry(),
        beastybar_entry(),
        connect4_entry(),
        gomoku_entry(),
        variant(gomoku_entry(), "tictactoe", {{"size", "3"}, {"line", "3"}, {"rule", "freestyle"}}),
    };
    return entries;
}

Result<const GameEntry*> find_game(const std::string& name) {
    std::vector<std::string> known;
    for (const GameEntry& entry : game_entries()) {
        if (entry.name == name) return &entry;
        known.push_back(entry.name);
    }
    return Error{Error::Kind::unsupported, unknown_name("game", name, known)};
}

Result<std::unique_ptr<AnyGame>> make_game(const std::string& name, const OptionValues& given) {
    const Result<const GameEntry*> entry = find_game(name);
    if (!entry) return entry.error();
    return make_game(**entry, given);
}

}  // namespace zf
