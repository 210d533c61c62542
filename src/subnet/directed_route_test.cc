#include "subnet/directed_route.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "testing/management_datagrams.h"

namespace paravane::subnet {
namespace {

using Kind = RouteStep::Kind;
using fake::hops_of;
using fake::Smp;
using wire::infiniband::kMostHops;
using wire::infiniband::kPermissiveLid;
using wire::infiniband::kReturning;

constexpr std::uint8_t kRoutePorts = 36;
constexpr std::uint8_t kCameBy = 7;
constexpr bool kAtSwitch = true;
constexpr bool kAtAdapter = false;

struct RouteCase {
  unsigned pointer = 0;
  unsigned count = 0;
  bool returns = false;
  std::uint16_t source = kPermissiveLid;  // LIDs around the directed part
  std::uint16_t destination = kPermissiveLid;
};

// Its way out is by ports 11, 12, ...; its way back by 21, 22, ...
Smp smp_at(const RouteCase& at) {
  Smp smp;
  smp.header.management_class = wire::infiniband::management_class::kSubnetByRoute;
  smp.header.class_specific.set(hops_of(at.pointer, at.count));
  smp.header.status.set(at.returns ? kReturning : 0);
  smp.source.set(at.source);
  smp.destination.set(at.destination);
  for (std::uint8_t hop = 1; hop < 15; ++hop) {
    smp.initial_path[hop] = 10 + hop;
    smp.return_path[hop] = 20 + hop;
  }
  return smp;
}

unsigned pointer_of(const Smp& smp) {
  return smp.header.class_specific.get() >> 8;
}

RouteStep arrive(Smp& smp, bool is_switch, std::uint8_t arrived = kCameBy) {
  return on_arrival(smp, arrived, is_switch, is_switch ? kRoutePorts : 1);
}

// On its way back, through the port by which its request has left.
RouteStep come_back(Smp& smp, bool is_switch) {
  return arrive(smp, is_switch, smp.initial_path[pointer_of(smp) % 64]);
}

// ---- 14.2.2.2: on the way to the responder ----

TEST(DirectedRouteTest, ASwitchBeginsTheDirectedPart) {  // C14-9, 1
  Smp smp = smp_at({.pointer = 0, .count = 3, .source = 9});
  const RouteStep step = arrive(smp, kAtSwitch);
  EXPECT_EQ(step.kind, Kind::kForward);
  EXPECT_EQ(step.port, 11);
  EXPECT_EQ(pointer_of(smp), 1u);
}

TEST(DirectedRouteTest, ASwitchInTheMiddleNotesWhereItCameFrom) {  // C14-9, 2
  Smp smp = smp_at({.pointer = 2, .count = 3});
  const RouteStep step = arrive(smp, kAtSwitch);
  EXPECT_EQ(step.kind, Kind::kForward);
  EXPECT_EQ(step.port, 13);
  EXPECT_EQ(pointer_of(smp), 3u);
  EXPECT_EQ(smp.return_path[2], kCameBy);
  EXPECT_EQ(smp.return_path[1], 21);
  EXPECT_EQ(smp.return_path[3], 23);
}

TEST(DirectedRouteTest, TheLastNodeOfTheRouteAnswers) {  // C14-9, 3
  for (const bool is_switch : {kAtSwitch, kAtAdapter}) {
    Smp smp = smp_at({.pointer = 3, .count = 3});
    EXPECT_EQ(arrive(smp, is_switch).kind, Kind::kAnswer);
    EXPECT_EQ(pointer_of(smp), 4u);
    EXPECT_EQ(smp.return_path[3], kCameBy);
  }
}

TEST(DirectedRouteTest, ASwitchSendsOnByLidAfterTheDirectedPart) {  // C14-9, 3
  Smp smp = smp_at({.pointer = 3, .count = 3, .destination = 0x21});
  const RouteStep step = arrive(smp, kAtSwitch);
  EXPECT_EQ(step.kind, Kind::kByLid);
  EXPECT_EQ(step.lid, 0x21);
  EXPECT_EQ(pointer_of(smp), 4u);
  EXPECT_EQ(smp.return_path[3], kCameBy);
}

TEST(DirectedRouteTest, WhatCameByLidAfterTheDirectedPartIsAnswered) {  // C14-9, 4
  for (const bool is_switch : {kAtSwitch, kAtAdapter}) {
    Smp smp = smp_at({.pointer = 4, .count = 3, .destination = 0x21});
    EXPECT_EQ(arrive(smp, is_switch).kind, Kind::kAnswer);
    EXPECT_EQ(pointer_of(smp), 4u);
    EXPECT_EQ(smp.return_path[3], 23);
  }
}

TEST(DirectedRouteTest, APointerBeyondItsRouteIsDropped) {  // C14-9, 5
  for (const bool is_switch : {kAtSwitch, kAtAdapter}) {
    for (unsigned count = 0; count <= kMostHops; ++count) {
      for (unsigned pointer = count + 2; pointer < 256; ++pointer) {
        Smp smp = smp_at({.pointer = pointer, .count = count});
        ASSERT_EQ(arrive(smp, is_switch).kind, Kind::kDrop) << pointer << " of " << count;
      }
    }
  }
}

TEST(DirectedRouteTest, AnAdapterForwardsNothing) {
  for (const RouteCase& at :
       {RouteCase{.pointer = 0, .count = 3}, RouteCase{.pointer = 2, .count = 3},
        RouteCase{.pointer = 3, .count = 3, .destination = 5},
        RouteCase{.pointer = 4, .count = 3, .returns = true},
        RouteCase{.pointer = 2, .count = 3, .returns = true},
        RouteCase{.pointer = 1, .count = 3, .returns = true, .source = 5}}) {
    Smp smp = smp_at(at);
    // Not even by ports that it has.
    EXPECT_EQ(on_arrival(smp, 1, kAtAdapter, kRoutePorts).kind, Kind::kDrop)
        << at.pointer << at.returns;
  }
}

TEST(DirectedRouteTest, APortThatTheSwitchDoesNotHaveIsNoWay) {
  for (const std::uint8_t port :
       {std::uint8_t{0}, std::uint8_t{kRoutePorts + 1}, std::uint8_t{255}}) {
    Smp out = smp_at({.pointer = 1, .count = 3});
    out.initial_path[2] = port;
    EXPECT_EQ(arrive(out, kAtSwitch).kind, Kind::kDrop);
    Smp begin = smp_at({.pointer = 0, .count = 3});
    begin.initial_path[1] = port;
    EXPECT_EQ(arrive(begin, kAtSwitch).kind, Kind::kDrop);
    Smp back = smp_at({.pointer = 3, .count = 3, .returns = true});
    back.return_path[2] = port;
    EXPECT_EQ(come_back(back, kAtSwitch).kind, Kind::kDrop);
    Smp begin_back = smp_at({.pointer = 4, .count = 3, .returns = true, .destination = 0x21});
    begin_back.return_path[3] = port;
    EXPECT_EQ(arrive(begin_back, kAtSwitch).kind, Kind::kDrop);
  }
}

// ---- 14.2.2.4: on the way back ----

TEST(DirectedRouteTest, ASwitchBeginsTheDirectedPartBack) {  // C14-13, 1
  Smp smp = smp_at({.pointer = 4, .count = 3, .returns = true, .destination = 0x21});
  const RouteStep step = arrive(smp, kAtSwitch);
  EXPECT_EQ(step.kind, Kind::kForward);
  EXPECT_EQ(step.port, 23);
  EXPECT_EQ(pointer_of(smp), 3u);
}

TEST(DirectedRouteTest, ASwitchInTheMiddleSendsBack) {  // C14-13, 2
  for (const unsigned pointer : {2U, 3U}) {
    Smp smp = smp_at({.pointer = pointer, .count = 3, .returns = true});
    const RouteStep step = come_back(smp, kAtSwitch);
    EXPECT_EQ(step.kind, Kind::kForward);
    EXPECT_EQ(step.port, 20 + pointer - 1);
    EXPECT_EQ(pointer_of(smp), pointer - 1);
  }
}

TEST(DirectedRouteTest, TheRequesterGetsItsAnswer) {  // C14-13, 3
  for (const bool is_switch : {kAtSwitch, kAtAdapter}) {
    Smp smp = smp_at({.pointer = 1, .count = 3, .returns = true});
    EXPECT_EQ(come_back(smp, is_switch).kind, Kind::kDeliver);
    EXPECT_EQ(pointer_of(smp), 0u);
  }
}

TEST(DirectedRouteTest, ASwitchSendsBackByLidAfterTheDirectedPart) {  // C14-13, 3
  Smp smp = smp_at({.pointer = 1, .count = 3, .returns = true, .source = 0x33});
  const RouteStep step = come_back(smp, kAtSwitch);
  EXPECT_EQ(step.kind, Kind::kByLid);
  EXPECT_EQ(step.lid, 0x33);
  EXPECT_EQ(pointer_of(smp), 0u);
}

TEST(DirectedRouteTest, WhatCameBackByLidIsDelivered) {  // C14-13, 4
  for (const bool is_switch : {kAtSwitch, kAtAdapter}) {
    Smp smp = smp_at({.pointer = 0, .count = 3, .returns = true, .source = 0x33});
    EXPECT_EQ(arrive(smp, is_switch).kind, Kind::kDeliver);
  }
}

TEST(DirectedRouteTest, AReturningPointerBeyondItsRouteIsDropped) {  // C14-13, 5
  for (unsigned count = 0; count <= kMostHops; ++count) {
    const unsigned first = count == 0 ? 2 : count + 2;
    for (unsigned pointer = first; pointer < 256; ++pointer) {
      Smp smp = smp_at({.pointer = pointer, .count = count, .returns = true});
      ASSERT_EQ(come_back(smp, kAtSwitch).kind, Kind::kDrop) << pointer << " of " << count;
    }
  }
}

TEST(DirectedRouteTest, MoreHopsThanThereCanBeAreDropped) {
  for (const bool returns : {false, true}) {
    for (unsigned count = kMostHops + 1; count < 256; ++count) {
      for (const unsigned pointer : {0U, 1U, 63U, 64U, count, (count + 1) & 0xFF}) {
        Smp smp = smp_at({.pointer = pointer, .count = count, .returns = returns});
        ASSERT_EQ(come_back(smp, kAtSwitch).kind, Kind::kDrop);
        Smp left = smp_at({.pointer = pointer, .count = count, .returns = returns});
        ASSERT_EQ(on_departure(left, kRoutePorts).kind, Kind::kDrop);
      }
    }
  }
}

// The whole route is the sender's to write; where it came from is not.
TEST(DirectedRouteTest, AnAnswerThroughAnotherPortThanItsRequestIsDropped) {
  for (const unsigned pointer : {1U, 2U, 3U}) {
    for (unsigned arrived = 0; arrived < 256; ++arrived) {
      Smp smp = smp_at({.pointer = pointer, .count = 3, .returns = true});
      const bool is_right = arrived == 10 + pointer;
      ASSERT_EQ(arrive(smp, kAtSwitch, static_cast<std::uint8_t>(arrived)).kind == Kind::kDrop,
                !is_right)
          << arrived << " at " << pointer;
    }
  }
}

// Nor does it say that it came by LID where it did not.
TEST(DirectedRouteTest, AnAnswerThatBeginsOrEndsByLidHasThatLid) {
  for (const bool is_switch : {kAtSwitch, kAtAdapter}) {
    Smp begins = smp_at({.pointer = 4, .count = 3, .returns = true});
    EXPECT_EQ(arrive(begins, is_switch).kind, Kind::kDrop);
    Smp ends = smp_at({.pointer = 0, .count = 3, .returns = true});
    EXPECT_EQ(arrive(ends, is_switch).kind, Kind::kDrop);
    Smp nowhere = smp_at({.pointer = 1, .count = 0, .returns = true});
    EXPECT_EQ(arrive(nowhere, is_switch).kind, Kind::kDrop);
  }
}

// ---- Leaving, answering ----

TEST(DirectedRouteTest, ARequestLeavesThroughItsFirstPort) {
  Smp smp = smp_at({.pointer = 0, .count = 2});
  smp.initial_path[1] = 1;
  const RouteStep step = on_departure(smp, 1);
  EXPECT_EQ(step.kind, Kind::kForward);
  EXPECT_EQ(step.port, 1);
  EXPECT_EQ(pointer_of(smp), 1u);
}

TEST(DirectedRouteTest, ARequestOfNoHopsAsksItsOwnNode) {
  Smp smp = smp_at({});
  EXPECT_EQ(on_departure(smp, 1).kind, Kind::kAnswer);
  EXPECT_EQ(pointer_of(smp), 1u);
  EXPECT_EQ(on_answer(smp).kind, Kind::kDeliver);
  EXPECT_TRUE(is_returning(smp));
}

TEST(DirectedRouteTest, ARequestThatIsUnderWayAlreadyDoesNotLeave) {
  for (unsigned pointer = 1; pointer < 256; ++pointer) {
    Smp smp = smp_at({.pointer = pointer, .count = 2});
    ASSERT_EQ(on_departure(smp, 1).kind, Kind::kDrop);
  }
}

TEST(DirectedRouteTest, ARequestThatBeginsByLidLeavesByLid) {
  Smp smp = smp_at({.count = 2, .source = 4});
  const RouteStep step = on_departure(smp, 1);
  EXPECT_EQ(step.kind, Kind::kByLid);
  EXPECT_EQ(step.lid, 0);  // the program names it
  EXPECT_EQ(pointer_of(smp), 0u);
}

TEST(DirectedRouteTest, NoHopsThenByLid) {
  Smp smp = smp_at({.destination = 8});
  const RouteStep step = on_departure(smp, 1);
  EXPECT_EQ(step.kind, Kind::kByLid);
  EXPECT_EQ(step.lid, 8);
}

TEST(DirectedRouteTest, AnAnswerBeginsByLidWhereItsRequestEndedByLid) {
  Smp smp = smp_at({.pointer = 4, .count = 3, .destination = 0x21});
  const RouteStep step = on_answer(smp);
  EXPECT_EQ(step.kind, Kind::kByLid);
  EXPECT_EQ(step.lid, 0);
  EXPECT_TRUE(is_returning(smp));
  EXPECT_EQ(pointer_of(smp), 4u);  // C14-13, 1 is the switch's
}

TEST(DirectedRouteTest, AnAnswerToNoHopsGoesBackByLid) {
  Smp smp = smp_at({.pointer = 1, .count = 0, .source = 0x17});
  const RouteStep step = on_answer(smp);
  EXPECT_EQ(step.kind, Kind::kByLid);
  EXPECT_EQ(step.lid, 0x17);
}

TEST(DirectedRouteTest, AnAnswerOfTooManyHopsIsDropped) {
  Smp smp = smp_at({.pointer = 65, .count = 64});
  EXPECT_EQ(on_answer(smp).kind, Kind::kDrop);
}

// ---- Whole ways: a chain of switches, each left by port 2 and entered by port 1, and an adapter
// ----

void go_there_and_back(unsigned hops, bool ends_at_switch) {
  Smp smp = smp_at({.count = hops});
  for (unsigned hop = 1; hop <= hops; ++hop) smp.initial_path[hop] = hop == 1 ? 1 : 2;
  RouteStep step = on_departure(smp, 1);
  for (unsigned hop = 1; hop <= hops; ++hop) {
    ASSERT_EQ(step.kind, Kind::kForward) << hop << " of " << hops;
    ASSERT_EQ(step.port, hop == 1 ? 1 : 2);
    const bool is_last = hop == hops;
    step = on_arrival(smp, 1, !is_last || ends_at_switch, 4);
  }
  ASSERT_EQ(step.kind, Kind::kAnswer) << hops;
  step = on_answer(smp);
  for (unsigned hop = hops; hop >= 1; --hop) {
    ASSERT_EQ(step.kind, Kind::kForward) << hop << " back of " << hops;
    ASSERT_EQ(step.port, 1);
    step = on_arrival(smp, hop == 1 ? 1 : 2, hop != 1, 4);
  }
  ASSERT_EQ(step.kind, Kind::kDeliver) << hops;
}

TEST(DirectedRouteTest, ThereAndBackOverEveryNumberOfHops) {
  for (unsigned hops = 0; hops <= kMostHops; ++hops) {
    go_there_and_back(hops, kAtSwitch);
    go_there_and_back(hops, kAtAdapter);
  }
}

// By LID to a switch, two hops, and by LID to the responder; and all of it back.
TEST(DirectedRouteTest, ThereAndBackWithPartsByLid) {
  Smp smp = smp_at({.count = 2, .source = 3, .destination = 9});
  EXPECT_EQ(on_departure(smp, 1).kind, Kind::kByLid);
  RouteStep step = on_arrival(smp, 5, kAtSwitch, 36);
  EXPECT_EQ(step.kind, Kind::kForward);
  EXPECT_EQ(step.port, 11);
  step = on_arrival(smp, 6, kAtSwitch, 36);
  EXPECT_EQ(step.kind, Kind::kForward);
  EXPECT_EQ(step.port, 12);
  step = on_arrival(smp, 7, kAtSwitch, 36);
  EXPECT_EQ(step.kind, Kind::kByLid);
  EXPECT_EQ(step.lid, 9);
  EXPECT_EQ(on_arrival(smp, 1, kAtAdapter, 1).kind, Kind::kAnswer);
  EXPECT_EQ(on_answer(smp).kind, Kind::kByLid);
  step = on_arrival(smp, 8, kAtSwitch, 36);
  EXPECT_EQ(step.kind, Kind::kForward);
  EXPECT_EQ(step.port, 7);
  step = on_arrival(smp, 12, kAtSwitch, 36);
  EXPECT_EQ(step.kind, Kind::kForward);
  EXPECT_EQ(step.port, 6);
  step = on_arrival(smp, 11, kAtSwitch, 36);
  EXPECT_EQ(step.kind, Kind::kByLid);
  EXPECT_EQ(step.lid, 3);
  EXPECT_EQ(on_arrival(smp, 1, kAtAdapter, 1).kind, Kind::kDeliver);
}

TEST(DirectedRouteTest, RandomSmpsLeadOnlyThroughPortsThatAreThere) {
  std::mt19937 engine(3);
  const auto random = [&engine] { return static_cast<std::uint32_t>(engine()); };
  for (int round = 0; round < 100'000; ++round) {
    Smp smp;
    for (std::uint8_t& byte : std::span(reinterpret_cast<std::uint8_t*>(&smp), sizeof smp))
      byte = static_cast<std::uint8_t>(random());
    if (random() % 2 == 0) smp.header.class_specific.set(hops_of(random() % 70, random() % 70));
    const auto step = on_arrival(smp, static_cast<std::uint8_t>(1 + random() % 36),
                                 random() % 2 == 0, kRoutePorts);
    if (step.kind == Kind::kForward) {
      ASSERT_GE(step.port, 1);
      ASSERT_LE(step.port, kRoutePorts);
    }
  }
}

}  // namespace
}  // namespace paravane::subnet
