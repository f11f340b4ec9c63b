// Fuzzing harness: whatever the bytes are, reading and replaying an episode gives an answer, and
// what is read is written back as the same bytes.
#include <cstdlib>

#include "games/backgammon.h"
#include "games/beastybar.h"
#include "games/connect4.h"
#include "games/gomoku.h"
#include "record/replay.h"

namespace {

template <zf::Game P>
void try_game(const zf::Episode& episode) {
    zf::OptionValues values;
    for (const zf::OptionSpec& spec : P::option_specs()) values.emplace_back(spec.name, spec.value);
    const auto options = P::parse_options(values);
    const zf::Facts facts = P::facts(*options);
    if (episode.game == facts.name) (void)zf::verify<P>(episode, *options, facts);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::span<const uint8_t> bytes(data, size);
    (void)zf::decode(bytes);
    // A whole episode from the corpus is stripped of its frame, so that mutations reach the body.
    const bool framed = size > 12 && data[0] == 'Z' && data[1] == 'F' && data[2] == 'E';
    const std::span<const uint8_t> body = framed ? bytes.subspan(4, size - 12) : bytes;
    const zf::Result<zf::Episode> episode = zf::decode_unframed(body);
    if (!episode) return 0;
    const std::vector<uint8_t> again = zf::encode(*episode);
    if (again.size() != body.size() + 12 ||
        !std::equal(body.begin(), body.end(), again.begin() + 4))
        std::abort();
    try_game<zf::Backgammon>(*episode);
    try_game<zf::BeastyBar>(*episode);
    try_game<zf::Connect4>(*episode);
    try_game<zf::Gomoku>(*episode);
    return 0;
}
