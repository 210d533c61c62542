// Defines management datagrams (MADs): the common header, and the numbers of classes, methods and
// attributes (IBTA volume 1, 13.4 and 13.5).
//
// A MAD is 256 bytes, whatever it says. Numbers are in the byte order of the wire. Plain values and
// pure functions; any thread.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/wire_int.h"

namespace paravane::wire::infiniband {

inline constexpr std::size_t kMadBytes = 256;

struct MadHeader {
  std::uint8_t base_version = 1;
  std::uint8_t management_class = 0;
  std::uint8_t class_version = 1;
  std::uint8_t method = 0;  // the highest bit: a response
  Be16 status;              // of a directed route: its highest bit is the direction
  Be16 class_specific;      // of a directed route: hop pointer and hop count
  Be64 transaction;
  Be16 attribute;
  Be16 reserved;
  Be32 modifier;
};
static_assert(sizeof(MadHeader) == 24);

using MadBytes = std::array<std::byte, kMadBytes>;

// Part of a MAD as a struct, and back. `T` has no padding and alignment 1.
template <typename T>
T part_of(std::span<const std::byte, kMadBytes> mad, std::size_t offset) {
  static_assert(alignof(T) == 1 && sizeof(T) <= kMadBytes);
  T part;
  std::memcpy(&part, mad.subspan(offset, sizeof(T)).data(), sizeof(T));
  return part;
}
template <typename T>
void put_part(std::span<std::byte, kMadBytes> mad, std::size_t offset, const T& part) {
  static_assert(alignof(T) == 1 && sizeof(T) <= kMadBytes);
  std::memcpy(mad.subspan(offset, sizeof(T)).data(), &part, sizeof(T));
}

namespace management_class {
inline constexpr std::uint8_t kSubnetByLid = 0x01;
inline constexpr std::uint8_t kSubnetAdministration = 0x03;
inline constexpr std::uint8_t kPerformance = 0x04;
inline constexpr std::uint8_t kBaseboard = 0x05;
inline constexpr std::uint8_t kDeviceManagement = 0x06;
inline constexpr std::uint8_t kCommunication = 0x07;
inline constexpr std::uint8_t kSubnetByRoute = 0x81;
inline constexpr std::uint8_t kFirstVendorWithOui = 0x30;
inline constexpr std::uint8_t kLastVendorWithOui = 0x4F;
}  // namespace management_class

constexpr bool is_subnet_management(std::uint8_t a_class) {
  return a_class == management_class::kSubnetByLid || a_class == management_class::kSubnetByRoute;
}
constexpr bool is_vendor_with_oui(std::uint8_t a_class) {
  return a_class >= management_class::kFirstVendorWithOui &&
         a_class <= management_class::kLastVendorWithOui;
}

namespace method {
inline constexpr std::uint8_t kGet = 0x01;
inline constexpr std::uint8_t kSet = 0x02;
inline constexpr std::uint8_t kSend = 0x03;
inline constexpr std::uint8_t kTrap = 0x05;
inline constexpr std::uint8_t kReport = 0x06;
inline constexpr std::uint8_t kTrapRepress = 0x07;
inline constexpr std::uint8_t kGetTable = 0x12;
inline constexpr std::uint8_t kDelete = 0x15;
inline constexpr std::uint8_t kResponse = 0x80;  // a bit
inline constexpr std::uint8_t kGetResponse = 0x81;
}  // namespace method

// Whether a method answers another MAD (13.4.5): such a MAD is for whatever asked.
constexpr bool is_response(std::uint8_t a_method) {
  return (a_method & method::kResponse) != 0 || a_method == method::kTrapRepress;
}

namespace attribute {
inline constexpr std::uint16_t kClassPortInfo = 0x0001;
inline constexpr std::uint16_t kNotice = 0x0002;
inline constexpr std::uint16_t kInformInfo = 0x0003;
inline constexpr std::uint16_t kNodeDescription = 0x0010;
inline constexpr std::uint16_t kNodeInfo = 0x0011;
inline constexpr std::uint16_t kSwitchInfo = 0x0012;
inline constexpr std::uint16_t kGuidInfo = 0x0014;
inline constexpr std::uint16_t kPortInfo = 0x0015;
inline constexpr std::uint16_t kPartitionTable = 0x0016;
inline constexpr std::uint16_t kLaneTable = 0x0017;        // SLtoVLMappingTable
inline constexpr std::uint16_t kLaneArbitration = 0x0018;  // VLArbitrationTable
inline constexpr std::uint16_t kLinearTable = 0x0019;      // LinearForwardingTable
inline constexpr std::uint16_t kMulticastTable = 0x001B;   // MulticastForwardingTable
inline constexpr std::uint16_t kSmInfo = 0x0020;
// Of performance management (16.1.3).
inline constexpr std::uint16_t kPortCounters = 0x0012;
inline constexpr std::uint16_t kPortCountersExtended = 0x001D;
// Of subnet administration (15.2.4).
inline constexpr std::uint16_t kNodeRecord = 0x0011;
inline constexpr std::uint16_t kPathRecord = 0x0035;
inline constexpr std::uint16_t kMulticastMemberRecord = 0x0038;
}  // namespace attribute

// The lowest bits of a status (13.4.7).
namespace mad_status {
inline constexpr std::uint16_t kBusy = 0x0001;
inline constexpr std::uint16_t kBadVersion = 1 << 2;
inline constexpr std::uint16_t kBadMethod = 2 << 2;
inline constexpr std::uint16_t kBadAttribute = 3 << 2;  // or no such method of it
inline constexpr std::uint16_t kBadField = 7 << 2;
}  // namespace mad_status

// Queue pairs of management, and the Q_Key of the second (3.5.3, 10.2.5).
inline constexpr std::uint32_t kSubnetQueuePair = 0;
inline constexpr std::uint32_t kServiceQueuePair = 1;
inline constexpr std::uint32_t kServiceQkey = 0x8001'0000;
inline constexpr std::uint32_t kMulticastQueuePair = 0xFF'FFFF;

}  // namespace paravane::wire::infiniband
