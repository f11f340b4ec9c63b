// The exports of the WebAssembly module for positions: what a page needs to play a game.
#include "bind/json.h"
#include "bind/wasm.h"

namespace zf::wasm {

Handles<HeldPosition>& positions() {
    static Handles<HeldPosition> held("position");
    return held;
}

namespace {

// Room for so many more positions, each with what reading or playing it takes.
Result<void> require_positions(size_t count) {
    constexpr uint64_t kPositionBytes = 1 << 12, kWorkBytes = 1 << 20;
    return require_memory(kWorkBytes + count * kPositionBytes, "a position");
}

int32_t hold(const HeldGame& game, std::unique_ptr<AnyPosition> position) {
    auto held = std::make_unique<HeldPosition>();
    held->game = game.core;
    held->line.push_back(std::move(position));
    return positions().add(std::move(held));
}

// Plays on a copy, which becomes the current position.
template <class Play>
int32_t play_on(HeldPosition& position, Play play) {
    const Facts& facts = position.game->facts();
    if (int64_t(position.line.size()) > facts.max_plies)
        return fail({Error::Kind::illegal, "a game of " + facts.name + " is truncated after " +
                                               std::to_string(facts.max_plies) + " plies"});
    if (const auto room = require_positions(1); !room) return fail(room.error());
    auto next = position.now().copy();
    if (const Result<void> played = play(*next); !played) return fail(played.error());
    position.line.push_back(std::move(next));
    return done();
}

void write_with_text(const AnyPosition& position, Action id, JsonWriter& json) {
    const Result<std::string> text = position.action_text(id);
    json.key("id").value(id).key("text").value(text ? *text : std::string());
}

std::string state_json(const HeldPosition& held) {
    const AnyPosition& position = held.now();
    const Mover mover = position.to_move();
    JsonWriter json;
    json.open('{').key("to_move").value(int(mover));
    json.key("roller");
    mover == kChance ? json.value(position.roller()) : json.nothing();
    json.key("num_played").value(held.line.size() - 1);
    json.key("truncated")
        .value(mover != kOver && int64_t(held.line.size()) > held.game->facts().max_plies);
    json.key("actions").open('[');
    for (const Action id : position.legal_actions()) {
        json.open('{');
        write_with_text(position, id, json);
        json.close('}');
    }
    json.close(']').key("chance_outcomes").open('[');
    for (const ChanceOutcome& outcome : position.chance_outcomes()) {
        json.open('{');
        write_with_text(position, outcome.id, json);
        json.key("probability").value(outcome.probability).close('}');
    }
    json.close(']').key("outcomes");
    if (mover != kOver) return json.nothing().close('}').take();
    json.open('[');
    for (const int player : {0, 1}) json.value(*position.outcome(player));
    return json.close(']').close('}').take();
}

}  // namespace
}  // namespace zf::wasm

using namespace zf;
using namespace zf::wasm;

