// JSON for small descriptions: settings come in as one flat object, facts and results go out.
// Batches and episodes never pass through it.
#pragma once

#include <charconv>
#include <cmath>
#include <string_view>

#include "base/described.h"
#include "bind/game_entry.h"
#include "bind/settings.h"
#include "search/root.h"

namespace zf {

// ---- writing

// Writes values in order and puts the commas between them.
class JsonWriter {
  public:
    JsonWriter& open(char bracket) {  // { or [
        separate();
        text_ += bracket;
        return *this;
    }
    JsonWriter& close(char bracket) {
        text_ += bracket;
        return *this;
    }
    JsonWriter& key(std::string_view name) {
        value(name);
        text_ += ':';
        return *this;
    }
    JsonWriter& value(std::string_view text) {
        separate();
        text_ += '"';
        for (const char c : text) {
            if (c == '"' || c == '\\') {
                text_ += {'\\', c};
            } else if (static_cast<unsigned char>(c) < 0x20) {
                text_ += "\\u00";
                text_ += "0123456789abcdef"[c >> 4];
                text_ += "0123456789abcdef"[c & 15];
            } else {
                text_ += c;
            }
        }
        text_ += '"';
        return *this;
    }
    JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
    JsonWriter& value(const char* text) { return value(std::string_view(text)); }
    JsonWriter& value(bool truth) { return raw(truth ? "true" : "false"); }
    JsonWriter& nothing() { return raw("null"); }
    // A float is the shortest decimal that gives the same bits.
    template <class Number>
        requires(std::is_arithmetic_v<Number>)
    JsonWriter& value(Number number) {
        char text[32];
        const auto end = std::to_chars(text, text + sizeof text, number).ptr;
        return raw({text, size_t(end - text)});
    }
    template <class T>
    JsonWriter& value(const std::vector<T>& list) {
        open('[');
        for (const T& each : list) value(each);
        return close(']');
    }
    JsonWriter& value(const SettingValue& setting) {
        std::visit([this](const auto& each) { value(each); }, setting);
        return *this;
    }
    JsonWriter& value(const Described& described) {
        if (const int64_t* number = described.number()) return value(*number);
        if (const std::string* text = described.text()) return value(*text);
        if (const Described::List* list = described.list()) return value(*list);
        const auto* fields = std::get_if<Described::Fields>(&described.value);
        if (!fields) return nothing();
        open('{');
        for (const auto& [name, held] : *fields) key(name).value(held);
        return close('}');
    }

    std::string take() { return std::move(text_); }

  private:
    JsonWriter& raw(std::string_view written) {
        separate();
        text_ += written;
        return *this;
    }
    void separate() {
        if (!text_.empty() && std::string_view("{[:").find(text_.back()) == std::string_view::npos)
            text_ += ',';
    }

    std::string text_;
};

inline std::string facts_json(const Facts& facts, const OptionValues& options) {
    JsonWriter json;
    json.open('{').key("name").value(facts.name);
    json.key("options").open('{');
    for (const auto& [name, value] : options) json.key(name).value(value);
    json.close('}');
    json.key("num_actions").value(facts.num_actions);
    json.key("num_chance_outcomes").value(facts.num_chance_outcomes);
    json.key("observation_bytes").value(facts.observation_bytes);
    json.key("max_plies").value(facts.max_plies);
    json.key("hidden").value(facts.hidden);
    json.key("outcomes").open('[');
    for (const Outcome& outcome : facts.outcomes)
        json.open('{')
            .key("name")
            .value(outcome.name)
            .key("reward")
            .value(outcome.reward)
            .key("opposite")
            .value(outcome.opposite)
            .close('}');
    return json.close(']').close('}').take();
}

// See search/root.h.
inline std::string result_json(const RootResult& result) {
    JsonWriter json;
    json.open('{');
    json.key("actions").value(result.actions);
    json.key("visits").value(result.visits);
    json.key("values_to_move").value(result.values_to_move);
    json.key("priors").value(result.priors);
    json.key("policy").value(result.policy);
    json.key("target").value(result.target);
    json.key("outcomes_to_move").value(result.outcomes_to_move);
    json.key("principal_variation").value(result.principal_variation);
    json.key("best_action").value(result.best_action);
    json.key("value_to_move").value(result.value_to_move);
    json.key("num_simulations").value(result.num_simulations);
    json.key("depth").value(result.depth);
    json.key("num_bytes").value(result.num_bytes);
    json.key("solved").value(result.solved);
    json.key("plies_to_end").value(result.plies_to_end);
    json.key("memory_full").value(result.memory_full);
    return json.close('}').take();
}

// ---- reading

using NamedValues = std::vector<std::pair<std::string, SettingValue>>;

// Reads one object whose values are texts, numbers, true and false.
class FlatJsonReader {
  public:
    static Result<NamedValues> read(std::string_view text) { return FlatJsonReader(text).object(); }

