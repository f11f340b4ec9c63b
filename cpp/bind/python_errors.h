// Errors of the core as Python exceptions, the classes of zerofleet/errors.py.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>

#include "base/result.h"

namespace zf {

// Precondition: the GIL is held.
[[noreturn]] inline void raise(const Error& error) {
    const auto class_name = [&] {
        switch (error.kind) {
            case Error::Kind::bad_text:
                return "BadText";
            case Error::Kind::illegal:
                return "IllegalAction";
            case Error::Kind::truncated:
                return "BadBytes";
            case Error::Kind::damaged:
                return "BadBytes";
            case Error::Kind::unsupported:
                return "Unsupported";
            case Error::Kind::too_large:
                return "TooLarge";
            case Error::Kind::inconsistent:
                return "Inconsistent";
        }
        return "ZerofleetError";
    };
    const nanobind::object type = nanobind::module_::import_("zerofleet.errors").attr(class_name());
    PyErr_SetString(type.ptr(), error.text.c_str());
    throw nanobind::python_error();
}

inline void set_rules_failed(const std::string& text) {
    const nanobind::object type =
        nanobind::module_::import_("zerofleet.errors").attr("RulesFailed");
    PyErr_SetString(type.ptr(), text.c_str());
}

// Precondition: the GIL is held.
[[noreturn]] inline void raise_rules_failed(const std::string& text) {
    set_rules_failed(text);
    throw nanobind::python_error();
}

// What a game's own C++ code throws, as RulesFailed; everything else is left to nanobind. The core
// itself throws nothing but std::bad_alloc.
inline void translate_rules_failed(const std::exception_ptr& thrown, void*) {
    const auto failed = [](const std::string& what) {
        set_rules_failed("the game's own code threw " + what);
    };
    try {
        std::rethrow_exception(thrown);
    } catch (const nanobind::python_error&) {
        throw;
    } catch (const nanobind::builtin_exception&) {
        throw;
    } catch (const nanobind::cast_error&) {
        throw;
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::exception& error) {
        failed(error.what());
    } catch (...) {
        failed("something that is no std::exception");
    }
}

// The value, or the error raised.
template <class T>
T value_or_raise(Result<T> result) {
    if (!result) raise(result.error());
    if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace zf
