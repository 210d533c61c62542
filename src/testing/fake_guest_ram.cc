#include "testing/fake_guest_ram.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "testing/guest_memory_peer.h"
#include "testing/test_memory.h"

namespace paravane::fake {
namespace {

constexpr std::uint64_t kPerTable = 512;

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::abort();
}

}  // namespace

GuestRam::GuestRam(std::uint64_t bytes)
    : file_(::memfd_create("fake-guest-ram", MFD_CLOEXEC)), size_(bytes) {
  if (!file_ || ::ftruncate(file_.get(), static_cast<off_t>(bytes)) != 0) die("fake guest memory");
  void* mapping =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_.get(), 0);
  if (mapping == MAP_FAILED) die("fake guest memory");
  mapping_ = static_cast<std::byte*>(mapping);
}

GuestRam::~GuestRam() {
  if (adopted_ == nullptr) ::munmap(mapping_, size_);
}

void GuestRam::adopt_mapping_of(const GuestMemory& memory) {
  if constexpr (!kThreadSanitizer) return;
  if (adopted_ != nullptr) return;
  const GuestMemoryPeer::View view = GuestMemoryPeer::view(memory, GuestAddr{kBase});
  if (view.file == nullptr) return;
  ::munmap(mapping_, size_);
  adopted_ = view.file;
  mapping_ = view.host;
}

UniqueFd GuestRam::duplicate_fd() const {
  return UniqueFd(::fcntl(file_.get(), F_DUPFD_CLOEXEC, 0));
}

std::uint64_t GuestRam::allocate(std::uint64_t pages) {
  std::uint64_t address = 0;
  std::vector<std::uint64_t>& reusable = free_[pages];
  if (!reusable.empty()) {
    address = reusable.back();
    reusable.pop_back();
  } else {
    if (pages * kPage > kBase + size_ - next_) die("fake guest is out of memory");
    address = next_;
    next_ += pages * kPage;
    return address;  // never used before: still zero
  }
  for (std::uint64_t i = 0; i < pages; ++i) {
    const std::uint64_t page = address + i * kPage;
    if (patterned_.erase(page) != 0 && !is_pattern(page)) disturbed_ = true;
  }
  std::memset(at(address), 0, pages * kPage);
  return address;
}

void GuestRam::release(std::uint64_t address, std::uint64_t pages) {
  free_[pages].push_back(address);
  if (!watching_) return;
  std::memset(at(address), static_cast<int>(kPattern), pages * kPage);
  for (std::uint64_t i = 0; i < pages; ++i) patterned_.insert(address + i * kPage);
}

PageSet GuestRam::allocate_set(std::uint64_t pages, Layout layout, bool with_directory) {
  PageSet set;
  set.pages.reserve(pages);
  if (layout == Layout::kContiguous) {
    const std::uint64_t first = allocate(pages);
    for (std::uint64_t i = 0; i < pages; ++i) set.pages.push_back(first + i * kPage);
  } else {
    for (std::uint64_t i = 0; i < pages; ++i) set.pages.push_back(allocate(1));
    std::ranges::sort(set.pages, std::greater<>());
  }
  if (with_directory) make_directory(set);
  return set;
}

void GuestRam::make_directory(PageSet& set) {
  set.directory = allocate(1);
  auto* tables = reinterpret_cast<std::uint64_t*>(at(set.directory));
  for (std::uint64_t i = 0; i < set.pages.size(); ++i) {
    if (i % kPerTable == 0) {
      set.tables.push_back(allocate(1));
      tables[i / kPerTable] = set.tables.back();
    }
    auto* entries = reinterpret_cast<std::uint64_t*>(at(set.tables.back()));
    entries[i % kPerTable] = set.pages[i];
  }
}

void GuestRam::release_set(PageSet& set) {
  const bool contiguous = std::ranges::adjacent_find(set.pages, [](auto a, auto b) {
                            return b != a + kPage;
                          }) == set.pages.end();
  if (contiguous && !set.pages.empty()) {
    release(set.pages.front(), set.pages.size());
  } else {
    for (const std::uint64_t page : set.pages) release(page, 1);
  }
  for (const std::uint64_t table : set.tables) release(table, 1);
  if (set.directory != 0) release(set.directory, 1);
  set = {};
}

bool GuestRam::is_pattern(std::uint64_t page) const {
  const std::byte* first = mapping_ + (page - kBase);
  return *first == kPattern && std::memcmp(first, first + 1, kPage - 1) == 0;
}

bool GuestRam::intact_after_free() const {
  return !disturbed_ && std::ranges::all_of(patterned_, [this](auto p) { return is_pattern(p); });
}

}  // namespace paravane::fake
