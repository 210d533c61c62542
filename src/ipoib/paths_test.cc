#include "ipoib/paths.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "testing/subnet_administration.h"
#include "testing/subnet_rig.h"

namespace paravane::ipoib {
namespace {

namespace attribute = wire::infiniband::attribute;
namespace method = wire::infiniband::method;
using fake::SubnetAdministration;
using fake::SubnetRig;
using std::chrono::milliseconds;
using std::chrono::seconds;
using wire::infiniband::AdministrationStatus;
using wire::infiniband::Gid;
using wire::infiniband::Mtu;
using Miss = Paths::Miss;

constexpr std::uint16_t kPartitionOfAll = 0xFFFF;
constexpr std::uint16_t kFarLid = 0x100;
constexpr Gid kFarGid{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 1};

class RecordingPaths final : public Paths::Listener {
 public:
  void on_path(std::vector<Paths::WaitingFrame> frames) override {
    for (Paths::WaitingFrame& frame : frames) found.push_back(std::move(frame));
    if (then) then();
  }
  void on_no_path(std::size_t frames) override { lost += frames; }

  std::vector<Paths::WaitingFrame> found;
  std::size_t lost = 0;
  std::function<void()> then;
};

class PathsTest : public testing::Test {
 protected:
  PathsTest() { administration_.add_node(kFarLid, kFarGid); }

  static PathKey key(unsigned lid = kFarLid) {
    return {.partition = kPartitionOfAll, .lid = static_cast<std::uint16_t>(lid)};
  }
  static std::vector<std::byte> frame(std::size_t bytes, unsigned mark = 0) {
    return std::vector<std::byte>(bytes, static_cast<std::byte>(mark));
  }
  auto find(const PathKey& wanted, std::size_t bytes = 100, unsigned mark = 0) {
    return paths_->find(wanted, 0, frame(bytes, mark), is_heard_);
  }
  Miss miss(const PathKey& wanted, std::size_t bytes = 100) {
    const auto path = find(wanted, bytes);
    EXPECT_FALSE(path);
    return path ? Miss{} : path.error();
  }
  void settle() {
    do {
      ASSERT_TRUE(rig_.settle());
    } while (administration_.serve());
  }
  void advance(Duration duration) {
    for (; duration > Duration::zero(); duration -= milliseconds(500)) {
      rig_.clock.now += milliseconds(500);
      settle();
    }
  }
  void learn(unsigned lid = kFarLid) {
    ASSERT_EQ(miss(key(lid)), Miss::kWaits);
    settle();
    ASSERT_NE(paths_->known(key(lid)), nullptr);
    listener_.found.clear();
  }
  std::size_t questions() const {
    return administration_.asked_for(method::kGet, attribute::kPathRecord);
  }

