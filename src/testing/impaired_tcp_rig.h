// ImpairedTcpRig: a TcpRig in which everything that the VM of either host sends goes
// through an ImpairedTransport before the channel; nothing is set in it at first.
//
// Owner thread only.

#pragma once

#include <array>
#include <chrono>
#include <memory>

#include "testing/tcp_rig.h"
#include "transport/impaired/impaired_transport.h"

namespace paravane::fake {

class ImpairedTcpRig : public TcpRig {
 public:
  explicit ImpairedTcpRig(const transport_impaired::Impairment& impairment = {});
  ~ImpairedTcpRig() override;

  transport_impaired::ImpairedTransport& impaired(unsigned side = 0) { return *impaired_.at(side); }

  // Nothing stands before the channel any more.
  void take_away();

  // As TcpRig's; delays pass as well.
  bool run(unsigned limit = 10'000);

 private:
  void turn_more(unsigned side, Instant now, verbs::Budget budget) override;
  bool more_work() const override;
  Instant next_due() const override;

  std::array<std::unique_ptr<transport_impaired::ImpairedTransport>, 2> impaired_;
};

// Everything is delayed.
struct DelayedTcpRig : ImpairedTcpRig {
  DelayedTcpRig() : ImpairedTcpRig({.delay = std::chrono::microseconds(20)}) {}
};

}  // namespace paravane::fake
