// Defines the data with which logical units answer: INQUIRY and its pages, LUNs, capacities, mode
// parameters (SPC-4, chapters 6 and 7; SBC-3, chapters 5 and 6).
//
// Numbers are in the byte order of the network. Plain values; any thread.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/wire_int.h"

namespace paravane::wire::scsi {

struct StandardInquiryData {
  std::uint8_t peripheral = 0;  // qualifier 3, device type 5
  std::uint8_t removable = 0;   // the highest bit
  std::uint8_t version = 0;
  std::uint8_t format = 0;  // the lower four bits: 2
  std::uint8_t additional_bytes = 0;
  std::array<std::uint8_t, 3> flags{};
  std::array<char, 8> vendor{};
  std::array<char, 16> product{};
  std::array<char, 4> revision{};
};
static_assert(sizeof(StandardInquiryData) == 36);
static_assert(offsetof(StandardInquiryData, product) == 16);

namespace vital_page {
inline constexpr std::uint8_t kSupportedPages = 0x00;
inline constexpr std::uint8_t kSerialNumber = 0x80;
inline constexpr std::uint8_t kIdentification = 0x83;
inline constexpr std::uint8_t kBlockLimits = 0xB0;
inline constexpr std::uint8_t kProvisioning = 0xB2;  // logical block provisioning
}  // namespace vital_page

struct VitalPageHeader {
  std::uint8_t peripheral = 0;
  std::uint8_t page = 0;
  Be16 length{};  // of what follows
};
static_assert(sizeof(VitalPageHeader) == 4);

struct DesignatorHeader {
  std::uint8_t code_set = 0;  // protocol 4, code set 4
  std::uint8_t type = 0;      // the lower four bits; association in bits 5 and 4
  std::uint8_t reserved = 0;
  std::uint8_t length = 0;  // of what follows
};
static_assert(sizeof(DesignatorHeader) == 4);

enum class CodeSet : std::uint8_t { kBinary = 1, kAscii = 2, kUtf8 = 3 };
enum class DesignatorType : std::uint8_t { kVendor = 0, kT10 = 1, kEui64 = 2, kNaa = 3 };

struct BlockLimitsPage {
  VitalPageHeader header{};
  std::uint8_t write_same_not_zero = 0;  // the lowest bit: WRITE SAME of no blocks is refused
  std::uint8_t most_compare_blocks = 0;
  Be16 granularity{};
  Be32 most_transfer_blocks{};
  Be32 optimal_blocks{};
  Be32 most_prefetch_blocks{};
  // What follows came with SBC-3; a page may end before.
  Be32 most_unmap_blocks{};
  Be32 most_unmap_descriptors{};
  Be32 unmap_granularity{};
  Be32 unmap_alignment{};  // the highest bit: it is valid
  Be64 most_write_same_blocks{};
};
static_assert(sizeof(BlockLimitsPage) == 44);
static_assert(offsetof(BlockLimitsPage, most_transfer_blocks) == 8);
static_assert(offsetof(BlockLimitsPage, most_unmap_blocks) == 20);
static_assert(offsetof(BlockLimitsPage, most_write_same_blocks) == 36);

struct ProvisioningPage {
  VitalPageHeader header{};
  std::uint8_t threshold_exponent = 0;
  std::uint8_t flags = 0;
  std::uint8_t type = 0;  // the lowest three bits: 1 fully provisioned, 2 thin
  std::uint8_t reserved = 0;
};
static_assert(sizeof(ProvisioningPage) == 8);
namespace provisioning_flag {
inline constexpr std::uint8_t kUnmap = 0x80;           // LBPU
inline constexpr std::uint8_t kWriteSameUnmap = 0x40;  // LBPWS
inline constexpr std::uint8_t kReadsZeroes = 0x1C;     // LBPRZ, any of three bits
}  // namespace provisioning_flag

struct LunListHeader {
  Be32 bytes{};  // of the list
  Be32 reserved{};
};
static_assert(sizeof(LunListHeader) == 8);

struct Capacity10Data {
  Be32 last_block{};  // all ones: more than that; ask with READ CAPACITY (16)
  Be32 block_bytes{};
};
static_assert(sizeof(Capacity10Data) == 8);

struct Capacity16Data {
  Be64 last_block{};
  Be32 block_bytes{};
  std::uint8_t protection = 0;
  std::uint8_t exponents = 0;  // protection interval 4, blocks of a physical block 4
  Be16 provisioning{};         // LBPME, LBPRZ, lowest aligned block 14
  std::array<std::uint8_t, 16> reserved{};
};
static_assert(sizeof(Capacity16Data) == 32);
inline constexpr std::uint16_t kThinProvisioned = 0x8000;    // LBPME
inline constexpr std::uint16_t kUnmappedReadsZero = 0x4000;  // LBPRZ

struct ModeHeader6 {
  std::uint8_t length = 0;  // of what follows this field
  std::uint8_t medium = 0;
  std::uint8_t device = 0;  // of a disk: kWriteProtected, kTakesForceUnitAccess
  std::uint8_t descriptors_bytes = 0;
};
static_assert(sizeof(ModeHeader6) == 4);

struct ModeHeader10 {
  Be16 length{};
  std::uint8_t medium = 0;
  std::uint8_t device = 0;
  std::uint8_t long_blocks = 0;
  std::uint8_t reserved = 0;
  Be16 descriptors_bytes{};
};
static_assert(sizeof(ModeHeader10) == 8);
inline constexpr std::uint8_t kWriteProtected = 0x80;
inline constexpr std::uint8_t kTakesForceUnitAccess = 0x10;

struct CachingPage {        // its beginning
  std::uint8_t page = 0;    // parameters saveable 1, subpage format 1, page 6
  std::uint8_t length = 0;  // of what follows
  std::uint8_t flags = 0;   // kWriteCache
};
static_assert(sizeof(CachingPage) == 3);
inline constexpr std::uint8_t kCachingPageCode = 0x08;
inline constexpr std::uint8_t kAllPages = 0x3F;
inline constexpr std::uint8_t kPageCodeBits = 0x3F;
inline constexpr std::uint8_t kSubpageFormat = 0x40;
inline constexpr std::uint8_t kWriteCache = 0x04;

}  // namespace paravane::wire::scsi
