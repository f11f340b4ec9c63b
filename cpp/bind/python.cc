// The Python face of the core.
#include <nanobind/nanobind.h>

NB_MODULE(_core, m) {
    m.doc() = "The C++ core of zerofleet.";
    m.attr("version") = "0.1.0";
}
