// The settings of a search and of self-play, set and read by name as other languages do.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <span>
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
const Setting<Options>* find_setting(std::span<const Setting<Options>> settings,
                                     const std::string& name) {
    for (const Setting<Options>& each : settings)
        if (each.name == name) return &each;
    return nullptr;
}

// Sets one setting, or says what it may be.
template <class Options>
Result<void> set_setting(Options& options, const Setting<Options>& setting,
                         const SettingValue& value) {
    const auto refuse = [&](const std::string& right) {
        return Error{Error::Kind::bad_text, std::string(setting.name) + " must be " + right +
                                                ", got " + value_text(value)};
    };
    const auto assign = [&](auto given) {
        std::visit(
            [&](auto field) {
                using T = std::decay_t<decltype(options.*field)>;
                options.*field = static_cast<T>(given);
            },
            setting.field);
        return Result<void>();
    };
    if (std::holds_alternative<bool Options::*>(setting.field)) {
        const bool* truth = std::get_if<bool>(&value);
        if (!truth) return refuse("False or True");
        return assign(*truth);
    }
    if (!setting.choices.empty()) {
        const std::string* word = std::get_if<std::string>(&value);
        for (size_t i = 0; word && i < setting.choices.size(); ++i)
            if (setting.choices[i] == *word) return assign(i);
        std::string choices;
        for (const std::string_view each : setting.choices)
            choices += (choices.empty() ? "" : " or ") + std::string(each);
        return refuse(choices);
    }
    const bool whole = !std::holds_alternative<float Options::*>(setting.field);
    const std::string range = std::string(whole ? "a whole number " : "a number ") +
                              (setting.exclusive_min ? "above " : "from ") +
                              number_text(setting.min) + " to " + number_text(setting.max);
    const int64_t* integer = std::get_if<int64_t>(&value);
    const double* real = std::get_if<double>(&value);
    if (!integer && (whole || !real)) return refuse(range);
    const double number = integer ? double(*integer) : *real;
    if (!(number >= setting.min && number <= setting.max)) return refuse(range);
    if (setting.exclusive_min && number == setting.min) return refuse(range);
    return assign(number);
}

// The value that a setting has in some options. A float becomes the shortest decimal that gives it.
template <class Options>
SettingValue setting_of(const Options& options, const Setting<Options>& setting) {
    return std::visit(
        [&](auto field) -> SettingValue {
            const auto value = options.*field;
            using T = std::decay_t<decltype(value)>;
            if constexpr (std::is_same_v<T, bool>) return value;
            if constexpr (std::is_enum_v<T>) return std::string(setting.choices[size_t(value)]);
            if constexpr (std::is_same_v<T, float>) {
                char text[32] = {};
                std::to_chars(text, text + sizeof text - 1, value);
                return std::strtod(text, nullptr);
            }
            return int64_t(value);
        },
        setting.field);
}

// A row of a table of settings as other languages read it.
struct SettingFacts {
    std::string name, kind;  // kind: int, float, bool or choice
    SettingValue value;      // the default
    double min, max;
    bool exclusive_min;
    std::vector<std::string> choices;
    bool selfplay;
    std::string doc;
};

template <class Options>
std::vector<SettingFacts> setting_facts(std::span<const Setting<Options>> settings) {
    std::vector<SettingFacts> all;
    for (const Setting<Options>& each : settings) {
        const std::string kind = std::holds_alternative<bool Options::*>(each.field)    ? "bool"
                                 : std::holds_alternative<float Options::*>(each.field) ? "float"
                                 : each.choices.empty()                                 ? "int"
                                                                                        : "choice";
        all.push_back({std::string(each.name),
                       kind,
                       setting_of(Options{}, each),
                       each.min,
                       each.max,
                       each.exclusive_min,
                       {each.choices.begin(), each.choices.end()},
                       each.selfplay,
                       std::string(each.doc)});
    }
    return all;
}

// Sets a setting by its name; an unknown name gets those that are
// known, nearest first.
inline Result<void> set_search_setting(SearchOptions& options, const std::string& name,
                                       const SettingValue& value) {
    if (const auto* setting = find_setting<SearchOptions>(kSearchSettings, name))
        return set_setting(options, *setting, value);
    std::vector<std::string> known;
    for (const auto& each : kSearchSettings) known.emplace_back(each.name);
    return Error{Error::Kind::unsupported, unknown_name("search setting", name, known)};
}

// Of self-play or of its search.
inline Result<void> set_selfplay_setting(SelfPlayOptions& options, const std::string& name,
                                         const SettingValue& value) {
    if (const auto* setting = find_setting<SelfPlayOptions>(kSelfPlaySettings, name))
        return set_setting(options, *setting, value);
    const auto* setting = find_setting<SearchOptions>(kSearchSettings, name);
    if (setting && setting->selfplay) return set_setting(options.search, *setting, value);
    std::vector<std::string> known;
    for (const auto& each : kSelfPlaySettings) known.emplace_back(each.name);
    for (const auto& each : kSearchSettings)
        if (each.selfplay) known.emplace_back(each.name);
    return Error{Error::Kind::unsupported, unknown_name("self-play setting", name, known)};
}

inline Result<EvaluatorKind> evaluator_kind(const std::string& name) {
    const std::vector<std::string> known = {"uniform", "hash", "playout"};
    for (size_t i = 0; i < known.size(); ++i)
        if (known[i] == name) return EvaluatorKind(i);
    return Error{Error::Kind::unsupported, unknown_name("evaluator", name, known)};
}

}  // namespace zf
