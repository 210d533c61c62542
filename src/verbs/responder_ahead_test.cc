#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "guestmem/loans.h"
#include "testing/solo_engine.h"
#include "verbs/responder.h"

namespace paravane::verbs {
namespace {

using fake::EngineBuffer;
using fake::EngineQp;
using fake::receive_request;
using fake::ScriptedWork;
using fake::SoloEngine;
using testing::ElementsAre;
using Kind = Outcome::Kind;

constexpr std::uint64_t kAhead = 8192;  // bytes of a message

struct FakeBorrower final : Loans::Borrower {
  explicit FakeBorrower(Loans& its_loans) : loans(its_loans) {}
  void settle() override {}
  void recall(std::uint32_t /*number*/) override {
    ++recalls;
    loans.give_back(loan);
  }
  Loans& loans;
  Loans::Loan loan{};
  int recalls = 0;
};

class ResponderAhead : public testing::Test {
 protected:
  Responder& responder() { return qp_->qp->responder(); }
  RemoteRequest write(std::uint64_t offset = 0) const {
    return {.opcode = WrOpcode::kRdmaWrite,
            .remote_addr = buffer_.start + offset,
            .rkey = buffer_.key,
            .length = kAhead};
  }
  static RemoteRequest send() { return {.opcode = WrOpcode::kSend, .length = kAhead}; }
  void receive(std::uint64_t id, std::uint64_t bytes = kAhead) {
    qp_->post(receive_request(id, {buffer_.sge(0, bytes)}));
  }
  bool is_found(const RemoteRequest& request, std::uint32_t receives = 0,
                Stretch stretch = {.offset = 0, .length = kAhead}) {
    out_.clear();
    return responder().extents_ahead(request, receives, stretch, out_);
  }
  Placement begin(const RemoteRequest& request, Arrives arrives = Arrives::kByLane) {
    auto begun = responder().begin(request, arrives);
    EXPECT_TRUE(begun);
    return std::move(*begun);
  }

  SoloEngine engine_;
  EngineBuffer buffer_ = engine_.vm().buffer(2 * kAhead);
  std::unique_ptr<EngineQp> qp_ = engine_.ready();
  ExtentList out_;
};

TEST_F(ResponderAhead, AWriteIsFoundWhereItWillGo) {
  Placement first = begin(write());
  EXPECT_TRUE(is_found(write(kAhead)));
  EXPECT_EQ(out_.total_bytes(), kAhead);
  EXPECT_TRUE(is_found(write(), 0, {.offset = 4096, .length = 100}));
  EXPECT_EQ(out_.total_bytes(), 100u);
}

// What begin() will refuse, it refuses when its turn has come: nothing has happened here.
TEST_F(ResponderAhead, WhatWillBeRefusedIsNotFound) {
  Placement first = begin(write());
  EXPECT_FALSE(is_found(write(kAhead + 1), 0, {.offset = 0, .length = 1}));
  RemoteRequest request = write();
  request.rkey ^= 0x100;
  EXPECT_FALSE(is_found(request));
  request = write();
  request.opcode = WrOpcode::kRdmaRead;
  EXPECT_FALSE(is_found(request));
  request = send();
  request.opcode = WrOpcode::kSendWithInvalidate;
  receive(1);
  EXPECT_FALSE(is_found(request));
  EXPECT_EQ(qp_->state(), QpState::kReadyToSend);
  EXPECT_EQ(first.finish().kind, Kind::kDone);
  EXPECT_EQ(qp_->receives.size(), 0u);
}

TEST_F(ResponderAhead, SendsTakeTheirReceivesInOrder) {
  for (std::uint64_t id = 1; id <= 4; ++id) receive(id);
  Placement first = begin(send());
  EXPECT_TRUE(is_found(send(), 1));  // the second after it
  EXPECT_TRUE(is_found(send(), 0));
  EXPECT_EQ(first.finish().kind, Kind::kDone);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(begin(send()).finish().kind, Kind::kDone);
  EXPECT_THAT(qp_->receives.wr_ids(), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(qp_->receives.at(0).behind, 2u);
  EXPECT_EQ(qp_->receives.at(3).behind, 0u);
}

// It was taken for a message that was given up, and is the next one's.
TEST_F(ResponderAhead, AReceiveInHandIsTheNextSends) {
  receive(1, kAhead);
  receive(2, kAhead / 2);  // too short
  {
    Placement given_up = begin(send());
  }
  Placement write_first = begin(write());
  EXPECT_TRUE(is_found(send(), 0));
  EXPECT_FALSE(is_found(send(), 1));
}

TEST_F(ResponderAhead, ThereIsABoundOnReceives) {
  for (std::uint64_t id = 1; id <= 20; ++id) receive(id);
  Placement first = begin(send());
  EXPECT_TRUE(is_found(send(), 3));
  EXPECT_FALSE(is_found(send(), 4));
}

TEST_F(ResponderAhead, SharedReceivesAreNotTaken) {
  ScriptedWork shared;
  const auto qp = engine_.vm().sharing_queue_pair(shared);
  ASSERT_TRUE(fake::bring_up(*qp->qp, QpState::kReadyToSend, fake::default_attributes()));
  for (std::uint64_t id = 1; id <= 2; ++id) {
    shared.post_receive(receive_request(id, {buffer_.sge(0, kAhead)}));
  }
  auto first = qp->qp->responder().begin(send(), Arrives::kByLane);
  ASSERT_TRUE(first);
  EXPECT_FALSE(qp->qp->responder().extents_ahead(send(), 0, {.offset = 0, .length = 1}, out_));
}

TEST_F(ResponderAhead, ReceivesThatWereTakenAreFlushedInOrder) {
  for (std::uint64_t id = 1; id <= 4; ++id) receive(id);
  Placement first = begin(send());
  EXPECT_TRUE(is_found(send(), 1));
  ASSERT_TRUE(fake::move(*qp_->qp, QpState::kError, {}));
  engine_.run();
  EXPECT_THAT(qp_->receives.wr_ids(), ElementsAre(1, 2, 3, 4));
}

// By another path: the adapter lets go of what it has before the request is executed.
TEST_F(ResponderAhead, ARequestOfAnotherPathRecallsWhatIsLent) {
  Loans& loans = engine_.vm().memory().loans();
  FakeBorrower borrower(loans);
  borrower.loan = loans.lend(borrower, 1, qp_->qp->number(), {});
  responder().note_lent();
  EXPECT_FALSE(responder().takes_directly());
  {
    Placement by_lane = begin(write(), Arrives::kByLane);
  }
  EXPECT_EQ(borrower.recalls, 0);
  {
    Placement other = begin(write(), Arrives::kInPieces);
  }
  EXPECT_EQ(borrower.recalls, 1);
  responder().note_returned();
  EXPECT_TRUE(responder().takes_directly());
}

}  // namespace
}  // namespace paravane::verbs
