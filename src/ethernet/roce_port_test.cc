// The interfaces and rules of a port. What becomes of frames: roce_port_traffic_test.

#include "ethernet/roce_port.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <thread>

#include "ethernet/links.h"
#include "ethernet/no_news_test.h"
#include "ethernet/tap.h"
#include "testing/own_network.h"

namespace paravane::ethernet {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kMark = "paravane:1:";

class RocePortTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(network_.made()) << "needs root";
    ASSERT_TRUE(make_tap("pv-db1", {}));
    ASSERT_TRUE(network_.ip("link set pv-db1 up alias paravane:1:db1"));
    wanted_ = {
        .name = "pvr-db1", .guest_tap = "pv-db1", .mac = {0x02, 0x50, 0x56, 0, 0, 9}, .mtu = 9000};
  }
  std::vector<LinkProblem> ensure(const std::string& mark = kMark) {
    auto made = ensure_roce_port(mark, wanted_);
    EXPECT_TRUE(made) << made.error().message;
    if (!made) return {};
    made_ = std::move(*made);
    return made_.problems;
  }
  std::vector<LinkProblem> check() { return check_roce_port(kMark, wanted_).value(); }
  static auto difference(const std::string& link, const std::string& text) {
    return AllOf(Field(&LinkProblem::link, link), Field(&LinkProblem::text, HasSubstr(text)));
  }
  bool shows(const std::string& what) const {
    return network_.ip_shows("-details link show dev pvr-db1", what);
  }
  static bool tc(const std::string& words) {
    return std::system(("tc " + words + " >/dev/null 2>&1").c_str()) == 0;
  }
  static bool tc_shows(const std::string& words, const std::string& text) {
    return tc(words + " | grep -qF -- '" + text + "'");
  }

  OwnNetwork network_;
  WantedRocePort wanted_;
  MadeRocePort made_;
};

TEST_F(RocePortTest, MakesThePortOnceAndTouchesNothingAfterwards) {
  EXPECT_THAT(check(), ElementsAre(difference("pvr-db1", "it is missing")));
  EXPECT_THAT(ensure(), IsEmpty());
  EXPECT_THAT(check(), IsEmpty());
  for (const char* what : {"mtu 9000", "qlen 8192", "alias paravane:1:pv-db1~", "vnet_hdr on",
                           "persist on", "user root", ",UP"}) {
    EXPECT_TRUE(shows(what)) << what;
  }
  EXPECT_FALSE(network_.ip_shows("address show dev pvr-db1", "inet"));
  EXPECT_FALSE(shows("master"));
  auto news = LinkNews::open();
  ASSERT_TRUE(news);
  EXPECT_TRUE(causes_no_news(*news, [this] {
    EXPECT_THAT(ensure(), IsEmpty());
    EXPECT_THAT(made_.changes, IsEmpty());
  }));
  EXPECT_TRUE(made_.about.names.contains("pv-db1") && made_.about.names.contains("pvr-db1"));
}