extern "C" {

[[clang::export_name("zf_position_new")]] int32_t zf_position_new(int32_t game, uint64_t seed) {
    const HeldGame* held = games().find(game);
    if (!held) return kFailed;
    if (const auto room = require_positions(1); !room) return fail(room.error());
    return hold(*held, held->core->new_position(seed));
}
[[clang::export_name("zf_position_from_text")]] int32_t zf_position_from_text(int32_t game,
                                                                              const char* text,
                                                                              uint32_t length) {
    const HeldGame* held = games().find(game);
    if (!held) return kFailed;
    if (const auto room = require_positions(1); !room) return fail(room.error());
    auto position = held->core->from_text({text, length});
    return position ? hold(*held, std::move(*position)) : fail(position.error());
}
// The last position of an episode, with all those before it.
[[clang::export_name("zf_position_from_episode")]] int32_t zf_position_from_episode(
    int32_t game, const uint8_t* bytes, uint32_t length) {
    const HeldGame* held = games().find(game);
    if (!held) return kFailed;
    const Result<Episode> episode = decode({bytes, length});
    if (!episode) return fail(episode.error());
    const auto room = require_positions(episode->events.size() + 1);
    if (!room) return fail(room.error());
    auto line = held->core->replay_positions(*episode);
    if (!line) return fail(line.error());
    return positions().add(
        std::make_unique<HeldPosition>(HeldPosition{held->core, std::move(*line)}));
}
[[clang::export_name("zf_position_copy")]] int32_t zf_position_copy(int32_t position) {
    const HeldPosition* held = positions().find(position);
    if (!held) return kFailed;
    if (const auto room = require_positions(held->line.size()); !room) return fail(room.error());
    auto copied = std::make_unique<HeldPosition>();
    copied->game = held->game;
    for (const auto& each : held->line) copied->line.push_back(each->copy());
    return positions().add(std::move(copied));
}
[[clang::export_name("zf_position_free")]] int32_t zf_position_free(int32_t position) {
    return positions().free(position);
}

// Who is to move, what can be played, with texts, and how it ended.
[[clang::export_name("zf_position_state")]] int32_t zf_position_state(int32_t position) {
    const HeldPosition* held = positions().find(position);
    return held ? give(state_json(*held)) : kFailed;
}
// For player -1 everything, else only what that player may see.
[[clang::export_name("zf_position_describe")]] int32_t zf_position_describe(int32_t position,
                                                                            int32_t player) {
    const HeldPosition* held = positions().find(position);
    if (!held) return kFailed;
    const Result<Described> described = held->now().describe(player);
    return described ? give(JsonWriter().value(*described).take()) : fail(described.error());
}
// What happens when a legal action is played.
[[clang::export_name("zf_position_steps")]] int32_t zf_position_steps(int32_t position,
                                                                      int32_t id) {
    const HeldPosition* held = positions().find(position);
    if (!held) return kFailed;
    const Result<Described> steps = held->now().steps(id);
    return steps ? give(JsonWriter().value(*steps).take()) : fail(steps.error());
}
[[clang::export_name("zf_position_text")]] int32_t zf_position_text(int32_t position) {
    const HeldPosition* held = positions().find(position);
    return held ? give(held->now().to_text()) : kFailed;
}
[[clang::export_name("zf_position_picture")]] int32_t zf_position_picture(int32_t position) {
    const HeldPosition* held = positions().find(position);
    return held ? give(held->now().picture()) : kFailed;
}
[[clang::export_name("zf_position_observe")]] int32_t zf_position_observe(int32_t position,
                                                                          int32_t player) {
    const HeldPosition* held = positions().find(position);
    if (!held) return kFailed;
    auto observed = held->now().observe(player);
    return observed ? give(std::move(*observed)) : fail(observed.error());
}
// Of an action, or of a chance outcome where chance moves.
[[clang::export_name("zf_position_action_text")]] int32_t zf_position_action_text(int32_t position,
                                                                                  int32_t id) {
    const HeldPosition* held = positions().find(position);
    return held ? give(held->now().action_text(id)) : kFailed;
}
// Returns the id.
[[clang::export_name("zf_position_action_from_text")]] int32_t zf_position_action_from_text(
    int32_t position, const char* text, uint32_t length) {
    const HeldPosition* held = positions().find(position);
    if (!held) return kFailed;
    const Result<Action> action = held->now().action_from_text({text, length});
    return action ? done(int32_t(*action)) : fail(action.error());
}

// Plays an action, or a chance outcome where chance moves.
[[clang::export_name("zf_position_play")]] int32_t zf_position_play(int32_t position, int32_t id) {
    HeldPosition* held = positions().find(position);
    if (!held) return kFailed;
    return play_on(*held, [&](AnyPosition& next) { return next.play(id); });
}
// Takes a whole turn, as people write it.
[[clang::export_name("zf_position_play_from_text")]] int32_t zf_position_play_from_text(
    int32_t position, const char* text, uint32_t length) {
    HeldPosition* held = positions().find(position);
    if (!held) return kFailed;
    return play_on(*held, [&](AnyPosition& next) { return next.play_from_text({text, length}); });
}
// Takes back what was played last, so many times.
[[clang::export_name("zf_position_undo")]] int32_t zf_position_undo(int32_t position,
                                                                    uint32_t count) {
    HeldPosition* held = positions().find(position);
    if (!held) return kFailed;
    if (count >= held->line.size())
        return fail({Error::Kind::illegal, "only " + std::to_string(held->line.size() - 1) +
                                               " can be taken back, not " + std::to_string(count)});
    held->line.resize(held->line.size() - count);
    return done();
}

}  // extern "C"
