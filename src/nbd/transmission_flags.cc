#include "nbd/transmission_flags.h"

#include <algorithm>
#include <bit>

namespace paravane::nbd {

std::uint16_t transmission_flags(const Geometry& geometry, bool is_structured) {
  std::uint32_t flags = kHasFlags;
  if (is_structured) flags |= kSendDf;
  if (geometry.is_rotational) flags |= kRotational;
  if (geometry.has_write_cache) flags |= kSendFlush | kSendFua;
  if (geometry.is_read_only) return static_cast<std::uint16_t>(flags | kReadOnly);
  if (geometry.can_trim) flags |= kSendTrim;
  if (geometry.can_write_zeroes) flags |= kSendWriteZeroes | kSendFastZero;
  return static_cast<std::uint16_t>(flags);
}

BlockSizeInformation block_sizes(const Geometry& geometry) {
  const std::uint32_t preferred =
      std::clamp(std::bit_floor(std::max(geometry.preferred_bytes, std::uint32_t{1})),
                 geometry.block_bytes, std::bit_floor(geometry.most_bytes));
  BlockSizeInformation sizes;
  sizes.least.set(geometry.block_bytes);
  sizes.preferred.set(preferred);
  sizes.most.set(geometry.most_bytes);
  return sizes;
}

}  // namespace paravane::nbd