TEST_F(RocePortTest, FindsAndMendsWhatAnotherProgramChanged) {
  ASSERT_TRUE(network_.ip("link add br0 type bridge"));
  ensure();
  for (const auto& [command, link, state, deed] :
       {std::tuple("ip link del pvr-db1", "pvr-db1", "missing", "was created again"),
        std::tuple("tc qdisc del dev pvr-db1 clsact", "pvr-db1", "has no rules", "created again"),
        std::tuple("tc qdisc del dev pv-db1 clsact", "pv-db1", "has no rules", "created again"),
        std::tuple("tc filter del dev pv-db1 egress", "pv-db1", "has no rules", "created again"),
        std::tuple("tc filter del dev pv-db1 egress pref 4791 handle 2 bpf", "pv-db1",
                   "its rules for RoCE frames are wrong", "were corrected"),
        std::tuple("tc filter del dev pvr-db1 ingress pref 4792", "pvr-db1",
                   "its rules for RoCE frames are wrong", "were corrected"),
        std::tuple("tc filter add dev pvr-db1 ingress pref 1 bpf da bytecode '1,6 0 0 0'",
                   "pvr-db1", "its rules for RoCE frames are wrong", "were corrected"),
        std::tuple("tc filter replace dev pvr-db1 ingress pref 4792 handle 1 bpf da bytecode "
                   "'1,6 0 0 0'",
                   "pvr-db1", "its rules for RoCE frames are wrong", "were corrected"),
        std::tuple("ip link set pvr-db1 mtu 1400", "pvr-db1", "MTU is wrong", "MTU was wrong"),
        std::tuple("ip link set pvr-db1 txqueuelen 10", "pvr-db1", "queue", "queue"),
        std::tuple("ip link set pvr-db1 down", "pvr-db1", "it is down", "was brought up"),
        std::tuple("ip link set pvr-db1 master br0", "pvr-db1", "on a bridge", "removed from it"),
        std::tuple("ip address add 192.0.2.1/24 dev pvr-db1", "pvr-db1", "an address", "removed"),
        std::tuple("ip link set pvr-db1 alias paravane:1:other~", "pvr-db1", "alias", "alias"),
        std::tuple("sh -c 'echo 0 > /proc/sys/net/ipv6/conf/pvr-db1/disable_ipv6'", "pvr-db1",
                   "IPv6 is enabled", "has been disabled"),
        std::tuple("sh -c 'echo 0 > /proc/sys/net/ipv4/conf/pvr-db1/arp_ignore'", "pvr-db1",
                   "answers ARP", "both were disabled")}) {
    ASSERT_EQ(std::system((std::string(command) + " >/dev/null 2>&1").c_str()), 0) << command;
    EXPECT_THAT(check(), Contains(difference(link, state))) << command;
    EXPECT_THAT(ensure(), IsEmpty()) << command;
    EXPECT_THAT(made_.changes, Contains(AllOf(Field(&LinkChange::link, link),
                                              Field(&LinkChange::text, HasSubstr(deed)))))
        << command;
    EXPECT_THAT(check(), IsEmpty()) << command;
    ensure();
    EXPECT_THAT(made_.changes, IsEmpty()) << command;
  }
}

TEST_F(RocePortTest, FollowsTheAdaptersAddressAndTheGuestsTap) {
  ensure();
  wanted_.mac[5] = 10;
  EXPECT_THAT(check(),
              ElementsAre(difference("pvr-db1", "are wrong"), difference("pv-db1", "are wrong")));
  EXPECT_THAT(ensure(), IsEmpty());
  ASSERT_TRUE(network_.ip("link del pv-db1"));
  EXPECT_THAT(ensure(), ElementsAre(difference("pv-db1", "it does not exist")));
  ASSERT_TRUE(make_tap("pv-db1", {}));
  ASSERT_TRUE(network_.ip("link set pv-db1 up alias paravane:1:db1"));
  EXPECT_THAT(ensure(), IsEmpty());
  EXPECT_THAT(check(), IsEmpty());
}

TEST_F(RocePortTest, LeavesForeignInterfacesAlone) {
  ASSERT_TRUE(network_.ip("tuntap add pvr-db1 mode tap"));
  ASSERT_THAT(ensure(), ElementsAre(difference("pvr-db1", "did not create")));
  EXPECT_TRUE(made_.problems[0].foreign);
  EXPECT_FALSE(shows(",UP"));
  EXPECT_FALSE(tc_shows("qdisc show dev pv-db1", "clsact"));
  const auto opened = open_roce_port(kMark, "pvr-db1");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::kBadState);
  EXPECT_THAT(opened.error().message, HasSubstr("pvr-db1"));
  EXPECT_TRUE(remove_roce_port(kMark, "pvr-db1", "pv-db1"));
  EXPECT_TRUE(network_.is_there("pvr-db1"));
  ASSERT_TRUE(network_.ip("link del pvr-db1"));
  ASSERT_TRUE(network_.ip("link set pv-db1 alias mine"));
  EXPECT_THAT(ensure(), ElementsAre(difference("pv-db1", "did not create")));
  EXPECT_FALSE(tc_shows("qdisc show dev pv-db1", "clsact"));
}

TEST_F(RocePortTest, LeavesThePortOfAnotherDaemonAlone) {
  ensure();
  EXPECT_THAT(ensure("paravane:2:"), ElementsAre(difference("pv-db1", "did not create"),
                                                 difference("pvr-db1", "did not create")));
  EXPECT_TRUE(remove_roce_port("paravane:2:", "pvr-db1", "pv-db1"));
  EXPECT_THAT(check(), IsEmpty());
  EXPECT_THAT(*list_roce_ports("paravane:2:"), IsEmpty());
}

