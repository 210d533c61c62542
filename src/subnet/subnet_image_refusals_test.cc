// What an enemy says of a subnet, and none of ours could have been.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "subnet/subnet_image_test.h"
#include "testing/edited_state.h"

namespace paravane::subnet {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using wire::infiniband::PhysicalState;
using wire::infiniband::PortInfo;
using wire::infiniband::PortState;

// ---- As a whole state ----

TEST_F(SubnetImageTest, EachPartOfAStateIsNotAState) {
  SubnetImage image = rig_.subnet.image();
  const StateBytes bytes = bytes_of(image);
  // Whole without its adapters, and then with one.
  image.adapters.clear();
  const std::size_t end = bytes_of(image).size();
  for (std::size_t length = 0; length < end; length += length < 200 ? 1 : 97)
    EXPECT_NE(image_refusal(std::span(bytes).first(length)), "") << length;
}

TEST_F(SubnetImageTest, NumbersOutOfTheirBoundsAreRefused) {
  const StateBytes bytes = bytes_of(rig_.subnet.image());
  const auto longer = [](std::size_t by) {
    return [by](std::span<const std::byte> value) {
      StateBytes grown(value.begin(), value.end());
      grown.resize(grown.size() + by);
      return grown;
    };
  };
  const auto refused = [&](std::vector<std::uint16_t> path, const StateEdit& edit) {
    return image_refusal(edited(bytes, path, edit));
  };
  EXPECT_THAT(refused({1, 2}, longer(1)), HasSubstr("1.2"));
  EXPECT_THAT(refused({1, 3}, longer(Forwarding::kLinearEntries + 64)), HasSubstr("1.3"));
  EXPECT_THAT(refused({1, 4}, longer(1)), HasSubstr("1.4"));
  EXPECT_THAT(refused({1, 4}, longer(Forwarding::kMulticastEntries * 16 + 16)), HasSubstr("1.4"));
  EXPECT_THAT(refused({1, 5, 1}, to_number(0)), HasSubstr("1.5"));
  EXPECT_THAT(refused({1, 6, 1}, longer(1)), HasSubstr("1.6.1"));
  EXPECT_THAT(refused({1, 6, 2}, longer(4096)), HasSubstr("1.6.2"));
  EXPECT_THAT(refused({1, 6, 3}, longer(8)), HasSubstr("1.6.3"));
  EXPECT_THAT(refused({2, 1}, longer(64)), HasSubstr("2.1"));
  EXPECT_THAT(refused({2, 3}, to_number(0x10000)), HasSubstr("2.3"));
  EXPECT_THAT(refused({2, 4, 1}, to_number(128)), HasSubstr("2.4.1"));
}

TEST_F(SubnetImageTest, MoreThanThereCanBeIsRefused) {
  SubnetImage image = rig_.subnet.image();
  image.adapters[0].ports.resize(SubnetImage::kMostAdapterPorts + 1);
  EXPECT_THAT(image_refusal(bytes_of(image)), HasSubstr("too many ports"));
  image = rig_.subnet.image();
  image.adapters.resize(SubnetImage::kMostAdapters + 1, image.adapters[0]);
  EXPECT_THAT(image_refusal(bytes_of(image)), HasSubstr("too many adapters"));
  image = rig_.subnet.image();
  image.the_switch.ports.resize(kMostSwitchPorts + 1);
  EXPECT_THAT(image_refusal(bytes_of(image)), HasSubstr("too many ports"));
  image = rig_.subnet.image();
  image.adapters[0].ports[0].port.totals.sent_bytes = std::uint64_t{1} << 63;
  EXPECT_THAT(image_refusal(bytes_of(image)), HasSubstr("come round"));
}

// ---- Its nodes ----

// What an enemy says of a port, and no manager could have made.
TEST_F(SubnetImageTest, APortThatCannotBeSoIsRefused) {
  const std::vector<std::pair<const char*, std::function<void(PortImage&)>>> changes{
      {"more partitions", [](PortImage& port) { port.partitions.push_back(0); }},
      {"no partitions", [](PortImage& port) { port.partitions.clear(); }},
      {"a multicast LID", [](PortImage& port) { port.info.lid.set(0xC000); }},
      {"a master at a multicast LID", [](PortImage& port) { port.info.master_lid.set(0xFFFF); }},
      {"a LID that the mask does not fit",
       [](PortImage& port) {
         port.info.lid.set(3);
         port.info.protection_lmc = 1;
       }},
      {"no state", [](PortImage& port) { port.info.speed_supported_state &= 0xF0; }},
      {"a state above Active", [](PortImage& port) { port.info.speed_supported_state |= 0x0F; }},
      {"Active without a link",
       [](PortImage& port) {
         port.info.physical_state_default =
             both(PhysicalState::kPolling, port.info.physical_state_default);
       }},
      {"Down with a link",
       [](PortImage& port) {
         port.info.speed_supported_state = both(PortState::kDown, port.info.speed_supported_state);
       }},
      {"two speeds", [](PortImage& port) { port.info.speed_active_enabled |= 0x30; }},
      {"a speed above its own", [](PortImage& port) { port.info.speed_active_enabled |= 0x80; }},
      {"no speed", [](PortImage& port) { port.info.speed_active_enabled &= 0x0F; }},
      {"no MTU", [](PortImage& port) { port.info.mtu_master_level &= 0x0F; }},
      {"an MTU above its own", [](PortImage& port) { port.info.mtu_master_level |= 0x70; }},
      {"a width that it has not", [](PortImage& port) { port.info.width_enabled = 4; }},
      {"lanes that it has not", [](PortImage& port) { port.info.lanes_enforcement |= 0x30; }},
      {"a lease longer than set", [](PortImage& port) { port.lease_left = 1s; }},
  };
  for (const auto& [what, change] : changes) {
    Heir heir(rig_.clock);
    SubnetImage image = rig_.subnet.image();
    change(image.adapters[1].ports[0].port);
    EXPECT_THAT(heir.adopt(image, wishes()), ElementsAre("second is another, or cannot be so"))
        << what;
    EXPECT_EQ(heir.state("first"), PortState::kActive) << what;
  }
}

TEST_F(SubnetImageTest, ASwitchThatCannotBeSoIsRefused) {
  const std::vector<std::pair<const char*, std::function<void(SwitchImage&)>>> changes{
      {"a port less", [](SwitchImage& image) { image.ports.pop_back(); }},
      {"its own port not active",
       [](SwitchImage& image) {
         PortInfo& info = image.ports[0].info;
         info.speed_supported_state = both(PortState::kInitialize, info.speed_supported_state);
       }},
      {"a port that cannot be so", [](SwitchImage& image) { image.ports[7].partitions.clear(); }},
      {"a part of a block", [](SwitchImage& image) { image.tables.linear.push_back(1); }},
      {"a part of a block of groups",
       [](SwitchImage& image) { image.tables.multicast.push_back({}); }},
      {"a top that is no entry",
       [](SwitchImage& image) { image.tables.info.linear_top.set(0xC000); }},
  };
  for (const auto& [what, change] : changes) {
    Heir heir(rig_.clock);
    SubnetImage image = rig_.subnet.image();
    change(image.the_switch);
    EXPECT_THAT(heir.adopt(image, wishes()), ElementsAre("the switch is another, or cannot be so"))
        << what;
  }
}

TEST_F(SubnetImageTest, APortOfTheSwitchThatIsTakenOrNotThereIsRefused) {
  for (const int place : {0, 1, 33, 64, 65, 127}) {
    Heir heir(rig_.clock);
    SubnetImage image = rig_.subnet.image();
    image.adapters[1].ports[0].switch_port = static_cast<PortNumber>(place);
    EXPECT_THAT(heir.adopt(image, wishes()), ElementsAre("second is another, or cannot be so"))
        << place;
  }
}

TEST_F(SubnetImageTest, AnEntryOfATableThatNamesNoPortLeadsNowhere) {
  SubnetImage image = rig_.subnet.image();
  image.the_switch.tables.linear[rig_.second_lid()] = 200;
  ASSERT_THAT(heir_.adopt(image, wishes()), IsEmpty());
  EXPECT_EQ(heir_.subnet.the_switch().tables().way_to(rig_.second_lid()),
            wire::infiniband::kNoPort);
}

}  // namespace
}  // namespace paravane::subnet
