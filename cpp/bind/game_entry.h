// How a game is made: its name, its options and what each may be.
#pragma once

#include "bind/any_game.h"

namespace zf {

struct GameEntry {
    std::string name;
    std::vector<OptionSpec> option_specs;
    // Needs all options, each with an allowed value.
    Result<std::unique_ptr<AnyGame>> (*make)(const OptionValues& values);
};

inline OptionValues default_options(const std::vector<OptionSpec>& specs) {
    OptionValues values;
    for (const OptionSpec& spec : specs) values.emplace_back(spec.name, spec.value);
    return values;
}

// "3…19" for consecutive numbers, else "freestyle or exact".
std::string allowed_text(const std::vector<std::string>& allowed);

// A game with the options given; the others have their defaults.
Result<std::unique_ptr<AnyGame>> make_game(const GameEntry& entry, const OptionValues& given);

}  // namespace zf
