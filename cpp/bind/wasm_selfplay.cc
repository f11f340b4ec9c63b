// The exports of the WebAssembly module for self-play: many games at once, in the one thread that
// calls.
#include "bind/json.h"
#include "bind/selfplay.h"
#include "bind/wasm.h"

namespace zf::wasm {
namespace {

constexpr int32_t kNoBatch = -2;

// What the caller writes for one group's batch. The driver reads it until the group's next batch.
struct Answers {
    std::vector<float> policy_logits_BA, outcomes_BO;
    bool in_flight = false;
};

struct HeldSelfPlay {
    std::shared_ptr<const AnyGame> game;
    std::vector<Answers> answers;
    std::unique_ptr<Driver> driver;
};

Handles<HeldSelfPlay>& selfplays() {
    static Handles<HeldSelfPlay> held("self-play");
    return held;
}

// Half of the memory is for what the games take before they grow trees.
Result<void> check_sizes(const SelfPlayOptions& options, const Facts& facts, uint32_t num_groups,
                         uint32_t games_per_group) {
    const uint64_t limit_bytes = memory().limit_bytes;
    const uint64_t num_games = uint64_t(num_groups) * games_per_group;
    const uint64_t cache_each =
        facts.hidden ? std::min<uint64_t>(1 << 24, options.search.num_simulations * 512ULL) : 0;
    constexpr uint64_t kPlayerBytes = 1 << 14;
    const uint64_t bytes_each = facts.observation_bytes + cache_each + kPlayerBytes;
    if (options.search.max_bytes > limit_bytes / 4)
        return Error{Error::Kind::too_large, "max_bytes must be at most " +
                                                 std::to_string(limit_bytes / 4) +
                                                 " here, a quarter of the limit of memory"};
    if (options.cache_bytes > limit_bytes / 4)
        return Error{Error::Kind::too_large, "cache_bytes must be at most " +
                                                 std::to_string(limit_bytes / 4) +
                                                 " here, a quarter of the limit of memory"};
    const uint64_t most = limit_bytes / 4 / bytes_each;
    if (num_games > most)
        return Error{Error::Kind::too_large,
                     std::to_string(num_games) + " games at once are too many here; at most " +
                         std::to_string(most) + " of " + facts.name + " with these settings"};
    return require_memory(options.cache_bytes + num_games * bytes_each, "the games");
}

// Null, and the answer is an error, unless the group waits for answers.
Answers* find_answers(HeldSelfPlay& held, uint32_t group) {
    if (group < held.answers.size() && held.answers[group].in_flight) return &held.answers[group];
    fail({Error::Kind::illegal, "group " + std::to_string(group) + " has no batch in flight"});
    return nullptr;
}

int32_t give_floats(std::vector<float>& floats) {
    return give(
        std::span(reinterpret_cast<const uint8_t*>(floats.data()), floats.size() * sizeof(float)),
        0);
}

}  // namespace
}  // namespace zf::wasm

using namespace zf;
using namespace zf::wasm;

