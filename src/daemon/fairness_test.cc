// Fairness: guests that flood the worker, with real devices, fake guests and the
// worker's own schedule, stepped by the test. Whatever one guest does, the others
// keep at least half of the turns.

#include <gtest/gtest.h>
#include <time.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "daemon/transport_tenant.h"
#include "daemon/turn_schedule.h"
#include "testing/device_rig.h"
#include "testing/fake_guest_end.h"

namespace paravane::daemon {
namespace {

using fake::DeviceRig;
using fake::FakeEnd;

// What a server handles of one VMM in one turn.
constexpr unsigned kMessagesPerTurn = 64;

// The time that this thread has worked: a busy machine must not decide a test.
Instant processor_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return Instant(std::chrono::hours(2) + std::chrono::seconds(time.tv_sec) +
                 std::chrono::nanoseconds(time.tv_nsec));
}

// A device with its guest, as the worker sees a VM. `guest` is what the guest
// does before each turn and through messages in it.
class GuestTenant final : public Tenant {
 public:
  GuestTenant(device::PvrdmaDevice& device, std::function<void()> guest)
      : device_(device), guest_(std::move(guest)) {}

  void set_now(Instant now) override { device_.set_now(now); }
  bool has_work() const override { return true; }  // messages are waiting at all times
  Instant next_look() override { return device_.next_look(); }
  bool turn(Instant now, verbs::Budget& budget) override {
    set_now(now);
    guest_();
    device_.poll(budget);
    return true;
  }

 private:
  device::PvrdmaDevice& device_;
  std::function<void()> guest_;
};

// Keeps a connection full of small writes and counts what was done.
struct Victim {
  explicit Victim(DeviceRig& rig, unsigned vm)
      : a(rig.guest(vm), {}), b(rig.guest(vm), {}), connected(connect(a, b)) {}
  void work() {
    pvrdma_cqe completion{};
    while (a.cq().take(completion)) ++done;
    const pvrdma_sge from = a.buffer().sge(0, 64);
    while (a.qp().post_send({.opcode = PVRDMA_WR_RDMA_WRITE,
                             .remote_addr = b.buffer().va(),
                             .rkey = b.buffer().rkey,
                             .sges = {&from, 1}})) {
    }
  }
  FakeEnd a;
  FakeEnd b;
  bool connected;
  std::uint64_t done = 0;
};

class FairnessTest : public testing::Test {
 protected:
  static fake::RigOptions options() {
    fake::RigOptions options;
    options.vms = 3;
    return options;
  }
  // Two well-behaved guests and one that does `flood`.
  void run(std::function<void()> flood) {
    Victim first(rig_, 1);
    Victim second(rig_, 2);
    ASSERT_TRUE(first.connected && second.connected);
    GuestTenant flooder(rig_.device(0), std::move(flood));
    GuestTenant one(rig_.device(1), [&first] { first.work(); });
    GuestTenant two(rig_.device(2), [&second] { second.work(); });
    TransportTenant transport(rig_.local());
    TurnSchedule schedule({}, processor_time);
    for (Tenant* tenant : std::initializer_list<Tenant*>{&flooder, &one, &two, &transport}) {
      schedule.add(*tenant);
    }
    const Instant end = processor_time() + std::chrono::milliseconds(300);
    while (processor_time() < end) schedule.round();
    const auto turns = [](const Tenant& tenant) { return tenant.turn_counters().turns.value(); };
    const std::uint64_t others = turns(one) + turns(two);
    EXPECT_GT(turns(flooder), 0u);
    EXPECT_GE(others, turns(flooder)) << "the others have less than half of the turns";
    EXPECT_GE(turns(one) * 3, turns(flooder) * 2);
    EXPECT_GE(turns(two) * 3, turns(flooder) * 2);
    EXPECT_GT(first.done, 1000u);
    EXPECT_GT(second.done, 1000u);
    // Time as well: nobody has much more than a third.
    EXPECT_LE(flooder.turn_counters().busy_us.value(), 300'000u / 2);
  }

  DeviceRig rig_{options()};
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
  });
}

TEST_F(FairnessTest, FloodOfTrappedDoorbells) {
  fake::FakeContext& kernel = rig_.guest(0).kernel();
  run([&] {
    for (unsigned i = 0; i < kMessagesPerTurn; ++i) kernel.uar.ring(4 * (i % 2), i | 0xC0000000);
  });
}

TEST_F(FairnessTest, FloodOfCommands) {
  run([&] {
    for (unsigned i = 0; i < kMessagesPerTurn; ++i) {
      fake::QueryPort request{};
      request.port_num = 1;
      EXPECT_EQ(rig_.guest(0).submit(request), 0u);
    }
  });
}

TEST_F(FairnessTest, FloodOfCompletionsThatOverflow) {
  fake::FakeGuest& guest = rig_.guest(0);
  fake::FakeContext& context = guest.open_context();
  fake::FakePd& pd = guest.create_pd(context);
  fake::FakeMr& memory = guest.register_memory(pd, 4096);
  fake::FakeCq& tiny = guest.create_cq(context, 1);
  fake::FakeCq& other = guest.create_cq(context, 4096);
  std::vector<fake::FakeQp*> qps;
  for (int i = 0; i < 32; ++i) {
    qps.push_back(
        &guest.create_qp({.pd = &pd, .send_cq = &tiny, .receive_cq = &other, .max_send_wr = 256}));
    guest.connect(*qps.back(), guest.gid(), qps.back()->number);
  }
  const pvrdma_sge from = memory.sge(0, 64);
  run([&] {
    for (fake::FakeQp* qp : qps) {
      while (qp->post_send({.opcode = PVRDMA_WR_RDMA_WRITE,
                            .remote_addr = memory.va(),
                            .rkey = memory.rkey,
                            .sges = {&from, 1}})) {
      }
    }
  });
}

TEST_F(FairnessTest, FloodOfLargeWrites) {
  fake::FakeGuest& guest = rig_.guest(0);
  fake::FakeContext& context = guest.open_context();
  fake::FakePd& pd = guest.create_pd(context);
  fake::FakeMr& memory = guest.register_memory(pd, 16u << 20);
  fake::FakeCq& cq = guest.create_cq(context, 4096);
  std::vector<fake::FakeQp*> qps;
  for (int i = 0; i < 16; ++i) {
    qps.push_back(&guest.create_qp({.pd = &pd, .send_cq = &cq, .receive_cq = &cq}));
    guest.connect(*qps.back(), guest.gid(), qps.back()->number);
  }
  const pvrdma_sge from = memory.sge(0, 8u << 20);
  run([&] {
    pvrdma_cqe completion{};
    while (cq.take(completion)) {
    }
    for (fake::FakeQp* qp : qps) {
      while (qp->post_send({.opcode = PVRDMA_WR_RDMA_WRITE,
                            .remote_addr = memory.va() + (8u << 20),
                            .rkey = memory.rkey,
                            .sges = {&from, 1}})) {
      }
    }
  });
}

}  // namespace
}  // namespace paravane::daemon
