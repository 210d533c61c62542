// What check_vm() says of switches and of the channel to other hosts.

#include <gtest/gtest.h>

#include "model/check_facts_test.h"

namespace paravane::model {
namespace {

constexpr const char* kEnable = "paravane network firewall ruleset set -e true -r pvrdma";
constexpr const char* kTag = "paravane system settings advanced set -o /Net/PVRDMAVmknic -s ";

class VmCheckChannel : public testing::Test {
 protected:
  CheckRow row(const std::string& check) const { return row_of(facts_, check); }
  PhysicalNic& nic(std::size_t index) { return facts_.machine.nics[index]; }
  SettingValue& tag() { return facts_.configuration.settings[0]; }
  ClusterHost& peer() { return facts_.cluster.hosts[1]; }

  VmCheckFacts facts_ = good_facts();
};

TEST_F(VmCheckChannel, ThisHostIsInTheSwitch) {
  const std::string check = "Switch lan: host";
  EXPECT_EQ(row(check), good(check, "host h1 is a member"));
  facts_.switches[0].spec.hosts.erase("h1");
  EXPECT_EQ(row(check), stopping(check, "host h1 is not a member", "paravane vds add-host lan h1"));
  facts_.cluster.authority = "h2";
  EXPECT_EQ(row(check).cure, "paravane vds add-host lan h1   # on h2");
}

TEST_F(VmCheckChannel, WhatIsWrongWithABridgeIsAWarning) {
  facts_.switches[0].problems = {"eth1: ip link set eth1 mtu 9000"};
  EXPECT_EQ(
      row("Switch lan: bridge"),
      warning("Switch lan: bridge", "eth1: ip link set eth1 mtu 9000", "paravane vds repair"));
}

TEST_F(VmCheckChannel, UplinkIsThereAndUp) {
  const std::string check = "Switch lan: uplink";
  EXPECT_EQ(row(check), good(check, "vmnic1 (eth1) is up, 10000 Mbit/s"));
  nic(1).carrier = false;
  EXPECT_EQ(
      row(check),
      failed(check, "vmnic1 (eth1) has no link: check the cable and the port at the other end",
             "paravane network nic list"));
  nic(1).up = false;
  EXPECT_EQ(row(check), failed(check, "vmnic1 (eth1) is down", "ip link set eth1 up"));
  nic(1).team = "bond0";
  EXPECT_EQ(row(check),
            failed(check, "vmnic1 (eth1) is in team bond0: PVRDMA does not support NIC teaming",
                   "ip link set eth1 nomaster"));
}

TEST_F(VmCheckChannel, AnotherUplinkIsProposed) {
  const std::string check = "Switch lan: uplink";
  facts_.machine.nics.push_back({.name = "vmnic2", .linux_name = "eth2", .carrier = true});
  facts_.machine.nics.push_back({.name = "vmnic3", .linux_name = "eth3", .carrier = true});
  facts_.machine.nics.push_back({.name = "vmnic4", .linux_name = "eth4", .carrier = true});
  facts_.machine.rdma_devices = {{.name = "vmrdma0", .paired_link = "eth3"}};
  facts_.switches[0].spec.hosts["h1"] = "eth9";
  EXPECT_EQ(row(check),
            failed(check, "this host has no NIC eth9", "paravane vds uplink lan eth3 --host h1"));
  facts_.switches[0].spec.hosts["h1"] = "";
  EXPECT_EQ(row(check), warning(check, "none: rdma_cm cannot find VMs on other hosts",
                                "paravane vds uplink lan eth3 --host h1"));
}

TEST_F(VmCheckChannel, AnIpoibUplinkIsNoNicThatIsMissed) {
  const std::string check = "Switch lan: uplink";
  facts_.switches[0].spec.hosts["h1"] = "vmnic32";
  EXPECT_EQ(row(check), good(check, "vmnic32 is an IPoIB uplink"));
}

TEST_F(VmCheckChannel, AnIpoibUplinkHasALinkAndItsPartitions) {
  const std::string check = "Switch lan: uplink";
  facts_.switches[0].spec.hosts["h1"] = "vmnic32";
  IbUplink& uplink = facts_.ib_uplinks.emplace_back(IbUplink{.name = "vmnic32"});
  uplink.problem = "the link is down";
  // Also of a host that is alone, whose switches it joins.
  for (const bool in_cluster : {true, false}) {
    facts_.cluster.member = in_cluster;
    EXPECT_EQ(row(check), failed(check, "vmnic32 has no link: the link is down",
                                 "paravane infiniband uplink list"));
  }
  uplink.rate_gbps = 40;
  uplink.problem.clear();
  EXPECT_EQ(row(check), good(check, "vmnic32 is up, 40000 Mbit/s"));
  uplink.partitions = {{.vlan = 10, .problem = "VLAN 10: this port has no such partition"}};
  EXPECT_EQ(row(check), warning(check, "vmnic32: VLAN 10: this port has no such partition",
                                "paravane infiniband uplink list"));
}

TEST_F(VmCheckChannel, AnUplinksRdmaDeviceIsShownWithItsUse) {
  const std::string check = "Switch lan: RDMA device";
  EXPECT_EQ(row(check), good(check, "none on the uplink: traffic to other hosts uses TCP"));
  facts_.machine.rdma_devices = {
      {.name = "vmrdma0", .state = RdmaState::kActive, .paired_link = "eth1"}};
  EXPECT_EQ(row(check), good(check, "vmrdma0, Active; no channel goes over it now"));
  facts_.machine.rdma_devices[0].trunks = {"h2", "h3"};
  EXPECT_EQ(row(check), good(check, "vmrdma0, Active; channels over it to h2, h3"));
}

// As with vmk0, whose NIC is no uplink.
TEST_F(VmCheckChannel, ADeviceThatIsUsedElsewhereIsShownToo) {
  const std::string check = "Switch lan: RDMA device";
  auto& devices = facts_.machine.rdma_devices;
  devices = {{.name = "vmrdma1", .linux_name = "mlx5_1", .paired_link = "eth0"}};
  facts_.configuration.hca.device = "mlx5_1";
  EXPECT_EQ(row(check), good(check,
                             "none on the uplink, and no channel goes over vmrdma1 now: traffic to "
                             "other hosts uses TCP"));
  devices[0].trunks = {"h2"};
  EXPECT_EQ(row(check), good(check, "none on the uplink; channels over vmrdma1 to h2"));
  devices.push_back({.name = "vmrdma0", .state = RdmaState::kActive, .paired_link = "eth1"});
  EXPECT_EQ(row(check), good(check,
                             "vmrdma0, Active; no channel goes over it now; channels over "
                             "vmrdma1 to h2"));
  facts_.switches[0].spec.hosts["h1"] = "";
  EXPECT_EQ(row(check), good(check, "none on the uplink; channels over vmrdma1 to h2"));
}

TEST_F(VmCheckChannel, AVmkernelInterfaceIsTagged) {
  const std::string check = "VMkernel interface";
  EXPECT_EQ(row(check), good(check, "vmk0 10.0.0.1/24, Management Network"));
  tag().value = "";
  EXPECT_EQ(row(check), failed(check, "/Net/PVRDMAVmknic names none", std::string(kTag) + "vmk0"));
  facts_.configuration.vmknics.push_back(
      {.spec = {
           .name = "vmk1", .port_group = "rdma", .ipv4 = parse_ipv4_interface("192.168.9.1/24")}});
  EXPECT_EQ(row(check).cure, std::string(kTag) + "vmk1") << "its own network is better";
  tag().value = "vmk7";
  EXPECT_EQ(row(check), failed(check, "vmk7, set in /Net/PVRDMAVmknic, does not exist",
                               std::string(kTag) + "vmk1"));
  tag().value = "vmk1";
  facts_.configuration.vmknics[1].spec.ipv4.reset();
  EXPECT_EQ(row(check), failed(check, "vmk1 has no IPv4 address", std::string(kTag) + "vmk0"));
  facts_.configuration.vmknics[1].problem = "its network is eth0's";
  EXPECT_EQ(row(check), failed(check, "vmk1: its network is eth0's", std::string(kTag) + "vmk0"));
}

TEST_F(VmCheckChannel, TheRulesetIsEnabled) {
  const std::string check = "Firewall ruleset";
  EXPECT_EQ(row(check), good(check, "pvrdma is enabled"));
  facts_.configuration.rulesets[0].enabled = false;
  EXPECT_EQ(row(check), failed(check, "pvrdma is disabled", kEnable));
}

TEST_F(VmCheckChannel, ItListens) {
  EXPECT_EQ(row("Channel"), good("Channel", "listens at 10.0.0.1:28250"));
  facts_.configuration.channel = {
      .closed = {.why = "the firewall ruleset pvrdma is disabled", .remedy = kEnable}};
  EXPECT_EQ(row("Channel"),
            failed("Channel", "closed: the firewall ruleset pvrdma is disabled", kEnable));
  facts_.configuration.channel.closed.remedy.clear();
  EXPECT_EQ(row("Channel").cure, "paravane network ip interface list");
}

TEST_F(VmCheckChannel, ItIsOpenToEachOtherHostOfTheSwitch) {
  const std::string check = "Channel to h2";
  EXPECT_EQ(row(check), good(check, "open, encrypted"));
  peer().channel = "none";
  peer().problem = {.text = "closed on that host: its ruleset", .remedy = kEnable, .host = "h2"};
  EXPECT_EQ(row(check),
            failed(check, "closed on that host: its ruleset", std::string(kEnable) + "   # on h2"));
  peer().problem.remedy.clear();
  EXPECT_EQ(row(check).cure, "paravane network ip interface list   # on h2");
  peer().problem = {.text = "closed on this host: a ruleset", .remedy = kEnable, .host = "h1"};
  EXPECT_EQ(row(check).cure, kEnable);
  peer().problem = {.text = "connection refused"};
  EXPECT_EQ(row(check), failed(check, "connection refused",
                               "systemctl start paravaned; paravane cluster status   # on h2"));
  peer().channel.clear();
  EXPECT_EQ(row(check), warning(check, "not tried yet", "paravane cluster status"));
  peer().present = false;
  EXPECT_EQ(row(check), warning(check, "host h2 or its network is down",
                                "systemctl start paravaned   # on h2"));
  facts_.cluster.connected = false;
  EXPECT_EQ(row(check).found, "unknown while the inventory is unreachable");
  facts_.cluster.hosts.clear();
  EXPECT_EQ(row(check).verdict, Verdict::kWarning);
}

TEST_F(VmCheckChannel, TheInventoryIsReached) {
  EXPECT_EQ(row("Cluster"), good("Cluster", "member as h1"));
  facts_.cluster.connected = false;
  facts_.cluster.problem = "timed out";
  EXPECT_EQ(
      row("Cluster"),
      warning("Cluster",
              "the inventory is unreachable: timed out; changes by other hosts are not visible",
              "paravane cluster status"));
  facts_.cluster.authority = "h2";
  EXPECT_EQ(row("Cluster").cure, "systemctl start paravaned   # on h2");
}

TEST_F(VmCheckChannel, AHostAloneHasNobodyToReach) {
  facts_.cluster = {};
  facts_.configuration = {};
  facts_.machine = {};
  const char* alone = "not in a cluster: only VMs on this host are reachable";
  EXPECT_EQ(row("Channel"), good("Channel", alone));
  EXPECT_EQ(row("Switch lan: uplink"), good("Switch lan: uplink", alone));
  for (const CheckRow& one : check_vm(facts_)) EXPECT_EQ(one.verdict, Verdict::kOk) << one.check;
}

TEST_F(VmCheckChannel, ASwitchOfOneHostNeedsNoUplink) {
  facts_.switches[0].spec.hosts = {{"h1", ""}};
  EXPECT_EQ(row("Switch lan: uplink"),
            good("Switch lan: uplink", "not needed: no other host is in the switch"));
}

// The VM runs, and has none of what is on other hosts.
TEST_F(VmCheckChannel, TheFilesOfTheClusterAreWhole) {
  facts_.cluster.damage = "/s/cluster/authority.key is damaged";
  facts_.cluster.damage_remedy = "Restore it";
  EXPECT_EQ(row("Cluster files"), warning("Cluster files", "/s/cluster/authority.key is damaged",
                                          "paravane cluster status   # Restore it"));
  EXPECT_EQ(row("Cluster").verdict, Verdict::kOk);
  facts_.cluster.member = false;
  EXPECT_EQ(row("Cluster files"), failed("Cluster files", "/s/cluster/authority.key is damaged",
                                         "paravane cluster status   # Restore it"));
}

}  // namespace
}  // namespace paravane::model