TEST_F(RocePortTest, TheSwitchDoesNotTakeItForOneOfItsTaps) {
  ensure();
  const auto made =
      make_links(kMark, {.bridges = {}, .taps = {}, .uplinks = {}, .given = {}, .tap_access = {}});
  ASSERT_TRUE(made);
  EXPECT_FALSE(network_.is_there("pv-db1"));
  EXPECT_TRUE(network_.is_there("pvr-db1"));
}

TEST_F(RocePortTest, LeavesRulesOfOtherProgramsOnTheGuestsTap) {
  ASSERT_TRUE(tc("qdisc add dev pv-db1 clsact"));
  ASSERT_TRUE(tc("filter add dev pv-db1 egress pref 9 bpf da bytecode '1,6 0 0 4294967295'"));
  EXPECT_THAT(ensure(), IsEmpty());
  EXPECT_TRUE(tc_shows("filter show dev pv-db1 egress", "pref 9 "));
  EXPECT_TRUE(tc_shows("filter show dev pv-db1 egress", "pref 4791 "));
  EXPECT_TRUE(remove_roce_port(kMark, "pvr-db1", "pv-db1"));
  EXPECT_TRUE(tc_shows("filter show dev pv-db1 egress", "pref 9 "));
  EXPECT_FALSE(tc_shows("filter show dev pv-db1 egress", "pref 4791 "));
  EXPECT_FALSE(network_.is_there("pvr-db1"));
}

TEST_F(RocePortTest, SaysWhatIsInTheWayOfItsRules) {
  ASSERT_TRUE(tc("qdisc add dev pv-db1 ingress"));
  EXPECT_THAT(ensure(), ElementsAre(difference("pv-db1", "tc qdisc del dev pv-db1 ingress")));
  ASSERT_TRUE(tc("qdisc del dev pv-db1 ingress"));
  ASSERT_TRUE(tc("qdisc add dev pv-db1 clsact"));
  ASSERT_TRUE(tc("filter add dev pv-db1 egress pref 4791 bpf da bytecode '1,6 0 0 0'"));
  EXPECT_THAT(ensure(),
              ElementsAre(difference("pv-db1", "tc filter del dev pv-db1 egress pref 4791")));
  EXPECT_TRUE(tc_shows("filter show dev pv-db1 egress", "direct-action"));
  ASSERT_TRUE(tc("filter del dev pv-db1 egress pref 4791"));
  EXPECT_THAT(ensure(), IsEmpty());
}

TEST_F(RocePortTest, LeavesNothingBehind) {
  ensure();
  const auto ports = list_roce_ports(kMark);
  ASSERT_TRUE(ports);
  ASSERT_EQ(ports->size(), 1u);
  EXPECT_EQ(ports->front().name, "pvr-db1");
  EXPECT_EQ(ports->front().guest_tap, "pv-db1");
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(remove_roce_port(kMark, "pvr-db1", "pv-db1"));
    EXPECT_FALSE(network_.is_there("pvr-db1"));
    EXPECT_TRUE(network_.is_there("pv-db1"));
    EXPECT_FALSE(tc_shows("qdisc show dev pv-db1", "clsact"));
  }
  EXPECT_EQ(open_roce_port(kMark, "pvr-db1").error().code, Errc::kNotFound);
}

TEST_F(RocePortTest, RefusesANameThatIsTooLong) {
  wanted_.name = "pvr-db1234567890";
  const auto made = ensure_roce_port(kMark, wanted_);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Errc::kInvalidArgument);
  EXPECT_THAT(made.error().message, HasSubstr("pvr-db1234567890"));
}

