// FuzzBytes: a fuzzer's input as numbers. SeedBytes: numbers as an input, for seeds.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace paravane::fake {

// Any bytes as numbers; zeros when they are used up.
class FuzzBytes {
 public:
  FuzzBytes(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}
  bool at_end() const { return rest_.empty(); }
  std::uint8_t u8() { return static_cast<std::uint8_t>(number(1)); }
  std::uint16_t u16() { return static_cast<std::uint16_t>(number(2)); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(number(4)); }
  std::uint64_t u64() { return number(8); }
  std::uint32_t below(std::uint32_t limit) { return u8() % limit; }

 private:
  std::uint64_t number(std::size_t bytes) {
    std::uint64_t value = 0;
    const std::size_t taken = std::min(bytes, rest_.size());
    std::memcpy(&value, rest_.data(), taken);
    rest_ = rest_.subspan(taken);
    return value;
  }
  std::span<const std::uint8_t> rest_;
};

// One that has broken somebody's arithmetic before, or any.
inline std::uint32_t hostile_number(FuzzBytes& input) {
  static constexpr std::uint32_t kExtremes[] = {
      0, 1, 2, 15, 16, 17, 63, 64, 4095, 4096, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x40000, 0x100};
  const std::uint32_t pick = input.below(32);
  return pick < std::size(kExtremes) ? kExtremes[pick] : input.u32();
}

// The same of eight bytes, also from the top down, or any.
inline std::uint64_t hostile_long_number(FuzzBytes& input) {
  switch (input.u8() % 4) {
    case 0: return hostile_number(input);
    case 1: return ~std::uint64_t{hostile_number(input)};
    default: return input.u64();
  }
}

// For seeds.
class SeedBytes {
 public:
  SeedBytes& u8(std::uint32_t value) { return put(value, 1); }
  SeedBytes& u16(std::uint32_t value) { return put(value, 2); }
  SeedBytes& u32(std::uint32_t value) { return put(value, 4); }
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }

 private:
  SeedBytes& put(std::uint64_t value, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) {
      bytes_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
    }
    return *this;
  }
  std::vector<std::uint8_t> bytes_;
};

}  // namespace paravane::fake
