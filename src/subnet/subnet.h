// Subnet: this host's part of an InfiniBand subnet: one switch, and the host's adapters, each port
// of which is linked to the switch. Cables link the switch to those of other hosts.
//
// It is driven from outside: turn() brings packets on their way and runs what is due. Where memory
// lacks, std::bad_alloc is thrown: the packet under way is lost, all else goes on in the next turn.
// No clock, no socket. The subnet's thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/instant.h"
#include "base/turn_clock.h"
#include "subnet/host_adapter.h"
#include "subnet/local_link.h"
#include "subnet/packet_queue.h"
#include "subnet/segment_room.h"
#include "subnet/subnet_image.h"
#include "subnet/subnet_switch.h"

namespace paravane::subnet {

class Subnet {
 public:
  static constexpr std::size_t kMostAdapters = SubnetImage::kMostAdapters;
  static constexpr PortNumber kSwitchPorts = 64;
  // Adapters have the ports before it, cables those from it on.
  static constexpr PortNumber kFirstCablePort = 33;
  static constexpr std::size_t kMostCables = kSwitchPorts - kFirstCablePort + 1;
  static constexpr std::size_t kPacketsPerTurn = 2048;  // delivered, or sent on
  // For so long a cable's port that an engine before has left stays as it was.
  static constexpr Duration kKeepsCables = std::chrono::seconds(5);

  // `host`: its name, which its nodes tell. `clock` outlives us; it has the time of the turn.
  Subnet(std::string host, std::uint64_t switch_guid, const TurnClock& clock);

  // The host has another name now; its nodes tell it when they are asked.
  void set_host(std::string host);
  // nullptr: there are too many, or one has that name. Throws std::bad_alloc: nothing was added.
  // `places`: the ports of the switch to link it to; those that are taken, or are not named, are
  // the first free ones.
  HostAdapter* add(std::string name, const AdapterModel& model, std::uint64_t guid,
                   std::span<const PortNumber> places = {});
  // Its links go down. Nothing may use its ports any more.
  void remove(std::string_view name);
  HostAdapter* find(std::string_view name);
  // In the order of their names.
  std::vector<HostAdapter*> adapters() const;
  SubnetSwitch& the_switch() { return switch_; }
  const SubnetSwitch& the_switch() const { return switch_; }

  // ---- Cables to other hosts ----
  // Attaches this end of a cable to a port of the switch; `host`: to which it leads. Nothing that
  // sets or changes the subnet's management is taken from there (SubnetSwitch::let_manage()).
  // nullopt: all ports for cables are in use. `end` outlives us, or is detached before it ends. The
  // port may be up: an engine before had the cable to this host there, and its link goes on.
  std::optional<PortNumber> attach_cable(std::string host, LinkEnd& end);
  void detach_cable(PortNumber port);

  // What is linked to the switch, in the order of its ports.
  struct Linked {
    PortNumber port;
    std::string peer;  // "mlx4_0 port 1", "host h2"
  };
  std::vector<Linked> links() const;
  // The port of the switch that a port of an adapter is linked to; nullopt: none.
  std::optional<PortNumber> switch_port_of(std::string_view adapter, PortNumber port) const;
  // The hosts to which cables lead, by their ports of the switch, with those that an engine before
  // has left and that are still kept.
  std::map<PortNumber, std::string> cables() const;
  // Another number after each change of a port, of whether a manager is there, and of what is
  // linked.
  std::uint64_t changes() const;

  // ---- From one engine to the next ----
  SubnetImage image() const;
  struct AdapterWish {
    std::string name;
    AdapterModel model;
    std::uint64_t guid = 0;
  };
  // Has the switch, and those of `wishes` that the image has, as they were there: they are added,
  // each at the ports of the switch that it had. Returns what begins anew instead, and why;
  // adapters among it are not added. The ports of cables are as they were, for kKeepsCables or
  // until their cable is attached. The image may come from an enemy. REQUIRES: there is no adapter
  // and no cable. Throws std::bad_alloc: what is there begins anew.
  std::vector<std::string> adopt(const SubnetImage& image, const std::vector<AdapterWish>& wishes);

  // Returns whether more is to be done at once.
  bool turn();
  // When something is due without a packet; kNever.
  Instant next_deadline() const;

 private:
  struct Member {
    std::unique_ptr<HostAdapter> adapter;
    std::vector<PortNumber> ports;         // of the adapter that are linked
    std::vector<PortNumber> switch_ports;  // of each of these
    std::vector<std::unique_ptr<LocalLink>> links;
  };
  static const std::string& name_of(const Member& member);
  std::string description_of(std::string_view node) const;
  // Those of `places` first.
  std::vector<PortNumber> free_ports(PortNumber first, PortNumber last, std::size_t most,
                                     std::span<const PortNumber> places = {}) const;
  // Of an adapter: all but those that are Ethernet.
  static std::vector<PortNumber> linked_ports(const AdapterModel& model);
  // The adapter of a wish at its ports, not adopted yet; nullptr: it cannot be.
  HostAdapter* add_at_places(const AdapterWish& wish, const AdapterImage& image);
  void keep_cables(const SubnetImage& image);
  // Takes the ports down that are kept for cables which have not come.
  void drop_kept();

  std::string host_;
  const TurnClock& clock_;
  PacketQueue queue_;
  SegmentRoom room_;
  SubnetSwitch switch_;
  std::map<PortNumber, std::string> cables_;  // the hosts to which they lead
  std::map<PortNumber, std::string> kept_;    // likewise, of an engine before
  Instant kept_until_ = kNever;
  std::vector<Member> members_;  // in the order of their names; never more than there is room for
  std::uint64_t changes_ = 0;    // of what is linked, and those of adapters that have gone
};

}  // namespace paravane::subnet
