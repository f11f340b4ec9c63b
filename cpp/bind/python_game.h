// What Python holds: a game and a position of it. Shared by the files that bind what uses them.
#pragma once

#include <nanobind/nanobind.h>

#include "bind/any_game.h"
#include "bind/python_errors.h"

namespace zf {

struct PyGame {
    std::shared_ptr<const AnyGame> core;
    nanobind::object custom_class = {};  // of a game written in Python
    const void* built = nullptr;  // of a game that a user built: which shared object it is from

    // Runs long work without the GIL, so that other Python threads and Ctrl-C get their turn. The
    // work may not touch Python, except for a game written in Python, which keeps the GIL.
    template <class Work>
    auto run_unlocked(Work work) const {
        if (custom_class.is_valid()) return work();
        const nanobind::gil_scoped_release unlocked;
        return work();
    }
    bool operator==(const PyGame& other) const {
        if (core == other.core) return true;
        return custom_class.is(other.custom_class) && built == other.built &&
               core->facts().name == other.core->facts().name &&
               core->options() == other.core->options();
    }
};

struct PyPosition {
    PyGame game;
    std::unique_ptr<AnyPosition> core;
};

void bind_game(nanobind::module_& m);
void bind_position(nanobind::module_& m);
void bind_registry(nanobind::module_& m);
void bind_custom_game(nanobind::module_& m);
void bind_built_game(nanobind::module_& m);
void bind_search(nanobind::module_& m);
void bind_episode(nanobind::module_& m);
void bind_selfplay(nanobind::module_& m);
void bind_solve(nanobind::module_& m);
void bind_beastybar_solver(nanobind::module_& m);

}  // namespace zf
