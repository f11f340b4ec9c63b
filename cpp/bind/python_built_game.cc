// Binds the loading of games that users built.

#include <dlfcn.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include "bind/built_game.h"
#include "bind/python_game.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace zf {
namespace {

Result<const GameEntry*> load(const std::string& path) {
    // Never closed: games made from it may live as long as the process.
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) return Error{Error::Kind::damaged, path + " cannot be loaded: " + dlerror()};
    void* const found = dlsym(library, "zerofleet_game");
    if (!found) return Error{Error::Kind::damaged, path + " is no built game"};
    const BuiltGame built = reinterpret_cast<BuiltGame (*)()>(found)();
    if (std::strcmp(built.headers, ZEROFLEET_HEADERS) != 0)
        return Error{Error::Kind::unsupported,
                     path + " was built with other headers than this zerofleet; build it again"};
    if (std::strcmp(built.standard_library, kStandardLibrary) != 0)
        return Error{Error::Kind::unsupported, path + " was built with " + built.standard_library +
                                                   ", this zerofleet with " + kStandardLibrary +
                                                   "; use a compiler that has the same"};
    return built.entry;
}

Result<void> check_facts(const AnyGame& game) {
    const Result<CheckReport> checked = game.make_check(0)->run(0);
    if (!checked) return checked.error();
    if (game.facts().symmetries.empty())
        return Error{Error::Kind::inconsistent,
                     game.facts().name + ": facts: symmetries must hold the identity"};
    return {};
}

}  // namespace

void bind_built_game(nb::module_& m) {
    m.attr("HEADERS") = ZEROFLEET_HEADERS;
    m.attr("FLAGS") = ZEROFLEET_FLAGS;
    m.def(
        "load_game",
        [](const std::string& path, const OptionValues& options) {
            const GameEntry* entry = value_or_raise(load(path));
            PyGame game{value_or_raise(make_game(*entry, options)), {}, entry};
            value_or_raise(check_facts(*game.core));
            return game;
        },
        "path"_a, "options"_a, "The game in a shared object that zerofleet.games.build made.");
}

}  // namespace zf
