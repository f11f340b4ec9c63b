#include "bind/wasm_memory.h"

#include <malloc.h>

#include <cstdlib>
#include <new>

namespace zf {

Memory& memory() {
    static constinit Memory counted;
    return counted;
}

namespace {

void* counted(void* address) {
    if (address) memory().used_bytes += malloc_usable_size(address);
    return address;
}

std::string mebibytes(uint64_t bytes) { return std::to_string((bytes + (1 << 20) - 1) >> 20); }

}  // namespace

Result<void> require_memory(uint64_t more_bytes, const std::string& what) {
    const Memory& now = memory();
    const auto refuse = [&](const std::string& why) {
        return Error{Error::Kind::too_large, what + " may need " + mebibytes(more_bytes) +
                                                 " MiB beside the " + mebibytes(now.used_bytes) +
                                                 " MiB in use, " + why};
    };
    if (more_bytes > now.limit_bytes || now.used_bytes > now.limit_bytes - more_bytes)
        return refuse(
            "and the limit is " + mebibytes(now.limit_bytes) +
            " MiB: hold fewer games, searches or positions, or set less max_bytes or cache_bytes");
    void* const probe = std::malloc(size_t(more_bytes));
    if (!probe) return refuse("which the browser does not give");
    std::free(probe);
    return {};
}

void* allocate(uint32_t size) {
    const Memory& now = memory();
    if (size > now.limit_bytes || now.used_bytes > now.limit_bytes - size) return nullptr;
    return counted(std::malloc(size > 0 ? size : 1));
}

void release(void* address) {
    if (!address) return;
    memory().used_bytes -= malloc_usable_size(address);
    std::free(address);
}

}  // namespace zf

// All objects of the core are counted.
void* operator new(size_t size) {
    void* const address = zf::counted(std::malloc(size > 0 ? size : 1));
    if (!address) std::abort();
    return address;
}
void* operator new(size_t size, std::align_val_t alignment) {
    const size_t unit = size_t(alignment);
    void* const address = zf::counted(std::aligned_alloc(unit, (size + unit - 1) / unit * unit));
    if (!address) std::abort();
    return address;
}
void* operator new[](size_t size) { return operator new(size); }
void* operator new[](size_t size, std::align_val_t alignment) {
    return operator new(size, alignment);
}
void operator delete(void* address) noexcept { zf::release(address); }
void operator delete(void* address, size_t) noexcept { zf::release(address); }
void operator delete(void* address, std::align_val_t) noexcept { zf::release(address); }
void operator delete(void* address, size_t, std::align_val_t) noexcept { zf::release(address); }
void operator delete[](void* address) noexcept { zf::release(address); }
void operator delete[](void* address, size_t) noexcept { zf::release(address); }
void operator delete[](void* address, std::align_val_t) noexcept { zf::release(address); }
void operator delete[](void* address, size_t, std::align_val_t) noexcept { zf::release(address); }
