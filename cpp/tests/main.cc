// The entry point of the C++ tests; the tests are in test_*.cc.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
