#include "base/mailbox.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <new>
#include <string>
#include <thread>

namespace paravane {
namespace {

using std::chrono::milliseconds;

TEST(Mailbox, DeliversInOrderAndWakes) {
  int wakes = 0;
  Mailbox mailbox([&wakes] { ++wakes; });
  std::string seen;
  mailbox.post([&seen] { seen += 'a'; });
  mailbox.post([&seen] { seen += 'b'; });
  EXPECT_EQ(wakes, 2);
  EXPECT_TRUE(mailbox.waiting());
  mailbox.deliver();
  EXPECT_EQ(seen, "ab");
  EXPECT_FALSE(mailbox.waiting());
}

TEST(Mailbox, MessageMayPostAnother) {
  Mailbox mailbox([] {});
  int runs = 0;
  mailbox.post([&] { mailbox.post([&runs] { ++runs; }); });
  mailbox.deliver();
  EXPECT_EQ(runs, 0);
  mailbox.deliver();
  EXPECT_EQ(runs, 1);
}

TEST(Mailbox, DropsWhatComesAfterItIsClosed) {
  Mailbox mailbox([] {});
  mailbox.close();
  EXPECT_FALSE(mailbox.post([] {}));
  EXPECT_FALSE(mailbox.ask([] { return 1; }, milliseconds(1)));
}

TEST(Mailbox, AnswersAcrossThreads) {
  std::atomic<bool> done{false};
  Mailbox mailbox([] {});
  std::thread owner([&] {
    while (!done) mailbox.deliver();
  });
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(mailbox.ask([i] { return i * 2; }, milliseconds(60'000)), i * 2);
  }
  done = true;
  owner.join();
}

TEST(Mailbox, WhatHasNotBegunInTimeNeverRuns) {
  Mailbox mailbox([] {});
  auto value = std::make_shared<int>(0);
  EXPECT_FALSE(mailbox.ask([value] { return ++*value; }, milliseconds(1)));
  mailbox.deliver();
  EXPECT_EQ(*value, 0);
}

TEST(Mailbox, WhoAskedHasTheExceptionAndTheOwnerGoesOn) {
  Mailbox mailbox([] {});
  std::atomic<bool> done{false};
  std::atomic<std::size_t> failed{0};
  std::thread owner([&] {
    while (!done) failed += mailbox.deliver();
  });
  EXPECT_THROW(mailbox.ask([]() -> int { throw std::bad_alloc(); }, milliseconds(60'000)),
               std::bad_alloc);
  EXPECT_EQ(mailbox.ask([] { return 7; }, milliseconds(60'000)), 7);
  done = true;
  owner.join();
  EXPECT_EQ(failed, 1u);
}

TEST(Mailbox, AMessageWithoutMemoryCostsTheOthersNothing) {
  Mailbox mailbox([] {});
  int ran = 0;
  mailbox.post([] { throw std::bad_alloc(); });
  mailbox.post([&] { ++ran; });
  EXPECT_EQ(mailbox.deliver(), 1u);
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(mailbox.deliver(), 0u);
}

TEST(Mailbox, WhatHasBegunIsWaitedFor) {
  Mailbox mailbox([] {});
  std::atomic<bool> done{false};
  std::thread owner([&] {
    while (!done) mailbox.deliver();
  });
  std::atomic<bool> begun{false};
  std::optional<int> answer;
  while (!begun) {  // on a busy machine it may not begin in time, and then does not run
    answer = mailbox.ask(
        [&begun] {
          begun = true;
          std::this_thread::sleep_for(milliseconds(60));
          return 7;
        },
        milliseconds(20));
  }
  EXPECT_EQ(answer, 7);
  done = true;
  owner.join();
}

}  // namespace
}  // namespace paravane
