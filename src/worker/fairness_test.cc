// Fairness: guests that flood the worker, with real devices, fake guests and the
// worker's own schedule, stepped by the test. Whatever one guest does, the others
// keep at least half of the turns.
//
// All is counted: time is a clock that only the work done moves, at a price for every
// message, for every byte copied, and for everything that the device says it has touched
// (device/turn_effort.h), so no machine is too busy for this test.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "device/turn_effort.h"
#include "testing/device_rig.h"
#include "testing/fake_guest_end.h"
#include "worker/transport_tenant.h"
#include "worker/turn_schedule.h"

namespace paravane::worker {
namespace {

using fake::DeviceRig;
using fake::FakeEnd;

// What a server handles of one VMM in one turn.
constexpr unsigned kMessagesPerTurn = 64;

constexpr int kRounds = 200;

// Prices, near those of a real machine.
constexpr Duration kTurnPrice = std::chrono::nanoseconds(200);
constexpr Duration kMessagePrice = std::chrono::microseconds(3);
constexpr Duration kTouchPrice = std::chrono::nanoseconds(250);
constexpr int kBytesPerNanosecond = 8;

// All the messages of a turn, all that it may touch, and all of its budget; the last slice
// of a message may pass the budget, and as much may be under way to a peer.
constexpr Duration kLongestTurn =
    kTurnPrice + kMessagesPerTurn * kMessagePrice + device::TurnEffort::kMost * kTouchPrice +
    std::chrono::nanoseconds((TurnLimits{}.bytes + verbs::kSliceBytes) / kBytesPerNanosecond);
static_assert(kLongestTurn < std::chrono::milliseconds(20));

class PricedClock {
 public:
  explicit PricedClock(Instant start) : now_(start) {}
  Instant now() const { return now_; }
  void charge(const verbs::Budget& before, const verbs::Budget& after, unsigned messages,
              std::int64_t touched) {
    now_ += kTurnPrice + messages * kMessagePrice + touched * kTouchPrice +
            std::chrono::nanoseconds((before.bytes - after.bytes) / kBytesPerNanosecond);
  }

 private:
  Instant now_;
};

// A device with its guest, as the worker sees a VM. `guest` is what the guest
// does before each turn and through messages in it; it says how many.
class GuestTenant final : public Tenant {
 public:
  using Guest = std::function<unsigned()>;
  GuestTenant(DeviceRig& rig, unsigned vm, PricedClock& clock, Guest guest)
      : rig_(rig), device_(rig.device(vm)), clock_(clock), guest_(std::move(guest)) {}

  bool has_work() const override { return true; }  // messages are waiting at all times
  Instant next_look() override { return device_.next_look(); }
  bool turn(Instant now, verbs::Budget& budget) override {
    const verbs::Budget before = budget;
    rig_.set_now(now);
    const unsigned messages = guest_();
    device_.poll(budget);
    clock_.charge(before, budget, messages, device_.last_touched());
    return true;
  }

 private:
  DeviceRig& rig_;
  device::PvrdmaDevice& device_;
  PricedClock& clock_;
  Guest guest_;
};

class PricedTransport final : public Tenant {
 public:
  PricedTransport(verbs::Transport& transport, PricedClock& clock)
      : tenant_(transport), clock_(clock) {}

  bool has_work() const override { return tenant_.has_work(); }
  Instant next_look() override { return tenant_.next_look(); }
  bool turn(Instant now, verbs::Budget& budget) override {
    const verbs::Budget before = budget;
    const bool worked = tenant_.turn(now, budget);
    clock_.charge(before, budget, 0, before.operations - budget.operations);
    return worked;
  }

 private:
  TransportTenant tenant_;
  PricedClock& clock_;
};

// Keeps a connection full of small writes and counts what was done.
struct Victim {
  explicit Victim(DeviceRig& rig, unsigned vm)
      : a(rig.guest(vm), {}), b(rig.guest(vm), {}), connected(connect(a, b)) {}
  unsigned work() {
    pvrdma_cqe completion{};
    while (a.cq().take(completion)) ++done;
    const pvrdma_sge from = a.buffer().sge(0, 64);
    while (a.qp().post_send({.opcode = PVRDMA_WR_RDMA_WRITE,
                             .remote_addr = b.buffer().va(),
                             .rkey = b.buffer().rkey,
                             .sges = {&from, 1}})) {
    }
    return 0;
  }
  std::uint64_t depth() { return a.qp().spec().max_send_wr; }
  FakeEnd a;
  FakeEnd b;
  bool connected;
  std::uint64_t done = 0;
};

std::uint64_t turns(const Tenant& tenant) {
  return tenant.turn_counters().turns.value();
}
std::uint64_t whole_us(Duration duration) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(duration).count());
}

