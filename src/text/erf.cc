#include "text/erf.h"

#include <bit>

#include "base/wire_int.h"

namespace paravane::text::erf {
namespace {

constexpr std::uint64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr std::uint8_t kTypeInfiniband = 21;
constexpr std::uint8_t kVaryingLength = 0x04;  // of the flags; the lowest bits: interface 0

struct Header {
  Le64 time;  // seconds in the upper half, and their fractions in the lower one
  std::uint8_t type = kTypeInfiniband;
  std::uint8_t flags = kVaryingLength;
  Be16 record_bytes;  // with this header
  Be16 lost;          // between the records before and this one; not told here
  Be16 wire_bytes;
};
static_assert(sizeof(Header) == kHeaderBytes);

}  // namespace

std::array<std::byte, kHeaderBytes> header_of(const InfinibandRecord& record) {
  const std::uint64_t seconds = record.timestamp_ns / kNanosecondsPerSecond;
  const std::uint64_t rest = record.timestamp_ns % kNanosecondsPerSecond;
  Header header;
  header.time = Le64((seconds << 32) | ((rest << 32) / kNanosecondsPerSecond));
  header.record_bytes.set(static_cast<std::uint16_t>(kHeaderBytes + record.kept_bytes));
  header.wire_bytes.set(record.wire_bytes);
  return std::bit_cast<std::array<std::byte, kHeaderBytes>>(header);
}

}  // namespace paravane::text::erf
