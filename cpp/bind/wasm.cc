// The core for browsers and node: a few functions that take and give text.
//
// A caller puts UTF-8 text into memory got from zf_allocate and passes address and length. A text
// that is given back lies at the address returned, ends with a zero byte and stays until the next
// call. Where something is wrong it begins with "error: ".
#include <cstdlib>

#include "bind/registry.h"

namespace {

std::string answer;

const char* give(std::string text) {
    answer = std::move(text);
    return answer.c_str();
}

const char* fail(const zf::Error& error) { return give("error: " + error.text); }

}  // namespace

#define ZF_EXPORT(name) extern "C" __attribute__((export_name(#name)))

ZF_EXPORT(zf_allocate) void* zf_allocate(uint32_t size) { return std::malloc(size); }
ZF_EXPORT(zf_release) void zf_release(void* address) { std::free(address); }

// The names of all games, separated by spaces.
ZF_EXPORT(zf_names) const char* zf_names() {
    std::string names;
    for (const zf::GameEntry& entry : zf::game_entries())
        names += (names.empty() ? "" : " ") + entry.name;
    return give(names);
}

// A game's signature with its default options; see selfplay/signature.h.
ZF_EXPORT(zf_signature) const char* zf_signature(const char* name, uint32_t length) {
    const auto game = zf::make_game({name, length}, {});
    return game ? give((*game)->signature()) : fail(game.error());
}

// The picture of a position given by its text.
ZF_EXPORT(zf_show)
const char* zf_show(const char* name, uint32_t name_length, const char* text, uint32_t length) {
    const auto game = zf::make_game({name, name_length}, {});
    if (!game) return fail(game.error());
    const auto position = (*game)->from_text({text, length});
    return position ? give((*position)->picture()) : fail(position.error());
}

// Plain Monte Carlo tree search, without exploration: the best action's text.
ZF_EXPORT(zf_best_action)
const char* zf_best_action(const char* name, uint32_t name_length, const char* text,
                           uint32_t length, uint32_t num_simulations, uint32_t seed) {
    const auto game = zf::make_game({name, name_length}, {});
    if (!game) return fail(game.error());
    const auto position = (*game)->from_text({text, length});
    if (!position) return fail(position.error());
    zf::SearchOptions options = zf::analysis_options();
    options.num_simulations = num_simulations;
    const auto search = (*game)->make_search();
    const zf::Result<void> begun = search->begin(**position, options, seed);
    if (!begun) return fail(begun.error());
    zf::CoreEvaluator evaluator(zf::EvaluatorKind::playout, (*game)->facts(), seed);
    while (!search->finished()) search->run(evaluator, 1000);
    const auto best = (*position)->action_text(search->result().best_action);
    return best ? give(*best) : fail(best.error());
}
