#include "ipoib/link_addresses.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

#include "testing/bare_node.h"
#include "testing/port_orders.h"

namespace paravane::ipoib {
namespace {

constexpr MacBytes kVmMac{0x00, 0x16, 0x3E, 0, 0, 7};
constexpr std::uint16_t kVmVlan = 10;
constexpr std::uint16_t kPortLid = 0x20;
constexpr RemoteQueuePair kElsewhere{.number = 0x1234, .lid = 0x31};

class DeafReceiver final : public subnet::DatagramReceiver {
 public:
  void on_datagram(std::uint32_t, const wire::infiniband::Datagram&) override {}
};

class LinkAddressesTest : public testing::Test {
 protected:
  LinkAddressesTest() { EXPECT_TRUE(fake::set_port_identity(port_, kPortLid, 1)); }

  // The address of a VM that has sent a frame just now.
  const OwnAddresses::Address& use(const MacBytes& mac, std::uint16_t vlan = kVmVlan) {
    return *own_.use(mac, vlan, {.partition = 0x800A, .qkey = 0x0B1B}, clock_.now);
  }

  TurnClock clock_{Instant(std::chrono::hours(1))};
  fake::BareNode node_{wire::infiniband::NodeType::kChannelAdapter, 1};
  subnet::Port& port_ = *node_.port(1);
  subnet::QueuePairs pairs_;
  DeafReceiver receiver_;
  OwnAddresses own_{pairs_, receiver_};
  LinkAddresses addresses_{port_, own_, clock_};
};

TEST_F(LinkAddressesTest, AMacIsAVmsInItsVlanUntilItHasBeenSilent) {
  EXPECT_FALSE(addresses_.is_vm(kVmMac, kVmVlan));
  use(kVmMac);
  EXPECT_TRUE(addresses_.is_vm(kVmMac, kVmVlan));
  EXPECT_FALSE(addresses_.is_vm(kVmMac, kVmVlan + 1));
  clock_.now += OwnAddresses::kIdle - Duration(1);
  EXPECT_TRUE(addresses_.is_vm(kVmMac, kVmVlan));
  clock_.now += Duration(1);
  EXPECT_FALSE(addresses_.is_vm(kVmMac, kVmVlan));
}

TEST_F(LinkAddressesTest, AQueuePairHasItsMacUnlessAVmHasIt) {
  const auto mac = remote_mac(kElsewhere);
  ASSERT_TRUE(mac.has_value());
  EXPECT_EQ(addresses_.mac_of(kVmVlan, kElsewhere), mac);
  use(*mac);
  EXPECT_EQ(addresses_.mac_of(kVmVlan, kElsewhere), std::nullopt);
  EXPECT_EQ(addresses_.mac_of(kVmVlan + 1, kElsewhere), mac);
  clock_.now += OwnAddresses::kIdle;
  EXPECT_EQ(addresses_.mac_of(kVmVlan, kElsewhere), mac);
  EXPECT_EQ(addresses_.mac_of(kVmVlan, {.number = 1, .lid = kElsewhere.lid}), std::nullopt);
}

TEST_F(LinkAddressesTest, AQueuePairOfAVmIsOursAtEachLidOfThePort) {
  const std::uint32_t number = use(kVmMac).queue_pair;
  EXPECT_TRUE(addresses_.is_own({.number = number, .lid = kPortLid}));
  EXPECT_FALSE(addresses_.is_own({.number = number, .lid = kPortLid + 1}));
  EXPECT_FALSE(addresses_.is_own({.number = number + 1, .lid = kPortLid}));
  wire::infiniband::PortInfo wish = fake::wish_at(port_);
  wish.protection_lmc = 1;
  ASSERT_EQ(port_.set_info(wish), 0);
  EXPECT_TRUE(addresses_.is_own({.number = number, .lid = kPortLid + 1}));
}

TEST_F(LinkAddressesTest, AVmsAddressIsFoundInItsVlanAndAtItsPortAlone) {
  const OwnAddresses::Address& own = use(kVmMac);
  const wire::infiniband::IpoibAddress address = addresses_.address_of(own);
  EXPECT_EQ(address.queue_pair(), own.queue_pair);
  EXPECT_EQ(address.gid, port_.gid());
  EXPECT_EQ(addresses_.own_at(kVmVlan, address), &own);
  EXPECT_EQ(addresses_.own_at(kVmVlan + 1, address), nullptr);
  EXPECT_EQ(addresses_.own_at(kVmVlan, address_with(own.queue_pair + 1, address.gid)), nullptr);
  wire::infiniband::Gid other = address.gid;
  other[15] ^= 1;
  EXPECT_EQ(addresses_.own_at(kVmVlan, address_with(own.queue_pair, other)), nullptr);
}

}  // namespace
}  // namespace paravane::ipoib
