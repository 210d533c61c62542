// The watch alone: when it looks, what it takes, and what it costs. What the words
// mean is tested with whole devices (tests/conformance).

#include "device/doorbell_watch.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "abi/ring_state.h"
#include "device/queues/queue_geometry.h"
#include "testing/solo_engine.h"

namespace paravane::device {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

struct DoorbellSink final : WordSink {
  QueuePair* resolve_qp_word(UserContext&, std::uint32_t word) override {
    qp_words.push_back(word);
    return nullptr;
  }
  SharedReceiveQueue* resolve_srq_word(UserContext&, std::uint32_t word) override {
    srq_words.push_back(word);
    return nullptr;
  }
  void on_cq_word(UserContext&, std::uint32_t word) override {
    cq_words.push_back(word);
    if (then) then();
  }
  std::function<void()> then;  // what the guest does meanwhile
  std::vector<std::uint32_t> qp_words;
  std::vector<std::uint32_t> srq_words;
  std::vector<std::uint32_t> cq_words;
};

class DoorbellWatchTest : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kPages = 256;

  DoorbellWatchTest()
      : guest_(
            ::mmap(nullptr, pages_->size(), PROT_READ | PROT_WRITE, MAP_SHARED, pages_->fd(), 0)) {}
  ~DoorbellWatchTest() override { ::munmap(guest_, pages_->size()); }

  void guest_stores(std::uint32_t page, std::uint32_t offset, std::uint32_t word) {
    std::memcpy(static_cast<std::byte*>(guest_) + page * 4096ull + offset, &word, sizeof(word));
  }
  void pass(Duration time) { clock_.now += time; }

  DeviceConfig config_;
  std::unique_ptr<DoorbellPages> pages_ = std::move(*DoorbellPages::create(kPages));
  void* guest_;
  TurnClock clock_{Instant(std::chrono::hours(1))};
  DeviceCounters counters_;
  DoorbellSink sink_;
  DoorbellWatch watch_{config_, *pages_, sink_, clock_, counters_};
};

TEST_F(DoorbellWatchTest, WithoutContextsThereIsNothingToWatch) {
  EXPECT_EQ(watch_.next_due(), kNever);
  EXPECT_FALSE(watch_.sweeping());
}

