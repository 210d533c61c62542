// What the guest's kernel had under way when the engine was killed: each request completes once.

#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "test_rig.h"

namespace paravane::fake {
namespace {

constexpr std::uint32_t kDepth = 16;
constexpr std::uint64_t kReceives = 1'000'000;  // wr_ids of receives are above

RigOptions with_journals(unsigned hand_over_every = 0) {
  RigOptions options;
  options.journals = true;
  options.hand_over_every = hand_over_every;
  return options;
}

EndOptions of_kernel(std::uint32_t cq_entries = 64) {
  EndOptions options{.kernel = true, .cq_entries = cq_entries};
  options.queues.max_send_wr = kDepth;
  options.queues.max_recv_wr = kDepth;
  return options;
}

void lose(TestRig& rig, unsigned vm) {
  rig.kill(vm);
  ASSERT_TRUE(rig.device(vm).lost());
  rig.machine(vm).take_interrupt(0);  // its driver waits for no command
}

// The requests of a kernel's queue pair, of which each has to complete once and in order.
class Posted {
 public:
  explicit Posted(FakeEnd& end) : end_(end) {}

  void send(bool signaled = true) {
    if (sends_.size() == kDepth ||
        !end_.send(next_, 0, 64, signaled ? std::uint32_t{kSendSignaled} : 0u))
      return;
    sends_.push_back({next_++, signaled});
  }
  void receive() {
    if (receives_.size() == kDepth || !end_.receive(kReceives + next_)) return;
    receives_.push_back(kReceives + next_++);
  }

  // Takes what has completed. `after_all`: those that are left have been flushed.
  void take() {
    pvrdma_cqe cqe{};
    while (end_.cq().take(cqe)) {
      ASSERT_EQ(cqe.qp, end_.qp().handle);
      if (cqe.wr_id >= kReceives) {
        ASSERT_FALSE(receives_.empty()) << "a second completion of receive " << cqe.wr_id;
        ASSERT_EQ(cqe.wr_id, receives_.front());
        receives_.pop_front();
        continue;
      }
      // What was posted before without a signal is done, too.
      while (!sends_.empty() && sends_.front().wr_id != cqe.wr_id && !sends_.front().signaled) {
        sends_.pop_front();
      }
      ASSERT_FALSE(sends_.empty()) << "a second completion of send " << cqe.wr_id;
      ASSERT_EQ(cqe.wr_id, sends_.front().wr_id);
      ASSERT_TRUE(sends_.front().signaled || cqe.status != PVRDMA_WC_SUCCESS);
      sends_.pop_front();
      flushed_ += cqe.status == PVRDMA_WC_WR_FLUSH_ERR ? 1 : 0;
    }
  }
  std::size_t left() const { return sends_.size() + receives_.size(); }
  std::size_t sends() const { return sends_.size(); }
  std::size_t flushed() const { return flushed_; }

