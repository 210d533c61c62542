#include "traffic_stage.h"

#include <algorithm>
#include <chrono>

#include "testing/scarce_memory.h"

namespace paravane::fake {
namespace {

using std::chrono::milliseconds;

constexpr Duration kAct = milliseconds(2);
constexpr Duration kAnswer = milliseconds(500);  // all retries, and more

// A peer that is gone is given up after some 20 ms.
constexpr RcOptions kConnection{.timeout = 10, .retry_count = 3};

bool connect_parties(TrafficParty& a, TrafficParty& b) {
  FakeGuest& one = a.guest();
  FakeGuest& other = b.guest();
  return one.connect(a.qp(), other.gid(), b.qp().number, kConnection) &&
         other.connect(b.qp(), one.gid(), a.qp().number, kConnection);
}

}  // namespace

TrafficStage::TrafficStage(const Traffic& traffic)
    : traffic_(traffic),
      sender_(rig_.guest(0), traffic.sender),
      receiver_(rig_.guest(1), traffic.receiver) {
  EXPECT_TRUE(connect_parties(third_, fourth_));
  if (is_datagram()) {
    EXPECT_TRUE(rig_.guest(0).start_datagrams(sender_.qp(), kTrafficQkey));
    EXPECT_TRUE(rig_.guest(1).start_datagrams(receiver_.qp(), kTrafficQkey));
  } else {
    EXPECT_TRUE(connect_parties(sender_, receiver_));
  }
  traffic_.prepare(*this);
  if (traffic_.receiver.arms) receiver_.end().receive_cq().arm();
  EXPECT_TRUE(rig_.run(kAct));
  for (unsigned vm = 0; vm < TrafficRig::kVms; ++vm) before_[vm] = rig_.device(vm).objects();
}

bool TrafficStage::run_acts(std::uint64_t failing_allocation) {
  bool is_idle = true;
  bool has_failed = false;
  {
    const ScarceMemory scarce(failing_allocation);
    for (const TrafficAct& act : traffic_.acts) {
      act(*this);
      is_idle = rig_.run(kAct) && is_idle;
    }
    has_failed = scarce.has_failed();
  }
  EXPECT_TRUE(is_idle);
  return has_failed;
}

void TrafficStage::expect_contained() {
  ASSERT_TRUE(rig_.run(kAct));
  EXPECT_FALSE(rig_.is_lost(0) && rig_.is_lost(1));
  for (unsigned vm = 0; vm < TrafficRig::kVms; ++vm) {
    SCOPED_TRACE(vm);
    EXPECT_EQ(rig_.device(vm).fatal_reason(), "");
    EXPECT_EQ(rig_.device(vm).objects(), rig_.is_lost(vm) ? device::DeviceObjects{} : before_[vm]);
  }
  EXPECT_FALSE(rig_.is_lost(2) || rig_.is_lost(3));
  expect_exchange(third_, fourth_);
  expect_exchange(fourth_, third_);
}

void TrafficStage::expect_answers() {
  ASSERT_TRUE(rig_.run(kAnswer));
  sender_.drain();
  receiver_.drain();
  ASSERT_TRUE(rig_.run(kAct));  // what waited for room
  if (!rig_.is_lost(0)) expect_answers(0, sender_);
  if (!rig_.is_lost(1)) expect_answers(1, receiver_);
}

void TrafficStage::expect_answers(unsigned vm, TrafficParty& party) {
  SCOPED_TRACE(vm);
  party.drain();
  if (has_overrun(vm)) return expect_overrun(party);
  expect_events(party);
  if (vm == 0) {
    EXPECT_EQ(party.owed(), 0u);  // it has posted nothing but sends
  }
  if (any_lost() && !is_datagram()) {
    const std::uint32_t failed = party.failed();
    ASSERT_TRUE(party.send({}, 0, 8));
    ASSERT_TRUE(rig_.run(kAnswer));
    party.drain();
    EXPECT_GT(party.failed(), failed);
  }
  ASSERT_TRUE(party.guest().to_state(party.qp(), kStateErr));
  ASSERT_TRUE(rig_.run(kAct));
  party.drain();
  ASSERT_TRUE(rig_.run(kAct));
  party.drain();
  EXPECT_EQ(party.owed(), party.left_in_srq());
  EXPECT_EQ(party.repeated(), 0u);
}

// Completions are missing, and the program is told.
void TrafficStage::expect_overrun(TrafficParty& party) {
  FakeGuest& guest = party.guest();
  guest.handle_interrupts();
  EXPECT_EQ(std::ranges::count(guest.async_events(), kEventCqError, &AsyncEvent::type), 1);
  EXPECT_EQ(std::ranges::count(guest.async_events(), kEventQpFatal, &AsyncEvent::type), 1);
  EXPECT_EQ(guest.query(party.qp()).qp_state, kStateErr);
  EXPECT_EQ(party.repeated(), 0u);
}

// A program that sleeps until it is told.
void TrafficStage::expect_events(TrafficParty& party) {
  FakeGuest& guest = party.guest();
  guest.handle_interrupts();
  if (&party != &receiver_) return;
  if (traffic_.receiver.arms && party.succeeded() + party.failed() > 0) {
    EXPECT_GE(party.end().receive_cq().events(), 1u);
  }
  if (party.left_in_srq() < traffic_.receiver.srq_limit) {
    EXPECT_EQ(std::ranges::count(guest.async_events(), kEventSrqLimitReached, &AsyncEvent::type),
              1);
  }
}

void TrafficStage::expect_exchange(TrafficParty& from, TrafficParty& to) {
  constexpr std::uint32_t kBytes = 64;
  from.buffer().fill_pattern(7);
  to.buffer().fill(std::byte{0});
  const std::uint32_t sent = from.succeeded();
  const std::uint32_t received = to.succeeded();
  ASSERT_TRUE(to.receive(0, kBytes));
  ASSERT_TRUE(from.send({}, 0, kBytes));
  ASSERT_TRUE(rig_.run(kAct));
  from.drain();
  to.drain();
  EXPECT_EQ(from.succeeded(), sent + 1);
  EXPECT_EQ(to.succeeded(), received + 1);
  EXPECT_EQ(from.buffer().load(0, kBytes), to.buffer().load(0, kBytes));
}

void TrafficStage::expect_new_conversation(unsigned one, unsigned other) {
  SCOPED_TRACE(one);
  TrafficParty a(rig_.guest(one));
  TrafficParty b(rig_.guest(other));
  ASSERT_TRUE(connect_parties(a, b));
  expect_exchange(a, b);
  expect_exchange(b, a);
}

void TrafficStage::expect_service() {
  for (const unsigned vm : {0u, 1u}) {
    if (!rig_.is_lost(vm)) expect_new_conversation(vm, 2);
  }
  if (!any_lost()) expect_new_conversation(0, 1);
}

}  // namespace paravane::fake
