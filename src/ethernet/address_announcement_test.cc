#include "ethernet/address_announcement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/own_network.h"

namespace paravane::ethernet {
namespace {

using testing::ElementsAre;

constexpr std::array<std::uint8_t, 6> kMac{2, 0, 0, 0, 0, 7};
constexpr std::array<std::uint8_t, 6> kOther{2, 0, 0, 0, 0, 8};

// RFC 903, in a frame of 60 bytes.
TEST(AddressAnnouncementTest, IsARarpRequestOfTheAddressItself) {
  const std::vector<std::byte> frame = announcement_of(kMac, 0);
  constexpr std::array<std::uint8_t, 42> kWanted{
      0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2, 0, 0, 0, 0, 7, 0x80, 0x35, 0, 1, 8, 0, 6, 4, 0,
      3,    2,    0,    0,    0,    0,    7, 0, 0, 0, 0, 2, 0,    0,    0, 0, 7, 0, 0, 0, 0};
  ASSERT_EQ(frame.size(), 60u);
  for (std::size_t i = 0; i < frame.size(); ++i) {
    EXPECT_EQ(std::to_integer<int>(frame[i]), i < kWanted.size() ? kWanted[i] : 0) << i;
  }
  const std::vector<std::byte> tagged = announcement_of(kMac, 10);
  EXPECT_EQ(std::vector<std::byte>(tagged.begin() + 12, tagged.begin() + 18),
            (std::vector<std::byte>{std::byte{0x81}, std::byte{0}, std::byte{0}, std::byte{10},
                                    std::byte{0x80}, std::byte{0x35}}));
}

TEST(AddressAnnouncementTest, HasTheTagsOfThePort) {
  const std::vector<BridgeAddress> addresses{{.mac = kMac, .vlan = 4094, .port = 3},
                                             {.mac = kMac, .vlan = 10, .port = 3},
                                             {.mac = kMac, .vlan = 10, .port = 4},
                                             {.mac = kOther, .vlan = 20, .port = 4}};
  EXPECT_THAT(announcements(addresses, 4094, {10}),
              ElementsAre(announcement_of(kMac, 0), announcement_of(kMac, 10)));
  EXPECT_THAT(announcements({{.mac = kMac, .vlan = 0, .port = 3}}, 0, {}),
              ElementsAre(announcement_of(kMac, 0)));
  EXPECT_THAT(announcements({}, 0, {}), ElementsAre());
}

TEST(AddressAnnouncementTest, LeavesByThePortsOfABridgeThatIsDown) {
  OwnNetwork network;
  ASSERT_TRUE(network.made()) << "needs root";
  ASSERT_TRUE(network.ip("link add nic type veth peer name far"));
  ASSERT_TRUE(network.ip("link add parking type bridge"));
  ASSERT_TRUE(network.ip("link add heard type bridge"));
  for (const char* words :
       {"link set nic master parking up", "link set far master heard up", "link set heard up"}) {
    ASSERT_TRUE(network.ip(words)) << words;
  }
  auto links = Links::open();
  ASSERT_TRUE(links);
  int parking = 0;
  int heard = 0;
  const auto all = links->list();
  ASSERT_TRUE(all);
  for (const Link& link : *all) {
    if (link.name == "parking") parking = link.index;
    if (link.name == "heard") heard = link.index;
  }
  const Status sent = send_through(*links, parking, {announcement_of(kMac, 0)});
  ASSERT_TRUE(sent) << sent.error().message;
  const auto learned = links->bridge_addresses(heard);
  ASSERT_TRUE(learned) << learned.error().message;
  EXPECT_THAT(*learned, testing::Contains(testing::Field(&BridgeAddress::mac, kMac)));
  EXPECT_FALSE(network.ip_shows("link show dev parking", ",UP"));
  EXPECT_FALSE(network.ip_shows("link show", "pvA"));
}

}  // namespace
}  // namespace paravane::ethernet