 private:
  struct Send {
    std::uint64_t wr_id;
    bool signaled;
  };
  FakeEnd& end_;
  std::uint64_t next_ = 1;
  std::size_t flushed_ = 0;
  std::deque<Send> sends_;
  std::deque<std::uint64_t> receives_;
};

TEST(LostQueues, WhatTheKernelHasUnderWayCompletesInErrorOnce) {
  TestRig rig(with_journals());
  FakeEnd a(rig.guest(0), of_kernel());
  FakeEnd b(rig.guest(1), of_kernel());
  ASSERT_TRUE(connect(a, b));
  Posted ours(a);
  Posted theirs(b);
  for (int i = 0; i < 6; ++i) theirs.receive();
  for (int i = 0; i < 5; ++i) ours.receive();
  for (int i = 0; i < 10; ++i) ours.send();
  rig.advance(std::chrono::microseconds(100));  // four wait for a receive
  ours.take();
  EXPECT_EQ(ours.sends(), 4u);
  a.cq().arm();
  lose(rig, 0);
  rig.run_until_idle();
  rig.guest(0).handle_interrupts();
  EXPECT_GT(a.cq().events(), 0u);
  ours.take();
  EXPECT_EQ(ours.left(), 0u);
  EXPECT_EQ(ours.flushed(), 4u);
}

// Linux's connection manager takes one that was flushed for one that was sent, and waits for its
// answer.
TEST(LostQueues, DatagramsFailAsNotSent) {
  TestRig rig(with_journals());
  FakeGuest& guest = rig.guest(0);
  EndOptions options{.kernel = true};
  options.queues.type = kTypeGsi;
  FakeEnd end(guest, options);
  constexpr std::uint32_t kKey = 0x80010000;
  ASSERT_TRUE(guest.start_datagrams(end.qp(), kKey));
  const auto send = [&](std::uint64_t wr_id) {
    const pvrdma_av av = guest.address_vector(end.pd(), rig.guest(1).gid());
    return end.post({.wr_id = wr_id, .remote_qpn = 1, .remote_qkey = kKey, .av = &av, .sges = {}},
                    0, 64);
  };
  ASSERT_TRUE(send(1));  // as the engine is killed
  lose(rig, 0);
  rig.run_until_idle();
  ASSERT_TRUE(send(2));
  rig.run_until_idle();
  for (const std::uint64_t wr_id : {1u, 2u}) {
    pvrdma_cqe completion{};
    ASSERT_TRUE(end.cq().take(completion));
    EXPECT_EQ(completion.wr_id, wr_id);
    EXPECT_EQ(completion.status, +PVRDMA_WC_FATAL_ERR);
  }
}

// As ib_drain_qp() does it, and then the driver's remove().
TEST(LostQueues, AKernelDrainsAndDestroysThem) {
  TestRig rig(with_journals());
  FakeGuest& guest = rig.guest(0);
  FakeEnd a(guest, of_kernel());
  FakeEnd b(rig.guest(1), of_kernel());
  ASSERT_TRUE(connect(a, b));
  lose(rig, 0);
  rig.run_until_idle();
  Posted ours(a);
  ASSERT_TRUE(guest.to_state(a.qp(), kStateErr));
  ours.receive();
  ours.send();
  rig.run_until_idle();
  ours.take();
  EXPECT_EQ(ours.left(), 0u);
  EXPECT_EQ(ours.flushed(), 1u);
  DestroyQp qp{};
  qp.handle = a.qp().handle;
  DestroyCq cq{};
  cq.handle = a.cq().handle;
  EXPECT_TRUE(guest.run(qp).accepted());
  EXPECT_FALSE(guest.run(qp).accepted());
  // Its memory is the kernel's again.
  a.qp().post_send({.wr_id = 7, .sges = {}});
  rig.run_until_idle();
  EXPECT_EQ(a.cq().unconsumed(), 0u);
  EXPECT_TRUE(guest.run(cq).accepted());
  EXPECT_FALSE(guest.run(cq).accepted());
  guest.forget_everything();
}

TEST(LostQueues, OtherStatesAndCommandsAreRefused) {
  TestRig rig(with_journals());
  FakeGuest& guest = rig.guest(0);
  FakeEnd a(guest, of_kernel());
  ASSERT_TRUE(guest.to_init(a.qp()));
  lose(rig, 0);
  EXPECT_FALSE(guest.to_rts(a.qp()));
  EXPECT_TRUE(guest.to_state(a.qp(), kStateErr));
  CreatePd pd{};
  EXPECT_FALSE(guest.run(pd).accepted());
  DestroyMr mr{};
  mr.handle = a.buffer().handle;
  EXPECT_FALSE(guest.run(mr).accepted());
  Posted ours(a);
  ASSERT_TRUE(guest.to_reset(a.qp()));
  ours.receive();
  rig.run_until_idle();
  EXPECT_EQ(ours.left(), 1u) << "a queue pair in RESET was read";
  guest.forget_everything();
}

TEST(LostQueues, AFullCompletionQueueIsWaitedFor) {
  TestRig rig(with_journals());
  FakeEnd a(rig.guest(0), of_kernel(4));
  FakeEnd b(rig.guest(1), of_kernel());
  ASSERT_TRUE(connect(a, b));
  Posted ours(a);
  for (std::uint32_t i = 0; i < kDepth; ++i) {
    ours.send();
    ours.receive();
  }
  lose(rig, 0);
  for (int i = 0; i < 20 && ours.left() > 0; ++i) {
    rig.advance(std::chrono::milliseconds(20));
    ours.take();
  }
  EXPECT_EQ(ours.left(), 0u);
}

// A VMM may be changing the map when the engine is killed.
TEST(LostQueues, WhatIsNotShownIsFoundWhenItIs) {
  TestRig rig(with_journals());
  FakeEnd a(rig.guest(0), of_kernel());
  FakeEnd b(rig.guest(1), of_kernel());
  ASSERT_TRUE(connect(a, b));
  Posted ours(a);
  for (int i = 0; i < 4; ++i) {
    ours.send();
    ours.receive();
  }
  GuestMachine& machine = rig.machine(0);
  for (const std::uint64_t hidden : {a.qp().pages().directory, a.cq().pages().tables.front(),
                                     rig.guest(0).notification_pages().directory}) {
    machine.unmap_part(hidden, kPage);
  }
  a.cq().arm();
  lose(rig, 0);
  rig.run_until_idle();
  ours.take();
  EXPECT_EQ(ours.left(), 8u);
  ASSERT_TRUE(machine.map_part(a.cq().pages().tables.front(), kPage));
  rig.run_until_idle();
  ours.take();
  EXPECT_EQ(ours.left(), 8u);
  ASSERT_TRUE(machine.map_part(a.qp().pages().directory, kPage));
  rig.run_until_idle();
  ours.take();
  EXPECT_EQ(ours.left(), 0u);
  rig.guest(0).handle_interrupts();
  EXPECT_EQ(a.cq().events(), 0u);
  ASSERT_TRUE(machine.map_part(rig.guest(0).notification_pages().directory, kPage));
  rig.run_until_idle();
  rig.guest(0).handle_interrupts();
  EXPECT_GT(a.cq().events(), 0u);
}

TEST(LostQueues, AQueuePairStandsStillWithoutItsCompletionQueue) {
  TestRig rig(with_journals());
  FakeGuest& guest = rig.guest(0);
  FakeEnd a(guest, of_kernel());
  FakeEnd b(rig.guest(1), of_kernel());
  ASSERT_TRUE(connect(a, b));
  lose(rig, 0);
  rig.run_until_idle();
  DestroyCq cq{};
  cq.handle = a.cq().handle;
  EXPECT_TRUE(guest.run(cq).accepted());
  EXPECT_FALSE(guest.run(cq).accepted());
  Posted ours(a);
  ours.send();
  rig.run_until_idle();
  EXPECT_EQ(a.cq().unconsumed(), 0u);
  lose(rig, 0);  // and what took its place
  ours.send();
  rig.run_until_idle();
  EXPECT_EQ(a.cq().unconsumed(), 0u);
  DestroyQp qp{};
  qp.handle = a.qp().handle;
  EXPECT_TRUE(guest.run(qp).accepted());
  guest.forget_everything();
}

TEST(LostQueues, ProgramsHaveNone) {
  TestRig rig(with_journals());
  FakeEnd a(rig.guest(0));
  ASSERT_TRUE(rig.guest(0).to_init(a.qp()));
  ASSERT_TRUE(a.receive(1));
  lose(rig, 0);
  rig.run_until_idle();
  rig.settle();
  EXPECT_EQ(a.cq().unconsumed(), 0u);
  EXPECT_FALSE(rig.guest(0).to_state(a.qp(), kStateErr));
  rig.guest(0).forget_everything();
}

// Several queue pairs on few queues, in any traffic, with engines that are upgraded and killed.
TEST(LostQueues, EachRequestCompletesOnceWhateverWasUnderWay) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto roll = [&](unsigned sides) {
      return std::uniform_int_distribution(0u, sides - 1)(random);
    };
    TestRig rig(with_journals(roll(6) == 0 ? 5 + roll(40) : 0));
    std::vector<std::unique_ptr<FakeEnd>> ends;
    std::vector<Posted> posted;
    for (unsigned i = 0; i < 6; ++i) {
      ends.push_back(std::make_unique<FakeEnd>(rig.guest(i % 2), of_kernel(4u << roll(5))));
    }
    for (unsigned i = 0; i < 6; i += 2) ASSERT_TRUE(connect(*ends[i], *ends[i + 1]));
    for (auto& end : ends) posted.emplace_back(*end);
    for (unsigned steps = 20 + roll(100); steps > 0; --steps) {
      Posted& one = posted[roll(6)];
      switch (roll(5)) {
        case 0: one.receive(); break;
        case 1: one.send(); break;
        case 2: one.send(roll(2) == 0); break;
        case 3: one.take(); break;
        default: rig.turn(std::chrono::microseconds(roll(200))); break;
      }
    }
    lose(rig, 0);
    if (roll(2) == 0) rig.turn(std::chrono::microseconds(1));
    if (roll(2) == 0) lose(rig, 0);  // and what took its place
    if (roll(3) == 0) rig.hand_over(0);
    const auto left = [&] { return posted[0].left() + posted[2].left() + posted[4].left(); };
    for (unsigned i = 0; i < 100 && left() > 0; ++i) {
      rig.advance(std::chrono::milliseconds(11));
      for (unsigned end = 0; end < 6; end += 2) posted[end].take();
    }
    for (unsigned end = 0; end < 6; end += 2) EXPECT_EQ(posted[end].left(), 0u) << end;
    if (HasFailure()) return;
  }
}

