#include "srp/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "scsi/block_limits.h"
#include "scsi/capacity.h"
#include "scsi/device_identity.h"
#include "scsi/inquiry.h"
#include "scsi/lun_list.h"
#include "scsi/mode.h"
#include "scsi/text.h"
#include "testing/srp_session_rig.h"
#include "wire/roce/header_at.h"

namespace paravane::srp {
namespace {

using fake::SrpLie;
using fake::SrpSessionRig;
using testing::HasSubstr;

scsi::Request some_read() {
  return scsi::read({.block = 2, .blocks = 1}, 512);
}

TEST(SrpSession, SendsCommandsWithOneDescriptor) {
  fake::SentIus sender;
  Session session(fake::login_terms(), 4, sender);
  const scsi::Request request =
      scsi::write({.block = 1, .blocks = 2}, 512, scsi::Durability::kCached);
  const auto tag = session.submit({.lun = scsi::Lun::of(0x102),
                                   .cdb = request.cdb,
                                   .data = {.address = 0x1122'3344'5566'7788,
                                            .key = 0xAABB'CCDD,
                                            .bytes = request.bytes,
                                            .direction = request.direction},
                                   .attribute = TaskAttribute::kOrdered});
  ASSERT_TRUE(tag);
  ASSERT_EQ(sender.sent.size(), 1u);
  EXPECT_EQ(scsi::hex_text(sender.sent[0]),
            "0200000000100000"
            "0000000000010000"
            "00000000"
            "4102000000000000"
            "00020000"
            "8a000000000000000001000000020000"
            "1122334455667788aabbccdd00000400");
  EXPECT_TRUE(session.is_under_way(*tag));
  ASSERT_TRUE(session.submit(
      {.cdb = some_read().cdb, .data = {.bytes = 512, .direction = scsi::Direction::kIn}}));
  EXPECT_EQ(sender.sent[1][5], std::byte{0x01}) << "data-in";
  EXPECT_EQ(sender.sent[1][15], std::byte{1}) << "another place";
  ASSERT_TRUE(session.submit({.cdb = scsi::test_unit_ready().cdb}));
  EXPECT_EQ(sender.sent[2].size(), 48u) << "without a descriptor";
  EXPECT_EQ(session.commands(), 3u);
}

TEST(SrpSession, CarriesCommandsToALogicalUnitAndBack) {
  SrpSessionRig rig;
  ASSERT_TRUE(rig.run(scsi::inquiry()));
  const auto inquiry = scsi::parse_inquiry(rig.data(scsi::inquiry()));
  ASSERT_TRUE(inquiry) << inquiry.error().message;
  EXPECT_EQ(inquiry->vendor, "LIO-ORG");

  const scsi::Request page = scsi::inquiry_page(0x83);
  ASSERT_TRUE(rig.run(page));
  const auto identity = scsi::parse_identification(rig.data(page));
  ASSERT_TRUE(identity) << identity.error().message;
  EXPECT_THAT(identity->name, HasSubstr("naa.6001405"));

  const scsi::Request luns = scsi::report_luns(scsi::LunList::kAnswerBytes);
  ASSERT_TRUE(rig.run(luns));
  EXPECT_EQ(scsi::parse_lun_list(rig.data(luns))->luns, std::vector{scsi::Lun::of(0)});

  ASSERT_TRUE(rig.run(scsi::read_capacity16()));
  EXPECT_EQ(scsi::parse_capacity16(rig.data(scsi::read_capacity16()))->blocks, 128u);

  const scsi::Request mode = scsi::mode_sense6(0x08);
  ASSERT_TRUE(rig.run(mode));
  EXPECT_EQ(scsi::parse_mode6(rig.data(mode))->has_write_cache, true);

  std::ranges::fill(rig.memory.bytes().first(512), std::byte{0x5A});
  EXPECT_TRUE(rig.run(scsi::write({.block = 2, .blocks = 1}, 512, scsi::Durability::kCached))
                  ->is_complete());
  std::ranges::fill(rig.memory.bytes().first(512), std::byte{0});
  EXPECT_TRUE(rig.run(some_read())->is_complete());
  EXPECT_EQ(rig.memory.bytes()[511], std::byte{0x5A});
  EXPECT_TRUE(rig.run(scsi::synchronize_cache())->is_complete());

  std::vector<std::byte> list(scsi::unmap_list_bytes(1));
  scsi::write_unmap_list(std::vector{scsi::BlockRange{.block = 2, .blocks = 1}}, list);
  std::ranges::copy(list, rig.memory.bytes().begin());
  EXPECT_TRUE(rig.run(scsi::unmap(1))->is_complete());
  EXPECT_EQ(rig.disk.bytes()[2 * 512], std::byte{0});
  EXPECT_EQ(rig.problem, "");
  EXPECT_EQ(rig.target.bad_requests + rig.target.bad_accesses, 0u);
  EXPECT_EQ(rig.session.credits(), 8);
}

TEST(SrpSession, CarriesWhatALogicalUnitSaysOfItsLimits) {
  SrpSessionRig rig;
  const auto expect = [&](const scsi::Request& request) {
    const auto response = rig.run(request);
    EXPECT_TRUE(response &&
                scsi::meaning_of(response->status, response->sense) == scsi::Meaning::kDone);
    return rig.data(request);
  };
  const auto pages = scsi::parse_supported_pages(expect(scsi::inquiry_page(0x00)));
  EXPECT_THAT(pages.value(), testing::ElementsAre(0x00, 0x80, 0x83, 0xB0, 0xB2));
  EXPECT_EQ(scsi::parse_serial(expect(scsi::inquiry_page(0x80))).value(), "0c1f3a5e-1234");
  const auto limits = scsi::parse_block_limits(expect(scsi::inquiry_page(0xB0)));
  EXPECT_EQ(limits.value().most_transfer, 64u);
  EXPECT_EQ(limits.value().most_unmap_ranges, 4u);
  EXPECT_TRUE(scsi::parse_provisioning(expect(scsi::inquiry_page(0xB2))).value().has_unmap);
  EXPECT_EQ(scsi::parse_capacity10(expect(scsi::read_capacity10())).value()->blocks, 128u);
  rig.disk.config().is_write_protected = true;
  const auto mode = scsi::parse_mode10(expect(scsi::mode_sense10(0x08)));
  EXPECT_TRUE(mode.value().is_write_protected);
  const auto refused =
      rig.run(scsi::write({.block = 0, .blocks = 1}, 512, scsi::Durability::kOnMedium));
  EXPECT_EQ(refused->sense->meaning(), scsi::Meaning::kWriteProtected);
  rig.disk.config().is_write_protected = false;
  std::ranges::fill(rig.disk.bytes(), std::byte{1});
  std::ranges::fill(rig.memory.bytes(), std::byte{0});
  EXPECT_TRUE(
      rig.run(scsi::write_zeroes({.block = 1, .blocks = 126}, 512, scsi::Unmapping::kAllowed))
          ->is_complete());
  EXPECT_EQ(std::ranges::count(rig.disk.bytes(), std::byte{1}), 1024);
  EXPECT_EQ(rig.run(scsi::read({.block = 127, .blocks = 2}, 512))->sense->meaning(),
            scsi::Meaning::kOutOfRange);
  EXPECT_EQ(rig.run(scsi::read({.block = 0, .blocks = 65}, 512))->sense->meaning(),
            scsi::Meaning::kUnsupported)
      << "longer than the limit";
  EXPECT_EQ(rig.run(scsi::inquiry_page(0xB1))->sense->meaning(), scsi::Meaning::kUnsupported);
  EXPECT_EQ(rig.problem, "");
}

TEST(SrpSession, TellsWhyACommandFailed) {
  SrpSessionRig rig;
  auto response = rig.run(some_read(), scsi::Lun::of(7));
  ASSERT_TRUE(response);
  EXPECT_EQ(scsi::meaning_of(response->status, response->sense), scsi::Meaning::kLunGone);
  EXPECT_EQ(response->moved(512), 0u);
  rig.disk.fail_next({.key = scsi::SenseKey::kUnitAttention, .asc = 0x29});
  response = rig.run(scsi::test_unit_ready());
  ASSERT_TRUE(response);
  EXPECT_EQ(response->sense->meaning(), scsi::Meaning::kRetryAtOnce);
  EXPECT_EQ(rig.problem, "");
}

TEST(SrpSession, AnswersInAnyOrderFindTheirCommands) {
  fake::SentIus sender;
  Session session(fake::login_terms(), 4, sender);
  fake::RecordedSrpEvents events;
  std::vector<Tag> tags;
  for (int i = 0; i < 3; ++i) tags.push_back(*session.submit({}));
  for (const std::size_t i : {2u, 0u, 1u}) {
    wire::srp::Response response{.status = static_cast<std::uint8_t>(0x08 * i)};
    response.tag.set(static_cast<std::uint64_t>(tags[i]));
    ASSERT_TRUE(session.receive(std::as_bytes(std::span(&response, 1)), events));
    EXPECT_EQ(events.responses.back().first, tags[i]);
    EXPECT_FALSE(session.is_under_way(tags[i]));
  }
  EXPECT_EQ(session.commands(), 0u);
}

TEST(SrpSession, NeverUsesATagTwice) {
  SrpSessionRig rig(8, 1);
  std::vector<Tag> tags;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(rig.run(scsi::test_unit_ready()));
    tags.push_back(rig.events.responses.back().first);
    EXPECT_EQ(slot_of(tags.back()), 0u);
  }
  std::ranges::sort(tags);
  EXPECT_EQ(std::ranges::adjacent_find(tags), tags.end());
}

// Each is noticed, ends the session and gives no event that is not true.
TEST(SrpSession, EndsWithEachLieOfATarget) {
  for (unsigned number = 1; number < static_cast<unsigned>(SrpLie::kCount); ++number) {
    const auto lie = static_cast<SrpLie>(number);
    const bool is_of_management =
        lie == SrpLie::kNoResponseData || lie == SrpLie::kShortResponseData;
    SrpSessionRig rig;
    ASSERT_TRUE(rig.run(some_read()));
    const std::size_t before = rig.events.responses.size();
    rig.target.lie(lie);
    if (is_of_management) {
      ASSERT_TRUE(rig.session.manage(TaskFunction::kLunReset, {}));
      rig.settle();
    } else {
      rig.run(some_read());
    }
    EXPECT_NE(rig.problem, "") << number;
    EXPECT_TRUE(rig.session.is_over()) << number;
    EXPECT_FALSE(rig.session.has_room() || rig.session.can_manage());
    EXPECT_EQ(rig.events.responses.size(), before + (lie == SrpLie::kTwice ? 1 : 0)) << number;
    EXPECT_TRUE(rig.events.managed.empty());
    rig.session.drop_all(rig.events);
    EXPECT_EQ(rig.events.dropped.size(), lie == SrpLie::kTwice ? 0u : 1u) << number;
    EXPECT_EQ(rig.session.commands() + rig.session.management(), 0u);
  }
}

TEST(SrpSession, TakesNothingAfterALie) {
  SrpSessionRig rig;
  rig.target.lie(SrpLie::kCut);
  rig.run(some_read());
  ASSERT_TRUE(rig.session.is_over());
  wire::srp::CreditRequest request;
  const auto taken = rig.session.receive(std::as_bytes(std::span(&request, 1)), rig.events);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, Errc::kBadState);
  EXPECT_EQ(rig.session.waiting(), 0u);
}

