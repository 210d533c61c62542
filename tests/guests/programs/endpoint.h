// Endpoint: one RC and one UD queue pair with a buffer each way, connected to the same
// thing at the other end. They are of the first RDMA device of the guest, through
// libibverbs (endpoint.cc), or of a VM that is none (fake_endpoint.cc).

#pragma once

#include <infiniband/verbs.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "rendezvous.h"

namespace guest {

// What one end must know of the other.
struct Address {
  std::uint32_t rc_qpn;
  std::uint32_t ud_qpn;
  ibv_gid gid;
  std::uint64_t buffer;
  std::uint32_t rkey;
  std::uint32_t padding;
};

// How long a request waits for an answer: the attributes of ibv_modify_qp(3).
struct Patience {
  std::uint8_t timeout = 17;  // 4.096 us * 2^timeout a try; 0.5 s
  std::uint8_t retries = 7;
};

struct EndpointOptions {
  std::uint32_t completions = 0;  // room of the completion queue, about; 0: plenty
  // Of a VM that is none: the queues are its kernel's, each of whose arms the device sees.
  bool in_kernel = false;
};

class Endpoint {
 public:
  static constexpr std::uint32_t kQkey = 0x11111111;

  explicit Endpoint(std::size_t buffer_bytes, const EndpointOptions& options = {});
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  void connect(Rendezvous& peer, const Patience& patience = {});

  // Takes the RC queue pair to RESET, and forgets its completions.
  void reset();
  // The RC queue pair alone, after reset() at both ends.
  void connect_again(const Patience& patience = {});

  // A VM that is none has its VMM take all memory away and show it again; a guest cannot.
  void map_memory_anew();

  std::uint8_t* buffer();
  const Address& other() const { return other_; }

  // `parts` SGEs over [at, at+length) of the buffer.
  void post_receive(bool datagram, std::size_t at, std::uint32_t length, int parts);
  void post_send(bool datagram, ibv_send_wr request, std::size_t at, std::uint32_t length,
                 int parts);

  // A completion, if there is one.
  std::optional<ibv_wc> poll();
  // Looks for one, at most 30 s.
  ibv_wc wait();
  // nullopt: none came in that time.
  std::optional<ibv_wc> wait_for(std::chrono::milliseconds time);
  // A completion came without the event that the queue was armed for; wait_for() has returned it.
  // Only queues of a kernel are judged.
  bool missed_event() const;

 private:
  struct Objects;

  std::unique_ptr<Objects> objects_;
  Address other_{};
};

}  // namespace guest
