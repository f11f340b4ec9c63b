// Prints each game's signature, to be compared with tests/golden/signatures.txt.
#include <cstdio>

#include "bind/registry.h"

int main() {
    for (const zf::GameEntry& entry : zf::game_entries()) {
        const auto game = zf::make_game(entry, {});
        std::printf("%s %s\n", entry.name.c_str(), (*game)->signature().c_str());
    }
}
