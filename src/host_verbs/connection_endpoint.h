// ConnectionEndpoint is a reliable connection of a service's adapter with one peer: messages go out
// and come in, and the peer may read and write what the service has lent it.
//
// It breaks once, for good: by an error of the queue pair, or by end(). After that, the peer
// reaches nothing through it.
//
// Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/instant.h"
#include "base/result.h"
#include "host_verbs/completion_inbox.h"
#include "host_verbs/request_queue.h"
#include "host_verbs/service_adapter.h"
#include "verbs/queue_pair.h"

namespace paravane::host_verbs {

// What the connection manager has agreed on with the peer.
struct ConnectionPeer {
  verbs::Gid gid;
  std::uint32_t qpn = 0;
  std::uint32_t receive_psn = 0;
  std::uint32_t send_psn = 0;
  std::uint8_t max_reads = 0;     // that the peer may have outstanding
  std::uint8_t ack_timeout = 18;  // 4.096 us * 2^n
  std::uint8_t retry_count = 7;
  std::uint8_t rnr_retry = 7;
};

class ConnectionEndpoint {
 public:
  struct Size {
    std::uint32_t sends = 0;     // messages that may be under way
    std::uint32_t receives = 0;  // that may wait to be taken
    // Its peer reaches nothing that peers of other connections were lent, nor they what it was.
    bool is_apart = false;
  };

  // In INIT. `adapter` outlives it. Errors: kResourceExhausted (places for messages), as
  // Adapter::create_qp().
  static Result<std::unique_ptr<ConnectionEndpoint>> make(ServiceAdapter& adapter, const Size& size,
                                                          Instant now);
  ~ConnectionEndpoint();
  ConnectionEndpoint(const ConnectionEndpoint&) = delete;
  ConnectionEndpoint& operator=(const ConnectionEndpoint&) = delete;

  std::uint32_t number() const { return qp_->number(); }

  // As ServiceAdapter::lend(), to its peer. A loan ends with the endpoint of one that is apart.
  Result<std::uint32_t> lend(std::uint32_t payload, std::uint32_t length,
                             verbs::AccessMask rights) {
    return adapter_.lend(payload, length, rights, domain_.pd);
  }

  // To RTS. Errors: as QueuePair::modify(); kNotFound (the MAC address of a native endpoint).
  Status connect(const ConnectionPeer& peer, Instant now);

  // False: it is broken, or as many messages as it may have are under way. REQUIRES: connected; at
  // most ServiceMemory::kMessageBytes.
  bool send(std::span<const std::byte> message);

  // Calls take() for each message that has come, at most `limit`; take() may end the connection.
  // Returns how many completions there were.
  using Take = std::function<void(std::span<const std::byte> message)>;
  std::size_t deliver(std::size_t limit, const Take& take);
  bool has_work() const { return !sent_.empty() || !received_.empty(); }

  // Why it is broken; empty: it is not.
  const std::string& problem() const { return problem_; }
  // The peer reaches nothing any more, and no message comes or goes.
  void end(std::string why, Instant now);

 private:
  explicit ConnectionEndpoint(ServiceAdapter& adapter)
      : adapter_(adapter), domain_(adapter.domain()) {}
  Status begin(const Size& size, Instant now);
  void post_receive(std::uint32_t place);
  void break_by(std::string why);
  bool take_one(const verbs::Completion& completion, const Take& take);

  ServiceAdapter& adapter_;
  ServiceAdapter::Domain domain_;
  bool owns_domain_ = false;
  RequestQueue work_;
  CompletionInbox sent_;
  CompletionInbox received_;
  std::vector<std::uint32_t> places_;
  std::vector<std::uint32_t> free_sends_;
  std::string problem_;
  std::unique_ptr<verbs::QueuePair> qp_;
};

}  // namespace paravane::host_verbs
