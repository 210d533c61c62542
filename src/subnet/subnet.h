// Subnet: this host's part of an InfiniBand subnet: one switch, and the host's adapters, each port
// of which is linked to the switch. Cables link the switch to those of other hosts.
//
// It is driven from outside: turn() brings packets on their way and runs what is due. Where memory
// lacks, std::bad_alloc is thrown: the packet under way is lost, all else goes on in the next turn.
// No clock, no socket. The subnet's thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/instant.h"
#include "base/turn_clock.h"
#include "subnet/host_adapter.h"
#include "subnet/local_link.h"
#include "subnet/packet_queue.h"
#include "subnet/segment_room.h"
#include "subnet/subnet_switch.h"

namespace paravane::subnet {

class Subnet {
 public:
  static constexpr std::size_t kMostAdapters = 16;
  static constexpr PortNumber kSwitchPorts = 64;
  static constexpr std::size_t kPacketsPerTurn = 1024;

  // `host`: its name, which its nodes tell. `clock` outlives us; it has the time of the turn.
  Subnet(std::string host, std::uint64_t switch_guid, const TurnClock& clock);

  // nullptr: there are too many, or one has that name. Throws std::bad_alloc: nothing was added.
  HostAdapter* add(std::string name, const AdapterModel& model, std::uint64_t guid);
  // Its links go down. Nothing may use its ports any more.
  void remove(std::string_view name);
  HostAdapter* find(std::string_view name);
  // In the order of their names.
  std::vector<HostAdapter*> adapters() const;
  SubnetSwitch& the_switch() { return switch_; }
  const SubnetSwitch& the_switch() const { return switch_; }

  // What is linked to the switch, in the order of its ports.
  struct Linked {
    PortNumber port;
    std::string peer;  // "mlx4_0 port 1"
  };
  std::vector<Linked> links() const;

  // Returns whether more is to be done at once.
  bool turn();
  // When something is due without a packet; kNever.
  Instant next_deadline() const;

 private:
  struct Member {
    std::unique_ptr<HostAdapter> adapter;
    std::vector<PortNumber> switch_ports;
    std::vector<std::unique_ptr<LocalLink>> links;
  };
  static const std::string& name_of(const Member& member);
  std::vector<PortNumber> free_ports(std::size_t most) const;

  const std::string host_;
  const TurnClock& clock_;
  PacketQueue queue_;
  SegmentRoom room_;
  SubnetSwitch switch_;
  std::vector<Member> members_;  // in the order of their names; never more than there is room for
};

}  // namespace paravane::subnet
