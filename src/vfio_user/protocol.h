// Defines the layouts of the vfio-user messages that the server reads and writes, byte for byte.
// The numbers are those of the protocol description in QEMU's documentation
// (docs/interop/vfio-user).
//
// Every message is a Header and a payload. Integers are in host byte order, which is little-endian
// on every supported host.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

#include "base/wire_int.h"

namespace paravane::vfio_user {

enum class Command : std::uint16_t {
  kVersion = 1,
  kDmaMap = 2,
  kDmaUnmap = 3,
  kGetInfo = 4,
  kGetRegionInfo = 5,
  kGetRegionIoFds = 6,
  kGetIrqInfo = 7,
  kSetIrqs = 8,
  kRegionRead = 9,
  kRegionWrite = 10,
  kDmaRead = 11,
  kDmaWrite = 12,
  kReset = 13,
  kRegionWriteMulti = 15,
  kDeviceFeature = 16,
};

// ---- Limits that we state in VERSION, and that follow from it ----
inline constexpr std::uint32_t kMaxMessageFds = 16;
// A message is read in place (message_stream.h), so it has to fit in a socket.
inline constexpr std::uint32_t kMaxDataBytes = 1 << 16;
// The longest request: a region write of kMaxDataBytes, with some slack.
inline constexpr std::uint32_t kMaxMessageBytes = kMaxDataBytes + 4096;
inline constexpr std::uint32_t kMaxVersionBytes = 4096;

struct Header {
  static constexpr std::uint32_t kTypeMask = 0xF;
  static constexpr std::uint32_t kTypeCommand = 0;
  static constexpr std::uint32_t kTypeReply = 1;
  static constexpr std::uint32_t kNoReply = 1U << 4;
  static constexpr std::uint32_t kError = 1U << 5;

  Le16 id;
  Le16 command;
  Le32 size;  // of the whole message
  Le32 flags;
  Le32 error;  // a Linux errno, with kError
};
static_assert(sizeof(Header) == 16);

// Followed by JSON and a NUL.
struct VersionNumbers {
  Le16 major;
  Le16 minor;
};
static_assert(sizeof(VersionNumbers) == 4);

struct DmaMap {
  static constexpr std::uint32_t kRead = 1;
  static constexpr std::uint32_t kWrite = 2;

  Le32 argsz;
  Le32 flags;
  Le64 file_offset;
  Le64 iova;
  Le64 size;
};
static_assert(sizeof(DmaMap) == 32 && offsetof(DmaMap, iova) == 16);

struct DmaUnmap {
  static constexpr std::uint32_t kAll = 2;

  Le32 argsz;
  Le32 flags;
  Le64 iova;
  Le64 size;
};
static_assert(sizeof(DmaUnmap) == 24 && offsetof(DmaUnmap, iova) == 8);

struct DeviceInfo {
  static constexpr std::uint32_t kReset = 1;
  static constexpr std::uint32_t kPci = 2;

  Le32 argsz;
  Le32 flags;
  Le32 regions;
  Le32 irqs;
};
static_assert(sizeof(DeviceInfo) == 16);

struct RegionInfo {
  static constexpr std::uint32_t kRead = 1;
  static constexpr std::uint32_t kWrite = 2;
  static constexpr std::uint32_t kMmap = 4;
  static constexpr std::uint32_t kCaps = 8;

  Le32 argsz;
  Le32 flags;
  Le32 index;
  Le32 cap_offset;  // from the start of this struct
  Le64 size;
  Le64 offset;  // in the file that comes with the reply
};
static_assert(sizeof(RegionInfo) == 32 && offsetof(RegionInfo, size) == 16);

// The capability that only certain areas may be mapped, followed by `areas` times SparseArea.
struct SparseMmap {
  static constexpr std::uint16_t kId = 1;
  static constexpr std::uint16_t kVersion = 1;

  Le16 id;
  Le16 version;
  Le32 next;
  Le32 areas;
  Le32 reserved;
};
static_assert(sizeof(SparseMmap) == 16);

struct SparseArea {
  Le64 offset;
  Le64 size;
};
static_assert(sizeof(SparseArea) == 16);

struct RegionIoFds {
  Le32 argsz;
  Le32 flags;
  Le32 index;
  Le32 count;
};
static_assert(sizeof(RegionIoFds) == 16);

struct IrqInfo {
  static constexpr std::uint32_t kEventfd = 1;

  Le32 argsz;
  Le32 flags;
  Le32 index;
  Le32 count;
};
static_assert(sizeof(IrqInfo) == 16);

struct SetIrqs {
  static constexpr std::uint32_t kDataNone = 1;
  static constexpr std::uint32_t kDataBool = 2;
  static constexpr std::uint32_t kDataEventfd = 4;
  static constexpr std::uint32_t kDataMask = 7;
  static constexpr std::uint32_t kMask = 8;
  static constexpr std::uint32_t kUnmask = 16;
  static constexpr std::uint32_t kTrigger = 32;
  static constexpr std::uint32_t kActionMask = 0x38;

  Le32 argsz;
  Le32 flags;
  Le32 index;
  Le32 start;
  Le32 count;
};
static_assert(sizeof(SetIrqs) == 20);

// For REGION_READ and REGION_WRITE. Data follows in a write request and in the reply to a read.
struct RegionAccess {
  Le64 offset;
  Le32 region;
  Le32 count;
};
static_assert(sizeof(RegionAccess) == 16);

// ---- Indices of VFIO's PCI devices ----
inline constexpr std::uint32_t kBars = 6;
inline constexpr std::uint32_t kConfigRegion = 7;
inline constexpr std::uint32_t kRegions = 9;  // BARs, ROM, config space, VGA
inline constexpr std::uint32_t kConfigBytes = 256;

enum class IrqIndex : std::uint32_t { kIntx = 0, kMsi = 1, kMsix = 2, kErr = 3, kReq = 4 };
inline constexpr std::uint32_t kIrqIndices = 5;

// A copy of the struct that `bytes` begins with; nullopt when it is too short.
template <typename T>
std::optional<T> leading(std::span<const std::byte> bytes) {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) == 1);
  if (bytes.size() < sizeof(T)) return std::nullopt;
  T copy;
  std::memcpy(&copy, bytes.data(), sizeof copy);
  return copy;
}

}  // namespace paravane::vfio_user
