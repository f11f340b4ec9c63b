// The Python module zerofleet._core: a table of contents. People use it by way of zerofleet.games
// and zerofleet.search.
#include <nanobind/nanobind.h>

#include "bind/python_game.h"

NB_MODULE(_core, m) {
    m.doc() = "The C++ core of zerofleet.";
    // A game that lives until the process ends is no fault, though nanobind would print a page.
    nanobind::set_leak_warnings(false);
    nanobind::register_exception_translator(zf::translate_rules_failed);
    m.attr("CHANCE") = int(zf::kChance);
    m.attr("OVER") = int(zf::kOver);
    m.attr("MAX_OUTCOMES") = zf::kMaxOutcomes;
    m.attr("MAX_PLIES") = zf::kMaxPlies;
    m.attr("MAX_NAME_BYTES") = zf::kMaxNameBytes;
    zf::bind_game(m);
    zf::bind_position(m);
    zf::bind_registry(m);
    zf::bind_custom_game(m);
    zf::bind_built_game(m);
    zf::bind_search(m);
    zf::bind_episode(m);
    zf::bind_selfplay(m);
    zf::bind_solve(m);
}
