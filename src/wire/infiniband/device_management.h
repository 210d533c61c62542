// Defines the datagrams of device management: what input and output controllers a node has, and at
// which service IDs they are reached (IBTA volume 1, 16.3), with what SRP says in them (SRP r16a,
// annex B, tables B.6 to B.8).
//
// Slots, which number the controllers of a unit, begin at 1. Numbers are in the byte order of the
// wire. Plain values and pure functions; any thread.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/wire_int.h"
#include "wire/infiniband/mad.h"

namespace paravane::wire::infiniband {

inline constexpr std::uint8_t kDeviceManagementVersion = 1;

struct DeviceManagementPacket {  // 16.3.1
  MadHeader header;
  std::array<std::byte, 40> reserved{};
  std::array<std::byte, 192> data{};
};
static_assert(sizeof(DeviceManagementPacket) == kMadBytes);
static_assert(offsetof(DeviceManagementPacket, data) == 64);

// 16.3.3
namespace device_management {
inline constexpr std::uint16_t kUnitInfo = 0x0010;           // IOUnitInfo
inline constexpr std::uint16_t kControllerProfile = 0x0011;  // IOControllerProfile
inline constexpr std::uint16_t kServiceEntries = 0x0012;     // ServiceEntries
}  // namespace device_management

// A status besides those of all classes (16.3.1.1): the slot has no controller.
inline constexpr std::uint16_t kNoController = 0x0100;

// What a list of controllers says of a slot.
enum class ControllerSlot : std::uint8_t { kEmpty = 0, kPresent = 1, kNone = 0xF };

struct UnitInfo {  // 16.3.3.3
  Be16 change_id;
  std::uint8_t most_controllers = 0;
  std::uint8_t flags = 0;                 // of diagnostics and an option ROM
  std::array<std::uint8_t, 128> slots{};  // 4 bits each; the upper ones of the first are slot 1

  // REQUIRES: 1 <= slot <= 255.
  constexpr ControllerSlot slot(unsigned number) const {
    const unsigned pair = slots[(number - 1) / 2];
    return static_cast<ControllerSlot>(number % 2 == 1 ? pair >> 4 : pair & 0xF);
  }
};
static_assert(sizeof(UnitInfo) == 132);

struct ControllerProfile {  // 16.3.3.4; the modifier is the slot
  Be64 guid;
  Be32 vendor;
  Be32 device;
  Be16 device_version;
  Be16 reserved1;
  Be32 subsystem_vendor;
  Be32 subsystem;
  Be16 io_class;
  Be16 io_subclass;
  Be16 protocol;
  Be16 protocol_version;
  Be16 service_connections;
  Be16 initiators;
  Be16 send_queue_depth;
  std::uint8_t reserved2 = 0;
  std::uint8_t read_depth = 0;
  Be32 message_bytes;   // the most in one message
  Be32 transfer_bytes;  // the most in one RDMA
  std::uint8_t operations = 0;
  std::uint8_t service_operations = 0;
  std::uint8_t service_entries = 0;  // how many there are
  std::array<std::uint8_t, 9> reserved3{};
  std::array<char, 64> id_string{};  // it ends with a zero, or fills all
};
static_assert(sizeof(ControllerProfile) == 128);

struct ServiceEntry {
  std::array<char, 40> name{};
  Be64 id;
};
static_assert(sizeof(ServiceEntry) == 48);

inline constexpr unsigned kServicesInAnswer = 4;
struct ServiceEntries {  // 16.3.3.5
  std::array<ServiceEntry, kServicesInAnswer> entries{};
};
static_assert(sizeof(ServiceEntries) == 192);

constexpr std::uint32_t service_modifier(std::uint16_t slot, std::uint8_t first,
                                         std::uint8_t last) {
  return (std::uint32_t{slot} << 16) | (std::uint32_t{last} << 8) | first;
}

// ---- SRP (r16a, annex B) ----

inline constexpr std::uint16_t kSrpClass = 0x0100;
inline constexpr std::uint16_t kSrpRevision10Class = 0xFF00;  // of targets that follow revision 10
inline constexpr std::uint16_t kSrpProtocol = 0x0108;
// The name of a service; 16 hexadecimal digits, the ID extension, follow.
inline constexpr std::string_view kSrpServicePrefix = "SRP.T10:";

}  // namespace paravane::wire::infiniband
