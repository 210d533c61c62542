#include "transport/hca/host_trunk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "testing/fake_clock.h"
#include "testing/fake_trunk_device.h"
#include "transport/hca/trunk_stream.h"

namespace paravane::transport_hca {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using wire::TrunkState;

// Two hosts whose frames arrive when the test says so. The first leads.
class HostTrunkTest : public testing::Test {
 protected:
  struct Side {
    std::shared_ptr<fake::FakeTrunkDevice> device;
    std::unique_ptr<HostTrunk> trunk;
    std::deque<std::pair<std::optional<wire::TrunkOffer>, wire::TrunkReady>> sent;
    std::vector<MadeTrunk> made;
    std::vector<std::string> none;
  };

  HostTrunkTest() {
    for (unsigned i = 0; i < 2; ++i) make(i);
  }
  void make(unsigned i, bool seals_payload = true) {
    Side& side = sides_.at(i);
    side.device = std::make_shared<fake::FakeTrunkDevice>(net_);
    side.trunk = std::make_unique<HostTrunk>(
        HostTrunk::Config{.leads = i == 0, .seals_payload = seals_payload},
        HostTrunk::Acts{
            .send_offer =
                [&side](const wire::TrunkOffer& frame) { side.sent.push_back({frame, {}}); },
            .send_ready =
                [&side](const wire::TrunkReady& frame) {
                  side.sent.push_back({std::nullopt, frame});
                },
            .hand_over = [&side](MadeTrunk trunk) { side.made.push_back(std::move(trunk)); },
            .tell_none =
                [&side](const NoTrunk& none) {
                  side.none.push_back((none.at_peer ? "peer " : "") + none.why);
                }});
  }
  void give_device(unsigned i) { sides_.at(i).trunk->set_device(sides_.at(i).device, {}, now()); }
  void take_device(unsigned i, TrunkState state, const std::string& why) {
    sides_.at(i).trunk->set_device(nullptr, {.state = state, .why = why}, now());
  }
  // Frames, until there are none. False: there is no end of them.
  bool deliver() {
    for (int i = 0; i < 100; ++i) {
      if (a_.sent.empty() && b_.sent.empty()) return true;
      for (unsigned from = 0; from < 2; ++from) deliver_one(from);
    }
    return false;
  }
  void deliver_one(unsigned from) {
    Side& side = sides_.at(from);
    if (side.sent.empty()) return;
    const auto [offer, ready] = side.sent.front();
    side.sent.pop_front();
    HostTrunk& to = *sides_.at(1 - from).trunk;
    if (offer) {
      to.on_offer(*offer, now());
    } else {
      to.on_ready(ready, now());
    }
  }
  bool advance(Duration by) {
    const Instant end = now() + by;
    bool ends = deliver();
    for (Instant next = next_turn(); next <= end && ends; next = next_turn()) {
      clock_.advance_to(std::max(next, now()));
      for (Side& side : sides_) {
        if (side.trunk->next_turn() <= now()) side.trunk->turn(now());
      }
      ends = deliver();
    }
    clock_.advance_to(end);
    return ends;
  }
  Instant next_turn() const { return std::min(a_.trunk->next_turn(), b_.trunk->next_turn()); }
  Instant now() const { return clock_.now(); }
  void expect_trunk(std::size_t count = 1) {
    ASSERT_EQ(a_.made.size(), count);
    ASSERT_EQ(b_.made.size(), count);
    MadeTrunk& a = a_.made.back();
    MadeTrunk& b = b_.made.back();
    EXPECT_EQ(a.own, b.peer);
    EXPECT_EQ(a.peer, b.own);
    EXPECT_NE(a.own, a.peer);
    TrunkStream from(std::move(a.port));
    TrunkStream to(std::move(b.port));
    std::array<char, 6> text{"hello"};
    std::array<char, 6> got{};
    const iovec out{.iov_base = text.data(), .iov_len = text.size()};
    const iovec in{.iov_base = got.data(), .iov_len = got.size()};
    EXPECT_EQ(from.write({&out, 1}).bytes, text.size());
    EXPECT_EQ(to.read({&in, 1}).bytes, text.size());
    EXPECT_EQ(got, text);
  }

