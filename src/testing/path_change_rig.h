// PathChangeRig: two adapters that reach each other by memory copy, over a channel of TCP, or over
// a channel of RDMA adapters. The path changes as if a VM moved to its peer's host or away from it,
// or as if RDMA adapters of the hosts appeared and disappeared. The test chooses the path at any
// turn.
//
// All requests of an adapter pass an ImpairedTransport on every path. At first it impairs nothing.
//
// Owner thread only.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/event_loop.h"
#include "base/timers.h"
#include "testing/engine_vm.h"
#include "testing/fake_clock.h"
#include "testing/fake_trunk.h"
#include "transport/channel/channel_transport.h"
#include "transport/impaired/impaired_transport.h"
#include "transport/local/local_transport.h"

namespace paravane::fake {

enum class Way : std::uint8_t { kLocal, kChannel, kTrunk };
inline constexpr std::size_t kWays = 3;

class PathChangeRig {
 public:
  // `long_lives`: false: one host behaves like an earlier release.
  explicit PathChangeRig(Way way, const transport_impaired::Impairment& impairment = {},
                         bool long_lives = true);
  ~PathChangeRig();
  PathChangeRig(const PathChangeRig&) = delete;
  PathChangeRig& operator=(const PathChangeRig&) = delete;

  EngineVm& a() { return *sides_[0].vm; }
  EngineVm& b() { return *sides_[1].vm; }
  static void connect(EngineVm& vm, EngineQp& qp, EngineVm& peer_vm, EngineQp& peer,
                      const verbs::QpAttributes& attributes = default_attributes());

  // Both ends know the new path at once.
  void choose(Way way);
  // Only one end knows it.
  void choose(Way way, unsigned side);
  // The adapter of that end.
  FakeTrunk& trunk(unsigned side) { return *trunk_.at(side); }
  // The reasons why channels of that end have ended.
  const std::vector<std::string>& losses(unsigned side) const { return sides_.at(side).losses; }
  // Loses all requests and answers that are in the channels, and opens new channels.
  void cut();

  void turn(verbs::Budget budget = {.bytes = 4 << 20, .operations = 256});
  // Until nothing has work. False: it still had after `limit` turns.
  bool run(unsigned limit = 10'000);
  void advance(Duration duration);

 private:
  struct Side final : verbs::FabricPort, transport_channel::LocalOwners {
    Status announce(const verbs::Gid&, verbs::GidType) override { return {}; }
    void withdraw(const verbs::Gid&, verbs::GidType) override {}
    std::optional<verbs::Path> find(const verbs::Gid& dgid, verbs::GidType type) const override;
    std::uint64_t epoch() const override { return rig->epoch_; }
    std::optional<verbs::AdapterId> find_local(verbs::SegmentId segment, const verbs::Gid& gid,
                                               verbs::GidType type) const override;

    PathChangeRig* rig = nullptr;
    unsigned index = 0;
    Way way{};
    std::unique_ptr<EventLoop> loop;
    // Over TCP, and over RDMA adapters.
    std::array<std::unique_ptr<transport_channel::ChannelTransport>, 2> channels;
    std::array<std::unique_ptr<transport_impaired::ImpairedTransport>, kWays> impaired;  // by Way
    std::unique_ptr<EngineVm> vm;
    std::vector<std::string> losses;
  };

  void make(Side& side, const transport_impaired::Impairment& impairment);
  void join();
  void open(Side& side, unsigned channel, std::unique_ptr<transport_channel::Stream> stream);

  const bool long_lives_;
  std::uint64_t epoch_ = 1;
  FakeClock clock_;
  TimerQueue timers_;
  transport_local::LocalTransport local_;
  std::array<std::unique_ptr<FakeTrunk>, 2> trunk_;
  std::array<Side, 2> sides_;
  bool moved_ = false;  // a socket had something in this turn
};

}  // namespace paravane::fake
