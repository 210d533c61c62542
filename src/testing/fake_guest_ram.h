// GuestRam: the memory of a fake VM, as its guest sees it: a memfd mapped here a
// second time, and an allocator of its pages.
//
// Freed pages are filled with a pattern. A device that still writes to memory
// after it promised not to is found by intact_after_free(), or when the page is
// given out again.
//
// In builds for ThreadSanitizer, which follows virtual addresses, the guest lives
// in the device's own mapping (adopt_mapping_of).
//
// The owner's thread allocates and frees; any thread may load and store.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "base/unique_fd.h"
#include "guestmem/guest_memory.h"
#include "guestmem/memory_file.h"
#include "testing/fake_guest_abi.h"

namespace paravane::fake {

// Guest pages and the directory that names them to the device.
struct PageSet {
  std::vector<std::uint64_t> pages;   // DMA addresses, in the order of the object
  std::uint64_t directory = 0;        // DMA address; 0: none was made
  std::vector<std::uint64_t> tables;  // DMA addresses of the directory's tables
};

enum class Layout : std::uint8_t {
  kContiguous,
  kScattered,  // no page follows the one before it
};

class GuestRam {
 public:
  static constexpr std::uint64_t kBase = 0x1000'0000;  // DMA address of the first byte

  explicit GuestRam(std::uint64_t bytes);
  ~GuestRam();
  GuestRam(const GuestRam&) = delete;
  GuestRam& operator=(const GuestRam&) = delete;

  // A descriptor of its own for the device's side.
  UniqueFd duplicate_fd() const;
  std::uint64_t size() const { return size_; }
  // REQUIRES: kBase is mapped there; nothing was allocated yet, or adopted before.
  void adopt_mapping_of(const GuestMemory& memory);

  // Zeroed pages in a row; the DMA address of the first. Aborts when the VM has
  // no memory left: tests say how much they need.
  std::uint64_t allocate(std::uint64_t pages);
  void release(std::uint64_t address, std::uint64_t pages);

  PageSet allocate_set(std::uint64_t pages, Layout layout, bool with_directory = true);
  void release_set(PageSet& set);
  // Fills a directory for `pages`, anywhere in memory.
  void make_directory(PageSet& set);

  // REQUIRES: inside the memory.
  std::byte* at(std::uint64_t address) { return mapping_ + (address - kBase); }
  template <typename T>
  T& as(std::uint64_t address) {
    return *reinterpret_cast<T*>(at(address));
  }

  // False: someone wrote to a page after it was freed.
  bool intact_after_free() const;

  // For benchmarks: no pattern, no check.
  void stop_watching() { watching_ = false; }

 private:
  static constexpr std::byte kPattern{0xA5};
  bool is_pattern(std::uint64_t page) const;

  UniqueFd file_;
  std::uint64_t size_;
  std::byte* mapping_ = nullptr;
  std::shared_ptr<const MemoryFile> adopted_;  // set: the mapping is not ours
  std::uint64_t next_ = kBase;
  std::map<std::uint64_t, std::vector<std::uint64_t>> free_;  // by number of pages
  std::set<std::uint64_t> patterned_;
  bool watching_ = true;
  bool disturbed_ = false;
};

}  // namespace paravane::fake
