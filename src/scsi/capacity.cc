#include "scsi/capacity.h"

#include <fmt/core.h>

#include <bit>
#include <limits>

#include "wire/roce/header_at.h"
#include "wire/scsi/data.h"

namespace paravane::scsi {
namespace {

constexpr std::uint32_t kMoreThan32Bits = 0xFFFF'FFFF;
constexpr std::uint8_t kPhysicalBits = 0x0F;

}  // namespace

Status check_capacity(std::uint64_t blocks, std::uint32_t block_bytes) {
  constexpr auto kMostBytes = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (block_bytes < kLeastBlockBytes || block_bytes > kMostBlockBytes ||
      !std::has_single_bit(block_bytes)) {
    return fail(Errc::kUnsupported,
                fmt::format("the logical unit has blocks of {} bytes; 512, 1024, 2048 and 4096 "
                            "are supported",
                            block_bytes));
  }
  if (blocks == 0) return fail(Errc::kUnsupported, "the logical unit has no blocks");
  if (blocks > kMostBytes / block_bytes)
    return fail(Errc::kUnsupported,
                fmt::format("the logical unit says that it has {} blocks of {} bytes; fewer than "
                            "2^63 bytes are supported",
                            blocks, block_bytes));
  return {};
}

Result<std::optional<Capacity>> parse_capacity10(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(wire::scsi::Capacity10Data))
    return fail(Errc::kIo, fmt::format("the answer to READ CAPACITY (10) has {} bytes, and must "
                                       "have {}",
                                       bytes.size(), sizeof(wire::scsi::Capacity10Data)));
  const auto data = wire::roce::header_at<wire::scsi::Capacity10Data>(bytes);
  if (data.last_block.get() == kMoreThan32Bits) return std::nullopt;
  const Capacity capacity{.blocks = std::uint64_t{data.last_block.get()} + 1,
                          .block_bytes = data.block_bytes.get()};
  if (auto checked = check_capacity(capacity.blocks, capacity.block_bytes); !checked)
    return std::unexpected(checked.error());
  return capacity;
}

Result<Capacity> parse_capacity16(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(wire::scsi::Capacity16Data))
    return fail(Errc::kIo, fmt::format("the answer to READ CAPACITY (16) has {} bytes, and must "
                                       "have {}",
                                       bytes.size(), sizeof(wire::scsi::Capacity16Data)));
  const auto data = wire::roce::header_at<wire::scsi::Capacity16Data>(bytes);
  const std::uint16_t provisioning = data.provisioning.get();
  // A last block of all ones is how a device of no size counts: one before the first.
  const Capacity capacity{
      .blocks = data.last_block.get() + 1,
      .block_bytes = data.block_bytes.get(),
      .is_thin = (provisioning & wire::scsi::kThinProvisioned) != 0,
      .unmapped_reads_zero = (provisioning & wire::scsi::kUnmappedReadsZero) != 0,
      .physical_exponent = static_cast<std::uint8_t>(data.exponents & kPhysicalBits)};
  if (auto checked = check_capacity(capacity.blocks, capacity.block_bytes); !checked)
    return std::unexpected(checked.error());
  return capacity;
}

}  // namespace paravane::scsi
