// DatagramEndpoint is queue pair 1 of a service's adapter: management datagrams (MADs, 256 bytes)
// go out and come in by it (IBTA volume 1, 13.4, 13.5.1).
//
// A peer that sends more than there are receives loses the rest, as on a wire.
//
// Owner thread only.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/counter.h"
#include "base/instant.h"
#include "base/result.h"
#include "host_verbs/completion_inbox.h"
#include "host_verbs/request_queue.h"
#include "host_verbs/service_adapter.h"
#include "verbs/queue_pair.h"

namespace paravane::host_verbs {

inline constexpr std::size_t kMadBytes = 256;
using Mad = std::array<std::byte, kMadBytes>;

struct DatagramCounters {
  CounterSet set;
  Counter sent{set, "mads_sent", "management datagrams sent"};
  Counter received{set, "mads_received", "management datagrams received"};
  Counter odd{set, "mads_odd", "datagrams dropped: another length, queue pair or network header"};
  Counter unresolved{set, "mads_unresolved",
                     "management datagrams not sent: the MAC address of the endpoint is not known"};
  Counter full{set, "mads_full", "management datagrams not sent for lack of room"};
};

class DatagramEndpoint {
 public:
  static constexpr std::uint32_t kReceives = 64;
  static constexpr std::uint32_t kSends = 64;

  // `adapter` outlives it. Errors: kResourceExhausted (places for messages), as
  // Adapter::create_qp().
  static Result<std::unique_ptr<DatagramEndpoint>> make(ServiceAdapter& adapter, Instant now);
  ~DatagramEndpoint();
  DatagramEndpoint(const DatagramEndpoint&) = delete;
  DatagramEndpoint& operator=(const DatagramEndpoint&) = delete;

  // False: there is no room now, or the MAC address of the native endpoint is not known yet.
  bool send(const verbs::Gid& to, std::span<const std::byte, kMadBytes> mad);

  // Calls take() for each datagram that has come, at most `limit`, and frees what has been sent.
  // Returns how many completions there were.
  using Take =
      std::function<void(const verbs::Gid& from, std::span<const std::byte, kMadBytes> mad)>;
  std::size_t deliver(std::size_t limit, const Take& take);
  bool has_work() const { return !sent_.empty() || !received_.empty(); }

  const DatagramCounters& counters() const { return counters_; }

 private:
  explicit DatagramEndpoint(ServiceAdapter& adapter) : adapter_(adapter) {}
  Status begin(Instant now);
  void post_receive(std::uint32_t place);
  void take_one(const verbs::Completion& completion, const Take& take);

  ServiceAdapter& adapter_;
  RequestQueue work_;
  CompletionInbox sent_;
  CompletionInbox received_;
  std::vector<std::uint32_t> places_;      // all
  std::vector<std::uint32_t> free_sends_;  // of them
  DatagramCounters counters_;
  std::unique_ptr<verbs::QueuePair> qp_;
};

}  // namespace paravane::host_verbs
