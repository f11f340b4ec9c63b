// What the exports of the WebAssembly module share: answers, handles and the objects behind them.
//
// The exports are a flat C interface. What a caller passes is numbers, handles and spans (address
// and length, in memory from zf_allocate). A call returns a number from 0 on: a handle, a count, or
// 0 where there is nothing to say. What it has to give lies in the answer, a span that stays until
// the next call unless said otherwise. A call that fails returns kFailed, and its answer is a text
// that says what was wrong. Batches and episodes are plain bytes and floats; descriptions are JSON.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bind/registry.h"
#include "bind/wasm_memory.h"

namespace zf::wasm {

inline constexpr int32_t kFailed = -1;

// ---- the answer of the last call

int32_t give(std::string text);
int32_t give(std::vector<uint8_t> bytes);
// A span of an object's own memory.
int32_t give(std::span<const uint8_t> bytes, int32_t returned);
int32_t fail(const Error& error);
// Where a call gives nothing.
int32_t done(int32_t returned = 0);

// The value is a text to give, or an error.
inline int32_t give(const Result<std::string>& text) {
    return text ? give(std::string(*text)) : fail(text.error());
}
inline int32_t done(const Result<void>& result) { return result ? done() : fail(result.error()); }

// ---- handles

// A number that is never given twice, so that one of something freed is refused.
int32_t new_handle();

template <class Held>
class Handles {
  public:
    // `kind` is the word for what is held.
    explicit Handles(std::string kind) : kind_(std::move(kind)) {}

    int32_t add(std::unique_ptr<Held> held) {
        const int32_t handle = new_handle();
        held_.emplace(handle, std::move(held));
        return done(handle);
    }
    // Null, and the answer is an error, if there is none.
    Held* find(int32_t handle) {
        const auto found = held_.find(handle);
        if (found != held_.end()) return found->second.get();
        fail({Error::Kind::illegal, "there is no " + kind_ + " " + std::to_string(handle)});
        return nullptr;
    }
    int32_t free(int32_t handle) {
        if (!find(handle)) return kFailed;
        held_.erase(handle);
        return done();
    }

  private:
    std::string kind_;
    std::map<int32_t, std::unique_ptr<Held>> held_;
};

struct HeldGame {
    std::shared_ptr<const AnyGame> core;
};
Handles<HeldGame>& games();

// A position and those before it, so that a page can take moves back.
struct HeldPosition {
    std::shared_ptr<const AnyGame> game;
    std::vector<std::unique_ptr<AnyPosition>> line;  // the current one last; at least one
    AnyPosition& now() const { return *line.back(); }
};
Handles<HeldPosition>& positions();

}  // namespace zf::wasm