class FairnessTest : public testing::Test {
 protected:
  static fake::RigOptions options() {
    fake::RigOptions options;
    options.vms = 3;
    return options;
  }
  // Two well-behaved guests and one that does `flood`.
  void run(GuestTenant::Guest flood) {
    Victim first(rig_, 1);
    Victim second(rig_, 2);
    ASSERT_TRUE(first.connected && second.connected);
    GuestTenant flooder(rig_, 0, clock_, std::move(flood));
    GuestTenant one(rig_, 1, clock_, [&first] { return first.work(); });
    GuestTenant two(rig_, 2, clock_, [&second] { return second.work(); });
    PricedTransport transport(rig_.local(), clock_);
    TurnSchedule schedule({}, [this] { return clock_.now(); });
    for (Tenant* tenant : std::initializer_list<Tenant*>{&flooder, &one, &two, &transport}) {
      schedule.add(*tenant);
    }
    for (int round = 0; round < kRounds; ++round) {
      rig_.timers().run_due(clock_.now());
      schedule.round();
    }
    expect_bounded(flooder);
    // The others have a turn in every round, and what they posted in one turn is
    // done when they look in the next.
    for (const Tenant* other : {&one, &two}) {
      EXPECT_EQ(turns(*other), std::uint64_t{kRounds});
      EXPECT_GE(turns(*other), turns(flooder));
      EXPECT_EQ(other->turn_counters().put_off.value(), 0u);
    }
    flood_turns_ = turns(flooder);
    EXPECT_EQ(first.done, (kRounds - 1) * first.depth());
    EXPECT_EQ(second.done, (kRounds - 1) * second.depth());
  }

 private:
  // A turn is short, and who overruns a share pays it back.
  static void expect_bounded(const Tenant& flooder) {
    const TurnCounters& counters = flooder.turn_counters();
    EXPECT_GT(counters.turns.value(), 0u);
    EXPECT_LE(counters.longest_turn_us.value(), whole_us(kLongestTurn));
    EXPECT_LE(counters.busy_us.value(), whole_us(kRounds * TurnLimits{}.share + kLongestTurn));
    // Whatever a turn took, it is paid for.
    const std::uint64_t paid = whole_us(kRounds * TurnLimits{}.share);
    EXPECT_GE(paid + counters.longest_turn_us.value(), counters.busy_us.value());
  }

 protected:
  DeviceRig rig_{options()};
  PricedClock clock_{rig_.now()};
  std::uint64_t flood_turns_ = 0;
};

TEST_F(FairnessTest, FloodOfDoorbellStores) {
  std::vector<fake::FakeContext*> pages;
  for (int i = 0; i < 64; ++i) pages.push_back(&rig_.guest(0).open_context());
  std::uint32_t word = 1;
  run([&] {
    for (fake::FakeContext* page : pages) {
      for (std::uint32_t offset = 0; offset < 16; offset += 4) {
        page->uar.ring(offset, word += 0x01000193);
      }
    }
    return 0;
  });
  // Every look at a page takes what is there once, however fast it is rewritten.
  const std::uint64_t seen = rig_.device(0).counters().mapped_doorbells.value();
  EXPECT_GT(seen, 0u);
  EXPECT_LE(seen, flood_turns_ * pages.size() * 4);
}

TEST_F(FairnessTest, FloodOfTrappedDoorbells) {
  fake::FakeContext& kernel = rig_.guest(0).kernel();
  run([&] {
    for (unsigned i = 0; i < kMessagesPerTurn; ++i) kernel.uar.ring(4 * (i % 2), i | 0xC0000000);
    return kMessagesPerTurn;
  });
  EXPECT_EQ(rig_.device(0).counters().trapped_doorbells.value(), flood_turns_ * kMessagesPerTurn);
  EXPECT_LT(flood_turns_, kRounds);
}

TEST_F(FairnessTest, FloodOfCommands) {
  std::uint64_t answers = 0;
  std::uint64_t commands = 0;
  const std::uint64_t before = rig_.device(0).counters().commands.value();
  run([&] {
    constexpr unsigned kMessages = 2;  // REQUEST is written, ERR read
    for (unsigned i = 0; i < kMessagesPerTurn; i += kMessages) {
      fake::QueryPort request{};
      request.port_num = 1;
      EXPECT_EQ(rig_.guest(0).submit(request), 0u);
      ++commands;
      answers += rig_.machine(0).take_interrupt(fake::kVectorResponse);
    }
    return kMessagesPerTurn;
  });
  EXPECT_EQ(answers, commands);
  EXPECT_EQ(rig_.device(0).counters().commands.value() - before, commands);
  EXPECT_LT(flood_turns_, kRounds);
}

