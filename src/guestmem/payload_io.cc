#include "guestmem/payload_io.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <array>

#include "guestmem/extent_access.h"
#include "guestmem/memory_file.h"
#include "guestmem/raw_copy.h"

namespace paravane {
namespace {

// One call's: 256 KiB of scattered pages and what is ours around them.
constexpr std::size_t kMaxPieces = 72;

constexpr std::uint64_t kTouchStep = 4096;

class Pieces {
 public:
  void add(void* at, std::size_t size) {
    if (size > 0 && count_ < kMaxPieces) pieces_[count_++] = {.iov_base = at, .iov_len = size};
  }
  void add(const ExtentList& list, std::uint64_t bytes) {
    for (const Extent& extent : list.extents()) {
      if (bytes == 0 || full()) return;
      const std::uint64_t part = std::min(bytes, extent.size());
      add(ExtentAccess::host(extent), part);
      bytes -= part;
    }
  }
  bool full() const { return count_ == kMaxPieces; }
  std::span<const iovec> all() const { return std::span(pieces_).first(count_); }

 private:
  std::array<iovec, kMaxPieces> pieces_;
  std::size_t count_ = 0;
};

// The kernel only says that it could not; an access of our own finds the file out.
void find_failure(const ExtentList& list) {
  for (const Extent& extent : list.extents()) {
    std::byte seen{};
    for (std::uint64_t at = 0; at < extent.size(); at += kTouchStep) {
      raw_copy::copy_bytes(&seen, ExtentAccess::host(extent) + at, 1);
    }
    raw_copy::copy_bytes(&seen, ExtentAccess::host(extent) + extent.size() - 1, 1);
  }
}

}  // namespace

void list_lent(const ExtentList& list, std::vector<std::span<std::byte>>& places) {
  for (const Extent& extent : list.extents()) {
    places.emplace_back(ExtentAccess::host(extent), extent.size());
  }
}

IoResult read_payload(PayloadStream& stream, const ExtentList& payload, std::uint64_t payload_bytes,
                      std::span<const std::span<std::byte>> after) {
  Pieces pieces;
  pieces.add(payload, payload_bytes);
  for (const std::span<std::byte> part : after) {
    if (!pieces.full()) pieces.add(part.data(), part.size());
  }
  const IoResult result = stream.read(pieces.all());
  if (result.kind == IoResult::Kind::kBadMemory) find_failure(payload);
  return result;
}

IoResult write_payload(PayloadStream& stream, std::span<const std::byte> before,
                       const ExtentList& payload, std::span<const std::byte> after) {
  Pieces pieces;
  // NOLINTBEGIN(cppcoreguidelines-pro-type-const-cast): iovec knows no const
  pieces.add(const_cast<std::byte*>(before.data()), before.size());
  pieces.add(payload, payload.total_bytes());
  // Payload that had no room has filled it.
  pieces.add(const_cast<std::byte*>(after.data()), after.size());
  // NOLINTEND(cppcoreguidelines-pro-type-const-cast)
  const IoResult result = stream.write(pieces.all());
  if (result.kind == IoResult::Kind::kBadMemory) find_failure(payload);
  return result;
}

std::uint32_t digest_bytes(std::span<const std::byte> bytes, std::uint32_t so_far) {
  // The library takes what it only reads as not const.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast,cppcoreguidelines-pro-type-reinterpret-cast)
  auto* data = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(bytes.data()));
  return ~crc32_iscsi(data, static_cast<int>(bytes.size()), ~so_far);
}

std::uint32_t digest_payload(const ExtentList& list, std::uint64_t bytes, std::uint32_t so_far) {
  for (const Extent& extent : list.extents()) {
    if (bytes == 0) break;
    const std::uint64_t part = std::min(bytes, extent.size());
    so_far = digest_bytes({ExtentAccess::host(extent), part}, so_far);
    bytes -= part;
  }
  return so_far;
}

}  // namespace paravane
