// Defines what libibumad.so.3 of ours and the daemon say to each other over the umad door, a UNIX
// socket of the host (SOCK_SEQPACKET). docs/umad.md describes it.
//
// A connection to the door is a *control line*: one Question at a time, one Answer to each. The
// answer to kOpen passes the program's end of a *MAD line*, a socket of its own that carries MADs
// of one port, both ways, so that a program can wait for its descriptor. What a control line has
// opened ends with it; a MAD line also ends with its own close.
//
// Numbers are little-endian; what comes from the wire of InfiniBand (GUIDs, LIDs in addresses,
// MADs) is big-endian as there. Both ends are programs of one host, but neither trusts the other: a
// message of another length or with unknown values ends the line. Plain values; any thread.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/wire_int.h"

namespace paravane::umad {

inline constexpr std::uint32_t kDoorVersion = 1;

// ---- The control line ----

enum class Ask : std::uint32_t {
  kAdapters = 1,    // -> AdapterNames
  kAdapter = 2,     // adapter -> AdapterFacts
  kPort = 3,        // adapter, port -> PortFacts
  kOpen = 4,        // adapter, port, line -> Opened, and the descriptor of a MAD line
  kRegister = 5,    // line, agent, wish -> nothing more
  kUnregister = 6,  // line, agent -> nothing more
  kManager = 7,     // line: its program is a subnet manager (IsSM) for as long as the line lives
  kClose = 8,       // line -> nothing more
  kIpoib = 9,       // -> IpoibFacts
};

// A line's number is chosen by the program, from 0 to kMostLines - 1; so is an agent's within its
// line, from 0 to kMostAgents - 1. Both so that a program keeps its numbers over a restart of the
// daemon.
inline constexpr std::uint32_t kMostLines = 64;
inline constexpr std::uint32_t kMostAgents = 32;

inline constexpr std::size_t kNameBytes = 20;  // with its zero at the end
using Name = std::array<char, kNameBytes>;

struct AgentWish {
  std::uint8_t management_class = 0;
  std::uint8_t class_version = 0;
  std::uint8_t rmpp_version = 0;  // 1: RMPP is done for the program; 0: it is not
  std::uint8_t user_rmpp = 0;     // 1: the program does RMPP itself
  Le32 oui;                       // of vendors' classes
  std::array<Le32, 4> methods;    // unsolicited ones that it wants: bit M % 32 of word M / 32
};
static_assert(sizeof(AgentWish) == 24);

struct Question {
  Le32 version{kDoorVersion};
  Le32 ask;
  Name adapter{};
  Le32 port;
  Le32 line;
  Le32 agent;
  AgentWish wish;
};
static_assert(sizeof(Question) == 64);

enum class Outcome : std::uint32_t {
  kDone = 0,
  kVersion = 1,    // the daemon speaks another version of this
  kNoAdapter = 2,  // or no such port
  kTaken = 3,      // another agent of the port has this class and one of these methods
  kBadWish = 4,    // class, version or agent's number cannot be
  kNoRoom = 5,     // too many lines or agents
  kBadLine = 6,    // a line that is not open, or open already
};

// Begins each answer; what the question asked for follows if it is kDone.
struct Answer {
  Le32 outcome;
};

inline constexpr std::size_t kMostAdapters = 32;
struct AdapterNames {
  Le32 count;
  std::array<Name, kMostAdapters> names{};
};

struct AdapterFacts {
  Name name{};
  Le32 node_type;  // 1: channel adapter
  Le32 ports;
  std::array<char, 20> firmware{};
  std::array<char, 40> type{};
  std::array<char, 20> hardware{};
  Be64 node_guid;
  Be64 system_guid;
};

// Mellanox's ibstat needs an interface of IPoIB (guide, 3.2): programs may say so.
struct IpoibFacts {
  Le32 uplinks;  // that the host's adapters make
};

inline constexpr std::size_t kMostPartitions = 128;
struct PortFacts {
  Name adapter{};
  Le32 port;
  Le32 base_lid;
  Le32 lmc;
  Le32 master_lid;
  Le32 master_level;
  Le32 state;           // as PortState
  Le32 physical_state;  // as PhysicalState
  Le32 rate;            // Gbit/s
  Be32 capabilities;
  Be64 gid_prefix;
  Be64 port_guid;
  std::array<char, 20> link_layer{};
  Le32 partitions;  // that follow in `keys`
  std::array<Le16, kMostPartitions> keys{};
};

// ---- The MAD line ----

// A message is this, and a part of the MAD. A MAD that is longer than kMostPart comes in parts of
// kMostPart, one after the other, and a shorter one. Only MADs whose agent has RMPP done for it are
// longer than 256 bytes.
inline constexpr std::size_t kMostPart = std::size_t{32} * 1024;
inline constexpr std::size_t kMostMad = std::size_t{1024} * 1024;

struct MadAddress {
  Be32 qp;
  Be32 qkey;
  Be16 lid;
  std::uint8_t level = 0;
  std::uint8_t path_bits = 0;
  std::uint8_t has_global = 0;
  std::uint8_t gid_index = 0;
  std::uint8_t hop_limit = 0;
  std::uint8_t traffic_class = 0;
  std::array<std::uint8_t, 16> gid{};
  Be32 flow_label;
  Le16 partition_index;
  std::array<std::uint8_t, 6> reserved{};
};
static_assert(sizeof(MadAddress) == 44);

struct MadPart {
  Le32 agent;
  Le32 status;      // to the program: 0, or ETIMEDOUT for a MAD of its own that was not answered
  Le32 timeout_ms;  // from the program: 0: no answer is waited for
  Le32 retries;     // from the program
  Le32 total;       // bytes of the whole MAD
  Le32 offset;      // of this part
  MadAddress address;
};
static_assert(sizeof(MadPart) == 68);

}  // namespace paravane::umad
