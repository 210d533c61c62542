// Transport is the interface of code that carries the work requests of a queue pair to its peer.
//
// Each implementation is in a folder transport/<name>/. Examples are a copy within the host, and
// TCP to another host. The interface is in verbs/ because the RDMA engine calls it. It deals with
// whole work requests and never with packets, so that an implementation can move bytes in any way.
//
// Owner thread only, for calls in both directions. No call blocks or reads a clock.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/instant.h"
#include "base/result.h"
#include "verbs/fabric_port.h"
#include "verbs/work_request.h"

namespace paravane::verbs {

class QueuePair;
class Transport;

// The result of one try to carry one request. It is aligned because compilers pass four bytes in a
// register, but would assemble three in memory on every call.
struct alignas(4) Outcome {
  enum class Kind : std::uint8_t {
    kDone,              // the peer has it
    kNoAnswer,          // no such peer, or it is not listening: the retry timer decides
    kAnswerLost,        // the peer has it, but we have not heard: as kNoAnswer, and it comes
                        // again by submit_again()
    kReceiverNotReady,  // the peer has no receive posted; wait at least rnr_timer
    kRefused,           // the peer's NAK: `status` is what our completion says
    kLocalError,        // our own memory was at fault: `status`
    kMemoryAbsent,      // memory of either side is unmapped, or a path full, at the moment: try
                        // again for a bounded time, then complete with `status`
  };
  // kNoAnswer, kAnswerLost: how long the requester waits before the next try.
  enum class Wait : std::uint8_t {
    kTimeout,  // the queue pair's timeout, and the try spends a retry
    // Not at all: the transport has waited for the timeout itself, so a retry is spent at once.
    // Without a timeout (0), it waits for ever and never says so.
    kWaited,
    // A moment, and the try spends no retry: the peer's host has asked to be waited for, within a
    // bound that the transport keeps.
    kHeld,
  };
  Kind kind = Kind::kDone;
  WcStatus status = WcStatus::kSuccess;
  std::uint8_t rnr_timer = 0;  // IBTA encoding, 0..31
  Wait wait = Wait::kTimeout;
};
static_assert(sizeof(Outcome) == 4);

// The outcome of a try for which no peer was present.
inline constexpr Outcome kNoAnswer{.kind = Outcome::Kind::kNoAnswer};
// The same while the peer's host is waited for.
inline constexpr Outcome kHeld{.kind = Outcome::Kind::kNoAnswer, .wait = Outcome::Wait::kHeld};

constexpr bool is_done(const Outcome& outcome) {
  return outcome.kind == Outcome::Kind::kDone;
}

// For a message of up to this size, the memory of both sides is found completely before the first
// byte is copied, by QueuePair::gather(), then Responder::begin(), then Placement::extents(), each
// for the whole message. These calls check its keys. Only for longer messages do the requester and
// begin() check the keys beforehand.
inline constexpr std::uint64_t kSliceBytes = std::uint64_t{256} * 1024;

// The work that the current turn may still do. It keeps one guest from delaying the others.
struct Budget {
  std::int64_t bytes = 0;
  std::int32_t operations = 0;
  bool spent() const { return bytes <= 0 || operations <= 0; }
};

// The sender of a datagram, as the receiver's GRH and completion show it.
struct DatagramSource {
  Gid sgid;
  GidType gid_type = GidType::kRoceV2;
  std::uint32_t qpn = 0;
  std::uint32_t qkey = 0;  // resolved: the one to compare with the receiver's
  // The network header as it came from a wire, in the form of grh.h. nullopt: the datagram was in
  // no packet, and its header is built from the request.
  std::optional<GrhArea> header{};
};

// What a transport remembers about one queue pair between requests. The queue pair owns it and
// destroys it when it is destroyed or reset. A path that changes to another transport and back
// finds it as it was: a peer still counts the packets that it was sent.
class PathState {
 public:
  explicit PathState(const Transport& transport) : transport_(transport) {}
  virtual ~PathState() = default;
  PathState(const PathState&) = delete;
  PathState& operator=(const PathState&) = delete;

  // The transport that created it.
  const Transport& transport() const { return transport_; }

