// Defines commands of SCSI as they lie in a command descriptor block (CDB): SPC-4, chapter 6, and
// SBC-3, chapter 5.
//
// Numbers are in the byte order of the network. Plain values; any thread.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/wire_int.h"

namespace paravane::wire::scsi {

inline constexpr std::size_t kCdbBytes = 16;

enum class Operation : std::uint8_t {
  kTestUnitReady = 0x00,
  kInquiry = 0x12,
  kModeSense6 = 0x1A,
  kReadCapacity10 = 0x25,
  kUnmap = 0x42,
  kModeSense10 = 0x5A,
  kRead16 = 0x88,
  kWrite16 = 0x8A,
  kSynchronizeCache16 = 0x91,
  kWriteSame16 = 0x93,
  kServiceActionIn16 = 0x9E,
  kReportLuns = 0xA0,
};

// SPC-4: INQUIRY.
struct InquiryCdb {
  std::uint8_t operation = static_cast<std::uint8_t>(Operation::kInquiry);
  std::uint8_t vital = 0;  // the lowest bit: a page of vital product data
  std::uint8_t page = 0;
  Be16 length{};
  std::uint8_t control = 0;
};
static_assert(sizeof(InquiryCdb) == 6);

// SPC-4: MODE SENSE (6) and (10).
struct ModeSense6Cdb {
  std::uint8_t operation = static_cast<std::uint8_t>(Operation::kModeSense6);
  std::uint8_t flags = 0;  // kNoBlockDescriptors
  std::uint8_t page = 0;   // page control 2, page 6
  std::uint8_t subpage = 0;
  std::uint8_t length = 0;
  std::uint8_t control = 0;
};
static_assert(sizeof(ModeSense6Cdb) == 6);

struct ModeSense10Cdb {
  std::uint8_t operation = static_cast<std::uint8_t>(Operation::kModeSense10);
  std::uint8_t flags = 0;
  std::uint8_t page = 0;
  std::uint8_t subpage = 0;
  std::array<std::uint8_t, 3> reserved{};
  Be16 length{};
  std::uint8_t control = 0;
};
static_assert(sizeof(ModeSense10Cdb) == 10);
inline constexpr std::uint8_t kNoBlockDescriptors = 0x08;

// SPC-4: REPORT LUNS.
struct ReportLunsCdb {
  std::uint8_t operation = static_cast<std::uint8_t>(Operation::kReportLuns);
  std::uint8_t reserved = 0;
  std::uint8_t select = 0;
  std::array<std::uint8_t, 3> reserved_2{};
  Be32 length{};
  std::uint8_t reserved_3 = 0;
  std::uint8_t control = 0;
};
static_assert(sizeof(ReportLunsCdb) == 12);

// SBC-3: READ CAPACITY (10).
struct ReadCapacity10Cdb {
  std::uint8_t operation = static_cast<std::uint8_t>(Operation::kReadCapacity10);
  std::array<std::uint8_t, 9> zeros{};
};
static_assert(sizeof(ReadCapacity10Cdb) == 10);

// SBC-3: READ CAPACITY (16).
struct ReadCapacity16Cdb {
  std::uint8_t operation = static_cast<std::uint8_t>(Operation::kServiceActionIn16);
  std::uint8_t action = kReadCapacityAction;
  Be64 zeros{};
  Be32 length{};
  std::uint8_t reserved = 0;
  std::uint8_t control = 0;

  static constexpr std::uint8_t kReadCapacityAction = 0x10;
};
static_assert(sizeof(ReadCapacity16Cdb) == 16);
static_assert(offsetof(ReadCapacity16Cdb, length) == 10);

// SBC-3: READ (16), WRITE (16), SYNCHRONIZE CACHE (16), WRITE SAME (16).
struct BlocksCdb {
  std::uint8_t operation = 0;
  std::uint8_t flags = 0;
  Be64 block{};
  Be32 blocks{};
  std::uint8_t group = 0;
  std::uint8_t control = 0;
};
static_assert(sizeof(BlocksCdb) == 16);
static_assert(offsetof(BlocksCdb, blocks) == 10);
inline constexpr std::uint8_t kForceUnitAccess = 0x08;  // of READ and WRITE
inline constexpr std::uint8_t kWriteSameUnmap = 0x08;   // of WRITE SAME: blocks may be given back

// SBC-3: UNMAP, and its parameter list.
struct UnmapCdb {
  std::uint8_t operation = static_cast<std::uint8_t>(Operation::kUnmap);
  std::uint8_t anchor = 0;
  Be32 reserved{};
  std::uint8_t group = 0;
  Be16 length{};
  std::uint8_t control = 0;
};
static_assert(sizeof(UnmapCdb) == 10);

struct UnmapHeader {
  Be16 length{};             // of what follows this field
  Be16 descriptors_bytes{};  // of the descriptors
  Be32 reserved{};
};
static_assert(sizeof(UnmapHeader) == 8);

struct UnmapDescriptor {
  Be64 block{};
  Be32 blocks{};
  Be32 reserved{};
};
static_assert(sizeof(UnmapDescriptor) == 16);

}  // namespace paravane::wire::scsi
