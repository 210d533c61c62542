// RemoteMemory: memory that a fake target reaches by address and key, as by RDMA. FakeRemoteMemory:
// one that lies in the test, with one key.
//
// Owner thread only.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace paravane::fake {

class RemoteMemory {
 public:
  virtual ~RemoteMemory() = default;
  // False: the key or the range is wrong, and nothing was moved.
  virtual bool read(std::uint64_t address, std::uint32_t key, std::span<std::byte> to) = 0;
  virtual bool write(std::uint64_t address, std::uint32_t key, std::span<const std::byte> from) = 0;
};

class FakeRemoteMemory final : public RemoteMemory {
 public:
  static constexpr std::uint64_t kBase = 0x7F00'0000'0000;
  static constexpr std::uint32_t kKey = 0x00C0'FFEE;

  explicit FakeRemoteMemory(std::size_t bytes = 65536) : bytes_(bytes) {}

  std::span<std::byte> bytes() { return bytes_; }

  bool read(std::uint64_t address, std::uint32_t key, std::span<std::byte> to) override {
    if (!has(address, key, to.size())) return false;
    std::ranges::copy(bytes().subspan(address - kBase, to.size()), to.begin());
    return true;
  }
  bool write(std::uint64_t address, std::uint32_t key, std::span<const std::byte> from) override {
    if (!has(address, key, from.size())) return false;
    std::ranges::copy(from, bytes().subspan(address - kBase).begin());
    return true;
  }

 private:
  bool has(std::uint64_t address, std::uint32_t key, std::size_t bytes) const {
    return key == kKey && address >= kBase && address - kBase <= bytes_.size() &&
           bytes <= bytes_.size() - (address - kBase);
  }
  std::vector<std::byte> bytes_;
};

}  // namespace paravane::fake
