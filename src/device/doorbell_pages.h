// DoorbellPages: the shared memory of BAR2, with one page for each process of the guest that has
// opened the device. When the guest stores a doorbell in such a page, the daemon receives no
// message. It polls the pages instead.
//
// Each word of a page holds only the last value that was stored. The functions read a word with a
// plain load, and exchange it with zero only if it is not zero. The cache line of a page that is
// not in use therefore stays in the cache of the guest's CPU. The memory file is sealed and cannot
// be truncated while it is mapped.
//
// Owner thread only (in the daemon).

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "abi/uar.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace paravane::device {

class DoorbellPages {
 public:
  // Errors: kIo.
  static Result<std::unique_ptr<DoorbellPages>> create(std::uint32_t pages);
  // Those that another process has created, and that a VMM may have mapped. Errors: kIo;
  // kInvalidArgument (the file has another size, or can be truncated).
  static Result<std::unique_ptr<DoorbellPages>> adopt(UniqueFd file, std::uint32_t pages);
  ~DoorbellPages();
  DoorbellPages(const DoorbellPages&) = delete;
  DoorbellPages& operator=(const DoorbellPages&) = delete;

  int fd() const { return fd_.get(); }
  std::uint64_t size() const { return size_; }

  // REQUIRES: page < the number of pages. 0: nothing was stored.
  std::uint32_t take_qp_word(std::uint32_t page) { return take(page, abi::kUarQpOffset); }
  std::uint32_t take_cq_word(std::uint32_t page) { return take(page, abi::kUarCqOffset); }
  std::uint32_t take_srq_word(std::uint32_t page) { return take(page, abi::kUarSrqOffset); }
  void clear(std::uint32_t page);

 private:
  static Result<std::unique_ptr<DoorbellPages>> map(UniqueFd fd, std::uint64_t size);
  DoorbellPages(UniqueFd fd, std::byte* base, std::uint64_t size)
      : fd_(std::move(fd)), base_(base), size_(size) {}

  std::atomic_ref<std::uint32_t> word(std::uint32_t page, std::uint32_t offset) const {
    std::byte* at = base_ + std::uint64_t{page} * abi::kUarPageBytes + offset;
    return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(at));
  }
  std::uint32_t take(std::uint32_t page, std::uint32_t offset) const {
    const auto at = word(page, offset);
    if (at.load(std::memory_order_relaxed) == 0) return 0;
    return at.exchange(0, std::memory_order_acq_rel);
  }

  UniqueFd fd_;
  std::byte* base_;
  std::uint64_t size_;
};

}  // namespace paravane::device