// The engine that was killed may have been a guest's.
TEST(LostQueues, AJournalOfAnEnemyIsHarmless) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto roll = [&](unsigned sides) {
      return std::uniform_int_distribution(0u, sides - 1)(random);
    };
    TestRig rig(with_journals());
    FakeEnd a(rig.guest(0), of_kernel(4u << roll(5)));
    FakeEnd b(rig.guest(1), of_kernel());
    ASSERT_TRUE(connect(a, b));
    ASSERT_TRUE(a.receive(kReceives));
    const int file = rig.journal(0).fd();
    const off_t end = ::lseek(file, 0, SEEK_END);
    constexpr off_t kRecords = 4096;
    for (unsigned changes = 1 + roll(64); changes > 0; --changes) {
      constexpr std::uint32_t kOdd[] = {0, 1, 2, 15, 16, 255, 4096, 65535, 1u << 30, 1u << 31, ~0u};
      const std::uint32_t word =
          roll(2) == 0 ? kOdd[roll(std::size(kOdd))] : static_cast<std::uint32_t>(random());
      const bool is_head = roll(4) == 0;
      off_t at = is_head ? roll(10) * 4 : kRecords + off_t{roll(64)} * 4;
      if (!is_head && roll(2) == 0) {  // of queue pairs
        const device::DeviceLimits limits;
        at = end - off_t{limits.queue_pairs} * 56 + off_t{roll(64)} * 4;
      }
      ASSERT_EQ(::pwrite(file, &word, sizeof word, at), ssize_t{sizeof word});
    }
    lose(rig, 0);
    for (int i = 0; i < 200; ++i) {
      rig.turn(std::chrono::microseconds(100));
      EXPECT_LE(rig.device(0).last_touched(), device::TurnEffort::kMost);
    }
    rig.guest(0).to_state(a.qp(), kStateErr);
    DestroyCq cq{};
    cq.handle = a.cq().handle;
    rig.guest(0).run(cq);
    rig.guest(0).forget_everything();
    ASSERT_TRUE(rig.boot(0));
    EXPECT_FALSE(rig.device(0).lost());
    if (HasFailure()) return;
  }
}

