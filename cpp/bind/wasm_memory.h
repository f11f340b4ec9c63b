// The memory of the WebAssembly module: counted, and limited by the page that loads it.
//
// The core has no exceptions there, so an allocation that fails ends the module. What would take
// too much is therefore refused before it is tried.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace zf {

// Of the limit. Up to twice as much can be in use while trees grow, and addresses have 32 bits.
inline constexpr uint32_t kMinMebibytes = 64, kMaxMebibytes = 2048;

struct Memory {
    uint64_t used_bytes = 0;  // by all objects of the core, and by what callers allocate
    uint64_t limit_bytes = 1ULL << 30;
};
Memory& memory();

// Whether so many bytes more are within the limit, and the browser gives them.
Result<void> require_memory(uint64_t more_bytes, const std::string& what);

// Before a step of searches: their trees may grow by half in it.
inline Result<void> require_memory_for_step() {
    return require_memory((1 << 25) + memory().used_bytes / 2, "the next step");
}

// Memory of a caller; null where the limit or the browser refuses it.
void* allocate(uint32_t size);
void release(void* address);

}  // namespace zf
