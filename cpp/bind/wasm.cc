// The exports of the WebAssembly module, apart from positions, searches and self-play: memory,
// answers, games and settings. See bind/wasm.h for how a call is made.
#include "bind/wasm.h"

#include "bind/json.h"

namespace zf::wasm {
namespace {

struct Answer {
    std::vector<uint8_t> owned;
    std::span<const uint8_t> bytes;
};

Answer& answer() {
    static Answer last;
    return last;
}

}  // namespace

int32_t give(std::vector<uint8_t> bytes) {
    answer().owned = std::move(bytes);
    answer().bytes = answer().owned;
    return 0;
}

int32_t give(std::string text) { return give(std::vector<uint8_t>(text.begin(), text.end())); }

int32_t give(std::span<const uint8_t> bytes, int32_t returned) {
    answer().bytes = bytes;
    return returned;
}

int32_t fail(const Error& error) {
    give(error.text);
    return kFailed;
}

int32_t done(int32_t returned) { return give(std::span<const uint8_t>(), returned); }

int32_t new_handle() {
    static int32_t last = 0;
    return ++last;
}

Handles<HeldGame>& games() {
    static Handles<HeldGame> held("game");
    return held;
}

namespace {

template <class Options>
void write_settings(std::span<const Setting<Options>> settings, JsonWriter& json) {
    for (const SettingFacts& each : setting_facts<Options>(settings)) {
        json.open('{').key("name").value(each.name).key("kind").value(each.kind);
        json.key("default").value(each.value);
        if (each.kind == "int" || each.kind == "float")
            json.key("min").value(each.min).key("max").value(each.max);
        if (each.kind == "choice") json.key("choices").value(each.choices);
        json.key("selfplay").value(each.selfplay).key("doc").value(each.doc).close('}');
    }
}

// One tree may take a quarter of the memory.
SearchOptions analysis_options_here() {
    SearchOptions options = analysis_options();
    options.max_bytes = std::min(options.max_bytes, memory().limit_bytes / 4);
    return options;
}

}  // namespace
}  // namespace zf::wasm

using namespace zf;
using namespace zf::wasm;

extern "C" {

// ---- memory

// 0 where the memory is not given.
[[clang::export_name("zf_allocate")]] void* zf_allocate(uint32_t size) { return allocate(size); }
[[clang::export_name("zf_release")]] void zf_release(void* address) { release(address); }

// Sets how much the module may take, in MiB. What it has already taken stays.
[[clang::export_name("zf_limit_memory")]] int32_t zf_limit_memory(uint32_t mebibytes) {
    if (mebibytes < kMinMebibytes || mebibytes > kMaxMebibytes)
        return fail({Error::Kind::too_large,
                     "the limit of memory must be from " + std::to_string(kMinMebibytes) + " to " +
                         std::to_string(kMaxMebibytes) + " MiB, got " + std::to_string(mebibytes)});
    memory().limit_bytes = uint64_t(mebibytes) << 20;
    return done();
}
[[clang::export_name("zf_memory_used")]] double zf_memory_used() {
    return double(memory().used_bytes);
}

[[clang::export_name("zf_answer")]] const uint8_t* zf_answer() { return answer().bytes.data(); }
[[clang::export_name("zf_answer_bytes")]] uint32_t zf_answer_bytes() {
    return uint32_t(answer().bytes.size());
}

// ---- games and settings

// All games, each with the options that it has.
[[clang::export_name("zf_games")]] int32_t zf_games() {
    JsonWriter json;
    json.open('[');
    for (const GameEntry& entry : game_entries()) {
        json.open('{').key("name").value(entry.name).key("options").open('[');
        for (const OptionSpec& spec : entry.option_specs)
            json.open('{')
                .key("name")
                .value(spec.name)
                .key("default")
                .value(spec.value)
                .key("allowed")
                .value(spec.allowed)
                .close('}');
        json.close(']').close('}');
    }
    return give(json.close(']').take());
}

// The settings of a search and of self-play, and where analysis differs from their defaults.
[[clang::export_name("zf_settings")]] int32_t zf_settings() {
    JsonWriter json;
    json.open('{').key("search").open('[');
    write_settings<SearchOptions>(kSearchSettings, json);
    json.close(']').key("selfplay").open('[');
    write_settings<SelfPlayOptions>(kSelfPlaySettings, json);
    json.close(']').key("analysis").open('{');
    for (const Setting<SearchOptions>& each : kSearchSettings) {
        const SettingValue value = setting_of(analysis_options_here(), each);
        if (value != setting_of(SearchOptions{}, each)) json.key(each.name).value(value);
    }
    return give(json.close('}').close('}').take());
}

// A game by name, with options as JSON: {"size": 15}.
[[clang::export_name("zf_game_new")]] int32_t zf_game_new(const char* name, uint32_t name_length,
                                                          const char* options, uint32_t length) {
    const Result<OptionValues> given = read_options({options, length});
    if (!given) return fail(given.error());
    auto game = make_game({name, name_length}, *given);
    if (!game) return fail(game.error());
    return games().add(std::make_unique<HeldGame>(std::move(*game)));
}
[[clang::export_name("zf_game_free")]] int32_t zf_game_free(int32_t game) {
    return games().free(game);
}
[[clang::export_name("zf_game_facts")]] int32_t zf_game_facts(int32_t game) {
    const HeldGame* held = games().find(game);
    if (!held) return kFailed;
    return give(facts_json(held->core->facts(), held->core->options()));
}
// See selfplay/signature.h.
[[clang::export_name("zf_game_signature")]] int32_t zf_game_signature(int32_t game) {
    const HeldGame* held = games().find(game);
    if (!held) return kFailed;
    if (const auto room = require_memory_for_step(); !room) return fail(room.error());
    return give(held->core->signature());
}

}  // extern "C"