TEST(SrpSession, EndsWithMessagesThatNoTargetSends) {
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    SrpSessionRig rig;
    std::vector<std::byte> iu(64);
    iu[0] = static_cast<std::byte>(opcode);
    const bool is_known = opcode == 0x80 || opcode == 0x81 || opcode == 0x82;
    EXPECT_EQ(rig.session.receive(iu, rig.events).has_value(), is_known) << opcode;
  }
}

TEST(SrpSession, EndsWithMessagesThatAreCut) {
  struct CutIu {
    std::uint8_t opcode;
    std::size_t bytes;
  };
  for (const CutIu kind : {CutIu{0x80, 16}, CutIu{0x81, 16}, CutIu{0x82, 36}, CutIu{0xC1, 36}}) {
    for (std::size_t size = 0; size < kind.bytes; ++size) {
      SrpSessionRig rig;
      std::vector<std::byte> iu(size);
      if (size > 0) iu[0] = std::byte{kind.opcode};
      EXPECT_FALSE(rig.session.receive(iu, rig.events)) << unsigned{kind.opcode} << ' ' << size;
      EXPECT_TRUE(rig.events.logouts.empty() && rig.events.async_events.empty());
    }
  }
}

TEST(SrpSession, EndsWhenTheTargetLogsOut) {
  SrpSessionRig rig;
  rig.target.hold();
  ASSERT_TRUE(rig.submit(some_read()));
  rig.settle();
  rig.target.log_out(wire::srp::LogoutReason::kInactive);
  rig.settle();
  ASSERT_EQ(rig.events.logouts.size(), 1u);
  EXPECT_THAT(rig.events.logouts[0], HasSubstr("was not used"));
  EXPECT_TRUE(rig.session.is_over());
  EXPECT_EQ(rig.problem, "");
  rig.session.drop_all(rig.events);
  EXPECT_EQ(rig.events.dropped.size(), 1u);
  rig.target.release();
  rig.settle();
  EXPECT_NE(rig.problem, "") << "it has sent after its logout";
}

