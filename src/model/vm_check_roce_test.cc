// What a VM is told of native RoCE endpoints before power-on.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/check_facts_test.h"

namespace paravane::model {
namespace {

using testing::HasSubstr;

constexpr const char* kAdapter = "Adapter 1: native RoCE";
constexpr const char* kMtu = "Switch lan: path MTU";
constexpr const char* kUplink = "Switch lan: uplink";

VmCheckFacts native_facts() {
  VmCheckFacts facts = good_facts();
  facts.port_groups[0].native_roce = true;
  facts.vm.adapters[0].roce = {.open = true, .superframes = true};
  facts.machine.nics[1].mtu = 1500;
  return facts;
}

bool is_checked(const VmCheckFacts& facts, const std::string& check) {
  const auto rows = check_vm(facts);
  return std::ranges::find(rows, check, &CheckRow::check) != rows.end();
}

TEST(VmCheckRoce, IsNotMentionedWhereItIsOff) {
  EXPECT_FALSE(is_checked(good_facts(), kAdapter));
  EXPECT_FALSE(is_checked(good_facts(), kMtu));
}

TEST(VmCheckRoce, AVmThatHasAllOfItHasNothingToCure) {
  for (const CheckRow& row : check_vm(native_facts())) {
    EXPECT_EQ(row.verdict, Verdict::kOk) << row.check << ": " << row.found;
  }
  EXPECT_EQ(row_of(native_facts(), kAdapter),
            good(kAdapter,
                 "the RoCE port is open; this host's kernel cuts superframes into packets, and "
                 "merges those that it receives"));
}

TEST(VmCheckRoce, BelowHardwareVersion18) {
  VmCheckFacts facts = native_facts();
  facts.vm.spec.hw_version = 17;
  facts.vm.adapters[0].roce = {.closed = "hardware version 17 has no native endpoints"};
  EXPECT_EQ(row_of(facts, kAdapter),
            warning(kAdapter, "hardware version 17 has no native endpoints: only VMs are reachable",
                    "paravane vm set db1 --hw-version 18"));
  EXPECT_FALSE(is_checked(facts, kMtu));
  facts.vm.spec.hw_version = 18;
  facts.vm.adapters[0].roce = {.open = true};
  EXPECT_EQ(row_of(facts, kAdapter).verdict, Verdict::kOk);
}

TEST(VmCheckRoce, APortThatIsNotOpen) {
  VmCheckFacts facts = native_facts();
  facts.vm.adapters[0].roce = {.closed = "pvr-db1: the name is taken"};
  EXPECT_EQ(row_of(facts, kAdapter),
            failed(kAdapter, "pvr-db1: the name is taken", "paravane vds repair"));
  facts.vm.adapters[0].roce = {};
  EXPECT_EQ(row_of(facts, kAdapter),
            failed(kAdapter, "the RoCE port is not open yet", "paravane vds repair"));
}

TEST(VmCheckRoce, AKernelThatCutsNoUdpIsSlower) {
  VmCheckFacts facts = native_facts();
  facts.vm.adapters[0].roce.superframes = false;
  const CheckRow row = row_of(facts, kAdapter);
  EXPECT_EQ(row.verdict, Verdict::kOk);
  EXPECT_THAT(row.found, HasSubstr("(Linux 6.2 does), so each packet is sent alone"));
}

TEST(VmCheckRoce, SaysWhetherPacketsAreMergedAndWhyNot) {
  VmCheckFacts facts = native_facts();
  EXPECT_THAT(row_of(facts, kAdapter).found, HasSubstr(", and merges those that it receives"));
  facts.vm.adapters[0].roce.unmerged = "this kernel lacks the action pedit";
  const CheckRow row = row_of(facts, kAdapter);
  EXPECT_EQ(row.verdict, Verdict::kOk);
  EXPECT_THAT(row.found, HasSubstr("which is slower: this kernel lacks the action pedit"));
}

TEST(VmCheckRoce, ThePathMtuIsThatOfTheSwitch) {
  VmCheckFacts facts = native_facts();
  const auto path_mtu = [&facts](std::uint32_t mtu) {
    facts.switches[0].spec.mtu = mtu;
    facts.machine.nics[1].mtu = mtu;
    return row_of(facts, kMtu).found;
  };
  EXPECT_EQ(path_mtu(1500), "up to 1024 to native endpoints: the switch has MTU 1500");
  EXPECT_EQ(path_mtu(kMinMtu), "up to 1024 to native endpoints: the switch has MTU 1280");
  EXPECT_THAT(path_mtu(2131), HasSubstr("up to 1024"));
  EXPECT_THAT(path_mtu(2132), HasSubstr("up to 2048"));
  EXPECT_THAT(path_mtu(4179), HasSubstr("up to 2048"));
  EXPECT_THAT(path_mtu(4180), HasSubstr("up to 4096"));
  EXPECT_THAT(path_mtu(9000), HasSubstr("up to 4096"));
}

TEST(VmCheckRoce, AnUplinkThatCarriesLessThanTheSwitch) {
  VmCheckFacts facts = native_facts();
  facts.switches[0].spec.mtu = 9000;
  EXPECT_EQ(row_of(facts, kMtu),
            warning(kMtu,
                    "1024: vmnic1 (eth1) has MTU 1500, but the switch has 9000: larger packets to "
                    "native endpoints are lost",
                    "ip link set eth1 mtu 9000"));
  facts.machine.nics[1].mtu = 595;
  EXPECT_THAT(row_of(facts, kMtu).found, HasSubstr("256: "));
  facts.machine.nics[1].mtu = 0;
  EXPECT_EQ(row_of(facts, kMtu).verdict, Verdict::kOk) << "it is not known";
}

TEST(VmCheckRoce, AHostInNoClusterNeedsItsUplinkForThemAllTheSame) {
  VmCheckFacts facts = native_facts();
  facts.cluster = {};
  facts.switches[0].spec.hosts = {{"h1", "eth1"}};
  EXPECT_EQ(row_of(facts, kUplink).found, "vmnic1 (eth1) is up, 10000 Mbit/s");
  facts.machine.nics[1].carrier = false;
  EXPECT_EQ(row_of(facts, kUplink).verdict, Verdict::kFailed);
  facts.switches[0].spec.hosts = {{"h1", ""}};
  EXPECT_EQ(row_of(facts, kUplink),
            good(kUplink, "none: native endpoints on this host's bridge only"));
  facts.port_groups[0].native_roce = false;
  EXPECT_EQ(row_of(facts, kUplink).found, "not in a cluster: only VMs on this host are reachable");
}

}  // namespace
}  // namespace paravane::model
