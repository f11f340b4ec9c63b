// The settings of a search and of self-play by name, with what each may be.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "bind/nearest.h"
#include "search/evaluators.h"
#include "search/options.h"
#include "selfplay/options.h"

namespace zf {

// A value as other languages give it.
using SettingValue = std::variant<bool, int64_t, double, std::string>;

template <class Options>
struct Setting {
    using Field = std::variant<float Options::*, uint32_t Options::*, uint64_t Options::*,
                               bool Options::*, RootKind Options::*, OpponentNodes Options::*>;
    Setting(std::string name, Field field, double least, double most)
        : name(std::move(name)), field(field), least(least), most(most) {}
    Setting(std::string name, Field field, std::vector<std::string> words)
        : name(std::move(name)), field(field), least(0), most(0), words(std::move(words)) {}

    std::string name;
    Field field;
    double least, most;              // of numbers
    std::vector<std::string> words;  // of the others: the value's name, by its number
};

inline constexpr double kMostCount = 4294967295.0, kMostBytes = 0x1p40;

inline const std::vector<Setting<SearchOptions>>& search_settings() {
    constexpr double kManyLeaves = 65536;
    static const std::vector<Setting<SearchOptions>> settings = {
        {"num_simulations", &SearchOptions::num_simulations, 1, kMostCount - 1},
        {"root", &SearchOptions::root, std::vector<std::string>{"puct", "gumbel"}},
        {"c_puct", &SearchOptions::c_puct, 0, 1e6},
        {"fpu_reduction", &SearchOptions::fpu_reduction, 0, 2},
        {"dirichlet_epsilon", &SearchOptions::dirichlet_epsilon, 0, 1},
        {"dirichlet_alpha", &SearchOptions::dirichlet_alpha, 0, 1e6},
        {"forced_playouts", &SearchOptions::forced_playouts, 0, 1e6},
        {"prove", &SearchOptions::prove, std::vector<std::string>{"False", "True"}},
        {"opponent_nodes", &SearchOptions::opponent_nodes,
         std::vector<std::string>{"pooled", "per_hand"}},
        {"max_considered", &SearchOptions::max_considered, 0, 65535},
        {"gumbel_scale", &SearchOptions::gumbel_scale, 0, 1e6},
        {"gumbel_c_visit", &SearchOptions::gumbel_c_visit, 0, 1e6},
        {"gumbel_c_scale", &SearchOptions::gumbel_c_scale, 0, 1e6},
        {"max_leaves", &SearchOptions::max_leaves, 1, kManyLeaves},
        {"max_bytes", &SearchOptions::max_bytes, 1, kMostBytes},
    };
    return settings;
}

// Those of self-play beside the settings of its search.
inline const std::vector<Setting<SelfPlayOptions>>& selfplay_settings() {
    static const std::vector<Setting<SelfPlayOptions>> settings = {
        {"full_search_probability", &SelfPlayOptions::full_search_probability, 0, 1},
        {"fast_simulations", &SelfPlayOptions::fast_simulations, 1, kMostCount - 1},
        {"afterstates", &SelfPlayOptions::afterstates, std::vector<std::string>{"False", "True"}},
        {"temperature", &SelfPlayOptions::temperature, 0, 1e6},
        {"final_temperature", &SelfPlayOptions::final_temperature, 0, 1e6},
        {"temperature_drop_move", &SelfPlayOptions::temperature_drop_move, 0, kMostCount},
        {"reuse_tree", &SelfPlayOptions::reuse_tree, std::vector<std::string>{"False", "True"}},
        {"cache_bytes", &SelfPlayOptions::cache_bytes, 0, kMostBytes},
    };
    return settings;
}

// A number as people write it: 800, 0.25, 1e+06.
inline std::string number_text(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%.10g", number);
    return text;
}

inline std::string value_text(const SettingValue& value) {
    if (const bool* truth = std::get_if<bool>(&value)) return *truth ? "True" : "False";
    if (const int64_t* number = std::get_if<int64_t>(&value)) return std::to_string(*number);
    if (const double* number = std::get_if<double>(&value)) return number_text(*number);
    return "'" + std::get<std::string>(value) + "'";
}

template <class Options>
const Setting<Options>* find_setting(const std::vector<Setting<Options>>& settings,
                                     const std::string& name) {
    for (const Setting<Options>& each : settings)
        if (each.name == name) return &each;
    return nullptr;
}

template <class Options>
std::vector<std::string> setting_names(const std::vector<Setting<Options>>& settings) {
    std::vector<std::string> names;
    for (const Setting<Options>& each : settings) names.push_back(each.name);
    return names;
}

// Sets one setting, or says what it may be.
template <class Options>
Result<void> set_setting(Options& options, const Setting<Options>& setting,
                         const SettingValue& value) {
    const auto refuse = [&](const std::string& right) {
        return Error{Error::Kind::bad_text,
                     setting.name + " must be " + right + ", got " + value_text(value)};
    };
    if (!setting.words.empty()) {
        const std::string word = std::holds_alternative<std::string>(value)
                                     ? std::get<std::string>(value)
                                     : value_text(value);
        const auto found = std::find(setting.words.begin(), setting.words.end(), word);
        if (found == setting.words.end())
            return refuse(setting.words[0] + " or " + setting.words[1]);
        const int index = int(found - setting.words.begin());
        std::visit(
            [&](auto field) {
                using T = std::decay_t<decltype(options.*field)>;
                options.*field = static_cast<T>(index);
            },
            setting.field);
        return {};
    }
    const bool whole = !std::holds_alternative<float Options::*>(setting.field);
    const std::string range = std::string(whole ? "a whole number" : "a number") + " from " +
                              number_text(setting.least) + " to " + number_text(setting.most);
    const int64_t* integer = std::get_if<int64_t>(&value);
    const double* real = std::get_if<double>(&value);
    if (!integer && (whole || !real)) return refuse(range);
    const double number = integer ? double(*integer) : *real;
    if (!(number >= setting.least && number <= setting.most)) return refuse(range);
    std::visit(
        [&](auto field) {
            using T = std::decay_t<decltype(options.*field)>;
            options.*field = static_cast<T>(number);
        },
        setting.field);
    return {};
}

// The same by name; an unknown name gets those that are known, nearest first.
inline Result<void> set_search_setting(SearchOptions& options, const std::string& name,
                                       const SettingValue& value) {
    if (const auto* setting = find_setting(search_settings(), name))
        return set_setting(options, *setting, value);
    return Error{Error::Kind::unsupported,
                 unknown_name("search setting", name, setting_names(search_settings()))};
}

// Of self-play or of its search.
inline Result<void> set_selfplay_setting(SelfPlayOptions& options, const std::string& name,
                                         const SettingValue& value) {
    if (const auto* setting = find_setting(selfplay_settings(), name))
        return set_setting(options, *setting, value);
    if (const auto* setting = find_setting(search_settings(), name))
        return set_setting(options.search, *setting, value);
    std::vector<std::string> known = setting_names(selfplay_settings());
    for (const std::string& each : setting_names(search_settings())) known.push_back(each);
    return Error{Error::Kind::unsupported, unknown_name("self-play setting", name, known)};
}

inline Result<EvaluatorKind> evaluator_kind(const std::string& name) {
    const std::vector<std::string> known = {"uniform", "hash", "playout"};
    for (size_t i = 0; i < known.size(); ++i)
        if (known[i] == name) return EvaluatorKind(i);
    return Error{Error::Kind::unsupported, unknown_name("evaluator", name, known)};
}

}  // namespace zf