TEST(SrpSession, LogsOut) {
  SrpSessionRig rig;
  rig.session.log_out();
  EXPECT_TRUE(rig.session.is_over());
  rig.session.log_out();
  rig.settle();
  EXPECT_TRUE(rig.target.heard_logout);
  EXPECT_EQ(rig.session.credits(), 7);
}

TEST(SrpSession, GivesAllBackWhenTheConnectionHasEnded) {
  SrpSessionRig rig;
  rig.target.hold();
  const auto first = rig.submit(some_read());
  const auto second = rig.submit(some_read());
  const auto management = rig.session.manage(TaskFunction::kAbortTask, {}, first);
  ASSERT_TRUE(first && second && management);
  rig.session.drop_all(rig.events);
  EXPECT_THAT(rig.events.dropped, testing::ElementsAre(*first, *second, *management));
  rig.session.drop_all(rig.events);
  EXPECT_EQ(rig.events.dropped.size(), 3u) << "once";
}

TEST(SrpSession, ReportsEventsThatNoCommandAskedFor) {
  SrpSessionRig rig;
  rig.target.report_event(scsi::Lun::of(3),
                          {.key = scsi::SenseKey::kUnitAttention, .asc = 0x3F, .ascq = 0x0E}, 77);
  rig.settle();
  ASSERT_EQ(rig.events.async_events.size(), 1u);
  EXPECT_EQ(rig.events.async_events[0].first, scsi::Lun::of(3));
  EXPECT_EQ(rig.events.async_events[0].second->meaning(), scsi::Meaning::kReportedLunsChanged);
  EXPECT_EQ(rig.target.answers_heard, 1u);
}

