#include "testing/test_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/wire_int.h"
#include "guestmem/page_list.h"
#include "testing/guest_memory_peer.h"

namespace paravane {
namespace {

constexpr std::uint64_t kEntriesPerPage = 512;

void insist(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "test memory: %s\n", what);
  std::abort();
}

}  // namespace

TestMemory::TestMemory(std::uint64_t bytes, GuestAddr base)
    : file_(memfd_create("test-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING)),
      base_(base),
      size_(bytes) {
  insist(file_ && ftruncate(file_.get(), static_cast<off_t>(bytes)) == 0, "cannot make a memfd");
  void* mapped =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_.get(), 0);
  insist(mapped != MAP_FAILED, "cannot map the memfd");
  own_ = static_cast<std::byte*>(mapped);
  view_ = own_;
}

TestMemory::~TestMemory() {
  munmap(own_, size_);
}

std::optional<UniqueFd> TestMemory::huge_file(std::uint64_t bytes) {
  UniqueFd file(memfd_create("test-huge-memory", MFD_CLOEXEC | MFD_HUGETLB | (21u << 26)));
  if (!file || ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) return std::nullopt;
  return file;
}

UniqueFd TestMemory::fd() const {
  return UniqueFd(fcntl(file_.get(), F_DUPFD_CLOEXEC, 0));
}

void TestMemory::show(GuestMemory& memory, Rights rights) {
  const Status mapped = memory.map(fd(), 0, base_, size_, rights);
  insist(mapped.has_value(), mapped ? "" : mapped.error().message.c_str());
  memory.set_dma_enabled(true);
  adopt_mapping_of(memory);
}

void TestMemory::adopt_mapping_of(const GuestMemory& memory) {
  if (!kThreadSanitizer) return;
  GuestMemoryPeer::View view = GuestMemoryPeer::view(memory, base_);
  insist(view.file != nullptr, "nothing is mapped at the base address");
  viewed_ = std::move(view.file);
  view_ = view.host;
}

void TestMemory::truncate(std::uint64_t bytes) {
  insist(ftruncate(file_.get(), static_cast<off_t>(bytes)) == 0, "cannot truncate the memfd");
}

GuestAddr TestMemory::allocate(std::uint64_t pages) {
  insist(pages <= size_ / kPageBytes - next_page_, "the guest has no memory left");
  const GuestAddr first{base_.value + next_page_ * kPageBytes};
  next_page_ += pages;
  return first;
}

TestPages TestMemory::contiguous_pages(std::uint64_t pages) {
  const GuestAddr first = allocate(pages);
  std::vector<GuestAddr> list;
  list.reserve(pages);
  for (std::uint64_t i = 0; i < pages; ++i) list.push_back({first.value + i * kPageBytes});
  return with_directory(std::move(list));
}

TestPages TestMemory::scattered_pages(std::uint64_t pages) {
  const GuestAddr first = allocate(pages);
  std::vector<GuestAddr> list;
  for (std::uint64_t i = pages; i-- > 0;) list.push_back({first.value + i * kPageBytes});
  return with_directory(std::move(list));
}

TestPages TestMemory::with_directory(std::vector<GuestAddr> pages) {
  const GuestAddr directory = make_directory(pages);
  return {std::move(pages), directory};
}

GuestAddr TestMemory::make_directory(std::span<const GuestAddr> pages) {
  insist(pages.size() <= kMaxDirectoryPages, "no directory can name that many pages");
  const GuestAddr directory = allocate();
  for (std::uint64_t i = 0; i < pages.size(); ++i) {
    const GuestAddr entry{directory.value + i / kEntriesPerPage * sizeof(Le64)};
    if (i % kEntriesPerPage == 0) write(entry, Le64(allocate().value));
    const std::uint64_t table = read<Le64>(entry).get();
    write(GuestAddr{table + i % kEntriesPerPage * sizeof(Le64)}, Le64(pages[i].value));
  }
  return directory;
}

std::byte* TestMemory::at(GuestAddr addr, std::uint64_t length) const {
  const std::uint64_t offset = addr.value - base_.value;
  insist(offset <= size_ && length <= size_ - offset, "the guest left its memory");
  return view_ + offset;
}

void TestMemory::read_bytes(GuestAddr addr, std::span<std::byte> to) const {
  std::memcpy(to.data(), at(addr, to.size()), to.size());
}

void TestMemory::write_bytes(GuestAddr addr, std::span<const std::byte> from) {
  std::memcpy(at(addr, from.size()), from.data(), from.size());
}

void TestMemory::fill(GuestAddr addr, std::uint64_t length, std::byte value) {
  std::memset(at(addr, length), std::to_integer<int>(value), length);
}

std::uint32_t TestMemory::load(GuestAddr addr) const {
  const auto* word = reinterpret_cast<const std::uint32_t*>(at(addr, sizeof(std::uint32_t)));
  return std::bit_cast<Le32>(__atomic_load_n(word, __ATOMIC_ACQUIRE)).get();
}

void TestMemory::store(GuestAddr addr, std::uint32_t value) {
  auto* word = reinterpret_cast<std::uint32_t*>(at(addr, sizeof(std::uint32_t)));
  __atomic_store_n(word, std::bit_cast<std::uint32_t>(Le32(value)), __ATOMIC_RELEASE);
}

std::byte TestMemory::load_byte(GuestAddr addr) const {
  const auto* byte = reinterpret_cast<const std::uint8_t*>(at(addr));
  return static_cast<std::byte>(__atomic_load_n(byte, __ATOMIC_ACQUIRE));
}

}  // namespace paravane
