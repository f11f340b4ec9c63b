// A tree of named values: how a position describes itself to people and to other languages.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace zf {

struct Described {
    using List = std::vector<Described>;
    using Fields = std::vector<std::pair<std::string, Described>>;  // in order of writing
    std::variant<std::monostate, int64_t, std::string, List, Fields> value;

    Described() = default;
    Described(int64_t number) : value(number) {}
    Described(int number) : value(int64_t(number)) {}
    Described(std::string text) : value(std::move(text)) {}
    Described(const char* text) : value(std::string(text)) {}
    Described(List list) : value(std::move(list)) {}
    Described(Fields fields) : value(std::move(fields)) {}

    bool operator==(const Described&) const = default;

    // Null if this is of another kind.
    const int64_t* number() const { return std::get_if<int64_t>(&value); }
    const std::string* text() const { return std::get_if<std::string>(&value); }
    const List* list() const { return std::get_if<List>(&value); }
    const Described* field(const std::string& name) const {
        const Fields* fields = std::get_if<Fields>(&value);
        if (!fields) return nullptr;
        for (const auto& [key, held] : *fields)
            if (key == name) return &held;
        return nullptr;
    }
};

}  // namespace zf
