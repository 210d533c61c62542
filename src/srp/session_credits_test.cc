#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "srp/session.h"
#include "testing/srp_session_rig.h"

namespace paravane::srp {
namespace {

using fake::RecordedSrpEvents;
using fake::SentIus;
using fake::SrpSessionRig;

struct CreditsRig {
  explicit CreditsRig(std::uint32_t limit, std::size_t commands = 16)
      : session(fake::login_terms(limit), commands, sender) {}

  Status answer(Tag tag, std::uint32_t delta) {
    wire::srp::Response response;
    response.tag.set(static_cast<std::uint64_t>(tag));
    response.request_limit_delta.set(delta);
    return session.receive(std::as_bytes(std::span(&response, 1)), events);
  }
  Status ask(std::uint32_t delta) {
    wire::srp::CreditRequest request;
    request.request_limit_delta.set(delta);
    return session.receive(std::as_bytes(std::span(&request, 1)), events);
  }
  Status report(std::uint32_t delta) {
    wire::srp::AsyncEventRequest request;
    request.request_limit_delta.set(delta);
    return session.receive(std::as_bytes(std::span(&request, 1)), events);
  }

  SentIus sender{};
  RecordedSrpEvents events{};
  Session session;
};

TEST(SrpCredits, EndWithOneLeftForTaskManagement) {
  CreditsRig rig(4);
  std::vector<Tag> tags;
  while (rig.session.has_room()) tags.push_back(*rig.session.submit({}));
  EXPECT_EQ(tags.size(), 3u);
  EXPECT_EQ(rig.session.credits(), 1);
  ASSERT_TRUE(rig.session.can_manage());
  ASSERT_TRUE(rig.session.manage(TaskFunction::kAbortTask, {}, tags[0]));
  EXPECT_EQ(rig.session.credits(), 0);
  EXPECT_FALSE(rig.session.can_manage());
  ASSERT_TRUE(rig.answer(tags[1], 1));
  EXPECT_FALSE(rig.session.has_room()) << "the one is for task management again";
  EXPECT_TRUE(rig.session.can_manage());
  ASSERT_TRUE(rig.answer(tags[2], 1));
  EXPECT_TRUE(rig.session.has_room());
}

TEST(SrpCredits, OfOneAreForACommand) {
  CreditsRig rig(1);
  ASSERT_TRUE(rig.session.has_room());
  const auto tag = rig.session.submit({});
  EXPECT_FALSE(rig.session.has_room());
  EXPECT_FALSE(rig.session.can_manage());
  ASSERT_TRUE(rig.answer(*tag, 2));
  ASSERT_TRUE(rig.session.has_room());
  ASSERT_TRUE(rig.session.submit({}));
  EXPECT_FALSE(rig.session.has_room()) << "the target has given two once";
  EXPECT_TRUE(rig.session.can_manage());
}

TEST(SrpCredits, EndBeforeTagsAndTagsBeforeCredits) {
  CreditsRig rig(100, 2);
  ASSERT_TRUE(rig.session.submit({}));
  ASSERT_TRUE(rig.session.submit({}));
  EXPECT_FALSE(rig.session.has_room()) << "no tag is left";
  EXPECT_EQ(rig.session.credits(), 98);
}

TEST(SrpCredits, ComeWithEachMessageOfTheTarget) {
  CreditsRig rig(4);
  const Tag tag = *rig.session.submit({});
  ASSERT_TRUE(rig.ask(10));
  EXPECT_EQ(rig.session.credits(), 13);
  ASSERT_TRUE(rig.report(20));
  EXPECT_EQ(rig.session.credits(), 33);
  ASSERT_TRUE(rig.answer(tag, 3));
  EXPECT_EQ(rig.session.credits(), 36);
}

TEST(SrpCredits, MayBeTakenBack) {
  CreditsRig rig(4);
  ASSERT_TRUE(rig.ask(static_cast<std::uint32_t>(-6)));
  EXPECT_EQ(rig.session.credits(), -2);
  EXPECT_FALSE(rig.session.has_room());
  EXPECT_FALSE(rig.session.can_manage());
  ASSERT_TRUE(rig.ask(3));
  EXPECT_FALSE(rig.session.has_room());
  EXPECT_TRUE(rig.session.can_manage());
  ASSERT_TRUE(rig.ask(1));
  EXPECT_TRUE(rig.session.has_room());
}

TEST(SrpCredits, HaveBounds) {
  const auto credits = static_cast<std::uint32_t>(Session::kMostCredits);
  EXPECT_TRUE(CreditsRig(4).ask(credits - 4));
  EXPECT_FALSE(CreditsRig(4).ask(credits - 3));
  EXPECT_TRUE(CreditsRig(4).ask(-credits - 4));
  EXPECT_FALSE(CreditsRig(4).ask(-credits - 5));
  EXPECT_FALSE(CreditsRig(4).ask(0x7FFF'FFFF));
  EXPECT_FALSE(CreditsRig(4).ask(0x8000'0000));
  EXPECT_FALSE(CreditsRig(4).report(0x7FFF'FFFF));
  CreditsRig rig(4);
  const Tag tag = *rig.session.submit({});
  EXPECT_FALSE(rig.answer(tag, 0x7FFF'FFFF));
  EXPECT_TRUE(rig.events.responses.empty()) << "an answer of a liar is none";
  EXPECT_EQ(rig.session.credits(), 3) << "they have not changed";
}

TEST(SrpCredits, DoNotWrapByManySmallGifts) {
  CreditsRig rig(4);
  int rounds = 0;
  while (rig.ask(1000) && ++rounds < 1000) {
  }
  EXPECT_EQ(rounds, 65);
  EXPECT_LE(rig.session.credits(), Session::kMostCredits);
  EXPECT_TRUE(rig.session.is_over());
}

TEST(SrpCredits, OfAbortedCommandsComeWithALaterAnswer) {
  SrpSessionRig rig(4);
  rig.target.hold();
  const auto first = rig.submit(scsi::test_unit_ready());
  const auto second = rig.submit(scsi::test_unit_ready());
  rig.settle();
  ASSERT_TRUE(rig.session.manage(TaskFunction::kLunReset, {}));
  EXPECT_EQ(rig.session.credits(), 1);
  rig.settle();
  EXPECT_THAT(rig.events.aborted, testing::ElementsAre(*first, *second));
  EXPECT_EQ(rig.session.credits(), 4);
}

}  // namespace
}  // namespace paravane::srp