TEST(SrpSession, RefusesAnEventWhoseSenseLiesBeyondIt) {
  for (const std::uint32_t bytes : {1u, 0x7FFF'FFFFu, 0xFFFF'FFFFu}) {
    SrpSessionRig rig;
    wire::srp::AsyncEventRequest request;
    request.sense_bytes.set(bytes);
    EXPECT_FALSE(rig.session.receive(std::as_bytes(std::span(&request, 1)), rig.events));
    EXPECT_TRUE(rig.events.async_events.empty());
    EXPECT_TRUE(rig.sender.sent.empty());
  }
}

TEST(SrpSession, AnswersCarryTheTagOfTheRequest) {
  SrpSessionRig rig;
  wire::srp::CreditRequest credit;
  credit.tag.set(0x1122'3344'5566'7788);
  ASSERT_TRUE(rig.session.receive(std::as_bytes(std::span(&credit, 1)), rig.events));
  wire::srp::AsyncEventRequest event;
  event.tag.set(0x99);
  ASSERT_TRUE(rig.session.receive(std::as_bytes(std::span(&event, 1)), rig.events));
  ASSERT_EQ(rig.sender.sent.size(), 2u);
  EXPECT_EQ(scsi::hex_text(rig.sender.sent[0]), "41000000000000001122334455667788");
  EXPECT_EQ(scsi::hex_text(rig.sender.sent[1]), "42000000000000000000000000000099");
  EXPECT_EQ(rig.session.credits(), 8) << "answers cost none";
}

TEST(SrpSession, KeepsAnswersThatCannotBeSentAndSoManyAlone) {
  SrpSessionRig rig;
  rig.sender.room = 0;
  wire::srp::CreditRequest request;
  for (std::size_t i = 0; i < Session::kMostWaiting; ++i) {
    request.tag.set(i);
    ASSERT_TRUE(rig.session.receive(std::as_bytes(std::span(&request, 1)), rig.events));
  }
  EXPECT_EQ(rig.session.waiting(), Session::kMostWaiting);
  rig.sender.room = 3;
  rig.session.flush();
  EXPECT_EQ(rig.session.waiting(), Session::kMostWaiting - 3);
  EXPECT_EQ(rig.sender.sent[2][15], std::byte{2}) << "in their order";
  for (std::size_t i = 0; i < 3; ++i)
    ASSERT_TRUE(rig.session.receive(std::as_bytes(std::span(&request, 1)), rig.events));
  const auto taken = rig.session.receive(std::as_bytes(std::span(&request, 1)), rig.events);
  EXPECT_FALSE(taken) << "a target that asks and does not read";
  EXPECT_TRUE(rig.session.is_over());
}

TEST(SrpSession, ACommandThatTheSenderHasNoRoomForChangesNothing) {
  SrpSessionRig rig(2);
  rig.sender.room = 0;
  EXPECT_FALSE(rig.submit(some_read()));
  EXPECT_FALSE(rig.session.manage(TaskFunction::kLunReset, {}));
  EXPECT_EQ(rig.session.commands() + rig.session.management(), 0u);
  EXPECT_EQ(rig.session.credits(), 2);
  EXPECT_TRUE(rig.session.has_room());
  rig.sender.room = 1;
  EXPECT_TRUE(rig.submit(some_read()));
}

// An event's handler may send the next command, in the place of the one that ended.
TEST(SrpSession, MaySubmitFromWithinAnEvent) {
  struct Next final : fake::RecordedSrpEvents {
    void on_response(Tag, const Response&) override {
      if (left-- > 0) {
        EXPECT_TRUE(session->submit({}));
      }
    }
    Session* session = nullptr;
    int left = 3;
  } events;
  fake::SentIus sender;
  Session session(fake::login_terms(2), 1, sender);
  events.session = &session;
  ASSERT_TRUE(session.submit({}));
  while (!sender.sent.empty()) {
    const auto command = wire::roce::header_at<wire::srp::Command>(sender.sent.front());
    sender.sent.pop_front();
    wire::srp::Response response;
    response.tag = command.tag;
    response.request_limit_delta.set(1);
    ASSERT_TRUE(session.receive(std::as_bytes(std::span(&response, 1)), events));
  }
  EXPECT_EQ(events.left, -1);
  EXPECT_EQ(session.credits(), 2);
}

}  // namespace
}  // namespace paravane::srp