TEST_F(RocePortTest, OpensItForOneEngineAndDoesNotBlock) {
  ensure();
  const auto opened = open_roce_port(kMark, "pvr-db1");
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_NE(::fcntl(opened->tap.get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(::fcntl(opened->tap.get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_EQ(open_roce_port(kMark, "pvr-db1").error().code, Errc::kBadState);
  ensure();
  EXPECT_THAT(made_.changes, IsEmpty());
}

// They outlive the descriptor of an engine that has changed them.
TEST_F(RocePortTest, SetsTheOffloadsAndAllElseOfTheTapAtEachOpen) {
  ensure();
  std::uint32_t header = 1;
  {
    const auto first = open_roce_port(kMark, "pvr-db1");
    ASSERT_TRUE(first) << first.error().message;
    header = first->header_bytes;
    int size = 12;
    ASSERT_EQ(::ioctl(first->tap.get(), TUNSETOFFLOAD, 0UL), 0);
    ASSERT_EQ(::ioctl(first->tap.get(), TUNSETVNETHDRSZ, &size), 0);
    ASSERT_EQ(::ioctl(first->tap.get(), TUNSETOWNER, 12345UL), 0);
  }
  const auto again = open_roce_port(kMark, "pvr-db1");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->header_bytes, header);
  int size = 0;
  ASSERT_EQ(::ioctl(again->tap.get(), TUNGETVNETHDRSZ, &size), 0);
  EXPECT_EQ(size, 10);
  EXPECT_TRUE(shows("user root"));
  EXPECT_TRUE(shows(header == 0 ? "vnet_hdr off" : "vnet_hdr on"));
}

// What it is given can be used for nothing but this interface.
TEST_F(RocePortTest, ItsHolderCannotUseAnotherInterfaceWithIt) {
  ensure();
  const auto opened = open_roce_port(kMark, "pvr-db1");
  ASSERT_TRUE(opened);
  const int tap = opened->tap.get();
  // A thread has rights of its own, and system calls of this kind change its alone.
  std::thread([tap] {
    ASSERT_EQ(::syscall(SYS_setgroups, 0UL, nullptr), 0);
    ASSERT_EQ(::syscall(SYS_setresuid, 65534, 65534, 65534), 0);
    ifreq request{};
    std::string("pv-db1").copy(request.ifr_name, IFNAMSIZ - 1);
    request.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
    EXPECT_NE(::ioctl(tap, TUNSETIFF, &request), 0);
    int index = 1;
    EXPECT_NE(::ioctl(tap, TUNSETIFINDEX, &index), 0);
    EXPECT_NE(::ioctl(tap, TUNGETDEVNETNS, 0UL), 0);
    EXPECT_NE(::ioctl(tap, TUNSETLINK, 1UL), 0);
    const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    for (const int call : {SIOCSIFNAME, SIOCSIFMTU, SIOCSIFFLAGS, SIOCSIFHWADDR}) {
      ifreq change{};
      std::string("pvr-db1").copy(change.ifr_name, IFNAMSIZ - 1);
      EXPECT_NE(::ioctl(socket.get(), static_cast<unsigned long>(call), &change), 0) << call;
      EXPECT_EQ(errno, EPERM) << call;
    }
    EXPECT_NE(::ioctl(tap, SIOCSIFMTU, &request), 0);
    EXPECT_NE(::ioctl(tap, SIOCSIFNAME, &request), 0);
    EXPECT_NE(::ioctl(tap, SIOCSIFFLAGS, &request), 0);
    auto rules = ensure_roce_port(
        "paravane:1:",
        {.name = "pvr-db1", .guest_tap = "pv-db1", .mac = {2, 0, 0, 0, 0, 1}, .mtu = 1500});
    ASSERT_TRUE(rules);
    EXPECT_THAT(rules->changes, IsEmpty());
    EXPECT_THAT(rules->problems, Contains(difference("pvr-db1", "Operation not permitted")));
  }).join();
  EXPECT_THAT(check(), IsEmpty());
}

// It can make the tap vanish, and is then without one.
TEST_F(RocePortTest, IsMadeAgainAfterItsHolderGaveItUp) {
  ensure();
  {
    const auto opened = open_roce_port(kMark, "pvr-db1");
    ASSERT_TRUE(opened);
    ASSERT_EQ(::ioctl(opened->tap.get(), TUNSETPERSIST, 0UL), 0);
  }
  EXPECT_FALSE(network_.is_there("pvr-db1"));
  EXPECT_THAT(ensure(), IsEmpty());
  EXPECT_THAT(check(), IsEmpty());
  EXPECT_TRUE(open_roce_port(kMark, "pvr-db1"));
}

}  // namespace
}  // namespace paravane::ethernet