 private:
  friend class QueuePair;
  const Transport& transport_;
  std::unique_ptr<PathState> next_;  // of another transport
};

// Receives each outcome for a queue pair before the queue pair does (QueuePair::on_outcome()), and
// may replace it.
class OutcomeFilter {
 public:
  virtual Outcome filter(QueuePair& qp, const Outcome& outcome) = 0;

 protected:
  ~OutcomeFilter() = default;
};

class Transport {
 public:
  virtual ~Transport() = default;

  // "local", "tcp", ...: what statistics show as the path.
  virtual std::string_view name() const = 0;

  // The transport that does the work, if this one wraps another.
  virtual const Transport& carrier() const { return *this; }
  // Whether this transport does the work on `path`. False if `path` is null.
  bool carries(const Path* path) const {
    return path != nullptr && &path->transport->carrier() == this;
  }

  // Whether messages travel in packets of their own, which observers see as they are.
  virtual bool has_packets() const { return false; }

  // How many requests of one queue pair can be in progress at once.
  virtual std::uint32_t depth() const { return 1; }

  // Starts to carry `request` of `qp` (connected, RTS). nullopt: not finished; poll() will call
  // qp.on_outcome(), and `request` stays valid and unchanged until then or until cancel(). Requests
  // of a queue pair are submitted in order, up to depth() of them at once, and their outcomes come
  // in the same order. An outcome other than kDone also ends all requests that were submitted after
  // it; they will be submitted again.
  virtual std::optional<Outcome> submit(QueuePair& qp, const Path& path, const SendRequest& request,
                                        Budget& budget) = 0;

  // The peer of `qp`, if this transport copies between two adapters of this thread and both ends
  // are connected to each other; null: submit() decides. For the fast path (fast_path.h).
  virtual QueuePair* direct_peer(const QueuePair& qp, const Path& path) const {
    static_cast<void>(qp), static_cast<void>(path);
    return nullptr;
  }
  // The queue pair with this number at the other end of `path`, if this transport copies between
  // two adapters of this thread; null: send_datagram() decides. For fast datagrams
  // (fast_datagrams.h).
  virtual QueuePair* direct_recipient(const Path& path, std::uint32_t number) const {
    static_cast<void>(path), static_cast<void>(number);
    return nullptr;
  }
  // The fast path has carried messages with these bytes in total to a direct_peer().
  virtual void count_direct(std::uint64_t messages, std::uint64_t bytes) {
    static_cast<void>(messages), static_cast<void>(bytes);
  }
  // So many datagrams were carried to a direct_recipient().
  virtual void count_direct_datagrams(std::uint64_t datagrams) { static_cast<void>(datagrams); }

  // As submit(), for a request of which a try ended as kAnswerLost. The peer answers it again but
  // does not execute it again, except a READ, which changes nothing (IBTA 9.7.5.1.3). A transport
  // whose submit() recognizes the request by its serial need not override this.
  virtual std::optional<Outcome> submit_again(QueuePair& qp, const Path& path,
                                              const SendRequest& request, Budget& budget) {
    return submit(qp, path, request, budget);
  }

  // Cancels the requests of `qp` in progress. After it returns, no outcome for them comes, and no
  // memory of either side is accessed for them.
  virtual void cancel(QueuePair& qp) = 0;

  // The outcome is kDone even if the datagram was dropped on the way; kLocalError or kMemoryAbsent
  // if the sender's memory was at fault; kMemoryAbsent with the status kSuccess if the path is
  // full. nullopt: as for submit(); the queue pair then has no other request in progress.
  virtual std::optional<Outcome> send_datagram(QueuePair& qp, const Path& path,
                                               const DatagramSource& source,
                                               const SendRequest& request) = 0;

  // Sends or drops a datagram whose bytes were copied earlier, because its sender may no longer
  // exist.
  virtual void send_copied_datagram(const Path& path, const DatagramSource& source,
                                    const SendRequest& request,
                                    std::span<const std::byte> payload) = 0;

  // `qp` had no receive for its peer's request, and has one now. If the peer waits for its RNR
  // timer, it may try again (QueuePair::on_peer_ready()), as with credits on a wire. Optional,
  // because the timer expires anyway.
  virtual void tell_peer_ready(QueuePair& qp) { static_cast<void>(qp); }

  // Continues the requests in progress, within `budget`.
  virtual void poll(Instant now, Budget& budget) = 0;
  virtual bool has_work() const = 0;
};

}  // namespace paravane::verbs
