#include "device/journal/kernel_journal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

namespace paravane::device {
namespace {

using Queue = KernelJournal::Queue;

constexpr DeviceLimits kFewObjects{.queue_pairs = 64, .completion_queues = 32};
constexpr std::uint32_t kQp = 5;
constexpr std::uint32_t kCq = 3;

class KernelJournalTest : public testing::Test {
 protected:
  KernelJournalTest() {
    journal_.number_by([this] { return request_; });
    create();
  }
  // As a command of the driver, which is answered.
  void create() {
    journal_.begin_command();
    journal_.add_cq(kCq, {.directory = {0x1000}, .entries = 16});
    journal_.add_qp(kQp, {.directory = {0x2000}, .send_cq = kCq, .receive_cq = kCq});
    journal_.start_qp(kQp);
    journal_.end_command();
  }
  KernelJournal next() const {
    return *KernelJournal::take_over(UniqueFd(::fcntl(journal_.fd(), F_DUPFD_CLOEXEC, 0)),
                                     kFewObjects);
  }
  // That of a process that goes on after this one was killed.
  KernelJournal heir(std::uint64_t unanswered = KernelJournal::kNoRequest) const {
    KernelJournal journal = next();
    journal.begin_writing();
    journal.go_on(unanswered);
    return journal;
  }
  static std::uint32_t sends(const KernelJournal& journal) { return journal.undone(kQp)->send; }

  std::uint64_t request_ = 7;
  KernelJournal journal_ = *KernelJournal::make(kFewObjects);
};

TEST_F(KernelJournalTest, TellsWhatTheKernelHas) {
  const KernelJournal journal = heir();
  EXPECT_EQ(journal.cq(kCq)->directory.value, 0x1000u);
  EXPECT_EQ(journal.qp(kQp)->send_cq, kCq);
  EXPECT_FALSE(journal.cq(kCq - 1));
  EXPECT_FALSE(journal.qp(kQp - 1));
  EXPECT_FALSE(journal.qp(kFewObjects.queue_pairs));
}

TEST_F(KernelJournalTest, WhatTheGuestWillNotLearnOfIsDropped) {
  EXPECT_FALSE(heir(request_).qp(kQp)) << "its command is dealt with again, and fails";
  create();
  EXPECT_TRUE(heir(request_ + 1).qp(kQp)) << "another request is in hand";
  journal_.begin_command();
  journal_.add_qp(kQp + 1, {});
  EXPECT_FALSE(heir().qp(kQp + 1)) << "it has no response";
  EXPECT_TRUE(heir().qp(kQp));
}

TEST_F(KernelJournalTest, TheGuestsIndexDecidesWhatIsDone) {
  journal_.note(kCq, 30, kQp, Queue::kSend, 1);
  journal_.note(kCq, 30, kQp, Queue::kReceive, 1);
  journal_.note(kCq, 30, kQp, Queue::kSend, 4);
  for (const auto& [index, sent] : {std::pair{30u, 0u}, {31u, 1u}, {0u, 1u}, {1u, 4u}}) {
    KernelJournal other = next();  // which forgets what it changes
    other.settle_seen(kCq, index);
    EXPECT_EQ(sends(other), sent) << index;
  }
  KernelJournal far = next();
  far.settle_seen(kCq, 20);
  EXPECT_EQ(sends(far), 0u) << "no honest guest has such an index";
  journal_.settle(kCq);
  KernelJournal later = heir();
  later.settle_seen(kCq, 1);
  EXPECT_EQ(sends(later), 4u);
  EXPECT_EQ(later.undone(kQp)->receive, 1u);
}

TEST_F(KernelJournalTest, NothingIsWrittenBeforeTheOtherHasEnded) {
  KernelJournal other = next();
  other.clear();
  other.drop_qp(kQp);
  EXPECT_TRUE(journal_.qp(kQp));
  other.begin_writing();
  EXPECT_TRUE(other.qp(kQp)) << "what it changed is forgotten";
  journal_.end_writing();
  journal_.clear();
  EXPECT_TRUE(other.qp(kQp));
}

TEST_F(KernelJournalTest, OtherFilesAreRefused) {
  DeviceLimits more = kFewObjects;
  more.queue_pairs *= 2;
  const auto dup = [this] { return UniqueFd(::fcntl(journal_.fd(), F_DUPFD_CLOEXEC, 0)); };
  EXPECT_FALSE(KernelJournal::take_over(dup(), more));
  UniqueFd unsealed(::memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(unsealed.get(), ::lseek(journal_.fd(), 0, SEEK_END)), 0);
  EXPECT_FALSE(KernelJournal::take_over(std::move(unsealed), kFewObjects))
      << "it could become shorter under its reader";
}

}  // namespace
}  // namespace paravane::device
