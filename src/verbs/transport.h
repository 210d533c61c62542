// Transport: carries the work of one queue pair to its peer.
//
// The interface lives in verbs/ because the engine is its client; each implementation has a folder
// transport/<name>/: a memcpy, a TCP stream, a reliable protocol over UDP, a real HCA. So it deals
// in whole work requests, never in packets.
//
// Owner thread only, in both directions. Nothing here blocks or reads a clock.

#pragma once

#include <cstddef>
#include <cstdint>
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

// What became of one try to carry one request. Aligned, because compilers pass
// four bytes in a register, but put three together in memory, on every call.
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
  Kind kind = Kind::kDone;
  WcStatus status = WcStatus::kSuccess;
  std::uint8_t rnr_timer = 0;  // IBTA encoding, 0..31
};

// The outcome of a try that no peer was there for.
inline constexpr Outcome kNoAnswer{.kind = Outcome::Kind::kNoAnswer};

constexpr bool is_done(const Outcome& outcome) {
  return outcome.kind == Outcome::Kind::kDone;
}

// A message of up to this size is resolved whole, on both sides, before its first
// byte moves: QueuePair::gather() comes first, then Responder::begin(), then
// Responder::extents(), each for all of it. That is what judges its keys; only
// longer messages are judged beforehand, by the requester and by begin().
inline constexpr std::uint64_t kSliceBytes = std::uint64_t{256} * 1024;

// What one turn may still do: keeps any one guest from holding up the others.
struct Budget {
  std::int64_t bytes = 0;
  std::int32_t operations = 0;
  bool spent() const { return bytes <= 0 || operations <= 0; }
};

// Where a datagram comes from; what the receiver's GRH and completion say.
struct DatagramSource {
  Gid sgid;
  GidType gid_type = GidType::kRoceV2;
  std::uint32_t qpn = 0;
  std::uint32_t qkey = 0;  // resolved: the one to compare with the receiver's
};

// What a transport remembers of one queue pair from request to request. It is the queue
// pair's and goes with it, or when it is reset.
class PathState {
 public:
  explicit PathState(const Transport& transport) : transport_(transport) {}
  virtual ~PathState() = default;
  PathState(const PathState&) = delete;
  PathState& operator=(const PathState&) = delete;

  // Whose it is.
  const Transport& transport() const { return transport_; }

 private:
  const Transport& transport_;
};

// Hears of the outcomes that come to a queue pair by QueuePair::on_outcome() before it
// does, and says what it hears.
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

  // The one that carries in the end, for those that stand before another.
  virtual const Transport& carrier() const { return *this; }

  // How many requests of one queue pair can be under way at once.
  virtual std::uint32_t depth() const { return 1; }

  // Starts to carry `request` of `qp` (connected, RTS). nullopt: not finished;
  // qp.on_outcome() follows from poll(), and `request` stays valid and unchanged
  // until then or until cancel(). Requests of a queue pair are submitted in order, up
  // to depth() of them at once, and so do their outcomes come; one that is not kDone
  // also ends all that were submitted after it: they will be submitted anew.
  virtual std::optional<Outcome> submit(QueuePair& qp, const Path& path, const SendRequest& request,
                                        Budget& budget) = 0;

  // As submit(), of a request whose last try ended as kAnswerLost and perhaps others since:
  // it is answered again and not carried out again, but for a READ, which changes nothing
  // (IBTA 9.7.5.1.3). Those whose submit() knows it by its serial need no more.
  virtual std::optional<Outcome> submit_again(QueuePair& qp, const Path& path,
                                              const SendRequest& request, Budget& budget) {
    return submit(qp, path, request, budget);
  }

  // Gives up what is under way for `qp`; after it returns no outcome comes and
  // no memory of either side is touched for it.
  virtual void cancel(QueuePair& qp) = 0;

  // The outcome is kDone also when it was dropped on the way; kLocalError or kMemoryAbsent
  // when our own memory was at fault; kMemoryAbsent with success when the path is full.
  // nullopt: as of submit(); a queue pair has no other request under way with it.
  virtual std::optional<Outcome> send_datagram(QueuePair& qp, const Path& path,
                                               const DatagramSource& source,
                                               const SendRequest& request) = 0;

  // One whose bytes were copied when it was sent, on behalf of a sender that may be gone.
  // Sent or dropped.
  virtual void send_copied_datagram(const Path& path, const DatagramSource& source,
                                    const SendRequest& request,
                                    std::span<const std::byte> payload) = 0;

  // `qp`, which had no receive for its peer, has one now: if the peer waits for
  // its RNR timer it may try again (QueuePair::on_peer_ready()). What flow
  // control by credits does on a wire; optional, the timer runs anyway.
  virtual void tell_peer_ready(QueuePair& qp) { static_cast<void>(qp); }

  // Goes on with what is under way, within `budget`.
  virtual void poll(Instant now, Budget& budget) = 0;
  virtual bool has_work() const = 0;
};

}  // namespace paravane::verbs
