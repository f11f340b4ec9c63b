// Errors of the core as Python exceptions, the classes of zerofleet/errors.py.
#pragma once

#include <nanobind/nanobind.h>

#include "base/result.h"

namespace zf {

// Needs the interpreter's lock.
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

// The value, or the error raised.
template <class T>
T value_or_raise(Result<T> result) {
    if (!result) raise(result.error());
    return std::move(*result);
}

}  // namespace zf
