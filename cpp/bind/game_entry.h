// How a game is made: its name, its options and what each may be.
#pragma once

#include <algorithm>

#include "bind/game_of.h"
#include "bind/nearest.h"

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

template <Game P>
GameEntry game_entry() {
    const std::vector<OptionSpec> specs = P::option_specs();
    const auto options = P::parse_options(default_options(specs));
    return {P::facts(*options).name, specs,
            [](const OptionValues& values) -> Result<std::unique_ptr<AnyGame>> {
                const auto options = P::parse_options(values);
                if (!options) return options.error();
                return std::unique_ptr<AnyGame>(std::make_unique<GameOf<P>>(*options, values));
            }};
}

// "3…19" for consecutive numbers, else "freestyle or exact".
inline std::string allowed_text(const std::vector<std::string>& allowed) {
    const int count = int(allowed.size());
    const auto is_number = [](const std::string& text) {
        return text.size() < 9 && text.find_first_not_of("0123456789") == std::string::npos;
    };
    bool consecutive = count > 2 && is_number(allowed[0]);
    for (int i = 1; consecutive && i < count; ++i)
        consecutive = is_number(allowed[i]) && std::stoi(allowed[i]) == std::stoi(allowed[0]) + i;
    if (consecutive) return allowed[0] + "…" + allowed[count - 1];
    std::string text;
    for (int i = 0; i < count; ++i)
        text += (i == 0 ? "" : i < count - 1 ? ", " : " or ") + allowed[i];
    return text;
}

inline Result<void> set_option(const GameEntry& entry, const std::string& name,
                               const std::string& value, OptionValues& values) {
    std::vector<std::string> known;
    for (size_t i = 0; i < entry.option_specs.size(); ++i) {
        const OptionSpec& spec = entry.option_specs[i];
        known.push_back(spec.name);
        if (spec.name != name) continue;
        if (std::find(spec.allowed.begin(), spec.allowed.end(), value) == spec.allowed.end())
            return Error{Error::Kind::unsupported, entry.name + ": " + name + " must be " +
                                                       allowed_text(spec.allowed) + ", got " +
                                                       value};
        values[i].second = value;
        return {};
    }
    return Error{Error::Kind::unsupported, entry.name + ": " + unknown_name("option", name, known)};
}

// A game with the options given; the others have their defaults.
inline Result<std::unique_ptr<AnyGame>> make_game(const GameEntry& entry,
                                                  const OptionValues& given) {
    OptionValues values = default_options(entry.option_specs);
    for (const auto& [option, value] : given) {
        const Result<void> set = set_option(entry, option, value, values);
        if (!set) return set.error();
    }
    return entry.make(values);
}

}  // namespace zf
