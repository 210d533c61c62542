// DoorbellPages: the shared memory behind BAR2, one page per user context. The guest's stores
// arrive here without a message. A word holds only the last store, so taking it means an exchange
// with zero; a plain load first leaves the cache line of a quiet page where it is.
//
// The file is sealed, so it cannot be truncated while it is mapped.
//
// Owner thread only (on the daemon's side).

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
