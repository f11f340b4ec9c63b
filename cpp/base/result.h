// A value or an error. The core throws no exceptions (WebAssembly builds have none); each binding
// converts an Error into what its language uses.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace zf {

// `kind` lets callers distinguish errors without reading the text.
struct Error {
    enum class Kind {
        bad_text,      // a malformed text, option or description
        illegal,       // an action or call that is not allowed in this position
        truncated,     // bytes end too early
        damaged,       // bytes whose checksum or structure is wrong
        unsupported,   // a version, game or option that this build does not know
        too_large,     // over a stated bound
        inconsistent,  // well-formed, but contradicts the rules
    };
    Kind kind;
    std::string text;
};

template <class T>
class [[nodiscard]] Result {
  public:
    Result(T value) : held_(std::move(value)) {}
    Result(Error error) : held_(std::move(error)) {}

    explicit operator bool() const { return held_.index() == 0; }
    // Preconditions: holds a value, or an error, respectively.
    T& operator*() { return *std::get_if<0>(&held_); }
    const T& operator*() const { return *std::get_if<0>(&held_); }
    T* operator->() { return std::get_if<0>(&held_); }
    const T* operator->() const { return std::get_if<0>(&held_); }
    const Error& error() const { return *std::get_if<1>(&held_); }

  private:
    std::variant<T, Error> held_;
};

// Without a value: success or an error. `return {};` is success.
template <>
class [[nodiscard]] Result<void> {
  public:
    Result() = default;
    Result(Error error) : error_(std::move(error)) {}

    explicit operator bool() const { return !error_; }
    // Precondition: holds an error.
    const Error& error() const { return *error_; }

  private:
    std::optional<Error> error_;
};

}  // namespace zf
