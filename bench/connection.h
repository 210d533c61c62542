// Connection: two connected queue pairs, one in each guest, with a registered
// buffer at either end.

#pragma once

#include <array>
#include <cstdint>

#include "bench/host.h"

namespace paravane::bench {

struct End {
  fake::FakePd* pd = nullptr;
  fake::FakeMr* buffer = nullptr;
  fake::FakeCq* cq = nullptr;
  fake::FakeQp* qp = nullptr;

  // The driver's poll, until a completion is there, which must be a good one.
  void await_completion();
  // Takes what is there, at most `limit`; all must be good.
  std::uint32_t take_completions(std::uint32_t limit);
};

struct ConnectionSpec {
  std::uint64_t buffer_bytes = 4096;
  std::uint32_t send_requests = 128;
};

class Connection {
 public:
  Connection(Host& host, const ConnectionSpec& spec);

  End& end(unsigned index) { return ends_[index]; }

  // An RDMA write of `bytes` from an offset of an end's buffer to an offset of
  // its peer's; put into the ring only.
  void queue_write(unsigned from, std::uint64_t source, std::uint64_t target, std::uint32_t bytes);
  void ring(unsigned from) { ends_[from].qp->ring(fake::kRingSend); }

 private:
  std::array<End, 2> ends_;
};

}  // namespace paravane::bench
