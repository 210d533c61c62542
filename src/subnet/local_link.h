// LocalLink: a link between two ports of this host: what goes into one end arrives at the other. It
// trains the ports, as hardware does, when both may be up.
//
// The subnet's thread only.

#pragma once

#include "subnet/link_end.h"
#include "subnet/node.h"
#include "subnet/packet_queue.h"

namespace paravane::subnet {

class LocalLink {
 public:
  // A port with its node, twice over: as what has the port, and as what packets arrive at.
  struct Place {
    Node& node;
    PacketReceiver& receiver;
    PortNumber number;
    Port& port() const { return *node.port(number); }
  };

  // All outlive us.
  LocalLink(const Place& one, const Place& other, PacketQueue& queue);
  ~LocalLink();
  LocalLink(const LocalLink&) = delete;
  LocalLink& operator=(const LocalLink&) = delete;

  // The end that belongs to the first place, and to the other.
  LinkEnd& one() { return one_; }
  LinkEnd& other() { return other_; }

  // Trains the ports, or takes them down, as far as an order is due. Not from within a port. Throws
  // std::bad_alloc: it stays due.
  void judge();
  // Whether judge() has something to do.
  bool is_due() const { return is_due_; }

 private:
  class End final : public LinkEnd {
   public:
    End(LocalLink& link, const Place& from, const Place& to) : link_(link), from_(from), to_(to) {}
    void send(Packet packet) override;
    void on_order() override { link_.is_due_ = true; }

   private:
    LocalLink& link_;
    const Place& from_;
    const Place& to_;
  };

  void train();

  const Place one_place_;
  const Place other_place_;
  PacketQueue& queue_;
  End one_;
  End other_;
  bool is_due_ = true;
};

}  // namespace paravane::subnet
