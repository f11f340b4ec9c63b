#include "bind/any_game.h"

#include "selfplay/signature.h"

namespace zf {

std::string AnyGame::signature() const {
    return zf::signature(facts(), [this](const SelfPlayOptions& options) {
        return make_group(options, make_cache(options), 0, 1, kSignatureGames);
    });
}

}  // namespace zf
