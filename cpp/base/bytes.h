// Writes and reads compact byte strings. The reader is safe on untrusted bytes: it never reads past
// the end, and after the first fault every read returns 0 and `ok()` is false.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace zf {

class ByteWriter {
  public:
    void u8(uint8_t value) { bytes_.push_back(value); }
    void u16(uint16_t value) { fixed(value, 2); }
    void u64(uint64_t value) { fixed(value, 8); }
    // Seven bits a byte, lowest first: small numbers take one byte.
    void varint(uint64_t value) {
        for (; value >= 0x80; value >>= 7) u8(uint8_t(value) | 0x80);
        u8(uint8_t(value));
    }
    void text(const std::string& value) {
        varint(value.size());
        bytes_.insert(bytes_.end(), value.begin(), value.end());
    }
    void raw(std::span<const uint8_t> value) {
        varint(value.size());
        bytes_.insert(bytes_.end(), value.begin(), value.end());
    }
    std::vector<uint8_t>& bytes() { return bytes_; }

  private:
    void fixed(uint64_t value, int count) {
        for (int i = 0; i < count; ++i) u8(uint8_t(value >> (8 * i)));
    }
    std::vector<uint8_t> bytes_;
};

class ByteReader {
  public:
    explicit ByteReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

    uint8_t u8() {
        if (at_ >= bytes_.size()) return fail();
        return bytes_[at_++];
    }
    uint16_t u16() { return uint16_t(fixed(2)); }
    uint64_t u64() { return fixed(8); }
    // Refuses overlong encodings, so that equal values have equal bytes.
    uint64_t varint() {
        uint64_t value = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            const uint8_t byte = u8();
            const uint64_t part = byte & 0x7f;
            if ((shift == 63 && part > 1) || (byte == 0 && shift > 0)) return fail();
            value |= part << shift;
            if (!(byte & 0x80)) return ok_ ? value : 0;
        }
        return fail();
    }
    // At most `limit` bytes.
    std::span<const uint8_t> raw(uint64_t limit) {
        const uint64_t size = varint();
        if (size > limit || size > left()) return fail(), std::span<const uint8_t>();
        at_ += size;
        return bytes_.subspan(at_ - size, size);
    }
    std::string text(uint64_t limit) {
        const auto part = raw(limit);
        return std::string(part.begin(), part.end());
    }
    bool ok() const { return ok_; }
    uint64_t left() const { return bytes_.size() - at_; }

  private:
    uint64_t fixed(int count) {
        uint64_t value = 0;
        for (int i = 0; i < count; ++i) value |= uint64_t(u8()) << (8 * i);
        return ok_ ? value : 0;
    }
    uint8_t fail() {
        ok_ = false;
        at_ = bytes_.size();
        return 0;
    }
    std::span<const uint8_t> bytes_;
    size_t at_ = 0;
    bool ok_ = true;
};

}  // namespace zf
