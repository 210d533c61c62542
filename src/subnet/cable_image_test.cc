// Ports of cables go on in the engine that follows, if their cables come back.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "subnet/subnet_image_test.h"
#include "testing/port_orders.h"
#include "testing/recording_link_end.h"

namespace paravane::subnet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using wire::infiniband::PortState;

class CableImageTest : public SubnetImageTest {
 protected:
  // Two cables, the first of which has a link.
  SubnetImage image_with_cables() {
    EXPECT_EQ(rig_.subnet.attach_cable("h2", end_), Subnet::kFirstCablePort);
    EXPECT_EQ(rig_.subnet.attach_cable("h3", end_), Subnet::kFirstCablePort + 1);
    EXPECT_TRUE(fake::set_port_active(*rig_.subnet.the_switch().port(Subnet::kFirstCablePort)));
    return rig_.subnet.image();
  }
  fake::RecordingLinkEnd end_;
};

TEST_F(CableImageTest, ACableToTheSameHostGoesOnAtItsPort) {
  const SubnetImage image = image_with_cables();
  ASSERT_EQ(image.cables.size(), 1u) << "of a cable without a link nothing is left";
  EXPECT_THAT(heir_.adopt(image, wishes()), IsEmpty());
  EXPECT_THAT(heir_.subnet.cables(), ElementsAre(Pair(Subnet::kFirstCablePort, "h2")));
  EXPECT_EQ(heir_.subnet.attach_cable("h4", end_), Subnet::kFirstCablePort + 1);
  EXPECT_EQ(heir_.subnet.attach_cable("h2", end_), Subnet::kFirstCablePort);
  EXPECT_EQ(heir_.switch_state(Subnet::kFirstCablePort), PortState::kActive);
  rig_.clock.now += Subnet::kKeepsCables;
  heir_.settle();
  EXPECT_EQ(heir_.switch_state(Subnet::kFirstCablePort), PortState::kActive);
  EXPECT_GT(heir_.subnet.next_deadline(), rig_.clock.now) << "nothing is kept any more";
  EXPECT_FALSE(heir_.subnet.the_switch().may_manage(Subnet::kFirstCablePort));
}

TEST_F(CableImageTest, APortWhoseCableDoesNotComeGoesDown) {
  heir_.adopt(image_with_cables(), wishes());
  EXPECT_LE(heir_.subnet.next_deadline(), rig_.clock.now + Subnet::kKeepsCables);
  rig_.clock.now += Subnet::kKeepsCables - std::chrono::milliseconds(1);
  heir_.settle();
  EXPECT_EQ(heir_.switch_state(Subnet::kFirstCablePort), PortState::kActive);
  rig_.clock.now += std::chrono::milliseconds(1);
  heir_.settle();
  EXPECT_EQ(heir_.switch_state(Subnet::kFirstCablePort), PortState::kDown);
  EXPECT_THAT(heir_.subnet.cables(), IsEmpty());
  EXPECT_TRUE(has_port_changed(heir_.subnet));
  EXPECT_EQ(heir_.subnet.attach_cable("h4", end_), Subnet::kFirstCablePort);
}

TEST_F(CableImageTest, WhatCannotBeIsNotKept) {
  SubnetImage image = image_with_cables();
  image.cables = {{.port = 1, .host = "h4"},
                  {.port = 33, .host = "h5"},
                  {.port = 34, .host = "h5"},
                  {.port = 65, .host = "h6"}};
  EXPECT_THAT(heir_.adopt(image, wishes()), IsEmpty());
  EXPECT_EQ(heir_.switch_state(33), PortState::kDown) << "one host at two ports";
  rig_.clock.now += Subnet::kKeepsCables;
  heir_.settle();
  EXPECT_EQ(heir_.switch_state(1), PortState::kActive) << "of an adapter";
  image.cables = {{.port = 33, .host = std::string(SubnetImage::kLongestHost + 1, 'h')}};
  EXPECT_NE(image_refusal(bytes_of(image)), "");
  image.cables.assign(SubnetImage::kMostCables + 1, {.port = 33, .host = "h2"});
  EXPECT_THAT(image_refusal(bytes_of(image)), HasSubstr("too many cables"));
}

}  // namespace
}  // namespace paravane::subnet
