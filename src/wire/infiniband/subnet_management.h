// Defines the datagrams of subnet management (SMPs) and their attributes (IBTA volume 1, 14.2).
//
// Where several values share a byte, the comment has them from the highest bit down, with their
// number of bits. Numbers are in the byte order of the wire. Plain values; any thread.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/wire_int.h"
#include "wire/infiniband/mad.h"

namespace paravane::wire::infiniband {

// ---- The datagram ----

inline constexpr std::size_t kMostHops = 63;
inline constexpr std::uint16_t kReturning = 0x8000;  // of a directed route's status: its direction

// Both kinds have their attribute in the same place. What only a directed route has is reserved in
// the other.
struct SubnetManagementPacket {
  MadHeader header;
  Be64 management_key;
  Be16 source;  // LID before and after the directed part
  Be16 destination;
  std::array<std::uint8_t, 28> reserved{};
  std::array<std::byte, 64> data{};
  std::array<std::uint8_t, 64> initial_path{};
  std::array<std::uint8_t, 64> return_path{};
};
static_assert(sizeof(SubnetManagementPacket) == kMadBytes);

// ---- Attributes ----

enum class NodeType : std::uint8_t { kChannelAdapter = 1, kSwitch = 2, kRouter = 3 };

struct NodeInfo {  // 14.2.5.3
  std::uint8_t base_version = 1;
  std::uint8_t class_version = 1;
  NodeType type = NodeType::kChannelAdapter;
  std::uint8_t ports = 0;
  Be64 system_guid;
  Be64 node_guid;
  Be64 port_guid;
  Be16 partitions;  // entries of the partition table
  Be16 device;
  Be32 revision;
  std::uint8_t local_port = 0;  // through which the question came
  Be24 vendor;
};
static_assert(sizeof(NodeInfo) == 40);

struct SwitchInfo {  // 14.2.5.4
  Be16 linear_entries;
  Be16 random_entries;
  Be16 multicast_entries;
  Be16 linear_top;
  std::uint8_t default_port = 0;
  std::uint8_t default_primary_multicast_port = 0;
  std::uint8_t default_other_multicast_port = 0;
  std::uint8_t life_change = 0;  // packet life time 5, port state change 1, optimized lanes 2
  Be16 lids_per_port;
  Be16 enforced_partitions;
  std::uint8_t abilities = 0;  // enforces in 1, out 1, filters raw in 1, out 1, enhanced port 0 1
  std::uint8_t reserved = 0;
  Be16 multicast_top;
};
static_assert(sizeof(SwitchInfo) == 20);
inline constexpr std::uint8_t kPortStateChanged = 0x04;
inline constexpr std::uint8_t kEnforcesIn = 0x80;
inline constexpr std::uint8_t kEnforcesOut = 0x40;

enum class PortState : std::uint8_t {
  kNoChange = 0,
  kDown = 1,
  kInitialize = 2,
  kArmed = 3,
  kActive = 4,
};
enum class PhysicalState : std::uint8_t {
  kNoChange = 0,
  kSleep = 1,
  kPolling = 2,
  kDisabled = 3,
  kTraining = 4,
  kLinkUp = 5,
};

struct PortInfo {  // 14.2.5.6
  Be64 management_key;
  Be64 gid_prefix;
  Be16 lid;
  Be16 master_lid;  // of the subnet manager
  Be32 capabilities;
  Be16 diagnosis;
  Be16 key_lease_s;
  std::uint8_t local_port = 0;
  std::uint8_t width_enabled = 0;
  std::uint8_t width_supported = 0;
  std::uint8_t width_active = 0;
  std::uint8_t speed_supported_state = 0;   // speeds supported 4, PortState 4
  std::uint8_t physical_state_default = 0;  // PhysicalState 4, that after going down 4
  std::uint8_t protection_lmc = 0;          // protection of the key 2, reserved 3, LMC 3
  std::uint8_t speed_active_enabled = 0;    // 4, 4
  std::uint8_t mtu_master_level = 0;        // MTU of the link 4, service level to the manager 4
  std::uint8_t lanes_init_type = 0;         // 4, 4
  std::uint8_t lane_high_limit = 0;
  std::uint8_t arbitration_high_entries = 0;
  std::uint8_t arbitration_low_entries = 0;
  std::uint8_t init_reply_mtu = 0;     // 4; greatest MTU 4
  std::uint8_t stall_head_life = 0;    // 3, 5
  std::uint8_t lanes_enforcement = 0;  // operational lanes 4, enforces in 1, out 1, raw in 1, out 1
  Be16 key_violations;
  Be16 partition_violations;
  Be16 qkey_violations;
  std::uint8_t guid_entries = 0;
  std::uint8_t reregister_timeout = 0;  // register again 1, suppression 2, subnet timeout 5
  std::uint8_t response_time = 0;       // reserved 3, 5
  std::uint8_t error_limits = 0;        // physical 4, overrun 4
  Be16 credit_hint;
  std::uint8_t reserved = 0;
  Be24 round_trip;
  Be16 more_capabilities;
  std::uint8_t extended_speed_active_supported = 0;  // 4, 4
  std::uint8_t extended_speed_enabled = 0;           // reserved 3, 5
};
static_assert(sizeof(PortInfo) == 64);
static_assert(offsetof(PortInfo, error_limits) == 53);

// Capabilities of a port.
namespace capability {
inline constexpr std::uint32_t kIsManager = 1U << 1;
inline constexpr std::uint32_t kNotices = 1U << 2;
inline constexpr std::uint32_t kTraps = 1U << 3;
inline constexpr std::uint32_t kLaneTable = 1U << 6;
inline constexpr std::uint32_t kSystemGuid = 1U << 11;
inline constexpr std::uint32_t kConnections = 1U << 16;
inline constexpr std::uint32_t kDeviceManagement = 1U << 19;
inline constexpr std::uint32_t kCapabilityNotice = 1U << 22;
inline constexpr std::uint32_t kRegisterAgain = 1U << 25;
}  // namespace capability

inline constexpr std::uint8_t kRegisterAgainBit = 0x80;  // of reregister_timeout

// MTUs as numbers of the protocol.
enum class Mtu : std::uint8_t { k256 = 1, k512 = 2, k1024 = 3, k2048 = 4, k4096 = 5 };
constexpr std::size_t bytes_of(Mtu mtu) {
  return std::size_t{128} << static_cast<unsigned>(mtu);
}

inline constexpr std::size_t kPartitionsInBlock = 32;
using PartitionBlock = std::array<Be16, kPartitionsInBlock>;  // 14.2.5.7
inline constexpr std::size_t kGuidsInBlock = 8;
using GuidBlock = std::array<Be64, kGuidsInBlock>;  // 14.2.5.5
using LaneTable = std::array<std::uint8_t, 8>;      // 14.2.5.8: a lane in 4 bits for each level
struct LaneWeight {
  std::uint8_t lane = 0;
  std::uint8_t weight = 0;
};
inline constexpr std::size_t kWeightsInBlock = 32;
using ArbitrationBlock = std::array<LaneWeight, kWeightsInBlock>;  // 14.2.5.9
inline constexpr std::size_t kLidsInLinearBlock = 64;
using LinearBlock = std::array<std::uint8_t, kLidsInLinearBlock>;  // 14.2.5.10: a port
inline constexpr std::uint8_t kNoPort = 0xFF;
inline constexpr std::size_t kLidsInMulticastBlock = 32;
inline constexpr std::size_t kPortsInMulticastMask = 16;
using MulticastBlock = std::array<Be16, kLidsInMulticastBlock>;  // 14.2.5.12: a mask of ports

// A partition key: 15 bits, and whether the member is a full one (10.9.1).
inline constexpr std::uint16_t kFullMember = 0x8000;
inline constexpr std::uint16_t kDefaultPartition = 0xFFFF;
inline constexpr std::uint16_t kPartitionMask = 0x7FFF;
// Whether two keys let a packet pass: the same partition, and not both limited (10.9.3).
constexpr bool let_pass(std::uint16_t one, std::uint16_t other) {
  return (one & kPartitionMask) == (other & kPartitionMask) && (one & kPartitionMask) != 0 &&
         ((one | other) & kFullMember) != 0;
}

struct Notice {  // 13.4.8.2; in an SMP without its last part, the GID of the issuer
  std::uint8_t generic_type = 0;  // generic 1, type 7
  Be24 producer;                  // NodeType of what tells, if it is generic
  Be16 trap;
  Be16 issuer;  // LID
  Be16 toggle_count;
  std::array<std::uint8_t, 54> details{};
};
static_assert(sizeof(Notice) == 64);
inline constexpr std::uint8_t kGenericNotice = 0x80;
enum class NoticeType : std::uint8_t {
  kFatal = 0,
  kUrgent = 1,
  kSecurity = 2,
  kManager = 3,
  kInfo = 4
};

namespace trap {                                          // 14.2.5.1
inline constexpr std::uint16_t kLinkStateChanged = 128;   // details: LID of the switch
inline constexpr std::uint16_t kCapabilityChanged = 144;  // details: CapabilityChange
inline constexpr std::uint16_t kBadManagementKey = 256;
inline constexpr std::uint16_t kBadPartition = 257;
inline constexpr std::uint16_t kBadQkey = 258;
inline constexpr std::uint16_t kBadPartitionAtSwitch = 259;
}  // namespace trap

struct CapabilityChange {
  Be16 reserved;
  Be16 lid;
  std::uint8_t more_reserved = 0;
  std::uint8_t other_changes = 0;
  Be32 capabilities;
  Be16 flags;
};
static_assert(sizeof(CapabilityChange) == 12);

struct BadKey {  // of traps 257 and 258
  Be16 reserved;
  Be16 source;       // LID
  Be16 destination;  // LID
  Be32 key;
  std::uint8_t level = 0;  // service level 4, reserved 4
  Be24 source_qp;
  std::uint8_t more_reserved = 0;
  Be24 destination_qp;
  std::array<std::uint8_t, 16> source_gid{};
  std::array<std::uint8_t, 16> destination_gid{};
};
static_assert(sizeof(BadKey) == 50);

// Of trap 256: the request whose management key was wrong.
inline constexpr std::size_t kHopsInBadManagementKey = 30;
struct BadManagementKey {
  Be16 reserved;
  Be16 source;        // LID of the packet
  Be16 route_source;  // of a directed route: its LID before the directed part
  std::uint8_t method = 0;
  std::uint8_t more_reserved = 0;
  Be16 attribute;
  Be32 modifier;
  Be64 key;
  std::uint8_t yet_more_reserved = 0;
  std::uint8_t route = 0;  // by a directed route 1, its path is cut short 1, hops 6
  std::array<std::uint8_t, kHopsInBadManagementKey> return_path{};
};
static_assert(sizeof(BadManagementKey) == 54);
inline constexpr std::uint8_t kByRoute = 0x80;
inline constexpr std::uint8_t kPathCutShort = 0x40;

// Of trap 259.
struct BadPartitionAtSwitch {
  Be16 valid;        // which of the fields are: kValid...
  Be16 source;       // LID
  Be16 destination;  // LID
  Be16 key;
  std::uint8_t level = 0;  // service level 4, reserved 4
  Be24 source_qp;
  std::uint8_t reserved = 0;
  Be24 destination_qp;
  std::array<std::uint8_t, 16> source_gid{};
  std::array<std::uint8_t, 16> destination_gid{};
  Be16 switch_lid;
  std::uint8_t port = 0;
  std::array<std::uint8_t, 3> more_reserved{};
};
static_assert(sizeof(BadPartitionAtSwitch) == 54);
inline constexpr std::uint16_t kValidWithoutGlobal = 0x003F;  // LIDs, key, level, queue pairs
inline constexpr std::uint16_t kValidGids = 0x00C0;

struct SmInfo {  // 14.2.5.13
  Be64 guid;
  Be64 key;
  Be32 activity;
  std::uint8_t priority_state = 0;  // 4, 4
};
static_assert(sizeof(SmInfo) == 21);

}  // namespace paravane::wire::infiniband
