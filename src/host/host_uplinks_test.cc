#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <filesystem>
#include <memory>

#include "host/host.h"
#include "host/recording_maker_test.h"
#include "testing/temp_dir.h"

namespace paravane::host {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class OneNicLooker final : public privsep::MachineLooker {
 public:
  Result<model::Machine> look() override {
    return model::Machine{.nics = {{.identity = "1", .linux_name = "eth1"}}};
  }
  Result<model::NicDcb> read_dcb(const std::string&) override { return fail(Errc::kIo, ""); }
  Result<model::RdmaStats> read_stats(const std::string&, std::uint32_t) override {
    return fail(Errc::kNotFound, "");
  }
};

// A host whose keeper is played by the test. Sockets stand for taps.
class HostUplinksTest : public testing::Test {
 protected:
  HostUplinksTest() {
    std::filesystem::create_directory(dir_ / "state");
    std::filesystem::create_directory(dir_ / "vms");
    start();
    EXPECT_TRUE(host_->create_switch({.name = "lan"}));
    EXPECT_TRUE(host_->create_port_group({.name = "a", .vds = "lan", .vlan = 10}));
  }
  void start() {
    host_.reset();
    HostConfig config;
    config.config.state_dir = dir_ / "state";
    config.config.vfio_user.socket_dir = dir_ / "vms";
    config.config.infiniband.umad_socket = dir_ / "umad.sock";
    config.config.host.name = "h1";
    config.config.network.uplinks = {"vmnic32", "vmnic33"};
    config.switches = &maker_;
    config.machine = &looker_;
    auto host = Host::start(std::move(config), [] {});
    ASSERT_TRUE(host) << host.error().message;
    host_ = std::move(*host);
  }
  void use_uplink() {
    ASSERT_TRUE(host_->add_ib_adapter({.name = "mlx4_0", .device = "MT26428", .bus = 13}));
    ASSERT_TRUE(host_->add_switch_host("lan", {.host = "h1", .uplink = "vmnic32"}));
    ASSERT_THAT(maker_.last.ipoib_uplinks, testing::SizeIs(1));
  }
  // As the keeper has opened it for the last plan.
  privsep::UplinkNote wanted() const {
    return {.uplink = "vmnic32", .tagged = true, .making = maker_.last.ipoib_uplinks.at(0).making};
  }
  // Returns the other end of the tap.
  UniqueFd open(const privsep::UplinkNote& note) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
    host_->open_uplink(note, UniqueFd(ends[0]));
    return UniqueFd(ends[1]);
  }
  static bool is_closed(const UniqueFd& end) {
    char byte = 0;
    return ::send(end.get(), &byte, 1, MSG_NOSIGNAL) < 0;
  }
  std::vector<std::string> problems() { return host_->find_switch("lan")->problems; }

  TempDir dir_;
  RecordingMaker maker_;
  OneNicLooker looker_;
  std::unique_ptr<Host> host_;
};

TEST_F(HostUplinksTest, ASwitchTakesWhatAnAdapterMakesAndNothingElse) {
  const auto none = host_->add_switch_host("lan", {.host = "h1", .uplink = "vmnic32"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "vmnic32 is not an IPoIB uplink of this host");
  use_uplink();
  EXPECT_EQ(maker_.last.switches[0].uplink, "vmnic32");
}

TEST_F(HostUplinksTest, ATapIsTakenIfThePlanWantsItAndClosedWhenItDoesNot) {
  use_uplink();
  privsep::UplinkNote early = wanted();
  early.mtu = 9000;
  EXPECT_TRUE(is_closed(open(early)));
  const UniqueFd end = open(wanted());
  EXPECT_FALSE(is_closed(end));
  ASSERT_TRUE(host_->repair_switches());
  EXPECT_FALSE(is_closed(end));
  ASSERT_TRUE(host_->set_switch_uplink("lan", {.host = "h1"}));
  EXPECT_TRUE(is_closed(end));
}

TEST_F(HostUplinksTest, TheTapOfAVlanIsClosedWithItsLastPortGroup) {
  use_uplink();
  const auto tap = [this](std::uint32_t vlan) {
    privsep::UplinkNote note = wanted();
    note.tagged = false;
    note.vlan = vlan;
    return note;
  };
  ASSERT_TRUE(host_->create_port_group({.name = "b", .vds = "lan"}));
  const UniqueFd untagged = open(tap(0));
  const UniqueFd ten = open(tap(10));
  EXPECT_TRUE(is_closed(open(tap(20))));
  ASSERT_TRUE(host_->delete_port_group("a"));
  EXPECT_TRUE(is_closed(ten));
  EXPECT_FALSE(is_closed(untagged));
}

TEST_F(HostUplinksTest, AnAdapterStaysWhileASwitchUsesItsUplink) {
  use_uplink();
  const auto refused = host_->remove_ib_adapter("mlx4_0");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, model::ApiErrorCode::kInUse);
  EXPECT_THAT(refused.error().message, HasSubstr("is the uplink of switch lan"));
  ASSERT_TRUE(host_->set_switch_uplink("lan", {.host = "h1"}));
  EXPECT_TRUE(host_->remove_ib_adapter("mlx4_0"));
}

TEST_F(HostUplinksTest, IsThereAgainAfterARestart) {
  use_uplink();
  start();
  EXPECT_EQ(maker_.last.switches[0].uplink, "vmnic32");
  ASSERT_THAT(maker_.last.ipoib_uplinks, testing::SizeIs(1));
  EXPECT_FALSE(is_closed(open(wanted())));
}

// As after a record of the adapter was lost: the keeper is not sent looking for a NIC.
TEST_F(HostUplinksTest, AnUplinkThatNoAdapterMakesIsAProblemOfItsSwitch) {
  use_uplink();
  host_.reset();
  {
    auto store = store::Store::open(dir_ / "state" / "paravane.db");
    ASSERT_TRUE(store);
    ASSERT_TRUE((*store)->erase_document("ib_adapter", "mlx4_0"));
  }
  maker_.report.switches = {{.name = "lan"}};
  start();
  EXPECT_EQ(maker_.last.switches[0].uplink, "");
  EXPECT_THAT(maker_.last.ipoib_uplinks, IsEmpty());
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("vmnic32 is not an IPoIB uplink of this host. Add "
                                                "an adapter")));
  // And of use as soon as one does.
  ASSERT_TRUE(host_->add_ib_adapter({.name = "mlx4_0", .device = "MT26428", .bus = 13}));
  EXPECT_EQ(maker_.last.switches[0].uplink, "vmnic32");
  EXPECT_THAT(maker_.last.ipoib_uplinks, testing::SizeIs(1));
  EXPECT_THAT(problems(), IsEmpty());
}

}  // namespace
}  // namespace paravane::host
