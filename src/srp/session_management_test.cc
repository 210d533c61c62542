#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "scsi/text.h"
#include "srp/session.h"
#include "testing/srp_session_rig.h"

namespace paravane::srp {
namespace {

using fake::SrpSessionRig;
using testing::ElementsAre;
using testing::IsEmpty;

class SrpManagement : public testing::Test {
 protected:
  SrpManagement() { rig.target.hold(); }
  Tag submit(scsi::Lun lun = {}) {
    const auto tag = rig.submit(scsi::test_unit_ready(), lun);
    EXPECT_TRUE(tag.has_value());
    return tag.value_or(Tag::kNone);
  }
  void answer(Tag tag, std::uint8_t flags = 0, std::uint8_t code = 0) {
    struct {
      wire::srp::Response response{};
      wire::srp::ResponseData data{};
    } iu;
    iu.response.tag.set(static_cast<std::uint64_t>(tag));
    iu.response.request_limit_delta.set(1);
    iu.response.flags = flags;
    iu.response.response_bytes.set(sizeof iu.data);
    iu.data.code = code;
    taken = rig.session.receive(std::as_bytes(std::span(&iu, 1)), rig.events).has_value();
  }
  void answer_management(Tag tag, ResponseCode code) {
    answer(tag, wire::srp::response_flag::kResponseValid, static_cast<std::uint8_t>(code));
  }

