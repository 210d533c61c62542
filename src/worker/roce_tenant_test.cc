#include "worker/roce_tenant.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>

#include "base/unique_fd.h"
#include "testing/roce_rig.h"

namespace paravane::worker {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// The descriptor stands for that of a tap which always has a frame.
class RoceTenantTest : public testing::Test {
 protected:
  RoceTenantTest() {
    EXPECT_TRUE(tenant_.watch(verbs::AdapterId{0}, readable_.get(), [this] { ++gone_; }));
  }
  // How many callbacks of descriptors ran.
  int look() { return loop_->poll(Duration::zero()).value_or(-1); }
  void turn() {
    verbs::Budget budget{.bytes = 1 << 20, .operations = 256};
    tenant_.turn(rig_.now(), budget);
  }
  void flood() {
    wire::roce::Packet stray;
    stray.route.destination_mac = fake::RoceRig::mac(0);
    stray.route.source_mac = fake::RoceRig::mac(1);
    stray.route.network = wire::roce::Network::kV2Ipv6;
    stray.route.hop_limit = 1;
    stray.route.source = rig_.b().gid().raw;
    stray.route.destination = rig_.a().gid().raw;
    stray.destination_qp = 0xABCDE;
    for (int i = 0; i < 2000; ++i) rig_.wire().inject(0, fake::frame_of(stray, {}));
    for (int i = 0; i < 40; ++i) turn();
  }

  fake::RoceRig rig_;
  UniqueFd readable_{::eventfd(1, EFD_CLOEXEC)};
  std::unique_ptr<EventLoop> loop_ = EventLoop::create().value();
  int gone_ = 0;
  RoceTenant tenant_{rig_.roce(), *loop_, rig_.turn_clock(), microseconds(200)};
};

TEST_F(RoceTenantTest, ReadsAPortWhoseDescriptorIsReadable) {
  EXPECT_FALSE(tenant_.has_work());
  EXPECT_EQ(look(), 1);
  EXPECT_TRUE(tenant_.has_work());
  turn();
  EXPECT_FALSE(tenant_.has_work());
  EXPECT_EQ(look(), 1);  // it is there still
}

TEST_F(RoceTenantTest, SleepsWhileAPortIsFlooded) {
  flood();
  ASSERT_GT(rig_.roce().resumes(verbs::AdapterId{0}), rig_.now());
  EXPECT_EQ(look(), 1);
  EXPECT_FALSE(tenant_.has_work());
  EXPECT_EQ(look(), 0);  // it would wake the worker without end
  const Instant next = tenant_.next_look();
  EXPECT_EQ(next, rig_.roce().resumes(verbs::AdapterId{0}));
  rig_.skip(next - rig_.now());
  turn();
  EXPECT_EQ(look(), 1);
}

TEST_F(RoceTenantTest, NothingIsLeftOfAPortThatIsClosedWhileItIsFlooded) {
  flood();
  look();
  tenant_.unwatch(readable_.get());
  EXPECT_EQ(tenant_.next_look(), kNever);
  rig_.skip(milliseconds(100));
  turn();
  EXPECT_EQ(look(), 0);
}

// The kernel says so of a tap without an interface, whatever it is watched for.
TEST_F(RoceTenantTest, APortWhoseInterfaceWasDeletedWakesTheWorkerOnce) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
  UniqueFd tap(ends[0]);
  UniqueFd interface(ends[1]);
  int gone = 0;
  ASSERT_TRUE(tenant_.watch(verbs::AdapterId{1}, tap.get(), [&] {
    ++gone;
    tap.reset();
  }));
  tenant_.unwatch(readable_.get());
  EXPECT_EQ(look(), 0);
  interface.reset();
  EXPECT_EQ(look(), 1);
  EXPECT_EQ(gone, 1);
  EXPECT_FALSE(tenant_.has_work());
  EXPECT_EQ(look(), 0);
  EXPECT_EQ(gone_, 0);
}

}  // namespace
}  // namespace paravane::worker
