// What a guest holds of the device: contexts with their doorbell page, protection
// domains, memory regions. Queues have files of their own.

#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "testing/fake_guest_abi.h"
#include "testing/fake_guest_machine.h"
#include "testing/fake_guest_ram.h"
#include "testing/fake_guest_ring.h"

namespace paravane::fake {

// One doorbell page: stores where the VM maps it, messages where it does not.
// A mapped page may be rung from any thread.
class UarPage {
 public:
  UarPage(GuestMachine& machine, std::uint32_t index)
      : machine_(&machine), index_(index), mapped_(machine.doorbell_page(index)) {}

  void ring(std::uint32_t offset, std::uint32_t value) {
    if (mapped_ != nullptr) {
      store_word(word(offset), value);
    } else {
      machine_->write_doorbell(std::uint64_t{index_} * kPage + offset, value);
    }
  }
  bool mapped() const { return mapped_ != nullptr; }
  std::uint32_t index() const { return index_; }
  // REQUIRES: mapped().
  std::uint32_t& word(std::uint32_t offset) {
    return *reinterpret_cast<std::uint32_t*>(mapped_ + offset);
  }

 private:
  GuestMachine* machine_;
  std::uint32_t index_;
  std::byte* mapped_;
};

// A user process that has opened the device, or the kernel itself (handle 0).
struct FakeContext {
  std::uint32_t handle = 0;
  UarPage uar;
  bool is_kernel() const { return handle == 0; }
};

struct FakePd {
  std::uint32_t handle = 0;
  FakeContext* context = nullptr;
};

// A registered buffer of a guest process. `va` is what its SGEs and its peers
// name; the bytes lie in the pages, in a row when the layout is contiguous.
class FakeMr {
 public:
  FakeMr(GuestRam& ram, PageSet pages, std::uint64_t va, std::uint64_t length)
      : ram_(&ram), pages_(std::move(pages)), va_(va), length_(length) {}

  std::uint32_t handle = 0;
  std::uint32_t lkey = 0;
  std::uint32_t rkey = 0;

  std::uint64_t va() const { return va_; }
  std::uint64_t length() const { return length_; }
  PageSet& pages() { return pages_; }

  pvrdma_sge sge(std::uint64_t offset, std::uint32_t bytes) const {
    return {.addr = va_ + offset, .length = bytes, .lkey = lkey};
  }
  pvrdma_sge sge() const { return sge(0, static_cast<std::uint32_t>(length_)); }

  // The byte at `offset` of the buffer; what follows it is contiguous to the end
  // of its page, or of the buffer when the layout is contiguous.
  std::byte* at(std::uint64_t offset) {
    const std::uint64_t position = (va_ & (kPage - 1)) + offset;
    return ram_->at(pages_.pages[position / kPage]) + (position & (kPage - 1));
  }
  void store(std::uint64_t offset, std::span<const std::byte> bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) *at(offset + i) = bytes[i];
  }
  std::vector<std::byte> load(std::uint64_t offset, std::size_t bytes) {
    std::vector<std::byte> out(bytes);
    for (std::size_t i = 0; i < bytes; ++i) out[i] = *at(offset + i);
    return out;
  }
  void fill(std::byte value) {
    for (std::uint64_t i = 0; i < length_; ++i) *at(i) = value;
  }
  // Bytes that differ from their neighbours and from those of another seed.
  void fill_pattern(std::uint32_t seed) {
    for (std::uint64_t i = 0; i < length_; ++i) *at(i) = pattern(seed, i);
  }
  static std::byte pattern(std::uint32_t seed, std::uint64_t index) {
    return std::byte(((index + seed) * 0x9E3779B1u) >> 13);
  }

 private:
  GuestRam* ram_;
  PageSet pages_;
  std::uint64_t va_;
  std::uint64_t length_;
};

}  // namespace paravane::fake