// Messages as a server hands them over: as many as the device takes in this turn. Each is
// a command whose REQUEST is posted.
template <typename Request>
unsigned post_commands(fake::FakeGuest& guest, device::PvrdmaDevice& device, Request request) {
  request.header.cmd = Request::kOpcode;
  unsigned messages = 0;
  for (; messages < kMessagesPerTurn && device.takes_requests(); ++messages) {
    std::ranges::copy(std::as_bytes(std::span(&request, 1)), guest.command_slot());
    guest.machine().post_register(fake::kRegRequest, 0);
  }
  return messages;
}

// Each names 2,049 pages and takes the place of the one before, half built.
TEST_F(FairnessTest, FloodOfLargeCommands) {
  fake::FakeGuest& guest = rig_.guest(0);
  const fake::PageSet pages = guest.ram().allocate_set(2049, fake::Layout::kScattered);
  const fake::CreateCq request = guest.cq_request(guest.kernel(), 131'072, pages);
  unsigned most = 0;
  run([&] {
    const unsigned messages = post_commands(guest, rig_.device(0), request);
    most = std::max(most, messages);
    return messages;
  });
  EXPECT_EQ(most, 1u) << "the first took all that a turn has for requests";
  EXPECT_LT(flood_turns_, kRounds / 2);
}

// A guest that makes queue pairs, and has all of them destroyed as often as it may.
TEST_F(FairnessTest, FloodOfResets) {
  fake::FakeGuest& guest = rig_.guest(0);
  fake::FakePd& pd = guest.create_pd(guest.kernel());
  fake::FakeCq& cq = guest.create_cq(guest.kernel(), 64);
  for (int i = 0; i < 1000; ++i) {
    guest.create_qp({.pd = &pd, .send_cq = &cq, .receive_cq = &cq});
  }
  run([&] {
    unsigned messages = 0;
    for (; messages < kMessagesPerTurn && rig_.device(0).takes_requests(); ++messages) {
      guest.machine().post_register(fake::kRegCtl, fake::kCtlReset);
    }
    return messages;
  });
  EXPECT_EQ(rig_.device(0).objects().queue_pairs, 0u);
}

// Every turn another queue of one entry overflows, and its queue pair goes on
// posting in ERR.
TEST_F(FairnessTest, FloodOfCompletionsThatOverflow) {
  fake::FakeGuest& guest = rig_.guest(0);
  fake::FakeContext& context = guest.open_context();
  fake::FakePd& pd = guest.create_pd(context);
  fake::FakeMr& memory = guest.register_memory(pd, 4096);
  fake::FakeCq& other = guest.create_cq(context, 64);
  std::vector<fake::FakeQp*> qps;
  for (int i = 0; i < kRounds; ++i) {
    fake::FakeCq& tiny = guest.create_cq(context, 1);
    qps.push_back(&guest.create_qp({.pd = &pd, .send_cq = &tiny, .receive_cq = &other}));
    guest.connect(*qps.back(), guest.gid(), qps.back()->number);
  }
  const pvrdma_sge from = memory.sge(0, 64);
  std::size_t posting = 0;
  run([&] {
    ++posting;
    for (fake::FakeQp* qp : std::span(qps).first(posting)) {
      while (qp->post_send({.opcode = PVRDMA_WR_RDMA_WRITE,
                            .remote_addr = memory.va(),
                            .rkey = memory.rkey,
                            .sges = {&from, 1}})) {
      }
    }
    return 0;
  });
  EXPECT_GE(rig_.device(0).counters().cq_overruns.value(), flood_turns_ / 2);
}

TEST_F(FairnessTest, FloodOfLargeWrites) {
  fake::FakeGuest& guest = rig_.guest(0);
  fake::FakeContext& context = guest.open_context();
  fake::FakePd& pd = guest.create_pd(context);
  fake::FakeMr& memory = guest.register_memory(pd, 2u << 20);
  fake::FakeCq& cq = guest.create_cq(context, 4096);
  std::vector<fake::FakeQp*> qps;
  for (int i = 0; i < 16; ++i) {
    qps.push_back(&guest.create_qp({.pd = &pd, .send_cq = &cq, .receive_cq = &cq}));
    guest.connect(*qps.back(), guest.gid(), qps.back()->number);
  }
  const pvrdma_sge from = memory.sge(0, 1u << 20);
  std::uint64_t done = 0;
  run([&] {
    pvrdma_cqe completion{};
    while (cq.take(completion)) ++done;
    for (fake::FakeQp* qp : qps) {
      while (qp->post_send({.opcode = PVRDMA_WR_RDMA_WRITE,
                            .remote_addr = memory.va() + (1u << 20),
                            .rkey = memory.rkey,
                            .sges = {&from, 1}})) {
      }
    }
    return 0;
  });
  EXPECT_GT(done, qps.size());
}

}  // namespace
}  // namespace paravane::worker