  SubnetRig rig_;
  SubnetAdministration administration_{rig_.first.mads(1), rig_.manager, rig_.clock};
  AdministrationClient client_{rig_.second, subnet::PortNumber{1}, rig_.clock};
  RecordingPaths listener_;
  bool is_heard_ = true;
  std::unique_ptr<Paths> paths_ = std::make_unique<Paths>(client_, rig_.clock, listener_);
};

// ---- Found ----

TEST_F(PathsTest, FramesWaitForAPathAndComeBackInOrder) {
  administration_.use_path_level(6);
  administration_.use_path_mtu(Mtu::k2048);
  EXPECT_EQ(paths_->find(key(), 5, frame(10, 1), true).error(), Miss::kWaits);
  EXPECT_EQ(paths_->find(key(), 0, frame(20, 2), true).error(), Miss::kWaits);
  EXPECT_EQ(paths_->find(key(), 5, frame(30, 3), true).error(), Miss::kWaits);
  EXPECT_EQ(paths_->waiting_bytes(), 60u);
  EXPECT_EQ(paths_->known(key()), nullptr);
  settle();
  EXPECT_EQ(questions(), 1u);
  ASSERT_EQ(listener_.found.size(), 3u);
  // Two VLANs may be one partition, that of index 0: a frame stays in its own.
  EXPECT_EQ(listener_.found[0].vlan, 5);
  EXPECT_EQ(listener_.found[0].bytes, frame(10, 1));
  EXPECT_EQ(listener_.found[1].vlan, 0);
  EXPECT_EQ(listener_.found[1].bytes, frame(20, 2));
  EXPECT_EQ(listener_.found[2].vlan, 5);
  EXPECT_EQ(paths_->waiting_bytes(), 0u);
  EXPECT_EQ(paths_->open_questions(), 0u);
  const auto path = find(key());
  ASSERT_TRUE(path);
  EXPECT_EQ(path->gid, kFarGid);
  EXPECT_EQ(path->level, 6);
  EXPECT_EQ(path->mtu, 2048u);
  EXPECT_EQ(listener_.lost, 0u);
  EXPECT_EQ(questions(), 1u);
}

TEST_F(PathsTest, APartitionIsAskedForByItself) {
  learn();
  const PathKey other{.partition = 0x8005, .lid = kFarLid};
  EXPECT_EQ(paths_->known(other), nullptr);
  EXPECT_EQ(miss(other), Miss::kWaits);
  settle();
  ASSERT_EQ(questions(), 2u);
  EXPECT_EQ(administration_.asked().back().path.partition.get(), 0x8005);
}

TEST_F(PathsTest, WhatIsFoundMayLookForPaths) {
  administration_.add_node(kFarLid + 1, kFarGid);
  listener_.then = [this] {
    listener_.then = nullptr;
    EXPECT_TRUE(find(key()));
    EXPECT_EQ(miss(key(kFarLid + 1)), Miss::kWaits);
  };
  EXPECT_EQ(miss(key()), Miss::kWaits);
  settle();
  EXPECT_EQ(listener_.found.size(), 2u);
  EXPECT_EQ(paths_->size(), 2u);
}

// ---- Not found ----

TEST_F(PathsTest, WithoutAPathTheFramesAreDroppedAndAPauseIsMade) {
  EXPECT_EQ(miss(key(0x200)), Miss::kWaits);
  EXPECT_EQ(miss(key(0x200)), Miss::kWaits);
  settle();
  EXPECT_EQ(listener_.lost, 2u);
  EXPECT_TRUE(listener_.found.empty());
  EXPECT_EQ(paths_->waiting_bytes(), 0u);
  EXPECT_EQ(miss(key(0x200)), Miss::kUnreachable);
  rig_.clock.now += Paths::kPause - Duration(1);
  EXPECT_EQ(miss(key(0x200)), Miss::kUnreachable);
  EXPECT_EQ(questions(), 1u);
  administration_.add_node(0x200, kFarGid);
  rig_.clock.now += Duration(1);
  EXPECT_EQ(miss(key(0x200)), Miss::kWaits);
  settle();
  EXPECT_EQ(questions(), 2u);
  EXPECT_EQ(listener_.found.size(), 1u);
}

TEST_F(PathsTest, AnMtuThatIsNoneIsNoPath) {
  for (const unsigned mtu : {0u, 6u, 63u}) {
    administration_.use_path_mtu(Mtu{static_cast<std::uint8_t>(mtu)});
    EXPECT_EQ(miss(key()), Miss::kWaits);
    settle();
    EXPECT_EQ(paths_->known(key()), nullptr) << mtu;
    EXPECT_EQ(miss(key()), Miss::kUnreachable);
    rig_.clock.now += Paths::kPause;
  }
  EXPECT_EQ(listener_.lost, 3u);
}

TEST_F(PathsTest, ASilentAdministrationCostsTheFramesThatWait) {
  administration_.to_paths().is_silent = true;
  EXPECT_EQ(miss(key()), Miss::kWaits);
  advance(seconds(3));
  EXPECT_EQ(listener_.lost, 0u);
  advance(seconds(1));
  EXPECT_EQ(listener_.lost, 1u);
  EXPECT_EQ(miss(key()), Miss::kUnreachable);
}

TEST_F(PathsTest, WithoutAManagerNothingWaits) {
  rig_.second.port(1)->link_down();
  EXPECT_EQ(miss(key()), Miss::kUnreachable);
  EXPECT_EQ(paths_->waiting_bytes(), 0u);
  EXPECT_EQ(paths_->open_questions(), 0u);
}

// ---- Bounds ----

TEST_F(PathsTest, FramesForOnePathAreBounded) {
  for (std::size_t i = 0; i < Paths::kMostWaiting; ++i) ASSERT_EQ(miss(key()), Miss::kWaits);
  EXPECT_EQ(miss(key()), Miss::kNoRoom);
  EXPECT_EQ(paths_->waiting_bytes(), 100 * Paths::kMostWaiting);
  settle();
  EXPECT_EQ(listener_.found.size(), Paths::kMostWaiting);
}

TEST_F(PathsTest, BytesThatWaitAreBounded) {
  constexpr std::size_t kBig = Paths::kMostWaitingBytes / 32;
  for (unsigned i = 0; i < 32; ++i) ASSERT_EQ(miss(key(kFarLid + i / 8), kBig), Miss::kWaits) << i;
  EXPECT_EQ(paths_->waiting_bytes(), Paths::kMostWaitingBytes);
  EXPECT_EQ(miss(key(), 1), Miss::kNoRoom);
  EXPECT_EQ(miss(key(kFarLid + 9), 1), Miss::kNoRoom);
  settle();
  EXPECT_EQ(paths_->waiting_bytes(), 0u);
  rig_.clock.now += Paths::kPause;
  EXPECT_EQ(miss(key(kFarLid + 10), Paths::kMostWaitingBytes + 1), Miss::kNoRoom);
  EXPECT_EQ(miss(key(kFarLid + 10), Paths::kMostWaitingBytes), Miss::kWaits);
}

TEST_F(PathsTest, OpenQuestionsAreBounded) {
  administration_.to_paths().is_silent = true;
  for (unsigned i = 0; i < Paths::kMostAsked; ++i) ASSERT_EQ(miss(key(0x200 + i)), Miss::kWaits);
  EXPECT_EQ(miss(key(0x1000)), Miss::kNoRoom);
  EXPECT_EQ(paths_->open_questions(), Paths::kMostAsked);
  EXPECT_EQ(client_.open_questions(), Paths::kMostAsked);
  EXPECT_EQ(paths_->size(), Paths::kMostAsked) << "what is not asked for has no entry";
  EXPECT_EQ(miss(key(0x200)), Miss::kWaits) << "which is asked for";
  advance(seconds(4));
  EXPECT_EQ(paths_->open_questions(), 0u);
  EXPECT_EQ(listener_.lost, Paths::kMostAsked + 1);
  EXPECT_EQ(miss(key(0x1000)), Miss::kWaits);
}

TEST_F(PathsTest, NodesThatWereNotHeardHaveHalfOfTheQuestions) {
  administration_.to_paths().is_silent = true;
  is_heard_ = false;
  for (unsigned i = 0; i < Paths::kMostAskedOfUnheard; ++i)
    ASSERT_EQ(miss(key(0x200 + i)), Miss::kWaits);
  EXPECT_EQ(miss(key(0x1000)), Miss::kNoRoom);
  is_heard_ = true;
  for (unsigned i = 0; i < Paths::kMostAsked - Paths::kMostAskedOfUnheard; ++i)
    ASSERT_EQ(miss(key(0x400 + i)), Miss::kWaits);
  EXPECT_EQ(miss(key(0x1000)), Miss::kNoRoom);
  advance(seconds(4));
  EXPECT_EQ(paths_->open_questions(), 0u);
  is_heard_ = false;
  for (unsigned i = 0; i < Paths::kMostAskedOfUnheard; ++i)
    ASSERT_EQ(miss(key(0x800 + i)), Miss::kWaits);
  EXPECT_EQ(miss(key(0x1000)), Miss::kNoRoom);
  paths_->clear();
  EXPECT_EQ(miss(key(0x1000)), Miss::kWaits);
}

TEST_F(PathsTest, NodesThatWereNotHeardHaveHalfOfTheBytes) {
  constexpr std::size_t kBig = Paths::kMostBytesOfUnheard / 16;
  is_heard_ = false;
  for (unsigned i = 0; i < 16; ++i) ASSERT_EQ(miss(key(0x200 + i / 8), kBig), Miss::kWaits);
  EXPECT_EQ(miss(key(0x200), 1), Miss::kNoRoom);
  is_heard_ = true;
  EXPECT_EQ(miss(key(), 1), Miss::kWaits);
}

TEST_F(PathsTest, WhatHasNoPathIsForgottenBeforeWhatHasOne) {
  learn();
  for (unsigned i = 0; i < 2 * Paths::kMost; ++i) {
    ASSERT_EQ(miss(key(0x1000 + i)), Miss::kWaits);
    if (i % 32 == 31) settle();
  }
  EXPECT_EQ(paths_->size(), Paths::kMost);
  EXPECT_NE(paths_->known(key()), nullptr);
  EXPECT_EQ(miss(key(0x1000 + 2 * Paths::kMost - 1)), Miss::kUnreachable);
  EXPECT_EQ(miss(key(0x1000)), Miss::kWaits) << "which was forgotten";
  // One whose path has ended and come again is kept, too.
  Gid other = kFarGid;
  ++other.back();
  paths_->compare(key(), other);
  EXPECT_EQ(paths_->known(key()), nullptr);
  administration_.add_node(kFarLid, other);
  EXPECT_EQ(miss(key()), Miss::kWaits);
  settle();
  for (unsigned i = 0; i < Paths::kMost; ++i) {
    ASSERT_EQ(miss(key(0x4000 + i)), Miss::kWaits);
    if (i % 32 == 31) settle();
  }
  EXPECT_EQ(paths_->size(), Paths::kMost);
  EXPECT_NE(paths_->known(key()), nullptr);
}

TEST_F(PathsTest, TheOldestIsForgotten) {
  for (unsigned i = 0; i < Paths::kMost; ++i) {
    administration_.add_node(static_cast<std::uint16_t>(0x1000 + i), kFarGid);
    ASSERT_EQ(miss(key(0x1000 + i)), Miss::kWaits);
    if (i % 32 == 31) settle();
  }
  EXPECT_EQ(paths_->size(), Paths::kMost);
  ASSERT_NE(paths_->known(key(0x1000)), nullptr);
  EXPECT_EQ(miss(key()), Miss::kWaits);
  EXPECT_EQ(paths_->size(), Paths::kMost);
  EXPECT_EQ(paths_->known(key(0x1000)), nullptr);
  EXPECT_NE(paths_->known(key(0x1001)), nullptr);
}

TEST_F(PathsTest, WhatIsAskedForIsNotForgotten) {
  administration_.to_paths().is_silent = true;
  for (unsigned i = 0; i < 8; ++i) ASSERT_EQ(miss(key(0x200 + i)), Miss::kWaits);
  settle();
  administration_.to_paths().is_silent = false;
  for (unsigned i = 8; i < Paths::kMost + 100; ++i) {
    administration_.add_node(static_cast<std::uint16_t>(0x1000 + i), kFarGid);
    ASSERT_EQ(miss(key(0x1000 + i)), Miss::kWaits);
    if (i % 32 == 31) settle();
  }
  settle();
  EXPECT_EQ(paths_->size(), Paths::kMost);
  EXPECT_EQ(paths_->open_questions(), 8u);
  EXPECT_EQ(paths_->waiting_bytes(), 800u);
  advance(seconds(4));
  EXPECT_EQ(paths_->open_questions(), 0u);
  EXPECT_EQ(listener_.lost, 8u) << "their LIDs are of no node";
}

// ---- Changes ----

TEST_F(PathsTest, APathIsAskedForAgainAfterItsLifeAndUsedMeanwhile) {
  learn();
  rig_.clock.now += Paths::kLife - Duration(1);
  EXPECT_TRUE(find(key()));
  EXPECT_EQ(paths_->open_questions(), 0u);
  administration_.use_path_level(3);
  rig_.clock.now += Duration(1);
  const auto old = find(key());
  ASSERT_TRUE(old);
  EXPECT_EQ(old->level, 0);
  EXPECT_EQ(paths_->open_questions(), 1u);
  settle();
  EXPECT_EQ(find(key())->level, 3);
  EXPECT_EQ(paths_->open_questions(), 0u);
  EXPECT_EQ(questions(), 2u);
  EXPECT_TRUE(listener_.found.empty());
}

TEST_F(PathsTest, WithoutAnAnswerAPathStaysInUse) {
  learn();
  administration_.to_paths().is_silent = true;
  rig_.clock.now += Paths::kLife;
  EXPECT_TRUE(find(key()));
  advance(seconds(4));
  EXPECT_TRUE(find(key()));
  EXPECT_EQ(paths_->open_questions(), 0u) << "a pause";
  advance(Paths::kPause);
  EXPECT_TRUE(find(key()));
  EXPECT_EQ(paths_->open_questions(), 1u);
  administration_.to_paths().is_silent = false;
  advance(seconds(1));
  EXPECT_EQ(paths_->open_questions(), 0u);
  advance(seconds(30));
  EXPECT_TRUE(find(key()));
  EXPECT_EQ(paths_->open_questions(), 0u) << "it is known anew";
  EXPECT_EQ(listener_.lost, 0u);
}

TEST_F(PathsTest, APathThatAdministrationDeniesEnds) {
  learn();
  administration_.to_paths().refusal = AdministrationStatus::kNoRecords;
  rig_.clock.now += Paths::kLife;
  EXPECT_TRUE(find(key()));
  settle();
  EXPECT_EQ(paths_->known(key()), nullptr);
  EXPECT_EQ(miss(key()), Miss::kUnreachable);
}

TEST_F(PathsTest, AnotherGidAtTheLidEndsAPath) {
  learn();
  paths_->compare(key(), kFarGid);
  EXPECT_NE(paths_->known(key()), nullptr);
  Gid other = kFarGid;
  ++other.back();
  paths_->compare(key(), other);
  EXPECT_EQ(paths_->known(key()), nullptr);
  paths_->compare(key(), other);
  paths_->compare(key(0x300), other);
  EXPECT_EQ(paths_->size(), 1u) << "what is not known is not compared";
  administration_.add_node(kFarLid, other);
  EXPECT_EQ(miss(key()), Miss::kWaits) << "without a pause";
  settle();
  ASSERT_NE(paths_->known(key()), nullptr);
  EXPECT_EQ(paths_->known(key())->gid, other);
  EXPECT_EQ(listener_.found.size(), 1u);
}

TEST_F(PathsTest, AfterARegistrationAllAreAskedForAgainWhenTheyAreUsed) {
  learn();
  EXPECT_EQ(miss(key(0x200)), Miss::kWaits);
  settle();
  EXPECT_EQ(miss(key(0x200)), Miss::kUnreachable);
  const std::size_t before = questions();
  paths_->ask_again();
  settle();
  EXPECT_EQ(questions(), before);
  EXPECT_TRUE(find(key()));
  EXPECT_EQ(miss(key(0x200)), Miss::kWaits);
  settle();
  EXPECT_EQ(questions(), before + 2);
}

TEST_F(PathsTest, ClearedPathsAreForgottenWithWhatWaits) {
  learn();
  EXPECT_EQ(miss(key(0x200)), Miss::kWaits);
  EXPECT_EQ(miss(key(0x201)), Miss::kWaits);
  paths_->clear();
  EXPECT_EQ(listener_.lost, 2u);
  EXPECT_EQ(paths_->size(), 0u);
  EXPECT_EQ(paths_->waiting_bytes(), 0u);
  EXPECT_EQ(paths_->open_questions(), 0u);
  EXPECT_EQ(client_.open_questions(), 0u);
  EXPECT_EQ(paths_->known(key()), nullptr);
  settle();
  EXPECT_EQ(paths_->size(), 0u) << "answers are late";
  EXPECT_EQ(listener_.lost, 2u);
  paths_->clear();
  EXPECT_EQ(listener_.lost, 2u);
  learn();
}

TEST_F(PathsTest, QuestionsEndWithThem) {
  EXPECT_EQ(miss(key()), Miss::kWaits);
  paths_.reset();
  EXPECT_EQ(client_.open_questions(), 0u);
  settle();
  EXPECT_TRUE(listener_.found.empty());
  EXPECT_EQ(listener_.lost, 0u);
}

}  // namespace
}  // namespace paravane::ipoib