  std::shared_ptr<fake::FakeTrunkNet> net_ = std::make_shared<fake::FakeTrunkNet>();
  fake::FakeClock clock_;
  std::array<Side, 2> sides_;
  Side& a_ = sides_[0];
  Side& b_ = sides_[1];
};

TEST_F(HostTrunkTest, TwoAdaptersMakeATrunk) {
  give_device(0);
  give_device(1);
  ASSERT_TRUE(advance(seconds(1)));
  expect_trunk();
}

TEST_F(HostTrunkTest, WhicheverHostIsLate) {
  for (const unsigned late : {0U, 1U}) {
    for (unsigned i = 0; i < 2; ++i) {
      sides_.at(i).made.clear();
      make(i);
    }
    give_device(1 - late);
    ASSERT_TRUE(advance(seconds(20)));
    give_device(late);
    ASSERT_TRUE(advance(seconds(40)));
    expect_trunk();
  }
}

TEST_F(HostTrunkTest, AHostWithoutAnAdapterSaysWhy) {
  const std::vector<std::pair<TrunkState, std::string>> states{
      {TrunkState::kNoAdapter, "peer has no usable adapter"},
      {TrunkState::kOff, "peer has it off by policy"},
      {TrunkState::kEncrypted, "peer has encryption on"},
      {TrunkState::kPortDown, "peer has its port down"},
      {TrunkState::kIwarp, "peer has iWARP"},
      {TrunkState::kPreparing, "peer is still preparing its adapter"}};
  for (const unsigned lacks : {0U, 1U}) {
    for (unsigned i = 0; i < 2; ++i) {
      sides_.at(i).made.clear();
      make(i);
    }
    give_device(1 - lacks);
    for (const auto& [state, words] : states) {
      take_device(lacks, state, "own words");
      ASSERT_TRUE(advance(seconds(20)));
      EXPECT_EQ(sides_.at(lacks).none.back(), "own words");
      EXPECT_EQ(sides_.at(1 - lacks).none.back(), words);
    }
    EXPECT_TRUE(a_.made.empty());
    give_device(lacks);
    ASSERT_TRUE(advance(seconds(40)));
    expect_trunk();
  }
}

// The first payload would end the trunk that is sealed in two ways. TCP may be encrypted, and then
// the hosts do not hear of it before.
TEST_F(HostTrunkTest, HostsThatSealInTwoWaysHaveNone) {
  for (const unsigned seals : {0U, 1U}) {
    for (unsigned i = 0; i < 2; ++i) {
      make(i, i == seals);
      give_device(i);
    }
    ASSERT_TRUE(advance(seconds(100)));
    EXPECT_TRUE(a_.made.empty());
    EXPECT_TRUE(b_.made.empty());
    for (const Side& side : sides_) {
      EXPECT_EQ(side.none.back(), "peer has another [channel] seal");
    }
    make(seals, false);
    make(1 - seals, false);
    give_device(0);
    give_device(1);
    ASSERT_TRUE(advance(seconds(40)));
    expect_trunk();
    for (Side& side : sides_) side.made.clear();
  }
}

TEST_F(HostTrunkTest, OneThatIsLostIsMadeAnew) {
  for (const unsigned loses : {0U, 1U}) {
    for (unsigned i = 0; i < 2; ++i) {
      sides_.at(i).made.clear();
      make(i);
      give_device(i);
    }
    ASSERT_TRUE(advance(seconds(1)));
    expect_trunk(1);
    Side& side = sides_.at(loses);
    side.trunk->on_lost(side.made[0].number, "cut", now());
    EXPECT_EQ(side.none.back(), "cut");
    ASSERT_TRUE(advance(seconds(1)));
    expect_trunk(2);
    EXPECT_NE(a_.made[0].number, a_.made[1].number);
    EXPECT_NE(a_.made[0].own, a_.made[1].own);
    side.trunk->on_lost(side.made[0].number, "of the one before", now());
    ASSERT_TRUE(advance(seconds(1)));
    EXPECT_EQ(a_.made.size(), 2U);
  }
}

TEST_F(HostTrunkTest, BothLoseItAtOnce) {
  give_device(0);
  give_device(1);
  ASSERT_TRUE(advance(seconds(1)));
  expect_trunk(1);
  a_.trunk->on_lost(a_.made[0].number, "cut", now());
  b_.trunk->on_lost(b_.made[0].number, "cut", now());
  ASSERT_TRUE(advance(seconds(1)));
  expect_trunk(2);
}

TEST_F(HostTrunkTest, AnAdapterThatRefusesIsTriedAgainLessAndLessOften) {
  give_device(1);
  a_.device->refuse_ports("too little locked memory");
  give_device(0);
  ASSERT_TRUE(advance(seconds(60)));
  EXPECT_EQ(a_.none.back(), "too little locked memory");
  EXPECT_EQ(a_.device->made(), 0U);
  a_.device->refuse_ports("");
  ASSERT_TRUE(advance(seconds(31)));
  expect_trunk();
}

TEST_F(HostTrunkTest, AConnectionThatFailsIsTriedAgain) {
  for (const unsigned fails : {0U, 1U}) {
    for (unsigned i = 0; i < 2; ++i) {
      sides_.at(i).made.clear();
      make(i);
    }
    sides_.at(fails).device->refuse_connections("no way");
    give_device(0);
    give_device(1);
    ASSERT_TRUE(advance(seconds(60)));
    EXPECT_EQ(sides_.at(fails).none.back(), "no way");
    EXPECT_TRUE(a_.made.empty());
    EXPECT_LT(sides_.at(fails).device->made(), 15U);
    sides_.at(fails).device->refuse_connections("");
    ASSERT_TRUE(advance(seconds(40)));
    expect_trunk();
  }
}

// Both wait for the longest time then, and one of them longer than the other is patient.
TEST_F(HostTrunkTest, AConnectionThatFailsForLongIsTriedAgain) {
  for (const unsigned fails : {0U, 1U}) {
    for (unsigned i = 0; i < 2; ++i) {
      sides_.at(i).made.clear();
      make(i);
    }
    sides_.at(fails).device->refuse_connections("no way");
    give_device(0);
    give_device(1);
    ASSERT_TRUE(advance(std::chrono::minutes(15)));
    sides_.at(fails).device->refuse_connections("");
    ASSERT_TRUE(advance(std::chrono::minutes(2)));
    expect_trunk();
  }
}

TEST_F(HostTrunkTest, WhileOneIsMadeThereIsNoOther) {
  give_device(0);
  for (int i = 0; i < 40; ++i) {
    a_.trunk->turn(now());
    clock_.advance(milliseconds(100));
  }
  EXPECT_EQ(a_.device->made(), 1U);
}

TEST_F(HostTrunkTest, AnAdapterOfAnotherKindIsNotConnected) {
  b_.device->set_infiniband(true);
  give_device(0);
  give_device(1);
  ASSERT_TRUE(advance(seconds(10)));
  EXPECT_EQ(b_.none.back(), "peer has an adapter of another kind");
  EXPECT_TRUE(a_.made.empty());
}

TEST_F(HostTrunkTest, AHostThatDoesNotAnswerIsAskedAgain) {
  give_device(0);
  const std::size_t first = a_.sent.size();
  for (int i = 0; i < 10; ++i) {
    clock_.advance_to(a_.trunk->next_turn());
    a_.trunk->turn(now());
  }
  EXPECT_EQ(a_.none.back(), "being prepared");
  EXPECT_THAT(a_.none, testing::Contains("peer does not answer"));
  EXPECT_GT(a_.sent.size(), first);
}

// ---- A hostile host ----

wire::TrunkOffer offer(std::uint64_t number) {
  wire::TrunkOffer made{};
  made.number.set(number);
  made.path_mtu_bytes.set(1024);
  return made;
}

TEST_F(HostTrunkTest, OffersWithoutEndMakeFewQueuePairs) {
  give_device(1);
  for (std::uint64_t i = 1; i <= 10'000; ++i) {
    b_.trunk->on_offer(offer(i), now());
    clock_.advance(milliseconds(1));
  }
  EXPECT_LE(b_.device->made(), 101U);
  EXPECT_GE(b_.device->made(), 1U);
}

TEST_F(HostTrunkTest, RefusalsAndWillWithoutEndMakeFewQueuePairs) {
  give_device(0);
  wire::TrunkOffer refusal{};
  for (const TrunkState state : {TrunkState::kFailed, TrunkState::kWilling}) {
    refusal.state.set(std::to_underlying(state));
    for (int i = 0; i < 1'000; ++i) {
      a_.trunk->on_offer(refusal, now());
      clock_.advance(milliseconds(1));
    }
  }
  EXPECT_LE(a_.device->made(), 25U);
}

TEST_F(HostTrunkTest, AnOfferThatNoAdapterHasIsRefused) {
  std::vector<wire::TrunkOffer> bad(5, offer(1));
  bad[0].qpn.set(1 << 24);
  bad[1].psn.set(1 << 24);
  bad[2].path_mtu_bytes.set(128);
  bad[3].path_mtu_bytes.set(8192);
  bad[4].path_mtu_bytes.set(1025);
  give_device(1);
  for (const wire::TrunkOffer& one : bad) {
    b_.sent.clear();
    ASSERT_TRUE(advance(seconds(40)));
    b_.trunk->on_offer(one, now());
    EXPECT_EQ(b_.none.back(), "peer offers what no adapter has");
    ASSERT_EQ(b_.sent.size(), 1U);
    EXPECT_EQ(b_.sent[0].first->state.get(), std::to_underlying(TrunkState::kFailed));
  }
}

TEST_F(HostTrunkTest, AnAnswerToNoOfferOfOursIsIgnored) {
  give_device(0);
  const wire::TrunkOffer own = *a_.sent.back().first;
  a_.trunk->on_offer(offer(own.number.get() + 1), now());
  a_.trunk->on_ready({.number = own.number}, now());  // is for the other end to say
  EXPECT_TRUE(a_.made.empty());
  a_.trunk->on_offer(offer(own.number.get()), now());
  EXPECT_EQ(a_.made.size(), 1U);
  a_.trunk->on_offer(offer(own.number.get()), now());  // twice
  EXPECT_EQ(a_.made.size(), 1U);
}

TEST_F(HostTrunkTest, AReadyForWhatIsNotConnectedIsIgnored) {
  give_device(1);
  b_.trunk->on_ready({.number = Le64(0)}, now());
  b_.trunk->on_offer(offer(3), now());
  b_.trunk->on_ready({.number = Le64(2)}, now());
  EXPECT_TRUE(b_.made.empty());
  b_.trunk->on_ready({.number = Le64(3)}, now());
  b_.trunk->on_ready({.number = Le64(3)}, now());
  EXPECT_EQ(b_.made.size(), 1U);
}

TEST_F(HostTrunkTest, StatesThatNobodyKnowsAreAsNone) {
  give_device(1);
  wire::TrunkOffer odd = offer(1);
  odd.state.set(200);
  b_.trunk->on_offer(odd, now());
  EXPECT_EQ(b_.none.back(), "peer has no usable adapter");
}

}  // namespace
}  // namespace paravane::transport_hca
