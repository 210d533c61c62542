// Guests that change requests while they are read, that flood, and regions that
// are not what they seem.

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <functional>
#include <memory>
#include <sstream>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "conformance/test_rig.h"

namespace paravane::fake {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// A second CPU of the guest, which rewrites fields of a posted request for as long
// as the device may be reading them.
class OtherCpu {
 public:
  explicit OtherCpu(const std::function<void(std::uint32_t)>& flip)
      : thread_([this, flip](const std::stop_token& stop) {
          while (!stop.stop_requested()) flip(flips_.fetch_add(1));
        }) {}
  // Returns when it has been at work since.
  void rewrite() const {
    const std::uint32_t before = flips_;
    while (flips_ - before < 2) std::this_thread::yield();
  }

 private:
  std::atomic<std::uint32_t> flips_ = 0;
  std::jthread thread_;
};

TEST(ChangingRequests, WhatIsCheckedIsWhatIsUsed) {
  TestRig rig;
  EndOptions options;
  options.cq_entries = 4096;
  options.queues.max_send_wr = 1;  // always the same slot
  FakeEnd a(rig.guest(0), options);
  FakeEnd b(rig.guest(1), options);
  // Beside b's buffer in the same domain, with no remote access.
  MemoryOptions secret_options;
  secret_options.access = kLocalWrite;
  FakeMr& secret = rig.guest(1).register_memory(b.pd(), 65536, secret_options);
  secret.fill(std::byte{0x99});
  a.buffer().fill(std::byte{0x11});
  ASSERT_TRUE(connect(a, b, {.rnr_retry = 0}));  // nothing waits
  pvrdma_sq_wqe_hdr& slot = a.qp().send_slot(0);
  auto& sge = *reinterpret_cast<pvrdma_sge*>(&slot + 1);
  const auto flip = [&](std::uint32_t i) {
    const std::uint32_t values[] = {1, 0xFFFFFFFF, 2, 64, 0x10000001};
    store_word(slot.num_sge, values[i % 5]);
    store_word(sge.length, i % 3 == 0 ? 64 : 0xFFFFFF00 + i % 100);
    store_word(slot.opcode, i / 5 % 5);
    store_word(slot.wr.rdma.rkey, i % 2 == 0 ? b.buffer().rkey : secret.rkey);
  };
  {
    const OtherCpu other_cpu(flip);
    for (std::uint64_t round = 0; round < 100; ++round) {
      if (rig.guest(0).query(a.qp()).qp_state != kStateRts ||
          rig.guest(1).query(b.qp()).qp_state != kStateRts) {
        ASSERT_TRUE(rig.guest(0).to_reset(a.qp()));
        ASSERT_TRUE(rig.guest(1).to_reset(b.qp()));
        ASSERT_TRUE(connect(a, b, {.rnr_retry = 0}));
      }
      ASSERT_TRUE(a.write(round, 0, 64, b.buffer())) << "the last one was not taken as it was read";
      other_cpu.rewrite();
      rig.advance(milliseconds(1));
      pvrdma_cqe completion{};
      while (a.cq().take(completion)) {
        ASSERT_LE(completion.status, +PVRDMA_WC_GENERAL_ERR);
      }
      while (b.cq().take(completion)) {
      }
    }
  }
  for (std::uint64_t i = 0; i < secret.length(); ++i) {
    ASSERT_EQ(*secret.at(i), std::byte{0x99}) << "byte " << i << " of a region without rights";
  }
}

TEST(ChangingRequests, CommandsAreCopiedBeforeTheyAreJudged) {
  RigOptions options;
  options.vms = 1;
  TestRig rig(options);
  FakeGuest& guest = rig.guest();
  FakePd& pd = guest.create_pd(guest.kernel());
  PageSet pages = guest.ram().allocate_set(3, Layout::kContiguous);
  auto& slot = *reinterpret_cast<CreateCq*>(guest.command_slot());
  const auto flip = [&](std::uint32_t i) {
    store_word(slot.cqe, i % 2 == 0 ? 128 : 1u << 30);
    store_word(slot.nchunks, i % 3 == 0 ? 3 : 0xFFFFFFFF);
  };
  {
    const OtherCpu other_cpu(flip);
    for (int i = 0; i < 3000; ++i) {
      const auto outcome = guest.run(guest.cq_request(guest.kernel(), 128, pages));
      if (outcome.refused()) continue;
      ASSERT_EQ(outcome.response.cqe, 128u);
      DestroyCq request{};
      request.handle = outcome.response.cq_handle;
      guest.run(request);
    }
  }
  static_cast<void>(pd);
}

// ---- Floods ----

// A well-behaved pair: how many of its messages are done in `turns` turns.
struct Worker {
  explicit Worker(FakeGuest& guest) : a(guest), b(guest) { EXPECT_TRUE(connect(a, b)); }
  int done_in(TestRig& rig, int turns, const std::function<void()>& flood) {
    int done = 0;
    int outstanding = 0;
    for (int i = 0; i < turns; ++i) {
      for (; outstanding < 8; ++outstanding) {
        EXPECT_TRUE(a.write(static_cast<std::uint64_t>(i), 0, 512, b.buffer()));
      }
      flood();
      rig.turn(microseconds(1));
      pvrdma_cqe completion{};
      while (a.cq().poll(completion)) {
        EXPECT_EQ(completion.status, +PVRDMA_WC_SUCCESS);
        ++done;
        --outstanding;
      }
    }
    return done;
  }
  FakeEnd a;
  FakeEnd b;
};

RigOptions small_turns() {
  RigOptions options;
  options.budget = {.bytes = 64 << 10, .operations = 32};
  return options;
}

TEST(Flood, ManyDoorbellsLeaveOthersTheirTurns) {
  TestRig rig(small_turns());
  Worker worker(rig.guest(1));
  FakeContext& context = rig.guest(0).open_context();
  const int alone = worker.done_in(rig, 500, [] {});
  std::uint32_t i = 0;
  const int together = worker.done_in(rig, 500, [&] {
    for (int k = 0; k < 100; ++k) context.uar.ring(kDoorbellQp, kRingSend | ++i);
    for (int k = 0; k < 100; ++k) rig.machine(0).write_doorbell(0, kRingSend | ++i);
  });
  EXPECT_GE(alone, 500);
  EXPECT_GE(together * 2, alone);
}

TEST(Flood, ManyRequestsLeaveOthersTheirTurns) {
  TestRig rig(small_turns());
  Worker worker(rig.guest(1));
  EndOptions options;
  options.cq_entries = 65536;
  options.queues.max_send_wr = 1024;
  options.buffer_bytes = 1 << 20;
  FakeEnd from(rig.guest(0), options);
  FakeEnd to(rig.guest(0), options);
  ASSERT_TRUE(connect(from, to));
  const int alone = worker.done_in(rig, 500, [] {});
  std::uint64_t flooded = 0;
  const int together = worker.done_in(rig, 500, [&] {
    while (from.write(flooded, 0, 1 << 20, to.buffer())) ++flooded;
    pvrdma_cqe completion{};
    while (from.cq().take(completion)) {
    }
  });
  EXPECT_GT(flooded, 500u);
  EXPECT_GE(together * 2, alone);
}

TEST(Flood, OneTurnOfAFloodingGuestIsBounded) {
  TestRig rig(small_turns());
  EndOptions options;
  options.cq_entries = 65536;
  options.queues.max_send_wr = 4096;
  FakeEnd from(rig.guest(0), options);
  FakeEnd to(rig.guest(0), options);
  ASSERT_TRUE(connect(from, to));
  for (std::uint64_t i = 0; i < 4096; ++i) {
    const pvrdma_sge sge = from.buffer().sge(0, 8);
    ASSERT_TRUE(from.qp().queue_send({.wr_id = i,
                                      .opcode = PVRDMA_WR_RDMA_WRITE,
                                      .remote_addr = to.buffer().va(),
                                      .rkey = to.buffer().rkey,
                                      .sges = {&sge, 1}}));
  }
  from.qp().ring(kRingSend);
  std::uint32_t most = 0;
  std::uint32_t done = 0;
  for (int turns = 0; turns < 10'000 && done < 4096; ++turns) {
    rig.turn(microseconds(1));
    most = std::max(most, from.cq().unconsumed() - done);
    done = from.cq().unconsumed();
  }
  EXPECT_EQ(done, 4096u);
  EXPECT_LE(most, 64u);
}

TEST(Flood, ManyCommandsLeaveOthersTheirTurns) {
  TestRig rig(small_turns());
  Worker worker(rig.guest(1));
  FakeGuest& hostile = rig.guest(0);
  FakePd& pd = hostile.create_pd(hostile.kernel());
  PageSet pages = hostile.ram().allocate_set(64 * 1024, Layout::kContiguous);
  const CreateMr large = hostile.mr_request(pd, 0, pages.pages.size() * kPage, pages);
  const int alone = worker.done_in(rig, 300, [] {});
  const int together = worker.done_in(rig, 300, [&] {
    // Each takes many turns and is cancelled by the next.
    hostile.submit_posted(large);
    rig.machine(0).take_interrupt(kVectorResponse);
  });
  EXPECT_GE(together * 2, alone);
  hostile.ram().release_set(pages);
}

TEST(Flood, OverflowingCompletionsHarmTheirOwnQueueOnly) {
  TestRig rig(small_turns());
  Worker worker(rig.guest(1));
  FakeGuest& hostile = rig.guest(0);
  FakeContext& context = hostile.open_context();
  FakePd& pd = hostile.create_pd(context);
  FakeCq& tiny = hostile.create_cq(context, 1);
  FakeCq& other = hostile.create_cq(context, 64);
  FlushSource flood(hostile, pd, tiny, 4096);
  FlushSource calm(hostile, pd, other, 16);
  const int alone = worker.done_in(rig, 300, [] {});
  const int together = worker.done_in(rig, 300, [&] { flood.produce(4096); });
  EXPECT_GE(together * 2, alone);
  EXPECT_LE(tiny.unconsumed(), 1u);
  EXPECT_GE(rig.device(0).counters().cq_overruns.value(), 1u);
  ASSERT_TRUE(calm.produce());
  EXPECT_EQ(next_status(rig, other), PVRDMA_WC_WR_FLUSH_ERR);
}

TEST(Flood, EventsNobodyReadsDoNotGrowWithoutBound) {
  RigOptions options;
  options.vms = 1;
  TestRig rig(options);
  FakeGuest& guest = rig.guest();
  FakePd& pd = guest.create_pd(guest.kernel());
  FakeCq& cq = guest.create_cq(guest.kernel(), 64);
  FlushSource source(guest, pd, cq);
  pvrdma_cqe completion{};
  for (int i = 0; i < 50'000; ++i) {
    cq.arm();
    ASSERT_TRUE(source.produce());
    rig.run_until_idle();
    while (cq.take(completion)) {
    }
  }
  // 1,024 are in the ring; what waits behind is at most one per queue and kind.
  std::uint64_t delivered = 0;
  for (int i = 0; i < 1000; ++i) {
    while (guest.take_notification()) ++delivered;
    rig.advance(milliseconds(5));
  }
  EXPECT_GE(delivered, 1024u);
  EXPECT_LE(delivered, 1024u + 16384u + 64u);
}

// ---- Shared regions that are not shared ----

TEST(SharedRegion, AllZeroMemoryIsRefusedAtActivate) {
  // What a VMM without share=on gives us: memory the guest never writes to.
  RigOptions options;
  options.vms = 1;
  options.boot = false;
  TestRig rig(options);
  GuestMachine& machine = rig.machine();
  machine.set_bus_master(true);
  const std::uint64_t empty = machine.ram().allocate(1);
  machine.write_register(kRegDsrLow, static_cast<std::uint32_t>(empty));
  machine.write_register(kRegDsrHigh, static_cast<std::uint32_t>(empty >> 32));
  EXPECT_NE(rig.guest().activate(), 0u);
  EXPECT_FALSE(rig.device().active());
  ASSERT_TRUE(rig.boot(0));
}

TEST(SharedRegion, AllZeroMemoryIsNamedWithItsRemedy) {
  RigOptions options;
  options.vms = 1;
  options.boot = false;
  TestRig rig(options);
  rig.machine().set_bus_master(true);
  const std::uint64_t empty = rig.machine().ram().allocate(1);
  std::ostringstream text;
  const auto before = spdlog::default_logger();
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(
      "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(text)));
  rig.machine().write_register(kRegDsrLow, static_cast<std::uint32_t>(empty));
  rig.machine().write_register(kRegDsrHigh, static_cast<std::uint32_t>(empty >> 32));
  spdlog::set_default_logger(before);
  EXPECT_NE(text.str().find("share=on"), std::string::npos) << text.str();
}

TEST(SharedRegion, APostedWriteToDsrHighIsNoticed) {
  RigOptions options;
  options.vms = 1;
  options.boot = false;
  TestRig rig(options);
  FakeGuest& guest = rig.guest();
  rig.machine().set_bus_master(true);
  guest.allocate_shared();
  rig.machine().post_register(kRegDsrLow, static_cast<std::uint32_t>(guest.shared_address()));
  rig.machine().post_register(kRegDsrHigh,
                              static_cast<std::uint32_t>(guest.shared_address() >> 32));
  EXPECT_EQ(rig.device().counters().posted_dsr_writes.value(), 1u);
  EXPECT_EQ(guest.activate(), 0u);
}

TEST(SharedRegion, RegionsOutsideMemoryAreRefused) {
  RigOptions options;
  options.vms = 1;
  options.boot = false;
  TestRig rig(options);
  GuestMachine& machine = rig.machine();
  machine.set_bus_master(true);
  const std::uint64_t end = GuestRam::kBase + machine.ram().size();
  for (const std::uint64_t at : {std::uint64_t{0}, end - 279, end, ~std::uint64_t{0} - 100,
                                 std::uint64_t{1} << 63, GuestRam::kBase - 100}) {
    machine.write_register(kRegDsrLow, static_cast<std::uint32_t>(at));
    machine.write_register(kRegDsrHigh, static_cast<std::uint32_t>(at >> 32));
    EXPECT_NE(rig.guest().activate(), 0u) << std::hex << at;
  }
  ASSERT_TRUE(rig.boot(0));
}

}  // namespace
}  // namespace paravane::fake
