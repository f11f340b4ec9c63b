// What the files that bind solvers share.
#pragma once

#include <nanobind/nanobind.h>

namespace zf {

// Long work of a solver runs without the GIL and calls this now and then, for Ctrl-C.
inline void check_signals() {
    const nanobind::gil_scoped_acquire locked;
    if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

void bind_solve_gomoku(nanobind::module_& m);
void bind_solve_backgammon(nanobind::module_& m);

}  // namespace zf
