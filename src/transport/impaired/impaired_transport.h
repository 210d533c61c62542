// ImpairedTransport injects the faults that an operator has set for a path. It wraps the transport
// that does the work, called the carrier, and impairs some of the messages as a lossy fabric would:
//
//   lost      The request or its response is dropped, so the requester's own timer and retries
//             apply. A request that the peer already executed is answered again, not executed
//             again. A datagram is dropped silently.
//   delayed   The message is carried later. Messages of one connection stay in order, as its
//             reliability requires. Datagrams and messages of different queue pairs can overtake
//             each other.
//   rnr       The request is answered as if the peer had no receive posted.
//
// The requests of a connection are handed to the carrier in order. If ImpairedTransport is going to
// fail a request, it hands over no later request until that request has failed. The failure would
// also end the later requests, and they would be retried. The choice of impaired messages therefore
// does not depend on how many requests were outstanding.
//
// The bytes of a delayed datagram are copied, because the sender's request completes at once. The
// path is looked up again when the datagram is sent, so the datagram cannot reach an adapter to
// which the sender no longer has a path.
//
// The object is never destroyed while a path can refer to it. After its impairment has been
// removed, it only forwards messages.
//
// Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/instant.h"
#include "base/turn_clock.h"
#include "transport/impaired/impairment.h"
#include "verbs/queue_pair.h"
#include "verbs/transport.h"

namespace paravane::transport_impaired {

// The number of delayed datagrams; further ones are dropped.
inline constexpr std::size_t kMaxHeldDatagrams = 1024;

// The name of this transport is the carrier's name with this suffix.
inline constexpr std::string_view kNameSuffix = "+impaired";

// Requests of one connection in progress at once, so that even a slow path carries many.
inline constexpr std::uint32_t kDepth = 64;

// The number of queue pairs that are remembered. Above it, those without requests in progress are
// forgotten; when they send again, they count as new senders.
inline constexpr std::size_t kMaxFlows = 4096;

// Since the impairment was set.
struct Counts {
  std::uint64_t messages = 0;  // tries and datagrams
  std::uint64_t lost = 0;
  std::uint64_t answers_lost = 0;
  std::uint64_t delayed = 0;
  std::uint64_t receiver_not_ready = 0;
  std::uint64_t reordered = 0;
};

class ImpairedTransport final : public verbs::Transport, private verbs::OutcomeFilter {
 public:
  // Finds the current path from a GID of an adapter to another GID. nullopt: there is no path, or
  // `sgid` is not a GID of that adapter.
  using FindPath = std::function<std::optional<verbs::Path>(
      verbs::AdapterId from, const verbs::Gid& sgid, const verbs::Gid& dgid, verbs::GidType type)>;

  // `carrier` and `clock` (which measures the delays) outlive us.
  ImpairedTransport(verbs::Transport& carrier, const TurnClock& clock, FindPath find_path);
  ImpairedTransport(const ImpairedTransport&) = delete;
  ImpairedTransport& operator=(const ImpairedTransport&) = delete;

  // Sets the impairment for all later messages; the messages of each queue pair are counted from 1
  // again. Messages that are already delayed stay delayed.
  void set(const Impairment& impairment);
  const Counts& counts() const { return counts_; }
  // How many queue pairs are remembered.
  std::size_t flows() const { return flows_.size(); }

  // Drops the datagrams of an adapter that is being removed, because its id may be used again. Its
  // queue pairs are already destroyed.
  void forget(verbs::AdapterId adapter);

  // When poll() has something to do; kNever: nothing is delayed.
  Instant next_due() const { return held_.empty() ? kNever : held_.begin()->first; }