  SrpSessionRig rig{};
  bool taken = false;
};

TEST_F(SrpManagement, IsSentAsTheProtocolHasIt) {
  const Tag task = submit();
  rig.sender.sent.clear();
  const auto tag = rig.session.manage(TaskFunction::kAbortTask, scsi::Lun::of(3), task);
  ASSERT_TRUE(tag);
  EXPECT_TRUE(is_management(*tag));
  EXPECT_EQ(scsi::hex_text(rig.sender.sent[0]),
            "0100000000000000"
            "8000000000020000"
            "00000000"
            "0003000000000000"
            "00000100"
            "0000000000010000"
            "0000000000000000");
  ASSERT_TRUE(rig.session.manage(TaskFunction::kLunReset, {}));
  EXPECT_EQ(rig.sender.sent[1][30], std::byte{0x08});
  EXPECT_EQ(scsi::hex_text(std::span(rig.sender.sent[1]).subspan(32, 8)), "0000000000000000");
}

TEST_F(SrpManagement, AbortEndsOneCommand) {
  const Tag first = submit();
  const Tag second = submit();
  rig.settle();
  const auto tag = rig.session.manage(TaskFunction::kAbortTask, {}, first);
  rig.settle();
  EXPECT_THAT(rig.events.aborted, ElementsAre(first));
  ASSERT_EQ(rig.events.managed.size(), 1u);
  EXPECT_EQ(rig.events.managed[0].tag, *tag);
  EXPECT_EQ(rig.events.managed[0].function, TaskFunction::kAbortTask);
  EXPECT_EQ(rig.events.managed[0].code, ResponseCode::kDone);
  EXPECT_FALSE(rig.session.is_under_way(first));
  EXPECT_TRUE(rig.session.is_under_way(second));
  EXPECT_EQ(rig.problem, "");
}

TEST_F(SrpManagement, AResponseAfterAnAbortWasSentIsTheCommands) {
  const Tag task = submit();
  const auto tag = rig.session.manage(TaskFunction::kAbortTask, {}, task);
  answer(task);
  EXPECT_TRUE(taken);
  ASSERT_EQ(rig.events.responses.size(), 1u);
  EXPECT_EQ(rig.events.responses[0].first, task);
  // The target did not have the task any more.
  answer_management(*tag, ResponseCode::kFailed);
  EXPECT_TRUE(taken);
  EXPECT_THAT(rig.events.aborted, IsEmpty());
  EXPECT_EQ(rig.events.managed[0].code, ResponseCode::kFailed);
}

TEST_F(SrpManagement, AnAbortThatIsDoneAfterTheResponseEndsNothingMore) {
  const Tag task = submit();
  const auto tag = rig.session.manage(TaskFunction::kAbortTask, {}, task);
  answer(task);
  const Tag next = submit();
  answer_management(*tag, ResponseCode::kDone);
  EXPECT_THAT(rig.events.aborted, IsEmpty());
  EXPECT_TRUE(rig.session.is_under_way(next));
}

TEST_F(SrpManagement, AResponseAfterTheAbortIsDoneCountsForItsCreditsAloneAndOnce) {
  const Tag task = submit();
  const auto tag = rig.session.manage(TaskFunction::kAbortTask, {}, task);
  answer_management(*tag, ResponseCode::kDone);
  EXPECT_THAT(rig.events.aborted, ElementsAre(task));
  EXPECT_EQ(rig.session.credits(), 7);
  answer(task);
  EXPECT_TRUE(taken);
  EXPECT_EQ(rig.session.credits(), 8);
  answer(task);
  EXPECT_FALSE(taken);
  EXPECT_THAT(rig.events.responses, IsEmpty());
  EXPECT_EQ(rig.session.commands(), 0u);
}

TEST_F(SrpManagement, ALateResponseIsJudgedLikeAnyOther) {
  const Tag task = submit();
  const auto tag = rig.session.manage(TaskFunction::kLunReset, {});
  answer_management(*tag, ResponseCode::kDone);
  answer(task, wire::srp::response_flag::kInUnderflow | wire::srp::response_flag::kInOverflow);
  EXPECT_FALSE(taken);
}

TEST_F(SrpManagement, ALateResponseIsNoneOfTheNextCommandInItsPlace) {
  SrpSessionRig one(8, 1);
  const Tag task = *one.submit(scsi::test_unit_ready());
  one.target.hold();
  one.settle();
  ASSERT_TRUE(one.session.manage(TaskFunction::kLunReset, {}));
  one.settle();
  const Tag next = *one.submit(scsi::test_unit_ready());
  ASSERT_EQ(slot_of(next), slot_of(task));
  wire::srp::Response response;
  response.tag.set(static_cast<std::uint64_t>(task));
  EXPECT_FALSE(one.session.receive(std::as_bytes(std::span(&response, 1)), one.events));
  EXPECT_THAT(one.events.responses, IsEmpty());
}

TEST_F(SrpManagement, ThatIsRefusedEndsNothing) {
  for (const ResponseCode code : {ResponseCode::kNotSupported, ResponseCode::kFailed,
                                  ResponseCode::kInvalidFields, static_cast<ResponseCode>(0x99)}) {
    const Tag task = submit();
    const auto tag = rig.session.manage(TaskFunction::kAbortTask, {}, task);
    answer_management(*tag, code);
    EXPECT_TRUE(taken);
    EXPECT_EQ(rig.events.managed.back().code, code);
    EXPECT_TRUE(rig.session.is_under_way(task));
    answer(task);
  }
  EXPECT_THAT(rig.events.aborted, IsEmpty());
  EXPECT_EQ(rig.events.responses.size(), 4u);
}

TEST_F(SrpManagement, ResetEndsWhatTheLogicalUnitHadBefore) {
  const Tag first = submit(scsi::Lun::of(1));
  const Tag other = submit(scsi::Lun::of(2));
  const Tag second = submit(scsi::Lun::of(1));
  const auto tag = rig.session.manage(TaskFunction::kLunReset, scsi::Lun::of(1));
  const Tag later = submit(scsi::Lun::of(1));
  answer_management(*tag, ResponseCode::kDone);
  EXPECT_THAT(rig.events.aborted, ElementsAre(first, second));
  EXPECT_TRUE(rig.session.is_under_way(other));
  EXPECT_TRUE(rig.session.is_under_way(later));
}

// A handler that submits again to the logical unit from within on_aborted().
TEST_F(SrpManagement, ResetDoesNotEndWhatFollowsWithinIt) {
  struct Again final : fake::RecordedSrpEvents {
    void on_aborted(Tag tag) override {
      aborted.push_back(tag);
      EXPECT_TRUE(session->submit({}));
    }
    Session* session = nullptr;
  } events;
  fake::SentIus sender;
  Session session(fake::login_terms(16), 4, sender);
  events.session = &session;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(session.submit({}));
  const auto tag = session.manage(TaskFunction::kLunReset, {});
  struct {
    wire::srp::Response response{.flags = wire::srp::response_flag::kResponseValid};
    wire::srp::ResponseData data{};
  } iu;
  iu.response.tag.set(static_cast<std::uint64_t>(*tag));
  iu.response.response_bytes.set(4);
  ASSERT_TRUE(session.receive(std::as_bytes(std::span(&iu, 1)), events));
  EXPECT_EQ(events.aborted.size(), 3u);
  EXPECT_EQ(session.commands(), 3u);
}

TEST_F(SrpManagement, IsAnsweredOnceAndByItsOwnTag) {
  const auto tag = rig.session.manage(TaskFunction::kLunReset, {});
  answer_management(*tag, ResponseCode::kDone);
  EXPECT_TRUE(taken);
  answer_management(*tag, ResponseCode::kDone);
  EXPECT_FALSE(taken);
  EXPECT_EQ(rig.events.managed.size(), 1u);
}

TEST_F(SrpManagement, HasABoundOfItsOwn) {
  SrpSessionRig many(100);
  for (std::size_t i = 0; i < Session::kMostManagement; ++i)
    ASSERT_TRUE(many.session.manage(TaskFunction::kLunReset, {}));
  EXPECT_FALSE(many.session.can_manage());
  EXPECT_TRUE(many.session.has_room()) << "commands have their own";
  many.settle();
  EXPECT_TRUE(many.session.can_manage());
  EXPECT_EQ(many.events.managed.size(), Session::kMostManagement);
}

TEST_F(SrpManagement, TagsOutsideTheTablesAreOfNoRequest) {
  for (const std::uint64_t tag :
       {std::uint64_t{0}, std::uint64_t{0xFFFF}, kManagementBit, kManagementBit | 0xFFFF,
        ~std::uint64_t{0}, static_cast<std::uint64_t>(management_tag(1, 0)),
        static_cast<std::uint64_t>(command_tag(1, 16))}) {
    SrpSessionRig other;
    ASSERT_TRUE(other.submit(scsi::test_unit_ready()));
    wire::srp::Response response;
    response.tag.set(tag);
    EXPECT_FALSE(other.session.receive(std::as_bytes(std::span(&response, 1)), other.events))
        << std::hex << tag;
  }
}

}  // namespace
}  // namespace paravane::srp
