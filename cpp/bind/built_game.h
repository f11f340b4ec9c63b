// What a game that a user built hands to the core: a shared object made by zerofleet/games/build.py
// has one C function, `zerofleet_game`, that gives a BuiltGame.
//
// The two share C++ classes, so both must have been made from the same headers and standard
// library. Both are stamped with theirs, as plain texts that any build can read.
#pragma once

#include "bind/game_of.h"

namespace zf {

#if defined(_LIBCPP_VERSION)
inline constexpr char kStandardLibrary[] = "libc++";
#elif _GLIBCXX_USE_CXX11_ABI
inline constexpr char kStandardLibrary[] = "libstdc++";
#else
inline constexpr char kStandardLibrary[] = "libstdc++ with pre-2011 strings";
#endif

struct BuiltGame {
    const char* headers;  // a hash of those that it was built with
    const char* standard_library;
    const GameEntry* entry;  // to be read only where the stamps are right
};

template <Game P>
BuiltGame built_game(const char* headers) {
    static const GameEntry entry = game_entry<P>();
    return {headers, kStandardLibrary, &entry};
}

}  // namespace zf
