// LocalTransport connects adapters of this host. It copies each message once, from guest to guest.
//
// The peer's responder (the half of a queue pair that acts on requests) checks a request first. The
// message is then copied at once, in slices of at most 256 KiB. A long message continues in later
// turns (time slices of the worker). There is no queue between the two adapters, so the receiver's
// memory is the only buffer. If the receiver has posted no receive, the sender gets RNR (receiver
// not ready).
//
// A peer is present only while its adapter is attached and its queue pair is connected back to the
// sender's (number and GIDs), in RTR or a later state. Otherwise there is no response, and the
// sender's retry timer applies, as it does on a wire. A peer's queue pair is looked up for each
// slice, and no pointer to it is kept.
//
// The responder never runs the peer's requester, so completions that trigger each other do not nest
// calls.
//
// Owner thread only: all adapters of one LocalTransport belong to one worker.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/counter.h"
#include "base/line.h"
#include "guestmem/extent.h"
#include "verbs/adapter.h"
#include "verbs/responder.h"
#include "verbs/transport.h"

namespace paravane::transport_local {

struct LocalCounters {
  CounterSet set;
  Counter messages{set, "messages", "messages carried, including reads and atomics"};
  Counter bytes{set, "bytes", "payload bytes carried in messages"};
  Counter datagrams{set, "datagrams", "datagrams delivered to a queue pair"};
};

class LocalTransport final : public verbs::Transport {
 public:
  LocalTransport() = default;
  LocalTransport(const LocalTransport&) = delete;
  LocalTransport& operator=(const LocalTransport&) = delete;

  // REQUIRES: an attached adapter is detached before it is destroyed; adapter
  // ids are small numbers (they index a table).
  void attach(verbs::Adapter& adapter);
  void detach(verbs::Adapter& adapter);

  std::string_view name() const override { return "local"; }
  verbs::QueuePair* direct_peer(const verbs::QueuePair& qp,
                                const verbs::Path& path) const override {
    return connected_peer(qp, path);
  }
  verbs::QueuePair* direct_recipient(const verbs::Path& path, std::uint32_t number) const override {
    return recipient(path, number);
  }
  void count_direct(std::uint64_t messages, std::uint64_t bytes) override {
    counters_.messages.add(messages);
    counters_.bytes.add(bytes);
  }
  void count_direct_datagrams(std::uint64_t datagrams) override {
    counters_.datagrams.add(datagrams);
  }
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
                            std::span<const std::byte> payload) override;

  void tell_peer_ready(verbs::QueuePair& qp) override;

  const LocalCounters& counters() const { return counters_; }

  // Copies one slice at a time. Adapters take turns, and so do the messages of each adapter.
  void poll(Instant now, verbs::Budget& budget) override;
  bool has_work() const override { return !transfers_.empty(); }

 private:
  // A message that did not end in its first slice.
  struct Transfer {
    const verbs::SendRequest* request = nullptr;
    std::uint64_t length = 0;
    std::uint64_t done = 0;

    std::uint64_t slice() const { return std::min(verbs::kSliceBytes, length - done); }
    bool brings_bytes() const { return verbs::brings_bytes(request->opcode); }
  };

  struct UnderWay {
    Transfer transfer;
    std::optional<verbs::Placement> placement{};  // at the peer
    Line<verbs::QueuePair>::Place place{};        // among those of its adapter
  };

  struct Member {
    verbs::Adapter* adapter = nullptr;  // null: not attached
    Line<verbs::QueuePair> under_way;   // its queue pairs with a Transfer
  };

  Member& member(verbs::AdapterId id);
  verbs::Adapter* attached(verbs::AdapterId id) const;
  verbs::QueuePair* connected_peer(const verbs::QueuePair& qp, const verbs::Path& path) const;
  // Of a datagram; nullptr: there is no such queue pair.
  verbs::QueuePair* recipient(const verbs::Path& path, std::uint32_t number) const;
  // `peer` is connected to `qp`.
  std::optional<verbs::Outcome> carry(verbs::QueuePair& qp, verbs::QueuePair& peer,
                                      const verbs::SendRequest& request, verbs::Budget& budget);
  // For a request that was executed.
  std::optional<verbs::Outcome> answer_again(verbs::QueuePair& qp, verbs::QueuePair& peer,
                                             const verbs::SendRequest& request,
                                             verbs::Budget& budget);
  // Finds the requester's memory for the next slice and puts it into from_ or to_.
  verbs::Outcome gather_slice(verbs::QueuePair& qp, const Transfer& transfer);
  // Finds the peer's memory for the slice and copies it. nullopt: the message has more slices.
  // REQUIRES: gather_slice() has succeeded for this slice.
  std::optional<verbs::Outcome> place_slice(verbs::QueuePair& qp, verbs::Placement& placement,
                                            Transfer& transfer, verbs::Budget& budget);
  verbs::Outcome copy_slice(verbs::QueuePair& qp, verbs::Placement& placement,
                            const Transfer& transfer);
  verbs::Outcome change_word(verbs::QueuePair& qp, verbs::Placement& placement);
  void go_on(verbs::QueuePair& qp, Instant now, verbs::Budget& budget);

  std::vector<std::unique_ptr<Member>> members_;  // by AdapterId; lines do not move
  std::unordered_map<const verbs::QueuePair*, UnderWay> transfers_;
  std::size_t turn_ = 0;  // whose member's turn it is
  ExtentList from_;       // scratch, to avoid an allocation per message
  ExtentList to_;
  LocalCounters counters_;
};

}  // namespace paravane::transport_local
