// Observer receives copies of the messages that an adapter's queue pairs exchange with their peers,
// for example to capture them. An adapter has at most one observer. Without an observer, the cost
// is one check of a null pointer per message.
//
// For a request of this adapter, the observer is called when an attempt begins, before it is known
// whether a peer exists, and again for the response. For a request from a peer, the observer is
// called when the request is refused or placed, and again for the response. It is also called for
// datagrams in both directions. Where messages travel in packets of their own
// (Transport::has_packets()), the observer is called for their frames, too, as they leave and
// arrive. An observer must not change anything or call the engine.
//
// Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "verbs/responder.h"
#include "verbs/transport.h"
#include "verbs/work_request.h"

namespace paravane::verbs {

class QueuePair;

// As the adapter sees it.
enum class Direction : std::uint8_t { kOut, kIn };

// Reads a message's bytes from `offset` on. It is valid only during the call that it is passed to.
// False: the bytes cannot be read, and the contents of `out` are unspecified. An empty function:
// the message has no bytes to show.
using ReadBytes = std::function<bool(std::uint64_t offset, std::span<std::byte> out)>;

class Observer {
 public:
  virtual ~Observer() = default;

  // A request of a connection. `bytes` empty: the payload never arrived, or the request reads data
  // from the peer.
  virtual void on_request(QueuePair& qp, Direction direction, const RemoteRequest& request,
                          const ReadBytes& bytes) = 0;
  // A response of a connection; `direction` is the direction of the response. With kDone, a READ or
  // an atomic has `bytes`; for an atomic, these are the old value in the program's byte order.
  virtual void on_answer(QueuePair& qp, Direction direction, const RemoteRequest& request,
                         const Outcome& outcome, const ReadBytes& bytes) = 0;
  // `bytes` empty: the datagram arrived and was dropped.
  virtual void on_datagram(QueuePair& qp, Direction direction, const DatagramSource& source,
                           const SendRequest& request, std::uint64_t length,
                           const ReadBytes& bytes) = 0;
  // A frame on the adapter's network, from the destination's MAC address on. `segment_bytes`: of a
  // frame with several packets, as for wire::roce::Superframe; 0: there is one.
  virtual void on_frame(Direction direction, std::span<const std::byte> frame,
                        std::size_t segment_bytes) = 0;
};

}  // namespace paravane::verbs
