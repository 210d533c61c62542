// HostAdapter: a virtual host channel adapter: a node with one or two ports, each with queue pairs
// for management and for data.
//
// It judges each packet as hardware does: partition, Q_Key and address decide whether it is
// delivered; a violation is counted and told to the subnet manager. The subnet's thread only.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/turn_clock.h"
#include "subnet/adapter_model.h"
#include "subnet/group_uses.h"
#include "subnet/link_end.h"
#include "subnet/mad_layer.h"
#include "subnet/node.h"
#include "subnet/notices.h"
#include "subnet/packet_observer.h"
#include "subnet/packet_queue.h"
#include "subnet/queue_pairs.h"
#include "subnet/subnet_image.h"

namespace paravane::subnet {

// What a part of this program that uses a port hears.
class PortUser {
 public:
  virtual ~PortUser() = default;
  // Its state, LID or partitions have changed. The port may be read from there, not changed.
  virtual void on_port_change() = 0;
  // What is registered with subnet administration is forgotten there.
  virtual void on_register_again() = 0;
};

class HostAdapter final : public Node, public PacketReceiver {
 public:
  // `model` and the GUIDs (node, then one for each port) make the adapter; it sends into ends that
  // are attached later. `queue`, `clock` and `room` outlive us. `room`: of the long MADs of
  // all ports of the subnet; nullptr: there is no such bound.
  HostAdapter(std::string name, const AdapterModel& model, std::uint64_t guid,
              std::string description, PacketQueue& queue, const TurnClock& clock,
              SegmentRoom* room = nullptr);
  ~HostAdapter() override;

  const std::string& name() const { return name_; }
  const AdapterModel& model() const { return model_; }

  // `end` outlives us.
  void attach(PortNumber port, LinkEnd& end);
  // REQUIRES: a port from 1 to ports().
  MadPort& mads(PortNumber port);
  QueuePairs& queue_pairs(PortNumber port);
  GroupUses& group_uses(PortNumber port);
  void add_user(PortNumber port, PortUser& user);
  void remove_user(PortNumber port, PortUser& user);

  // Replaces the observer of the port; nullptr: it has none. `observer` outlives us, or is
  // replaced.
  void set_observer(PortNumber port, PacketObserver* observer);

  // Sends a datagram from a queue pair of the port. `headers.source`: one of the port's LIDs;
  // otherwise it goes from the first. False: the port is not active, or its link's MTU smaller; it
  // was counted.
  bool send(PortNumber port, wire::infiniband::DatagramHeaders headers,
            std::span<const std::byte> payload);

  // ---- From one engine to the next ----
  // Without the ports of the switch.
  AdapterImage image() const;
  // Whether it is this adapter's, and its ports can be so. It may come from an enemy.
  bool can_be(const AdapterImage& image) const;
  // Users of the ports are not told. REQUIRES: can_be().
  void adopt(const AdapterImage& image);

  // ---- PacketReceiver ----
  void on_packet(PortNumber arrived, Packet packet) override;
  // ---- Port::Listener ----
  void on_port_change(PortNumber port) override;
  void on_register_again(PortNumber port) override;
  void on_link_order(PortNumber port) override;

  void on_time(Instant now);
  Instant next_deadline() const;

 private:
  class Attachment;  // a port, with all that stands on it

  Attachment& at(PortNumber port) const;

  const std::string name_;
  const AdapterModel model_;
  PacketQueue& queue_;
  const TurnClock& clock_;
  std::vector<std::unique_ptr<Attachment>> attachments_;  // of port 1 and up
};

}  // namespace paravane::subnet
