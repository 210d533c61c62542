// OutboundDatagram sends a datagram to another host without copying it. The payload is read from
// guest memory while it is sent, and the datagram is complete when all of it is in the socket. Only
// datagrams of the maximum size, 4 KiB, are sent this way; Channel::send_datagram() copies shorter
// ones.
//
// Owner thread only.

#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/instant.h"
#include "base/line.h"
#include "guestmem/extent.h"
#include "transport/channel/direct.h"
#include "verbs/queue_pair.h"
#include "verbs/work_request.h"
#include "wire/block_writer.h"
#include "wire/frames.h"

namespace paravane::transport_channel {

class Channel;

class OutboundDatagram {
 public:
  explicit OutboundDatagram(verbs::QueuePair& qp) : qp_(qp) {}
  ~OutboundDatagram() { cancel(); }
  OutboundDatagram(const OutboundDatagram&) = delete;
  OutboundDatagram& operator=(const OutboundDatagram&) = delete;

  // ---- For the transport ---- The longest time that a datagram may wait; then it is dropped,
  // which datagrams permit.
  static constexpr Duration kPatience = std::chrono::seconds(1);

  // REQUIRES: no datagram is in progress; `channel` is open. `request` stays valid until its
  // outcome.
  void submit(const verbs::SendRequest& request, const wire::Datagram& frame, Channel& channel);
  void cancel();

  // ---- For the channel ---- False: there is nothing to send, and the requester has been told the
  // reason.
  bool compose(wire::BlockWriter& block, std::optional<Direct>& direct);
  // Finds the payload in guest memory at this moment. False: the memory is gone, and zeros are sent
  // instead.
  bool gather(const Direct& direct, std::uint64_t done, ExtentList& out);
  void on_sent(const Direct& direct);
  // The number of blocks of short datagrams, since the channel was opened, that are sent before
  // this one.
  std::uint64_t after_blocks() const { return after_blocks_; }
  Instant deadline() const { return since_ + kPatience; }
  void lose(Instant now);

  Line<OutboundDatagram>::Place sending;  // in the channel's line

 private:
  void end(const verbs::Outcome& outcome, Instant now);

  verbs::QueuePair& qp_;
  const verbs::SendRequest* request_ = nullptr;  // null: none is under way
  Channel* channel_ = nullptr;                   // of it
  wire::Datagram frame_{};
  std::uint64_t after_blocks_ = 0;
  Instant since_;
};

}  // namespace paravane::transport_channel
