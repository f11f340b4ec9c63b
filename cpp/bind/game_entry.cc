#include "bind/game_entry.h"

#include <algorithm>

#include "bind/nearest.h"

namespace zf {

std::string allowed_text(const std::vector<std::string>& allowed) {
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

namespace {

Result<void> set_option(const GameEntry& entry, const std::string& name, const std::string& value,
                        OptionValues& values) {
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

}  // namespace

Result<std::unique_ptr<AnyGame>> make_game(const GameEntry& entry, const OptionValues& given) {
    OptionValues values = default_options(entry.option_specs);
    for (const auto& [option, value] : given) {
        const Result<void> set = set_option(entry, option, value, values);
        if (!set) return set.error();
    }
    return entry.make(values);
}

}  // namespace zf
