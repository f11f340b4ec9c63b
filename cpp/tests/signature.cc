// Prints each game's signature, to be compared with tests/golden/signatures.txt.
#include "selfplay/signature.h"

#include <cstdio>

#include "games/backgammon.h"
#include "games/beastybar.h"
#include "games/connect4.h"
#include "games/gomoku.h"

template <zf::Game P>
void print_signature(const char* name, const zf::OptionValues& values) {
    std::printf("%s %s\n", name, zf::signature<P>(*P::parse_options(values), values).c_str());
}

template <zf::Game P>
void print_signature() {
    zf::OptionValues values;
    for (const zf::OptionSpec& spec : P::option_specs()) values.emplace_back(spec.name, spec.value);
    print_signature<P>(P::facts(*P::parse_options(values)).name.c_str(), values);
}

int main() {
    print_signature<zf::Backgammon>();
    print_signature<zf::BeastyBar>();
    print_signature<zf::Connect4>();
    print_signature<zf::Gomoku>();
    print_signature<zf::Gomoku>("tictactoe", {{"size", "3"}, {"line", "3"}, {"rule", "freestyle"}});
}
