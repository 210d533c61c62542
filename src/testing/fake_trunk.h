// FakeTrunk: two queue pairs of RDMA adapters, connected to each other, in memory. A message
// arrives when it is sent, or waits until the peer posts a buffer, as after RNR NAKs.
//
// Owner thread only.

#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "transport/hca/trunk_port.h"
#include "transport/hca/trunk_stream.h"

namespace paravane::fake {

struct FakeTrunkEnd;

class FakeTrunk {
 public:
  // Both ends. Each may go away before the other.
  static std::array<std::unique_ptr<FakeTrunk>, 2> make_pair();
  ~FakeTrunk();
  FakeTrunk(const FakeTrunk&) = delete;
  FakeTrunk& operator=(const FakeTrunk&) = delete;

  // A stream over this end, with lanes. Memory is registered and lanes are connected at once.
  std::unique_ptr<transport_hca::TrunkStream> stream_with_lanes();
  // Payload bytes that have gone by lanes from this end.
  std::uint64_t lane_bytes() const;
  // What is sent by lanes from this end waits until it is let go.
  void hold_lanes(bool holds);
  // Posted on lanes of this end, and not done.
  std::size_t lane_receives() const;
  std::size_t lane_sends() const;
  // The lane on which most is posted; 0: none.
  std::uint32_t busy_lane() const;
  // As a host that sends on a lane what it likes, behind what it has sent.
  void send_on_lane(std::uint32_t lane, std::vector<std::byte>& bytes, std::uint32_t immediate);
  // This end of the lane is connected to the peer's, whatever that is connected to; returns the
  // peer's own sequence number.
  std::uint32_t join_lane(std::uint32_t lane);
  // What was sent on the lane and waits is lost.
  void drop_sends(std::uint32_t lane);
  // How long this end takes to let go of a lane's memory.
  void close_lanes_in(std::chrono::milliseconds time);
  // The lane fails at this end.
  void fail_lane(std::uint32_t lane);

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
