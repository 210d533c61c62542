// Defines sense data, in both formats (SPC-4, 4.5), and the statuses of commands (SAM-5, 5.3).
//
// Plain values; any thread.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/wire_int.h"

namespace paravane::wire::scsi {

enum class Status : std::uint8_t {
  kGood = 0x00,
  kCheckCondition = 0x02,
  kConditionMet = 0x04,
  kBusy = 0x08,
  kReservationConflict = 0x18,
  kTaskSetFull = 0x28,
  kAcaActive = 0x30,
  kTaskAborted = 0x40,
};

enum class SenseKey : std::uint8_t {
  kNone = 0x0,
  kRecovered = 0x1,
  kNotReady = 0x2,
  kMedium = 0x3,
  kHardware = 0x4,
  kIllegalRequest = 0x5,
  kUnitAttention = 0x6,
  kDataProtect = 0x7,
  kBlankCheck = 0x8,
  kVendor = 0x9,
  kCopyAborted = 0xA,
  kAborted = 0xB,
  kReserved = 0xC,
  kVolumeOverflow = 0xD,
  kMiscompare = 0xE,
  kCompleted = 0xF,
};

// The lowest seven bits of the first byte.
inline constexpr std::uint8_t kFixedCurrent = 0x70;
inline constexpr std::uint8_t kFixedDeferred = 0x71;
inline constexpr std::uint8_t kDescriptorCurrent = 0x72;
inline constexpr std::uint8_t kDescriptorDeferred = 0x73;

struct FixedSense {
  std::uint8_t code = kFixedCurrent;  // the highest bit: the information is valid
  std::uint8_t obsolete = 0;
  std::uint8_t key = 0;  // the lower four bits
  Be32 information{};
  std::uint8_t additional_bytes = 0;  // after this field
  Be32 command_specific{};
  std::uint8_t asc = 0;
  std::uint8_t ascq = 0;
  std::uint8_t unit = 0;
  std::array<std::uint8_t, 3> key_specific{};
};
static_assert(sizeof(FixedSense) == 18);
static_assert(offsetof(FixedSense, additional_bytes) == 7);
static_assert(offsetof(FixedSense, asc) == 12);

struct DescriptorSense {
  std::uint8_t code = kDescriptorCurrent;
  std::uint8_t key = 0;  // the lower four bits
  std::uint8_t asc = 0;
  std::uint8_t ascq = 0;
  std::array<std::uint8_t, 3> reserved{};
  std::uint8_t additional_bytes = 0;  // of the descriptors
};
static_assert(sizeof(DescriptorSense) == 8);

}  // namespace paravane::wire::scsi
