#include "subnet_host/host_uplinks.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "testing/uplink_rig.h"

namespace paravane::subnet_host {
namespace {

using fake::FrameBytes;
using fake::UplinkRig;
using std::chrono::seconds;

// Sockets stand for taps; the rig's own uplinks are not used.
class SeveralUplinksTest : public testing::Test {
 protected:
  // Returns the side of the switch.
  UniqueFd add(const std::string& name, subnet::HostAdapter& adapter, std::uint16_t vlan = 0) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()),
              0);
    EXPECT_TRUE(uplinks_.add(adapter, 1, {.uplink = name, .vlan = vlan, .tap = UniqueFd(ends[0])}));
    return UniqueFd(ends[1]);
  }
  void send(const UniqueFd& tap, unsigned frames) {
    const FrameBytes frame = fake::frame_of(fake::kToAll, {0, 0x16, 0x3E, 0, 0, 1},
                                            wire::roce::kEtherTypeIpv4, fake::ipv4_packet(60));
    for (unsigned i = 0; i < frames; ++i)
      ASSERT_GT(::send(tap.get(), frame.data(), frame.size(), 0), 0);
  }
  // Frames that have been read: none of them has a partition.
  std::uint64_t read_of(const std::string& name) const {
    return uplinks_.find(name)->uplink().counters().no_partition.value();
  }
  void on_time() { uplinks_.on_time(rig_.net.clock.now); }

  UplinkRig rig_;
  std::unique_ptr<EventLoop> loop_ = std::move(EventLoop::create().value());
  std::vector<std::string> told_;
  HostUplinks uplinks_{*loop_, rig_.net.clock,
                       [this](const std::string& uplink) { told_.push_back(uplink); }};
};

using Names = std::vector<std::string>;

TEST_F(SeveralUplinksTest, FramesAreReadInTheThreadsTurnAndNotBefore) {
  const UniqueFd tap = add("vmnic32", rig_.net.first);
  send(tap, 3);
  EXPECT_FALSE(uplinks_.turn());
  ASSERT_TRUE(loop_->poll(Duration::zero()));
  EXPECT_EQ(read_of("vmnic32"), 0u);
  EXPECT_FALSE(uplinks_.turn());
  EXPECT_EQ(read_of("vmnic32"), 3u);
}

TEST_F(SeveralUplinksTest, ATapThatIsFloodedHoldsUpNoOther) {
  const UniqueFd flooded = add("vmnic32", rig_.net.first);
  const UniqueFd quiet = add("vmnic33", rig_.net.second);
  send(flooded, 3 * WaitingTaps::kFramesAtOnce);
  send(quiet, 1);
  ASSERT_TRUE(loop_->poll(Duration::zero()));
  EXPECT_FALSE(uplinks_.turn());
  EXPECT_EQ(read_of("vmnic32"), 3 * WaitingTaps::kFramesAtOnce);
  EXPECT_EQ(read_of("vmnic33"), 1u);
}

TEST_F(SeveralUplinksTest, ATapThatWaitsMayGo) {
  const UniqueFd one = add("vmnic32", rig_.net.first);
  const UniqueFd other = add("vmnic32", rig_.net.first, 5);
  send(one, 1);
  send(other, 1);
  ASSERT_TRUE(loop_->poll(Duration::zero()));
  uplinks_.close("vmnic32", 5);
  EXPECT_FALSE(uplinks_.turn());
  EXPECT_EQ(read_of("vmnic32"), 1u);
  send(one, 1);
  ASSERT_TRUE(loop_->poll(Duration::zero()));
  uplinks_.close("vmnic32");
  EXPECT_FALSE(uplinks_.turn());
  EXPECT_EQ(uplinks_.find("vmnic32"), nullptr);
}

TEST_F(SeveralUplinksTest, ATapThatIsLostIsToldAgainAndAgainWithPauses) {
  for (const seconds pause : {seconds(0), seconds(1), seconds(2)}) {
    // Its other end is closed, as a tap that is deleted.
    {
      const UniqueFd gone = add("vmnic32", rig_.net.first);
    }
    ASSERT_TRUE(loop_->poll(Duration::zero()));
    uplinks_.turn();
    if (pause != seconds(0)) {
      on_time();
      EXPECT_EQ(told_, Names{});
      rig_.net.clock.now += pause;
    }
    on_time();
    EXPECT_EQ(told_, Names{"vmnic32"});
    told_.clear();
    uplinks_.close("vmnic32");
  }
}

TEST_F(SeveralUplinksTest, ATapThatCannotBeUsedIsToldToo) {
  const auto added = uplinks_.add(rig_.net.first, 1, {.uplink = "vmnic32", .tap = UniqueFd()});
  EXPECT_FALSE(added);
  EXPECT_EQ(uplinks_.find("vmnic32"), nullptr);
  on_time();
  EXPECT_EQ(told_, Names{"vmnic32"});
}

TEST_F(SeveralUplinksTest, OneThatIsClosedIsNotTold) {
  EXPECT_FALSE(uplinks_.add(rig_.net.first, 1, {.uplink = "vmnic32", .tap = UniqueFd()}));
  uplinks_.close("vmnic32");
  on_time();
  EXPECT_EQ(told_, Names{});
}

}  // namespace
}  // namespace paravane::subnet_host
