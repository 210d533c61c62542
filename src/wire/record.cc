#include "wire/record.h"

#include <cstring>

namespace paravane::wire {

std::optional<RecordHeader> read_header(std::span<const std::byte, kHeadBytes> head) {
  RecordHeader header;
  std::memcpy(&header, head.data(), sizeof header);
  const std::uint32_t block = header.block_bytes.get();
  if (block < kMinBlockBytes || block > kMaxBlockBytes) return std::nullopt;
  if (header.direct_bytes.get() > kMaxDirectBytes) return std::nullopt;
  if (header.reserved.get() != 0) return std::nullopt;
  return header;
}

}  // namespace paravane::wire