// Runs `work` in a process of its own, which is killed after so many instructions. Returns how many
// there were until then, or until its end.
template <typename Work>
long run_and_kill(long instructions, Work work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::raise(SIGSTOP);
    work();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  long done = 0;
  for (; WIFSTOPPED(status) && done < instructions; ++done) {
    ::ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr);
    ::waitpid(child, &status, 0);
  }
  if (WIFSTOPPED(status)) {
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
  }
  return done;
}

// All that the processes share is as after a kill: guest memory, interrupts, doorbells and
// journals.
TEST(LostQueues, AKillAtAnyInstructionCompletesEachRequestOnce) {
  constexpr int kTrials = 40;
  long longest = 0;
  std::size_t flushed = 0;
  std::size_t done = 0;
  std::mt19937 random(1);
  for (int trial = 0; trial < kTrials; ++trial) {
    SCOPED_TRACE(trial);
    TestRig rig(with_journals());
    FakeEnd a(rig.guest(0), of_kernel(16));
    FakeEnd b(rig.guest(1), of_kernel(16));
    ASSERT_TRUE(connect(a, b));
    Posted ours(a);
    Posted theirs(b);
    for (int i = 0; i < 6; ++i) {
      ours.receive();
      theirs.receive();
      ours.send(i % 3 != 0);
      theirs.send(i % 2 != 0);
    }
    const bool is_first = trial == 0;  // which comes to its end
    const long instructions =
        is_first ? 10'000'000 : std::uniform_int_distribution(1l, longest)(random);
    const auto run = [&] {
      for (int turn = 0; turn < 4; ++turn) rig.step();
    };
    const long ran = run_and_kill(instructions, run);
    if (is_first) longest = ran;
    for (const unsigned vm : {0u, 1u}) lose(rig, vm);
    rig.run_until_idle();
    ours.take();
    theirs.take();
    EXPECT_EQ(ours.left(), 0u) << instructions << " instructions";
    EXPECT_EQ(theirs.left(), 0u) << instructions << " instructions";
    flushed += ours.flushed() + theirs.flushed();
    done += 24;
    if (HasFailure()) return;
  }
  EXPECT_GT(flushed, 0u);
  EXPECT_LT(flushed, done);
}

}  // namespace
}  // namespace paravane::fake
