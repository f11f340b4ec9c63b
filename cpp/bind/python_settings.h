// Settings as Python gives them.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include "bind/python_errors.h"
#include "bind/settings.h"

namespace zf {

using Settings = nanobind::typed<nanobind::dict, nanobind::str, nanobind::object>;

// Any Python value; what cannot be a setting becomes a text, which is then refused by name.
inline SettingValue setting_value(nanobind::handle value) {
    namespace nb = nanobind;
    if (nb::isinstance<nb::bool_>(value)) return nb::cast<bool>(value);
    int64_t whole = 0;
    if (nb::try_cast(value, whole)) return whole;
    double number = 0;
    if (nb::try_cast(value, number)) return number;
    return std::string(nb::str(value).c_str());
}

// None: the caller evaluates.
inline std::optional<EvaluatorKind> kind_or_raise(const std::optional<std::string>& evaluator) {
    if (!evaluator) return std::nullopt;
    return value_or_raise(evaluator_kind(*evaluator));
}

}  // namespace zf
