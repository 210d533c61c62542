// OutboundDatagram: a datagram that is read from guest memory while it is sent, and complete when
// all of it is in the socket. Only datagrams of 4 KiB, the maximum, are sent this way; shorter
// ones are copied (Channel::send_datagram()).
//
// Owner thread only.

#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/instant.h"
#include "base/line.h"
#include "guestmem/extent.h"
#include "transport/tcp/direct.h"
#include "verbs/queue_pair.h"
#include "verbs/work_request.h"
#include "wire/block_writer.h"
#include "wire/frames.h"

namespace paravane::transport_tcp {

class Channel;

class OutboundDatagram {
 public:
  explicit OutboundDatagram(verbs::QueuePair& qp) : qp_(qp) {}
  ~OutboundDatagram() { cancel(); }
  OutboundDatagram(const OutboundDatagram&) = delete;
  OutboundDatagram& operator=(const OutboundDatagram&) = delete;

  // ---- For the transport ----
  // As long as it may wait; then it is lost, as datagrams may be.
  static constexpr Duration kPatience = std::chrono::seconds(1);

  // REQUIRES: none is under way; `channel` is open. `request` stays until its outcome.
  void submit(const verbs::SendRequest& request, const wire::Datagram& frame, Channel& channel);
  void cancel();

  // ---- For the channel ----
  // False: there is nothing to be sent, and its requester has heard why.
  bool compose(wire::BlockWriter& block, std::optional<Direct>& direct);
  // Where it lies at this moment. False: it is gone, zeros go instead.
  bool gather(const Direct& direct, std::uint64_t done, ExtentList& out);
  void on_sent(const Direct& direct);
  // In the channel: how many blocks of short ones go before it, of all that there ever were.
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

}  // namespace paravane::transport_tcp