TEST_F(DoorbellWatchTest, TakesTheWordsOfAPage) {
  UserContext context{.handle = 1, .page = 5};
  watch_.add(context);
  guest_stores(5, 0, 0x4000'0002);
  guest_stores(5, 4, 0x4000'0009);
  guest_stores(5, 8, 0x4000'0007);
  watch_.poll();

  EXPECT_EQ(sink_.qp_words, std::vector<std::uint32_t>{0x4000'0002});
  EXPECT_EQ(sink_.cq_words, std::vector<std::uint32_t>{0x4000'0009});
  EXPECT_EQ(sink_.srq_words, std::vector<std::uint32_t>{0x4000'0007});
  EXPECT_EQ(context.completion_words, 1u);
  EXPECT_EQ(counters_.mapped_doorbells.value(), 3u);
}

TEST_F(DoorbellWatchTest, WordsFromBeforeTheContextAreNotTaken) {
  guest_stores(5, 0, 0x4000'0002);
  UserContext context{.handle = 1, .page = 5};
  watch_.add(context);
  watch_.poll();

  EXPECT_TRUE(sink_.qp_words.empty());
}

TEST_F(DoorbellWatchTest, TheWatchSlowsDownToTheCeiling) {
  UserContext context{.handle = 1, .page = 5};
  watch_.add(context);
  Duration last{};
  for (int i = 0; i < 5000 && last < config_.watch_ceiling; ++i) {
    watch_.poll();
    const Duration wait = watch_.next_due() - clock_.now;
    EXPECT_GE(wait, last);
    last = wait;
    clock_.now = watch_.next_due();
  }
  EXPECT_EQ(last, config_.watch_ceiling);
  EXPECT_LE(clock_.now - context.last_work, milliseconds(12));
}

TEST_F(DoorbellWatchTest, AHammeredPageWithoutWorkIsLookedAtOncePerInterval) {
  UserContext context{.handle = 1, .page = 5};
  watch_.add(context);
  watch_.poll();
  pass(milliseconds(100));
  watch_.poll();
  sink_.qp_words.clear();
  for (int i = 0; i < 10'000; ++i) {  // 10 ms, a turn each microsecond
    guest_stores(5, 0, 0x4000'0002);
    watch_.poll();
    pass(microseconds(1));
  }
  EXPECT_LE(sink_.qp_words.size(), 12u);
  EXPECT_GE(sink_.qp_words.size(), 9u);
}

TEST_F(DoorbellWatchTest, WorkBringsTheCloseWatchBack) {
  UserContext context{.handle = 1, .page = 5};
  watch_.add(context);
  watch_.poll();
  pass(milliseconds(100));
  watch_.poll();
  ASSERT_GT(watch_.next_due(), clock_.now + microseconds(900));
  watch_.on_work(context);
  EXPECT_LE(watch_.next_due(), clock_.now);
  for (int i = 0; i < 5; ++i) {
    guest_stores(5, 4, 0x8000'0001);
    watch_.poll();
    pass(Duration(10));
  }
  EXPECT_EQ(sink_.cq_words.size(), 5u) << "every turn";
}

TEST_F(DoorbellWatchTest, WorkIsFollowedByALookHoweverLateTheNextTurnComes) {
  UserContext context{.handle = 1, .page = 5};
  watch_.add(context);
  watch_.poll();
  pass(milliseconds(100));
  watch_.poll();
  watch_.on_work(context);
  pass(microseconds(500));  // the worker had other things to do
  guest_stores(5, 0, 0x4000'0002);
  watch_.poll();

  EXPECT_EQ(sink_.qp_words.size(), 1u);
}

TEST_F(DoorbellWatchTest, PagesPerTurnAreBoundedAndAllHaveTheirTurn) {
  std::vector<UserContext> contexts(200);
  for (std::uint32_t i = 0; i < contexts.size(); ++i) {
    contexts[i].handle = contexts[i].page = i + 1;
    watch_.add(contexts[i]);
  }
  watch_.poll();
  pass(milliseconds(100));
  for (std::uint32_t i = 0; i < contexts.size(); ++i) guest_stores(i + 1, 0, i + 1);
  sink_.qp_words.clear();
  watch_.poll();
  EXPECT_EQ(sink_.qp_words.size(), 64u);
  EXPECT_LE(watch_.next_due(), clock_.now) << "the rest is due at once";
  for (int i = 0; i < 3; ++i) watch_.poll();
  EXPECT_EQ(sink_.qp_words.size(), 200u);
}

// A queue pair in ERR, to which a guest posts for as long as it is looked at.
class BusyQueuePair {
 public:
  explicit BusyQueuePair(fake::SoloEngine& engine) : engine_(engine) {
    abi::CreateQpCommand command{};
    command.max_send_wr.set(1);
    command.max_send_sge.set(1);
    command.max_recv_wr.set(kDepth);
    command.max_recv_sge.set(1);
    const auto receive_pages = ring_pages(kDepth, receive_stride(1));
    command.send_chunks.set(1);
    command.total_chunks.set(static_cast<std::uint16_t>(2 + receive_pages));
    const QueueGeometry geometry = *queue_geometry(command, {});
    pages_ = engine_.vm().ram().contiguous_pages(geometry.pages);
    qp_ = std::make_unique<QueuePair>(QueuePair::Spec{.handle = 1,
                                                      .context = 1,
                                                      .protection_domain = 0,
                                                      .caps = {1, kDepth, 1, 1},
                                                      .send_cq = &cq_,
                                                      .receive_cq = &cq_},
                                      list(pages_), geometry, counters_.broken_rings);
    qp_->set_engine(*engine_.adapter().create_qp({.pd = engine_.vm().pd(),
                                                  .tag = 1,
                                                  .send_cq = &cq_,
                                                  .receive_cq = &cq_,
                                                  .work = qp_.get()}));
    for (const auto state : {verbs::QpState::kInit, verbs::QpState::kError}) {
      EXPECT_TRUE(fake::move(qp_->engine(), state, fake::default_attributes()));
    }
  }
  QueuePair& qp() { return *qp_; }
  void post() { engine_.vm().ram().store(pages_.at(abi::kRxProducerAt), ++posted_); }

 private:
  struct Silent final : CompletionSink {
    void on_completion(CompletionQueue&, bool) override {}
    std::optional<std::uint64_t> may_hold(CompletionQueue&) override { return 1; }
    void on_released(std::size_t) override {}
    void forget_qp(std::uint32_t) override {}
    bool is_void(std::uint32_t, std::uint64_t) const override { return false; }
    void on_overrun(CompletionQueue&, bool) override {}
  };
  static constexpr std::uint32_t kDepth = 1024;
  PageList list(const TestPages& pages) {
    return *PageList::from_directory(engine_.vm().memory(), pages.directory, pages.count(),
                                     Rights::kReadWrite);
  }

  fake::SoloEngine& engine_;
  DeviceCounters counters_;
  Silent sink_;
  TestPages cq_pages_ = engine_.vm().ram().contiguous_pages(2);
  CompletionQueue cq_{{.handle = 1, .owner = nullptr, .entries = 4}, list(cq_pages_), sink_};
  TestPages pages_;
  std::unique_ptr<QueuePair> qp_;
  std::uint32_t posted_ = 0;
};

TEST_F(DoorbellWatchTest, WordsStoredInTheMiddleOfASweepAreOneSweepMore) {
  fake::SoloEngine engine;
  BusyQueuePair busy(engine);
  UserContext context{.handle = 1, .page = 5};
  context.holdings.queue_pairs.push_back(&busy.qp());
  // The guest's other processor is always a step ahead.
  sink_.then = [&] {
    busy.post();
    guest_stores(5, 4, 0x4000'0009);
  };
  watch_.add(context);
  sink_.then();
  std::size_t most = 0;
  for (int i = 0; i < 7; ++i) {
    const std::size_t before = sink_.cq_words.size();
    watch_.poll();
    most = std::max(most, sink_.cq_words.size() - before);
  }
  EXPECT_LE(most, 3u) << "in a turn";
  watch_.remove(context);
}

// Shared receive queues that nothing waits for.
class SharedQueues {
 public:
  SharedQueues(fake::SoloEngine& engine, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const TestPages pages = engine.vm().ram().contiguous_pages(2);
      PageList list = *PageList::from_directory(engine.vm().memory(), pages.directory,
                                                pages.count(), Rights::kReadWrite);
      const SharedReceiveQueue::Spec spec{.handle = i, .context = 1, .requests = 8, .sges = 1};
      queues_.push_back(std::make_unique<SharedReceiveQueue>(spec, std::move(list), silent_,
                                                             counters_.broken_rings));
    }
  }
  std::vector<std::unique_ptr<SharedReceiveQueue>>& queues() { return queues_; }

 private:
  struct Silent final : SharedReceiveEvents {
    void on_limit_reached(std::uint32_t) override {}
    void on_shared_receive_error(std::uint32_t) override {}
  };
  DeviceCounters counters_;
  Silent silent_;
  std::vector<std::unique_ptr<SharedReceiveQueue>> queues_;
};

// One queue pair has work in each turn, a hundred have none.
class SweepTest : public DoorbellWatchTest {
 protected:
  static constexpr std::uint32_t kIdle = 100;

  SweepTest() {
    for (std::uint32_t i = 0; i <= kIdle; ++i) {
      queue_pairs_.push_back(std::make_unique<BusyQueuePair>(engine_));
      context_.holdings.queue_pairs.push_back(&queue_pairs_.back()->qp());
    }
    watch_.add(context_);
    pass(milliseconds(1));
  }
  ~SweepTest() override { watch_.remove(context_); }

  // A turn in which the busy one has work; how many queues were looked at for its doorbell.
  std::uint32_t turn() {
    queue_pairs_[0]->post();
    guest_stores(5, 0, 0x4000'0001);
    watch_.look_at_hot();
    const std::uint32_t looks = watch_.poll();
    pass(microseconds(1));
    return looks;
  }

  fake::SoloEngine engine_;
  std::vector<std::unique_ptr<BusyQueuePair>> queue_pairs_;
  UserContext context_{.handle = 1, .page = 5};
};

TEST_F(SweepTest, IdleQueuePairsCostABusyOneALookPerTurn) {
  for (int i = 0; i < 100; ++i) turn();  // what may be spent in vain is spent
  std::uint32_t looks = 0;
  for (int i = 0; i < 100; ++i) looks += turn();
  EXPECT_GE(looks, 100u);
  EXPECT_LE(looks, 400u) << "beside the pages";
}

TEST_F(SweepTest, AQueuePairWhoseDoorbellWasLostIsFoundBesideABusyOne) {
  for (int i = 0; i < 100; ++i) turn();
  queue_pairs_[77]->post();
  for (std::uint32_t i = 0; i <= kIdle; ++i) turn();
  EXPECT_FALSE(queue_pairs_[77]->qp().look()) << "it was looked at";
}

// Shared receive queues that are posted to all the time must not take all looks.
TEST_F(SweepTest, SharedReceiveQueuesLeaveLooksToQueuePairs) {
  SharedQueues shared(engine_, 16);
  for (auto& queue : shared.queues())
    context_.holdings.shared_receive_queues.push_back(queue.get());
  for (int i = 0; i < 100; ++i) turn();
  queue_pairs_[77]->post();
  for (std::uint32_t i = 0; i <= 3 * kIdle; ++i) {
    guest_stores(5, 8, 0x4000'0003);
    turn();
  }
  EXPECT_FALSE(queue_pairs_[77]->qp().look()) << "it was looked at";
  context_.holdings.shared_receive_queues.clear();
}

TEST_F(SweepTest, ASliceIsLookedAtEachMillisecondHoweverLongTurnsAre) {
  for (int i = 0; i < 100; ++i) turn();
  queue_pairs_[50]->post();
  for (int i = 0; i < 60; ++i) {  // with one look each it would not be reached
    pass(microseconds(17));
    turn();
  }
  EXPECT_FALSE(queue_pairs_[50]->qp().look()) << "it was looked at";
}

TEST_F(SweepTest, AllAreLookedAtAtOnceWhereNothingIsBusy) {
  queue_pairs_[77]->post();
  guest_stores(5, 0, 0x4000'0001);
  EXPECT_GE(watch_.poll(), kIdle);
  EXPECT_FALSE(queue_pairs_[77]->qp().look()) << "it was looked at";
}

TEST_F(SweepTest, ManyThatHaveWorkAreAllFoundSoon) {
  for (int i = 0; i < 100; ++i) turn();
  for (auto& queue_pair : queue_pairs_) queue_pair->post();
  for (int i = 0; i < 8; ++i) turn();
  for (auto& queue_pair : queue_pairs_) EXPECT_FALSE(queue_pair->qp().look());
}

TEST_F(DoorbellWatchTest, AContextThatIsGoneIsNotLookedAt) {
  UserContext context{.handle = 1, .page = 5};
  watch_.add(context);
  watch_.remove(context);
  guest_stores(5, 0, 1);
  watch_.poll();

  EXPECT_TRUE(sink_.qp_words.empty());
  EXPECT_EQ(watch_.next_due(), kNever);
}

TEST_F(DoorbellWatchTest, TrappedModeWatchesNothing) {
  DeviceConfig trapped;
  trapped.doorbells = DoorbellMode::kTrapped;
  DoorbellWatch watch(trapped, *pages_, sink_, clock_, counters_);
  UserContext context{.handle = 1, .page = 5};
  watch.add(context);
  guest_stores(5, 0, 1);
  watch.poll();

  EXPECT_TRUE(sink_.qp_words.empty());
  EXPECT_EQ(watch.next_due(), kNever);
}

}  // namespace
}  // namespace paravane::device