extern "C" {

// Starts groups of games. The settings are JSON; without an evaluator of the core (an empty name)
// the caller evaluates. `version` is that of the weights that evaluate first. Games are numbered
// from first_sequence on; after num_games of them it has finished (0: never).
[[clang::export_name("zf_selfplay_new")]] int32_t zf_selfplay_new(
    int32_t game, const char* settings, uint32_t settings_length, const char* evaluator,
    uint32_t evaluator_length, uint32_t num_groups, uint32_t games_per_group, uint64_t seed,
    uint64_t worker, uint64_t version, uint64_t first_sequence, uint64_t num_games) {
    const HeldGame* held_game = games().find(game);
    if (!held_game) return kFailed;
    SelfPlayOptions options;
    options.seed = seed;
    options.worker = worker;
    options.version = version;
    options.first_sequence = first_sequence;
    options.num_games = num_games;
    const Result<void> set = read_selfplay_settings({settings, settings_length}, options);
    if (!set) return fail(set.error());
    const auto kind = optional_evaluator({evaluator, evaluator_length});
    if (!kind) return fail(kind.error());
    const Result<void> fits =
        check_sizes(options, held_game->core->facts(), num_groups, games_per_group);
    if (!fits) return fail(fits.error());
    auto driver =
        make_driver(*held_game->core, options, *kind, nullptr, num_groups, games_per_group, 0);
    if (!driver) return fail(driver.error());
    return selfplays().add(std::make_unique<HeldSelfPlay>(
        HeldSelfPlay{held_game->core, std::vector<Answers>(num_groups), std::move(*driver)}));
}
// Games in flight are dropped.
[[clang::export_name("zf_selfplay_free")]] int32_t zf_selfplay_free(int32_t selfplay) {
    return selfplays().free(selfplay);
}

// Returns the group whose leaves are to be evaluated; the answer is their observations, [B, N],
// until they are submitted. kNoBatch if there is none now: call again unless it has finished.
[[clang::export_name("zf_selfplay_next")]] int32_t zf_selfplay_next(int32_t selfplay) {
    HeldSelfPlay* held = selfplays().find(selfplay);
    if (!held) return kFailed;
    if (const auto room = require_memory_for_step(); !room) return fail(room.error());
    const std::optional<LeafBatch> batch = held->driver->next_batch(0);
    if (const std::string fault = held->driver->fault(); !fault.empty())
        return fail({Error::Kind::bad_text, fault});
    if (!batch) return done(kNoBatch);
    const Facts& facts = held->game->facts();
    Answers& answers = held->answers[batch->group];
    answers.policy_logits_BA.resize(size_t(batch->num_rows) * facts.num_actions);
    answers.outcomes_BO.resize(batch->num_rows * facts.outcomes.size());
    answers.in_flight = true;
    return give({batch->observations, size_t(batch->num_rows) * facts.observation_bytes},
                int32_t(batch->group));
}
// Which logits will be read: [B, bytes], bit a % 8 of byte a / 8 for action a.
[[clang::export_name("zf_selfplay_masks")]] int32_t zf_selfplay_masks(int32_t selfplay,
                                                                      uint32_t group) {
    HeldSelfPlay* held = selfplays().find(selfplay);
    if (!held) return kFailed;
    auto masks = held->driver->action_masks(group);
    return masks ? give(std::move(*masks)) : fail(masks.error());
}
// The answer is where the caller writes the floats of the group's leaves: [B, A] and [B, O].
[[clang::export_name("zf_selfplay_logits")]] int32_t zf_selfplay_logits(int32_t selfplay,
                                                                        uint32_t group) {
    HeldSelfPlay* held = selfplays().find(selfplay);
    Answers* answers = held ? find_answers(*held, group) : nullptr;
    return answers ? give_floats(answers->policy_logits_BA) : kFailed;
}
[[clang::export_name("zf_selfplay_outcomes")]] int32_t zf_selfplay_outcomes(int32_t selfplay,
                                                                            uint32_t group) {
    HeldSelfPlay* held = selfplays().find(selfplay);
    Answers* answers = held ? find_answers(*held, group) : nullptr;
    return answers ? give_floats(answers->outcomes_BO) : kFailed;
}
// Takes what was written there, by the weights of this version.
[[clang::export_name("zf_selfplay_submit")]] int32_t zf_selfplay_submit(int32_t selfplay,
                                                                        uint32_t group,
                                                                        uint64_t version) {
    HeldSelfPlay* held = selfplays().find(selfplay);
    Answers* answers = held ? find_answers(*held, group) : nullptr;
    if (!answers) return kFailed;
    answers->in_flight = false;
    return done(held->driver->submit(group, answers->policy_logits_BA.data(),
                                     answers->outcomes_BO.data(), version));
}

// With an evaluator of the core: advances groups so many times, one after another.
[[clang::export_name("zf_selfplay_run")]] int32_t zf_selfplay_run(int32_t selfplay,
                                                                  uint32_t num_turns) {
    HeldSelfPlay* held = selfplays().find(selfplay);
    if (!held) return kFailed;
    for (uint32_t turn = 0; turn < num_turns; ++turn) {
        if (const auto room = require_memory_for_step(); !room) return fail(room.error());
        if (held->driver->finished()) break;
        if (!held->driver->advance())
            return fail({Error::Kind::illegal, "every group waits for answers"});
    }
    return done();
}

// 1 once all games are over; their episodes may still wait to be taken.
[[clang::export_name("zf_selfplay_finished")]] int32_t zf_selfplay_finished(int32_t selfplay) {
    HeldSelfPlay* held = selfplays().find(selfplay);
    return held ? done(held->driver->finished() ? 1 : 0) : kFailed;
}

// Returns the number of episodes finished since the last call; the answer has for each its length
// (u32) and its bytes.
[[clang::export_name("zf_selfplay_take")]] int32_t zf_selfplay_take(int32_t selfplay) {
    HeldSelfPlay* held = selfplays().find(selfplay);
    if (!held) return kFailed;
    const auto episodes = held->driver->take_episodes();
    std::vector<uint8_t> packed;
    for (const auto& episode : episodes) {
        for (int shift = 0; shift < 32; shift += 8)
            packed.push_back(uint8_t(episode.size() >> shift));
        packed.insert(packed.end(), episode.begin(), episode.end());
    }
    give(std::move(packed));
    return int32_t(episodes.size());
}

// Where the first game stands, as text: for people who watch.
[[clang::export_name("zf_selfplay_watched")]] int32_t zf_selfplay_watched(int32_t selfplay) {
    HeldSelfPlay* held = selfplays().find(selfplay);
    return held ? give(held->driver->watched_position()) : kFailed;
}

// What was done since the start, as JSON.
[[clang::export_name("zf_selfplay_counts")]] int32_t zf_selfplay_counts(int32_t selfplay) {
    HeldSelfPlay* held = selfplays().find(selfplay);
    if (!held) return kFailed;
    const SelfPlayCounts counts = held->driver->counts();
    JsonWriter json;
    json.open('{').key("num_simulations").value(counts.num_simulations);
    json.key("num_decisions").value(counts.num_decisions);
    json.key("num_leaves").value(counts.num_leaves);
    json.key("num_episodes").value(counts.num_episodes);
    json.key("largest_tree_bytes").value(counts.largest_tree_bytes);
    return give(json.close('}').take());
}

}  // extern "C"
