#include "host_verbs/service_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <numeric>
#include <system_error>
#include <utility>

#include "base/wire_int.h"
#include "guestmem/payload.h"

namespace paravane::host_verbs {
namespace {

// Not 0, so that a peer that forgets an address reaches nothing.
constexpr GuestAddr kBase{std::uint64_t{1} << 32};
constexpr std::uint64_t kPayloadPages = ServiceMemory::kPayloadBytes / kPageBytes;
// A directory of one table, and the table.
constexpr std::uint64_t kDirectoryBytes = 2 * kPageBytes;
static_assert(kPayloadPages <= kPageBytes / sizeof(Le64));

std::unexpected<Error> memory_error(const char* what) {
  return fail(
      errno == ENOMEM || errno == ENFILE || errno == EMFILE ? Errc::kResourceExhausted : Errc::kIo,
      std::string("memory of a host service: ") + what + ": " +
          std::generic_category().message(errno));
}

}  // namespace

Places::Places(std::uint32_t count) : ring_(count), free_count_(count) {
  std::iota(ring_.begin(), ring_.end(), 0u);
}

std::optional<std::uint32_t> Places::take() {
  if (free_count_ == 0) return std::nullopt;
  const std::uint32_t place = ring_[next_];
  next_ = (next_ + 1) % ring_.size();
  --free_count_;
  return place;
}

void Places::give_back(std::uint32_t place) {
  assert(free_count_ < ring_.size());
  ring_[(next_ + free_count_) % ring_.size()] = place;
  ++free_count_;
}

Result<std::unique_ptr<ServiceMemory>> ServiceMemory::make(const Size& size) {
  UniqueFd file(::memfd_create("paravane-service", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) return memory_error("no file");
  std::unique_ptr<ServiceMemory> made(new ServiceMemory(size, std::move(file)));
  if (::ftruncate(made->file_.get(), static_cast<off_t>(made->bytes())) != 0) {
    return memory_error("no room");
  }
  if (::fcntl(made->file_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    return memory_error("no seals");
  }
  if (Status shown = made->show_in(made->memory_); !shown) return std::unexpected(shown.error());
  if (Status written = made->write_directories(); !written) {
    return std::unexpected(written.error());
  }
  return made;
}

ServiceMemory::ServiceMemory(const Size& size, UniqueFd file)
    : size_(size),
      file_(std::move(file)),
      payloads_(size.payloads),
      messages_(size.messages),
      contents_(size.payloads) {}

std::uint64_t ServiceMemory::bytes() const {
  const std::uint64_t messages = std::uint64_t{size_.messages} * kMessageBytes;
  return size_.payloads * (kPayloadBytes + kDirectoryBytes) +
         (messages + kPageBytes - 1) / kPageBytes * kPageBytes;
}

GuestAddr ServiceMemory::payload(std::uint32_t place) const {
  return {kBase.value + std::uint64_t{place} * kPayloadBytes};
}

GuestAddr ServiceMemory::payload_directory(std::uint32_t place) const {
  return {kBase.value + std::uint64_t{size_.payloads} * kPayloadBytes + place * kDirectoryBytes};
}

GuestAddr ServiceMemory::message(std::uint32_t place) const {
  return {payload_directory(size_.payloads).value + std::uint64_t{place} * kMessageBytes};
}

Status ServiceMemory::show_in(GuestMemory& memory) const {
  UniqueFd copy(::fcntl(file_.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy) return memory_error("no descriptor");
  if (Status mapped = memory.map(std::move(copy), 0, kBase, bytes(), Rights::kReadWrite); !mapped) {
    return mapped;
  }
  memory.set_dma_enabled(true);
  return {};
}

Status ServiceMemory::write_directories() {
  for (std::uint32_t place = 0; place < size_.payloads; ++place) {
    const GuestAddr table{payload_directory(place).value + kPageBytes};
    if (Status written = memory_.write(payload_directory(place), Le64(table.value)); !written) {
      return written;
    }
    for (std::uint64_t page = 0; page < kPayloadPages; ++page) {
      const Le64 address(payload(place).value + page * kPageBytes);
      if (Status written = memory_.write({table.value + page * sizeof(Le64)}, address); !written) {
        return written;
      }
    }
  }
  return {};
}

bool ServiceMemory::extents(std::uint32_t payload_place, std::uint32_t offset, std::uint32_t length,
                            ExtentList& out) const {
  assert(offset <= kPayloadBytes && length <= kPayloadBytes - offset);
  return memory_.resolve({payload(payload_place).value + offset}, length, Rights::kReadWrite,
                         out) == Reach::kOk;
}

void ServiceMemory::take_over(std::uint32_t payload_place, std::uint64_t user) {
  Content& content = contents_[payload_place];
  if (content.user != user) content = {.user = user};
}

void ServiceMemory::note_filled(std::uint32_t payload_place, std::uint32_t length) {
  Content& content = contents_[payload_place];
  content.own = std::max(content.own, length);
}

bool ServiceMemory::clear_others(std::uint32_t payload_place, std::uint32_t length) {
  static constexpr std::array<std::byte, std::size_t{64} << 10> kZeros{};
  Content& content = contents_[payload_place];
  while (content.own < length) {
    const auto part = std::min<std::uint32_t>(length - content.own, kZeros.size());
    ExtentList to;
    if (!extents(payload_place, content.own, part, to) ||
        !scatter_payload(std::span(kZeros).first(part), to)) {
      return false;
    }
    content.own += part;
  }
  return true;
}

Status ServiceMemory::write(std::uint32_t place, std::span<const std::byte> from) {
  assert(from.size() <= kMessageBytes);
  return memory_.copy_out(message(place), from);
}

Status ServiceMemory::read(std::uint32_t place, std::span<std::byte> to) const {
  assert(to.size() <= kMessageBytes);
  return memory_.copy_in(message(place), to);
}

}  // namespace paravane::host_verbs
