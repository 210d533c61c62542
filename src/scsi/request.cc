#include "scsi/request.h"

#include <cassert>
#include <cstring>
#include <limits>

#include "wire/scsi/data.h"

namespace paravane::scsi {
namespace {

using wire::scsi::BlocksCdb;
using wire::scsi::Operation;

template <typename Block>
Request request_of(const Block& block, Direction direction, std::uint32_t bytes) {
  static_assert(alignof(Block) == 1 && sizeof(Block) <= wire::scsi::kCdbBytes);
  Request request{.direction = bytes == 0 ? Direction::kNone : direction, .bytes = bytes};
  std::memcpy(request.cdb.data(), &block, sizeof block);
  return request;
}

BlocksCdb blocks_cdb(Operation operation, const BlockRange& range, std::uint8_t flags = 0) {
  BlocksCdb block{.operation = static_cast<std::uint8_t>(operation), .flags = flags};
  block.block.set(range.block);
  block.blocks.set(range.blocks);
  return block;
}

std::uint32_t bytes_of(const BlockRange& range, std::uint32_t block_bytes) {
  [[maybe_unused]] const std::uint64_t bytes = std::uint64_t{range.blocks} * block_bytes;
  assert(bytes > 0 && bytes <= std::numeric_limits<std::uint32_t>::max());
  return range.blocks * block_bytes;
}

}  // namespace

Request test_unit_ready() {
  return {};
}

Request inquiry(std::uint16_t bytes) {
  wire::scsi::InquiryCdb block;
  block.length.set(bytes);
  return request_of(block, Direction::kIn, bytes);
}

Request inquiry_page(std::uint8_t page, std::uint16_t bytes) {
  wire::scsi::InquiryCdb block{.vital = 1, .page = page};
  block.length.set(bytes);
  return request_of(block, Direction::kIn, bytes);
}

Request report_luns(std::uint32_t bytes) {
  assert(bytes >= 16);
  wire::scsi::ReportLunsCdb block;
  block.length.set(bytes);
  return request_of(block, Direction::kIn, bytes);
}

Request read_capacity10() {
  return request_of(wire::scsi::ReadCapacity10Cdb{}, Direction::kIn,
                    sizeof(wire::scsi::Capacity10Data));
}

Request read_capacity16() {
  wire::scsi::ReadCapacity16Cdb block;
  block.length.set(sizeof(wire::scsi::Capacity16Data));
  return request_of(block, Direction::kIn, sizeof(wire::scsi::Capacity16Data));
}

Request mode_sense6(std::uint8_t page, std::uint8_t bytes) {
  return request_of(
      wire::scsi::ModeSense6Cdb{
          .flags = wire::scsi::kNoBlockDescriptors, .page = page, .length = bytes},
      Direction::kIn, bytes);
}

Request mode_sense10(std::uint8_t page, std::uint16_t bytes) {
  wire::scsi::ModeSense10Cdb block{.flags = wire::scsi::kNoBlockDescriptors, .page = page};
  block.length.set(bytes);
  return request_of(block, Direction::kIn, bytes);
}

Request read(const BlockRange& range, std::uint32_t block_bytes) {
  return request_of(blocks_cdb(Operation::kRead16, range), Direction::kIn,
                    bytes_of(range, block_bytes));
}

Request write(const BlockRange& range, std::uint32_t block_bytes, Durability durability) {
  const std::uint8_t flags =
      durability == Durability::kOnMedium ? wire::scsi::kForceUnitAccess : std::uint8_t{0};
  return request_of(blocks_cdb(Operation::kWrite16, range, flags), Direction::kOut,
                    bytes_of(range, block_bytes));
}

Request synchronize_cache(const BlockRange& range) {
  return request_of(blocks_cdb(Operation::kSynchronizeCache16, range), Direction::kNone, 0);
}

Request write_zeroes(const BlockRange& range, std::uint32_t block_bytes, Unmapping unmapping) {
  assert(range.blocks > 0);
  const std::uint8_t flags =
      unmapping == Unmapping::kAllowed ? wire::scsi::kWriteSameUnmap : std::uint8_t{0};
  return request_of(blocks_cdb(Operation::kWriteSame16, range, flags), Direction::kOut,
                    block_bytes);
}

Request unmap(std::size_t ranges) {
  assert(ranges > 0 && ranges <= kMostUnmapRanges);
  const auto bytes = static_cast<std::uint16_t>(unmap_list_bytes(ranges));
  wire::scsi::UnmapCdb block;
  block.length.set(bytes);
  return request_of(block, Direction::kOut, bytes);
}

void write_unmap_list(std::span<const BlockRange> ranges, std::span<std::byte> to) {
  const std::size_t bytes = unmap_list_bytes(ranges.size());
  assert(ranges.size() <= kMostUnmapRanges && to.size() >= bytes);
  wire::scsi::UnmapHeader header;
  header.length.set(static_cast<std::uint16_t>(bytes - sizeof header.length));
  header.descriptors_bytes.set(static_cast<std::uint16_t>(bytes - sizeof header));
  std::memcpy(to.data(), &header, sizeof header);
  std::size_t at = sizeof header;
  for (const BlockRange& range : ranges) {
    wire::scsi::UnmapDescriptor descriptor;
    descriptor.block.set(range.block);
    descriptor.blocks.set(range.blocks);
    std::memcpy(to.data() + at, &descriptor, sizeof descriptor);
    at += sizeof descriptor;
  }
}

}  // namespace paravane::scsi
