// A capture of an InfiniBand port, while there is no memory: packets are captured in what it took
// as it began.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "subnet_host/port_captures.h"
#include "testing/scarce_memory.h"
#include "testing/subnet_rig.h"
#include "wire/infiniband/datagram.h"

namespace paravane::subnet_host {
namespace {

TEST(CaptureScarcity, APacketNeedsNoMemory) {
  fake::SubnetRig rig;
  PortCaptures captures;
  const auto capture =
      std::make_shared<capture::Capture>(1, model::CaptureSpec{.uplink = "vmnic32"},
                                         std::vector<std::string>{"vmnic32"}, rig.clock.now);
  captures.start(capture, rig.first, 1);
  subnet::Packet packet(wire::infiniband::kMostPacketBytes);
  {
    const ScarceMemory scarce(1);
    rig.first.on_packet(1, std::move(packet));
    EXPECT_FALSE(scarce.has_failed());
  }
  EXPECT_EQ(capture->status().interfaces.at(0).packets, 1u);
  EXPECT_EQ(capture->status().interfaces.at(0).dropped, 0u);
}

}  // namespace
}  // namespace paravane::subnet_host
