// Binds the list of games.

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind/python_game.h"
#include "bind/registry.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace zf {

void bind_registry(nb::module_& m) {
    nb::class_<OptionSpec>(m, "OptionSpec", "An option of a game.")
        .def_ro("name", &OptionSpec::name)
        .def_ro("value", &OptionSpec::value, "The default.")
        .def_ro("allowed", &OptionSpec::allowed)
        .def_prop_ro(
            "allowed_text", [](const OptionSpec& spec) { return allowed_text(spec.allowed); },
            "What is allowed, for people: 3…19.");

    m.def("game_names", [] {
        std::vector<std::string> names;
        for (const GameEntry& entry : game_entries()) names.push_back(entry.name);
        return names;
    });
    m.def(
        "option_specs",
        [](const std::string& name) { return value_or_raise(find_game(name))->option_specs; },
        "name"_a);
    m.def(
        "make_game",
        [](const std::string& name, const OptionValues& options) {
            return PyGame{value_or_raise(make_game(name, options))};
        },
        "name"_a, "options"_a);
}

}  // namespace zf
