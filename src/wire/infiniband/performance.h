// Defines the datagrams of performance management, as far as they are answered here (IBTA volume 1,
// 16.1).
//
// Numbers are in the byte order of the wire. Plain values; any thread.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/wire_int.h"
#include "wire/infiniband/mad.h"

namespace paravane::wire::infiniband {

struct PerformancePacket {
  MadHeader header;
  std::array<std::uint8_t, 40> reserved{};
  std::array<std::byte, 192> data{};
};
static_assert(sizeof(PerformancePacket) == kMadBytes);

inline constexpr std::uint8_t kAllPorts = 0xFF;

struct ClassPortInfo {  // 13.4.8.1
  std::uint8_t base_version = 1;
  std::uint8_t class_version = 1;
  Be16 capabilities;
  Be32 response_time;  // more capabilities 27, response time 5
  std::array<std::uint8_t, 64> redirection_trap{};
};
static_assert(sizeof(ClassPortInfo) == 72);
// Capabilities of the class.
inline constexpr std::uint16_t kAllPortsAtOnce = 0x0100;
inline constexpr std::uint16_t kExtendedCounters = 0x0200;

struct PortCounters {  // 16.1.3.5; a counter stays at its greatest value
  std::uint8_t reserved = 0;
  std::uint8_t port = 0;
  Be16 chosen;  // those that a Set writes, a bit each
  Be16 symbol_errors;
  std::uint8_t link_recoveries = 0;
  std::uint8_t link_downed = 0;
  Be16 receive_errors;
  Be16 remote_physical_errors;
  Be16 relay_errors;  // packets that a switch could not forward
  Be16 send_discards;
  std::uint8_t send_constraints = 0;
  std::uint8_t receive_constraints = 0;
  std::uint8_t more_chosen = 0;
  std::uint8_t integrity_overrun = 0;  // 4, 4
  Be16 more_reserved;
  Be16 management_dropped;  // on the lane of management
  Be32 sent_words;
  Be32 received_words;
  Be32 sent_packets;
  Be32 received_packets;
  Be32 send_wait;
};
static_assert(sizeof(PortCounters) == 44);
static_assert(offsetof(PortCounters, sent_words) == 24);

struct PortCountersExtended {  // 16.1.4.11
  std::uint8_t reserved = 0;
  std::uint8_t port = 0;
  Be16 chosen;
  Be32 more_chosen;
  Be64 sent_words;
  Be64 received_words;
  Be64 sent_packets;
  Be64 received_packets;
  Be64 sent_unicast;
  Be64 received_unicast;
  Be64 sent_multicast;
  Be64 received_multicast;
};
static_assert(sizeof(PortCountersExtended) == 72);

}  // namespace paravane::wire::infiniband
