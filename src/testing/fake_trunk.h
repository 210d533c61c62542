// FakeTrunk: two queue pairs of RDMA adapters, connected to each other, in memory. A message
// arrives when it is sent, or waits until the peer posts a buffer, as after RNR NAKs.
//
// Owner thread only.

#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "transport/hca/trunk_port.h"

namespace paravane::fake {

struct FakeTrunkEnd;

class FakeTrunk {
 public:
  // Both ends. Each may go away before the other.
  static std::array<std::unique_ptr<FakeTrunk>, 2> make_pair();
  ~FakeTrunk();
  FakeTrunk(const FakeTrunk&) = delete;
  FakeTrunk& operator=(const FakeTrunk&) = delete;

  // The port of this end. May be destroyed before the end, or after it.
  std::unique_ptr<transport_hca::TrunkPort> port();

  // Behaves like an adapter that has failed: nothing arrives from now on.
  void fail();
  // Behaves like an adapter that hangs: nothing that it is given completes.
  void hang();
  // The messages sent from this end, including those that wait for a buffer.
  std::uint64_t sent() const;
  std::uint64_t sent_empty() const;
  // The messages of this end that had to wait because the peer had no buffer for them.
  std::uint64_t waited() const;

 private:
  explicit FakeTrunk(std::shared_ptr<FakeTrunkEnd> end) : end_(std::move(end)) {}
  std::shared_ptr<FakeTrunkEnd> end_;
};

}  // namespace paravane::fake
