// Prints each game's signature, to be compared with tests/golden/signatures.txt.
#include "selfplay/signature.h"

#include <cstdio>

#include "games/backgammon.h"
#include "games/beastybar.h"
#include "games/connect4.h"
#include "games/gomoku.h"

template <zf::Game P>
void print_signature() {
    zf::OptionValues values;
    for (const zf::OptionSpec& spec : P::option_specs()) values.emplace_back(spec.name, spec.value);
    const auto options = P::parse_options(values);
    std::printf("%s %s\n", P::facts(*options).name.c_str(),
                zf::signature<P>(*options, values).c_str());
}

int main() {
    print_signature<zf::Backgammon>();
    print_signature<zf::BeastyBar>();
    print_signature<zf::Connect4>();
    print_signature<zf::Gomoku>();
}
