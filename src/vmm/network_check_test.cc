// With files as systemd-networkd, NetworkManager and br_netfilter write them.

#include "vmm/network_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "testing/temp_dir.h"

namespace paravane::vmm {
namespace {

using model::Verdict;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class NetworkCheckTest : public testing::Test {
 protected:
  // Below the root of the host that is looked at. "lo" has number 1 everywhere.
  void write(const std::string& file, std::string_view text) {
    const std::filesystem::path path = dir_.path() / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  NetworkFacts gather() { return gather_network_facts({"lo", "no-such-link"}, dir_.path()); }
  static model::CheckRow row(const NetworkFacts& facts, std::string_view check) {
    for (const model::CheckRow& row : check_network(facts)) {
      if (row.check == check) return row;
    }
    ADD_FAILURE() << check;
    return {};
  }

  TempDir dir_;
};

TEST_F(NetworkCheckTest, AHostWithoutAnyOfThemIsWell) {
  const NetworkFacts facts = gather();
  EXPECT_EQ(facts, NetworkFacts{});
  for (const model::CheckRow& row : check_network(facts)) EXPECT_EQ(row.verdict, Verdict::kOk);
  EXPECT_EQ(check_network(facts).size(), 3u);
}

TEST_F(NetworkCheckTest, FirewallsThatSeeBridgedPacketsAreNamedWithTheRemedy) {
  write("proc/sys/net/bridge/bridge-nf-call-iptables", "1\n");
  write("proc/sys/net/bridge/bridge-nf-call-ip6tables", "1\n");
  write("proc/sys/net/bridge/bridge-nf-call-arptables", "0\n");
  const NetworkFacts facts = gather();
  EXPECT_THAT(facts.filters, ElementsAre("iptables", "ip6tables"));
  const model::CheckRow found = row(facts, "Bridged packets");
  EXPECT_EQ(found.verdict, Verdict::kWarning);
  EXPECT_THAT(found.found, HasSubstr("passes the VM's frames to iptables, ip6tables"));
  EXPECT_THAT(found.cure, HasSubstr("sysctl -w net.bridge.bridge-nf-call-iptables=0 "
                                    "net.bridge.bridge-nf-call-ip6tables=0"));
}

TEST_F(NetworkCheckTest, NetworkdIsToKeepTheBridgeOfWhatItConfigures) {
  write("run/systemd/netif/links/1",
        "ADMIN_STATE=configured\nNETWORK_FILE=/etc/systemd/network/20-lan.network\n");
  write("etc/systemd/network/20-lan.network", "[Match]\nName=lo\n[Network]\nDHCP=yes\n");
  EXPECT_THAT(gather().bridgeless, ElementsAre("lo"));
  const model::CheckRow found = row(gather(), "systemd-networkd");
  EXPECT_EQ(found.verdict, Verdict::kWarning);
  EXPECT_THAT(found.found, HasSubstr("lo without KeepMaster=yes"));

  write("etc/systemd/network/20-lan.network.d/keep.conf", "[Network]\nKeepMaster = yes\n");
  EXPECT_THAT(gather().bridgeless, IsEmpty());
  EXPECT_EQ(row(gather(), "systemd-networkd").verdict, Verdict::kOk);
}

TEST_F(NetworkCheckTest, WhatNetworkdDoesNotManageIsWell) {
  write("run/systemd/netif/links/1",
        "ADMIN_STATE=unmanaged\nNETWORK_FILE=/usr/lib/systemd/network/10-paravane.network\n");
  EXPECT_THAT(gather().networkd, IsEmpty());
}

TEST_F(NetworkCheckTest, NetworkManagerIsToLeaveThemAlone) {
  write("run/NetworkManager/devices/1", "[device]\nmanaged=true\n");
  const model::CheckRow found = row(gather(), "NetworkManager");
  EXPECT_EQ(found.verdict, Verdict::kWarning);
  EXPECT_THAT(found.cure, HasSubstr("nmcli device set lo managed no"));
  write("run/NetworkManager/devices/1", "[device]\nmanaged=false\n");
  EXPECT_EQ(row(gather(), "NetworkManager").verdict, Verdict::kOk);
}

}  // namespace
}  // namespace paravane::vmm