  std::string_view name() const override { return name_; }
  const verbs::Transport& carrier() const override { return carrier_.carrier(); }
  std::uint32_t depth() const override { return kDepth; }
  std::optional<verbs::Outcome> submit(verbs::QueuePair& qp, const verbs::Path& path,
                                       const verbs::SendRequest& request,
                                       verbs::Budget& budget) override;
  std::optional<verbs::Outcome> submit_again(verbs::QueuePair& qp, const verbs::Path& path,
                                             const verbs::SendRequest& request,
                                             verbs::Budget& budget) override;
  void cancel(verbs::QueuePair& qp) override;
  std::optional<verbs::Outcome> send_datagram(verbs::QueuePair& qp, const verbs::Path& path,
                                              const verbs::DatagramSource& source,
                                              const verbs::SendRequest& request) override;
  void send_copied_datagram(const verbs::Path& path, const verbs::DatagramSource& source,
                            const verbs::SendRequest& request,
                            std::span<const std::byte> payload) override {
    carrier_.send_copied_datagram(path, source, request, payload);
  }
  void tell_peer_ready(verbs::QueuePair& qp) override { carrier_.tell_peer_ready(qp); }

  // Carries the messages whose delay has passed. The carrier is polled separately.
  void poll(Instant now, verbs::Budget& budget) override;
  bool has_work() const override { return next_due() <= clock_.now; }

 private:
  struct Datagram {
    verbs::AdapterId from{};
    verbs::DatagramSource source;
    verbs::SendRequest request;
    std::vector<std::byte> payload;
  };
  struct Held {
    verbs::QueuePair* qp = nullptr;  // whose flow has a message due; null: a datagram
    std::unique_ptr<Datagram> datagram;
  };
  using HeldByDue = std::multimap<Instant, Held>;

  // One try of a request.
  struct Try {
    const verbs::SendRequest* request;  // its requester's, until it is cancelled
    bool only_answer;                   // submit_again()
    std::uint64_t number;
    Fate fate;
    Duration hold{};
    Instant due{};

    bool fails_here() const { return fate.lost || fate.receiver_not_ready; }
  };

  // What one queue pair sends.
  struct Flow {
    verbs::Life life{};        // of the queue pair
    std::uint64_t change = 0;  // of the impairment that its numbers count from
    std::uint64_t sender = 0;
    std::uint64_t next = 1;       // number of its next message
    std::deque<Try> tries;        // under way, the oldest first
    std::uint32_t handed_on = 0;  // of them, to the carrier
    HeldByDue::iterator place{};  // in held_
    bool has_place = false;
  };

  Flow& flow_of(const verbs::QueuePair& qp);
  Try next_try(Flow& flow, const verbs::SendRequest& request, bool only_answer);
  void count(const Try& next);
  std::optional<verbs::Outcome> begin(verbs::QueuePair& qp, Flow& flow, const verbs::Path& path,
                                      const Try& next, verbs::Budget& budget);
  std::optional<verbs::Outcome> carry(verbs::QueuePair& qp, const verbs::Path* path,
                                      const Try& next, verbs::Budget& budget);
  verbs::Outcome end_try(Flow& flow, const Try& ended, const verbs::Outcome& outcome);
  void note_handed_on(verbs::QueuePair& qp, Flow& flow);
  bool may_hand_on(const Flow& flow) const;
  void await_turn(verbs::QueuePair& qp, Flow& flow);
  void drop_all(verbs::QueuePair& qp, Flow& flow);
  void take_turn(verbs::QueuePair& qp, Flow& flow, verbs::Budget& budget);
  verbs::Outcome filter(verbs::QueuePair& qp, const verbs::Outcome& outcome) override;
  // Sent, held or lost.
  std::optional<verbs::Outcome> pass_datagram(verbs::QueuePair& qp, const verbs::Path& path,
                                              const verbs::DatagramSource& source, Try& next);
  bool leads_on(const verbs::Path& path) const;
  void carry_datagram(const Datagram& datagram);

  verbs::Transport& carrier_;
  const TurnClock& clock_;
  FindPath find_path_;
  std::string name_;
  Impairment impairment_;
  std::uint64_t changes_ = 0;
  std::uint64_t senders_ = 0;  // since the last change
  Counts counts_;
  HeldByDue held_;  // of the same due, the older first
  std::unordered_map<const verbs::QueuePair*, Flow> flows_;
  std::size_t next_sweep_ = kMaxFlows;
  std::size_t held_datagrams_ = 0;
};

}  // namespace paravane::transport_impaired
