// The exports of the WebAssembly module for one search: of a position, or of a decision of an
// episode again.
#include <optional>

#include "bind/json.h"
#include "bind/search_batch.h"
#include "bind/selfplay.h"
#include "bind/wasm.h"

namespace zf::wasm {
namespace {

struct HeldSearch {
    std::optional<SearchBatch> of_position = {};
    std::optional<RecheckBatch> of_episode = {};
    std::shared_ptr<const AnyGame> game = {};
    LeafBatches& leaves() {
        return of_position ? static_cast<LeafBatches&>(*of_position) : *of_episode;
    }
    std::vector<uint8_t> observations_BN = {};
    std::vector<float> policy_logits_BA = {}, outcomes_BO = {};  // written by the caller
    bool episode_given = false;
};

Handles<HeldSearch>& searches() {
    static Handles<HeldSearch> held("search");
    return held;
}

// Null, and the answer is an error, unless it is a search of a position.
SearchBatch* find_of_position(int32_t search) {
    HeldSearch* held = searches().find(search);
    if (!held || held->of_position) return held ? &*held->of_position : nullptr;
    fail({Error::Kind::illegal, "this search is of an episode, not of a position"});
    return nullptr;
}

Result<void> check_tree_bytes(const SearchOptions& options) {
    if (options.max_bytes <= memory().limit_bytes / 4) return require_memory_for_step();
    return Error{Error::Kind::too_large, "max_bytes must be at most " +
                                             std::to_string(memory().limit_bytes / 4) +
                                             " here, a quarter of the limit of memory"};
}

std::span<const uint8_t> bytes_of(const std::vector<float>& floats) {
    return {reinterpret_cast<const uint8_t*>(floats.data()), floats.size() * sizeof(float)};
}

}  // namespace
}  // namespace zf::wasm

using namespace zf;
using namespace zf::wasm;

