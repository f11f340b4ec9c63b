// Descriptions of positions as Python's own dicts, lists, numbers and texts, and back.
#pragma once

#include <nanobind/nanobind.h>

#include "base/described.h"
#include "bind/python_errors.h"

namespace zf {

inline nanobind::object to_python(const Described& described) {
    namespace nb = nanobind;
    if (const int64_t* number = described.number()) return nb::int_(*number);
    if (const std::string* text = described.text()) return nb::str(text->c_str(), text->size());
    if (const Described::List* items = described.list()) {
        nb::list list;
        for (const Described& item : *items) list.append(to_python(item));
        return list;
    }
    if (const auto* fields = std::get_if<Described::Fields>(&described.value)) {
        nb::dict dict;
        for (const auto& [name, value] : *fields) dict[name.c_str()] = to_python(value);
        return dict;
    }
    return nb::none();
}

// Tuples are lists, and None is nothing. Other things are refused, nested ones by their place.
inline Described from_python(nanobind::handle value, const std::string& place) {
    namespace nb = nanobind;
    if (value.is_none()) return {};
    if (nb::isinstance<nb::str>(value)) return nb::str(value).c_str();
    if (PyIndex_Check(value.ptr())) {
        const nb::object number = nb::steal(PyNumber_Index(value.ptr()));
        int64_t fits = 0;
        if (number.is_valid() && nb::try_cast(number, fits)) return fits;
        PyErr_Clear();
    }
    if (nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value)) {
        Described::List list;
        for (const nb::handle item : value)
            list.push_back(from_python(item, place + "[" + std::to_string(list.size()) + "]"));
        return list;
    }
    if (nb::isinstance<nb::dict>(value)) {
        Described::Fields fields;
        for (const auto& [key, item] : nb::borrow<nb::dict>(value)) {
            const std::string name = nb::str(key).c_str();
            fields.emplace_back(name, from_python(item, place + "." + name));
        }
        return fields;
    }
    raise({Error::Kind::bad_text, place + " must be a number, text, list or dict, got " +
                                      nb::str(nb::repr(value)).c_str()});
}

}  // namespace zf
