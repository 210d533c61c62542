// A wire that is slow, and a guest that is greedy: the channel lives, and no other guest
// waits for what that one sends or reads.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

#include "testing/engine_rig.h"
#include "testing/slow_wire.h"
#include "testing/tcp_rig.h"

namespace paravane::fake {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Each;
using transport_channel::Stream;
using verbs::WcStatus;

constexpr std::uint64_t kMessage = 1 << 20;
constexpr std::uint64_t kSlow = std::uint64_t{256} * 1024;  // bytes a second

// A queue pair of each side, connected.
struct Pair {
  std::unique_ptr<EngineQp> here;
  std::unique_ptr<EngineQp> there;
};

class TcpSlowWire : public testing::Test {
 protected:
  void lay_wires(std::uint64_t bytes_per_second, std::size_t buffer_bytes = 0) {
    rig_.cut();
    for (auto& wire : wires_) wire = std::make_unique<SlowWire>(bytes_per_second, buffer_bytes);
    rig_.wrap_ends([this](std::unique_ptr<Stream> stream, unsigned end) {
      return wires_.at(end)->wrap(std::move(stream));
    });
    rig_.join();
    pass(milliseconds(100));
  }
  void step(Duration time) {
    rig_.skip_time(time);
    for (const auto& wire : wires_) wire->pass(time);
    rig_.turn();
    rig_.turn();
  }
  void pass(Duration time, Duration step_time = milliseconds(1)) {
    for (Duration passed{}; passed < time; passed += step_time) step(step_time);
  }
  static std::vector<Pair> pairs(EngineVm& vm, EngineVm& peer, unsigned count) {
    std::vector<Pair> made(count);
    for (Pair& pair : made) {
      pair = {.here = vm.queue_pair(), .there = peer.queue_pair()};
      TcpRig::connect(vm, *pair.here, peer, *pair.there);
    }
    return made;
  }
  // How long until the queue pair has a completion more.
  Duration time_of(const Pair& pair, const verbs::SendRequest& request) {
    const std::size_t before = pair.here->sends.size();
    pair.here->post(request);
    Duration passed{};
    for (; pair.here->sends.size() == before && passed < seconds(10); passed += milliseconds(1)) {
      step(milliseconds(1));
    }
    return passed;
  }
  void expect_no_loss() {
    EXPECT_THAT(rig_.losses(0), Each("cut"));
    EXPECT_THAT(rig_.losses(1), Each("cut"));
  }