extern "C" {

// Begins a search. The settings are JSON; without an evaluator of the core (an empty name) the
// caller evaluates.
[[clang::export_name("zf_search_new")]] int32_t zf_search_new(int32_t position, uint64_t seed,
                                                              const char* settings,
                                                              uint32_t settings_length,
                                                              const char* evaluator,
                                                              uint32_t evaluator_length) {
    const HeldPosition* root = positions().find(position);
    if (!root) return kFailed;
    SearchOptions options;
    const Result<void> set = read_search_settings({settings, settings_length}, options);
    if (!set) return fail(set.error());
    const auto kind = optional_evaluator({evaluator, evaluator_length});
    if (!kind) return fail(kind.error());
    if (const auto room = check_tree_bytes(options); !room) return fail(room.error());
    auto held = std::make_unique<HeldSearch>();
    held->game = root->game;
    const Result<void> begun =
        held->of_position.emplace(*root->game, options, *kind).add(root->now(), seed);
    return begun ? searches().add(std::move(held)) : fail(begun.error());
}
// Begins the search of one event of an episode again, as self-play with these settings, seed,
// worker and version searched it; fails where the episode cannot be of such self-play.
[[clang::export_name("zf_search_again")]] int32_t zf_search_again(
    int32_t game, const char* settings, uint32_t settings_length, const char* evaluator,
    uint32_t evaluator_length, const uint8_t* episode, uint32_t episode_length, uint32_t event,
    uint64_t seed, uint64_t worker, uint64_t version) {
    const HeldGame* held_game = games().find(game);
    if (!held_game) return kFailed;
    SelfPlayOptions options;
    options.seed = seed;
    options.worker = worker;
    options.version = version;
    const Result<void> set = read_selfplay_settings({settings, settings_length}, options);
    if (!set) return fail(set.error());
    const Result<void> fits = check_selfplay(options, held_game->core->facts());
    if (!fits) return fail(fits.error());
    const auto kind = optional_evaluator({evaluator, evaluator_length});
    if (!kind) return fail(kind.error());
    if (const auto room = check_tree_bytes(options.search); !room) return fail(room.error());
    Result<Episode> decoded = decode({episode, episode_length});
    if (!decoded) return fail(decoded.error());
    auto held = std::make_unique<HeldSearch>();
    held->game = held_game->core;
    const Result<void> begun = held->of_episode.emplace(*held_game->core, *kind)
                                   .begin(std::move(*decoded), options, {&event, 1});
    return begun ? searches().add(std::move(held)) : fail(begun.error());
}
[[clang::export_name("zf_search_free")]] int32_t zf_search_free(int32_t search) {
    return searches().free(search);
}

// 1 once the budget is spent.
[[clang::export_name("zf_search_finished")]] int32_t zf_search_finished(int32_t search) {
    HeldSearch* held = searches().find(search);
    return held ? done(held->leaves().finished() ? 1 : 0) : kFailed;
}
// Starts no further simulation; with only_solved not 0, only if the root's value is proven.
[[clang::export_name("zf_search_stop")]] int32_t zf_search_stop(int32_t search,
                                                                int32_t only_solved) {
    SearchBatch* found = find_of_position(search);
    if (!found) return kFailed;
    found->stop(only_solved != 0);
    return done();
}

// Searches with the core's evaluator for at most so many leaves.
[[clang::export_name("zf_search_run")]] int32_t zf_search_run(int32_t search, uint32_t num_leaves) {
    HeldSearch* held = searches().find(search);
    if (!held) return kFailed;
    if (!held->leaves().evaluates_itself())
        return fail({Error::Kind::illegal, "this search has no evaluator of the core"});
    constexpr uint32_t kLeavesPerStep = 1024;
    while (num_leaves > 0 && !held->leaves().finished()) {
        if (const auto room = require_memory_for_step(); !room) return fail(room.error());
        const uint32_t count = std::min(num_leaves, kLeavesPerStep);
        held->leaves().run(int(count));
        num_leaves -= count;
    }
    return done();
}

// Returns the number of leaves; the answer is their observations, [B, N], until the next gather.
// Without a leaf, call again: many simulations in a row may need none.
[[clang::export_name("zf_search_gather")]] int32_t zf_search_gather(int32_t search) {
    HeldSearch* held = searches().find(search);
    if (!held) return kFailed;
    if (held->leaves().num_in_flight() > 0)
        return fail({Error::Kind::illegal, "the last leaves still wait for absorb"});
    if (const auto room = require_memory_for_step(); !room) return fail(room.error());
    held->observations_BN = held->leaves().gather();
    const size_t num_rows = held->leaves().num_in_flight();
    held->policy_logits_BA.resize(num_rows * held->leaves().facts().num_actions);
    held->outcomes_BO.resize(num_rows * held->leaves().facts().outcomes.size());
    return give(std::span<const uint8_t>(held->observations_BN), int32_t(num_rows));
}
// The answer is where the caller writes the floats of those leaves: [B, A] and [B, O].
[[clang::export_name("zf_search_logits")]] int32_t zf_search_logits(int32_t search) {
    const HeldSearch* held = searches().find(search);
    return held ? give(bytes_of(held->policy_logits_BA), 0) : kFailed;
}
[[clang::export_name("zf_search_outcomes")]] int32_t zf_search_outcomes(int32_t search) {
    const HeldSearch* held = searches().find(search);
    return held ? give(bytes_of(held->outcomes_BO), 0) : kFailed;
}
// Takes what was written there.
[[clang::export_name("zf_search_absorb")]] int32_t zf_search_absorb(int32_t search) {
    HeldSearch* held = searches().find(search);
    if (!held) return kFailed;
    if (held->leaves().num_in_flight() * held->leaves().facts().outcomes.size() !=
        held->outcomes_BO.size())
        return fail({Error::Kind::illegal,
                     "these leaves had an answer that was not finite; begin "
                     "another search"});
    return done(held->leaves().absorb(held->policy_logits_BA.data(), held->outcomes_BO.data()));
}

// The result so far, as JSON; empty lists before the root is evaluated.
[[clang::export_name("zf_search_result")]] int32_t zf_search_result(int32_t search) {
    SearchBatch* found = find_of_position(search);
    return found ? give(result_json(found->results()[0])) : kFailed;
}
// Of a search again: the episode with the event as this search gives it, once it has finished. The
// same bytes if it agrees.
[[clang::export_name("zf_search_episode")]] int32_t zf_search_episode(int32_t search) {
    HeldSearch* held = searches().find(search);
    if (!held) return kFailed;
    if (!held->of_episode || !held->leaves().finished() || held->episode_given)
        return fail({Error::Kind::illegal,
                     "the episode is given once, when a search of an episode has finished"});
    held->episode_given = true;
    return give(held->of_episode->episode());
}

}  // extern "C"
