// TestMemory: the RAM of a VM for tests: a memory file, the guest's own view of
// it, and an allocator of guest pages. One window: guest address `base` shows
// the first byte of the file.
//
// A test plays both sides. As VMM it shows the file to a GuestMemory (show(), or
// fd() over a socket and then adopt_mapping_of()); as guest it allocates pages,
// builds page directories, and reads and writes. Misuse ends the test program
// with a message.
//
// One thread allocates; any thread may read and write.

#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/unique_fd.h"
#include "guestmem/guest_memory.h"
#include "guestmem/memory_file.h"

namespace paravane {

#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitizer = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif
#else
inline constexpr bool kThreadSanitizer = false;
#endif

// Whether the address sanitizer watches, which makes allocations many times slower.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kAddressSanitizer = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif
#else
inline constexpr bool kAddressSanitizer = false;
#endif

// The pages of one object, in its order: what a page directory names.
struct TestPages {
  std::vector<GuestAddr> pages;
  GuestAddr directory;

  std::uint64_t count() const { return pages.size(); }
  // Where byte `offset` of the object is.
  GuestAddr at(std::uint64_t offset) const {
    return {pages.at(offset / kPageBytes).value + offset % kPageBytes};
  }
};

class TestMemory {
 public:
  static constexpr GuestAddr kBase{0x10'0000};  // not 0, so that offset bugs show

  explicit TestMemory(std::uint64_t bytes, GuestAddr base = kBase);
  ~TestMemory();
  TestMemory(const TestMemory&) = delete;
  TestMemory& operator=(const TestMemory&) = delete;

  // Huge pages of 2 MiB. Nothing if the kernel has no hugetlbfs. There may be no
  // page in the pool: then the first touch fails with SIGBUS.
  static std::optional<UniqueFd> huge_file(std::uint64_t bytes);

  GuestAddr base() const { return base_; }
  std::uint64_t size() const { return size_; }
  // A descriptor of its own, as a VMM sends one.
  UniqueFd fd() const;

  // ---- As the VMM ----

  // Shows the whole file at base() and turns DMA on.
  void show(GuestMemory& memory, Rights rights = Rights::kReadWrite);
  // From here on the guest's view is the one of `memory`, in builds for
  // ThreadSanitizer; nothing in others. REQUIRES: base() is mapped there.
  void adopt_mapping_of(const GuestMemory& memory);
  // Makes the file shorter under everybody's feet, or longer.
  void truncate(std::uint64_t bytes);

  // ---- As the guest ----

  // Zeroed pages in a row.
  GuestAddr allocate(std::uint64_t pages = 1);
  // An object whose pages follow one another, or of which no page follows the
  // one before it; with its directory.
  TestPages contiguous_pages(std::uint64_t pages);
  TestPages scattered_pages(std::uint64_t pages);
  // Any list of addresses, however wrong.
  GuestAddr make_directory(std::span<const GuestAddr> pages);

  // REQUIRES: inside the window. Plain copies: the caller has synchronised.
  std::byte* at(GuestAddr addr, std::uint64_t length = 1) const;
  template <GuestCopyable T>
  T read(GuestAddr addr) const {
    std::array<std::byte, sizeof(T)> bytes;
    read_bytes(addr, bytes);
    return std::bit_cast<T>(bytes);
  }
  template <GuestCopyable T>
  void write(GuestAddr addr, const T& value) {
    write_bytes(addr, std::as_bytes(std::span(&value, 1)));
  }
  void read_bytes(GuestAddr addr, std::span<std::byte> to) const;
  void write_bytes(GuestAddr addr, std::span<const std::byte> from);
  void fill(GuestAddr addr, std::uint64_t length, std::byte value);

  // What a guest shares with the device: little-endian, acquire and release.
  std::uint32_t load(GuestAddr addr) const;
  void store(GuestAddr addr, std::uint32_t value);
  std::byte load_byte(GuestAddr addr) const;

 private:
  TestPages with_directory(std::vector<GuestAddr> pages);

  UniqueFd file_;
  GuestAddr base_;
  std::uint64_t size_;
  std::uint64_t next_page_ = 0;
  std::byte* own_ = nullptr;   // our mapping
  std::byte* view_ = nullptr;  // own_, or the device's
  std::shared_ptr<const MemoryFile> viewed_;
};

}  // namespace paravane
