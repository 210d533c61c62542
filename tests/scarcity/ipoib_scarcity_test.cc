// An uplink that joins, learns addresses and paths, and carries frames, with memory that fails at
// one allocation after the other. The step that it fails in is interrupted; what is lost is a
// frame, or a packet, and what was begun is begun again. Nothing is half made: traffic goes
// afterwards, and no queue pair is left when the uplink's VLAN goes.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

#include "base/memory_shortage.h"
#include "testing/scarce_memory.h"
#include "testing/uplink_rig.h"

namespace paravane::ipoib {
namespace {

using fake::kToAll;
using fake::UplinkRig;
using std::chrono::seconds;

constexpr MacBytes kVmHere{0x00, 0x16, 0x3E, 0, 0, 1};
constexpr MacBytes kVmThere{0x00, 0x16, 0x3E, 0, 0, 2};

class NoReceiver final : public subnet::DatagramReceiver {
  void on_datagram(std::uint32_t /*queue_pair*/,
                   const wire::infiniband::Datagram& /*packet*/) override {}
};

fake::FrameBytes arp_of(const MacBytes& vm) {
  return fake::arp_frame(kToAll, {.sender = vm, .sender_ipv4 = {10, 0, 0, 1}});
}
fake::FrameBytes packet_to(const MacBytes& to) {
  return fake::frame_of(to, kVmHere, wire::roce::kEtherTypeIpv4, fake::ipv4_packet(100));
}

// The MAC of the VM there, as the first side sees it.
MacBytes there_seen(UplinkRig& rig) {
  rig.first_vms.take();
  rig.second.on_frame(0, arp_of(kVmThere));
  EXPECT_TRUE(rig.run());
  const auto frames = rig.first_vms.take();
  EXPECT_EQ(frames.size(), 1u);
  return frames.empty() ? kVmThere : frames[0].frame().source;
}

void expect_traffic(UplinkRig& rig) {
  EXPECT_TRUE(rig.advance(seconds(20)));
  const MacBytes there = there_seen(rig);
  rig.second_vms.take();
  rig.first.on_frame(0, packet_to(there));
  EXPECT_TRUE(rig.run());
  EXPECT_EQ(rig.second_vms.take().size(), 1u);
  rig.first.on_frame(0, arp_of(kVmHere));
  EXPECT_TRUE(rig.run());
  EXPECT_EQ(rig.second_vms.take().size(), 1u);
  EXPECT_EQ(rig.first.addresses(), 1u);
}

void expect_no_queue_pairs(UplinkRig& rig) {
  rig.first.remove_vlan(0);
  NoReceiver none;
  std::size_t made = 0;
  while (rig.net.first.queue_pairs(1).make({}, none)) ++made;
  EXPECT_EQ(made, subnet::QueuePairs::kMost);
}

// Runs `act` of a rig that `prepare` has made ready, with each of its allocations failing in turn.
template <typename Prepare, typename Act>
void with_each_failure(Prepare prepare, Act act) {
  std::uint64_t number = 1;
  bool has_failed = true;
  for (; has_failed; ++number) {
    SCOPED_TRACE(number);
    UplinkRig rig;
    ASSERT_TRUE(rig.second.add_vlan(0));
    ASSERT_TRUE(rig.run());
    const MacBytes there = prepare(rig);
    {
      const ScarceMemory scarce(number);
      act(rig, there);
      has_failed = scarce.has_failed();
    }
    expect_traffic(rig);
    expect_no_queue_pairs(rig);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(number, 3u);
}

MacBytes join_and_see(UplinkRig& rig) {
  EXPECT_TRUE(rig.first.add_vlan(0));
  EXPECT_TRUE(rig.run());
  return there_seen(rig);
}

// ScarceMemory is of the calls of the uplink and of the subnet that calls it.
void step(UplinkRig& rig) {
  (void)runs_in_memory([&rig] { rig.first.on_time(rig.net.clock.now); });
  (void)runs_in_memory([&rig] { rig.net.settle(); });
}

TEST(IpoibScarcity, AVlanThatIsAddedJoinsInTheEnd) {
  with_each_failure([](UplinkRig& /*rig*/) { return MacBytes{}; },
                    [](UplinkRig& rig, const MacBytes& /*there*/) {
                      (void)runs_in_memory([&rig] { (void)rig.first.add_vlan(0); });
                      step(rig);
                      (void)runs_in_memory([&rig] { (void)rig.administration.serve(); });
                      step(rig);
                      // What asked for it does so again.
                      (void)runs_in_memory([&rig] { (void)rig.first.add_vlan(0); });
                    });
}

TEST(IpoibScarcity, ARegistrationIsMadeInTheEnd) {
  with_each_failure(
      [](UplinkRig& rig) {
        const MacBytes there = join_and_see(rig);
        rig.administration.make_group(wire::infiniband::kDefaultPartition, {.qkey = 7});
        rig.administration.want_registrations();
        return there;
      },
      [](UplinkRig& rig, const MacBytes& /*there*/) {
        step(rig);
        (void)runs_in_memory([&rig] { (void)rig.administration.serve(); });
        step(rig);
      });
}

TEST(IpoibScarcity, AFrameIsLostWhole) {
  with_each_failure(join_and_see, [](UplinkRig& rig, const MacBytes& there) {
    (void)runs_in_memory([&] { rig.first.on_frame(0, packet_to(there)); });
    step(rig);
    (void)runs_in_memory([&rig] { (void)rig.administration.serve(); });
    step(rig);
  });
}

TEST(IpoibScarcity, AnAddressIsMadeWholeOrNotAtAll) {
  with_each_failure(join_and_see, [](UplinkRig& rig, const MacBytes& /*there*/) {
    (void)runs_in_memory([&rig] { rig.first.on_frame(0, arp_of(kVmHere)); });
    step(rig);
  });
}

TEST(IpoibScarcity, APacketIsLostWhole) {
  with_each_failure(
      [](UplinkRig& rig) {
        (void)join_and_see(rig);
        rig.second.on_frame(0, arp_of(kVmThere));
        return MacBytes{};
      },
      [](UplinkRig& rig, const MacBytes& /*there*/) { step(rig); });
}

TEST(IpoibScarcity, APartitionThatGoesIsLeft) {
  with_each_failure(join_and_see, [](UplinkRig& rig, const MacBytes& /*there*/) {
    rig.first.remove_vlan(0);
    step(rig);
    (void)runs_in_memory([&rig] { (void)rig.first.add_vlan(0); });
    step(rig);
    (void)runs_in_memory([&rig] { (void)rig.first.add_vlan(0); });
  });
}

}  // namespace
}  // namespace paravane::ipoib