  std::array<std::unique_ptr<SlowWire>, 2> wires_;  // of what each end writes; outlive the rig
  TcpRig rig_{true, 128 << 20};
  EngineVm& other_a_ = rig_.add(0);
  EngineVm& other_b_ = rig_.add(1);
  const EngineBuffer from_ = rig_.a().repeated_buffer(kMessage, 64 << 10);
  const EngineBuffer to_ = rig_.b().repeated_buffer(kMessage, 64 << 10);
  const EngineBuffer word_ = other_a_.buffer(4096);
  const EngineBuffer other_to_ = other_b_.buffer(4096);
};

TEST_F(TcpSlowWire, WritesThatWaitForTheirTurnAreNotLeftUnanswered) {
  lay_wires(kSlow);
  const std::vector<Pair> greedy = pairs(rig_.a(), rig_.b(), 64);
  for (const Pair& pair : greedy) {
    pair.here->post(write_request(1, {from_.whole()}, to_.start, to_.key));
  }
  pass(seconds(280), milliseconds(20));
  expect_no_loss();
  for (const Pair& pair : greedy) {
    ASSERT_EQ(pair.here->sends.statuses(), std::vector{WcStatus::kSuccess});
  }
}

// So many that their answers' turns are longer apart than a host may be silent.
TEST_F(TcpSlowWire, ReadsWhoseAnswersWaitForTheirTurnAreNotLeftUnanswered) {
  lay_wires(kSlow);
  constexpr unsigned kMany = 2'500;
  constexpr std::uint64_t kShort = 8192;
  const std::vector<Pair> greedy = pairs(rig_.a(), rig_.b(), kMany);
  for (const Pair& pair : greedy) {
    pair.here->post(read_request(1, {from_.sge(0, kShort)}, to_.start, to_.key));
  }
  pass(seconds(100), milliseconds(20));
  expect_no_loss();
  for (const Pair& pair : greedy) {
    ASSERT_EQ(pair.here->sends.statuses(), std::vector{WcStatus::kSuccess});
  }
}

// The Ping waits with the rest.
TEST_F(TcpSlowWire, ALongSocketBufferIsNotSilence) {
  lay_wires(kSlow, 4 * kMessage);  // 16 s of it
  const std::vector<Pair> greedy = pairs(rig_.a(), rig_.b(), 64);
  for (const Pair& pair : greedy) {
    pair.here->post(write_request(1, {from_.whole()}, to_.start, to_.key));
  }
  pass(seconds(280), milliseconds(20));
  expect_no_loss();
  for (const Pair& pair : greedy) {
    ASSERT_EQ(pair.here->sends.statuses(), std::vector{WcStatus::kSuccess});
  }
}

// What another guest's short request takes, beside a guest that does `greedy` on 64 queue
// pairs; and alone.
struct Load {
  const char* name;
  std::uint64_t bytes_per_second;
  bool reads;
};

class TcpGreedyGuest : public TcpSlowWire, public testing::WithParamInterface<Load> {
 protected:
  void load(const std::vector<Pair>& greedy) {
    for (const Pair& pair : greedy) {
      for (std::uint64_t i = 0; i < 4; ++i) {
        pair.here->post(GetParam().reads ? read_request(i, {from_.whole()}, to_.start, to_.key)
                                         : write_request(i, {from_.whole()}, to_.start, to_.key));
      }
    }
    pass(seconds(2));
  }
  std::vector<verbs::SendRequest> short_requests() const {
    return {write_request(1, {word_.sge(0, 64)}, other_to_.start, other_to_.key),
            read_request(2, {word_.sge(0, 64)}, other_to_.start, other_to_.key)};
  }
};

TEST_P(TcpGreedyGuest, AShortRequestOfAnotherGuestTakes50MsMoreAtMost) {
  lay_wires(GetParam().bytes_per_second);
  const std::vector<Pair> greedy = pairs(rig_.a(), rig_.b(), 64);
  const std::vector<Pair> other = pairs(other_a_, other_b_, 1);
  std::vector<Duration> alone;
  for (const verbs::SendRequest& request : short_requests()) {
    alone.push_back(time_of(other[0], request));
  }
  load(greedy);
  for (int i = 0; i < 30; ++i) {
    const std::vector<verbs::SendRequest> requests = short_requests();
    for (std::size_t kind = 0; kind < requests.size(); ++kind) {
      EXPECT_LE(time_of(other[0], requests[kind]), alone[kind] + milliseconds(50)) << kind;
      pass(milliseconds(7));
    }
  }
  ASSERT_THAT(other[0].here->sends.statuses(), Each(WcStatus::kSuccess));
  expect_no_loss();
}

INSTANTIATE_TEST_SUITE_P(Wires, TcpGreedyGuest,
                         testing::Values(Load{"SlowWrites", kSlow, false},
                                         Load{"SlowReads", kSlow, true},
                                         Load{"Writes", 12'500'000, false},
                                         Load{"Reads", 12'500'000, true}),
                         [](const auto& param) { return param.param.name; });

// Of a guest with one queue pair, beside one with many: half of the wire.
TEST_F(TcpSlowWire, QueuePairsWinNoShareOfTheWire) {
  constexpr std::uint64_t kRate = 4 << 20;
  for (const bool reads : {false, true}) {
    lay_wires(kRate);
    const std::vector<Pair> greedy = pairs(rig_.a(), rig_.b(), 16);
    const std::vector<Pair> modest = pairs(other_a_, other_b_, 1);
    const EngineBuffer from = other_a_.repeated_buffer(kMessage, 64 << 10);
    const EngineBuffer to = other_b_.repeated_buffer(kMessage, 64 << 10);
    const auto request = [&](std::uint64_t id, const EngineBuffer& own, const EngineBuffer& peer) {
      return reads ? read_request(id, {own.whole()}, peer.start, peer.key)
                   : write_request(id, {own.whole()}, peer.start, peer.key);
    };
    for (std::uint64_t i = 0; i < 16; ++i) {
      for (const Pair& pair : greedy) pair.here->post(request(i, from_, to_));
      modest[0].here->post(request(i, from, to));
    }
    pass(seconds(4));
    EXPECT_GE(modest[0].here->sends.size(), 7u) << "of 16 MiB";
    EXPECT_LE(modest[0].here->sends.size(), 9u);
  }
}

TEST_F(TcpSlowWire, ShortRequestsDoNotStarveALongOne) {
  constexpr std::uint64_t kRate = 4 << 20;
  lay_wires(kRate);
  const std::vector<Pair> greedy = pairs(rig_.a(), rig_.b(), 64);
  const std::vector<Pair> other = pairs(other_a_, other_b_, 1);
  const EngineBuffer from = other_a_.repeated_buffer(kMessage, 64 << 10);
  const EngineBuffer to = other_b_.repeated_buffer(kMessage, 64 << 10);
  for (std::uint64_t i = 0; i < 200; ++i) {
    for (const Pair& pair : greedy) {
      pair.here->post(write_request(i, {from_.sge(0, 4000)}, to_.start, to_.key));
    }
  }
  const Duration took = time_of(other[0], write_request(1, {from.whole()}, to.start, to.key));
  EXPECT_LT(took, seconds(1)) << "alone it is a quarter of a second";
  EXPECT_LT(greedy[0].here->sends.size(), 200u) << "they were all there, all the time";
}

}  // namespace
}  // namespace paravane::fake