  private:
    explicit FlatJsonReader(std::string_view text) : text_(text) {}

    Result<NamedValues> object() {
        NamedValues all;
        if (!take('{')) return fault("{");
        for (bool first = true; !take('}'); first = false) {
            if (!first && !take(',')) return fault(", or }");
            std::string name;
            if (!read_text(name)) return fault("a name in quotes");
            if (!take(':')) return fault(":");
            SettingValue value;
            if (!read_value(value)) return fault("a text, a number, true or false");
            all.emplace_back(std::move(name), std::move(value));
        }
        skip_spaces();
        if (at_ < text_.size()) return fault("nothing more");
        return all;
    }

    bool read_value(SettingValue& value) {
        skip_spaces();
        if (take_word("true")) {
            value = true;
        } else if (take_word("false")) {
            value = false;
        } else if (at_ < text_.size() && text_[at_] == '"') {
            std::string text;
            if (!read_text(text)) return false;
            value = std::move(text);
        } else {
            return read_number(value);
        }
        return true;
    }

    // Without escapes: names and choices have none.
    bool read_text(std::string& text) {
        if (!take('"')) return false;
        const size_t end = text_.find_first_of("\"\\", at_);
        if (end == std::string_view::npos || text_[end] != '"') return false;
        text = text_.substr(at_, end - at_);
        at_ = end + 1;
        return true;
    }

    bool read_number(SettingValue& value) {
        const size_t end = std::min(text_.find_first_not_of("+-.0123456789eE", at_), text_.size());
        const std::string written(text_.substr(at_, end - at_));
        if (written.empty() || written.size() > 40) return false;
        int64_t whole = 0;
        const char* const last = written.data() + written.size();
        const auto parsed = std::from_chars(written.data(), last, whole);
        if (parsed.ec == std::errc() && parsed.ptr == last) {
            value = whole;
        } else {
            char* stopped = nullptr;
            const double number = std::strtod(written.c_str(), &stopped);
            if (stopped != last || !std::isfinite(number)) return false;
            value = number;
        }
        at_ = end;
        return true;
    }

    void skip_spaces() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }
    bool take(char wanted) {
        skip_spaces();
        if (at_ >= text_.size() || text_[at_] != wanted) return false;
        ++at_;
        return true;
    }
    bool take_word(std::string_view word) {
        if (text_.substr(at_, word.size()) != word) return false;
        at_ += word.size();
        return true;
    }
    Error fault(const std::string& wanted) const {
        return {Error::Kind::bad_text, "a JSON object is wrong at character " +
                                           std::to_string(at_) + ": expected " + wanted};
    }

    std::string_view text_;
    size_t at_ = 0;
};

// Settings of a search on top of some others, or of self-play.
inline Result<void> read_search_settings(std::string_view json, SearchOptions& options) {
    const Result<NamedValues> settings = FlatJsonReader::read(json);
    if (!settings) return settings.error();
    for (const auto& [name, value] : *settings)
        if (const Result<void> set = set_search_setting(options, name, value); !set) return set;
    return {};
}
inline Result<void> read_selfplay_settings(std::string_view json, SelfPlayOptions& options) {
    const Result<NamedValues> settings = FlatJsonReader::read(json);
    if (!settings) return settings.error();
    for (const auto& [name, value] : *settings)
        if (const Result<void> set = set_selfplay_setting(options, name, value); !set) return set;
    return {};
}

// Options of a game; numbers become texts.
inline Result<OptionValues> read_options(std::string_view json) {
    const Result<NamedValues> given = FlatJsonReader::read(json);
    if (!given) return given.error();
    OptionValues options;
    for (const auto& [name, value] : *given) {
        const std::string* text = std::get_if<std::string>(&value);
        options.emplace_back(name, text ? *text : value_text(value));
    }
    return options;
}

// The name of an evaluator of the core; none for an empty one: the caller evaluates.
inline Result<std::optional<EvaluatorKind>> optional_evaluator(const std::string& name) {
    if (name.empty()) return std::optional<EvaluatorKind>();
    const Result<EvaluatorKind> kind = evaluator_kind(name);
    if (!kind) return kind.error();
    return std::optional<EvaluatorKind>(*kind);
}

}  // namespace zf
