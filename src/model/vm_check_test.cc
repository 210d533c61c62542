#include "model/vm_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "model/check_facts_test.h"

namespace paravane::model {
namespace {

using testing::HasSubstr;

void set(VmCheckFacts& facts, std::string_view path, const char* value) {
  facts.configuration.settings.push_back({.path = std::string(path), .value = value});
}

bool has_row(const VmCheckFacts& facts, const std::string& check) {
  for (const CheckRow& row : check_vm(facts)) {
    if (row.check == check) return true;
  }
  return false;
}

TEST(VmCheck, AVmThatHasAllOfItHasNothingToCure) {
  std::set<std::string> checks;
  for (const CheckRow& row : check_vm(good_facts())) {
    EXPECT_EQ(row.verdict, Verdict::kOk) << row.check << ": " << row.found;
    EXPECT_EQ(row.cure, "") << row.check;
    EXPECT_FALSE(row.found.empty()) << row.check;
    EXPECT_TRUE(checks.insert(row.check).second) << "twice: " << row.check;
  }
  EXPECT_EQ(checks.size(), 15u);
}

TEST(VmCheck, HardwareVersion) {
  VmCheckFacts facts = good_facts();
  EXPECT_EQ(row_of(facts, "Hardware version"),
            good("Hardware version", "21: RoCE v1 and v2, shared receive queues"));
  facts.vm.spec.hw_version = 13;
  EXPECT_EQ(row_of(facts, "Hardware version"),
            stopping("Hardware version", "13, but an adapter uses RoCE v2, which needs 14 or later",
                     "paravane vm set db1 --hw-version 14"));
  facts.vm.spec.adapters[0].protocol = Protocol::kRoceV1;
  EXPECT_EQ(row_of(facts, "Hardware version"),
            good("Hardware version", "13: RoCE v1, no shared receive queues"));
}

TEST(VmCheck, AdaptersOfAVm) {
  VmCheckFacts facts = good_facts();
  set(facts, kPvrdmaMaxAdapters, "1");
  EXPECT_EQ(row_of(facts, "Adapters"), good("Adapters", "1 of 1"));
  facts.vm.spec.adapters.push_back({.number = 3});
  facts.vm.adapters.emplace_back();
  EXPECT_EQ(row_of(facts, "Adapters"), failed("Adapters", "2 of 1 (/Net/PVRDMAMaxAdapters)",
                                              "paravane vm adapter remove db1 3"));
}

TEST(VmCheck, MemoryThatIsNotReserved) {
  VmCheckFacts facts = good_facts();
  EXPECT_EQ(
      row_of(facts, "Memory reservation"),
      good("Memory reservation", "1024 MiB, shared, not reserved: no path needs a reservation"));
  set(facts, kPvrdmaReservation, "1");
  EXPECT_EQ(
      row_of(facts, "Memory reservation"),
      stopping("Memory reservation", "not reserved, although /Mem/PVRDMARequireReservation is 1",
               "paravane vm set db1 --lock-memory"));
  facts.vm.spec.machine.lock_memory = true;
  EXPECT_EQ(row_of(facts, "Memory reservation"),
            good("Memory reservation", "1024 MiB, shared, reserved and locked"));
}

TEST(VmCheck, PortGroup) {
  VmCheckFacts facts = good_facts();
  const std::string check = "Adapter 1: port group";
  EXPECT_EQ(row_of(facts, check), good(check, "rdma of switch lan, VLAN 10"));
  facts.vm.spec.adapters[0].port_group = "gone";
  EXPECT_EQ(row_of(facts, check), stopping(check, "port group gone does not exist",
                                           "paravane portgroup create gone --vds lan"));
  EXPECT_FALSE(has_row(facts, "Switch lan: host"));
  facts.switches[0].spec.hosts.erase("h1");
  EXPECT_EQ(row_of(facts, check).cure,
            "paravane vds add-host lan h1 && paravane portgroup create gone --vds lan");
  facts.switches.clear();
  facts.cluster.authority = "h2";
  EXPECT_EQ(row_of(facts, check).cure,
            "paravane vds create lan && paravane vds add-host lan h1 && paravane portgroup create "
            "gone --vds lan   # on h2");
}

TEST(VmCheck, AdapterWithoutAPortGroup) {
  VmCheckFacts facts = good_facts();
  const std::string check = "Adapter 1: port group";
  facts.vm.spec.adapters[0].port_group.clear();
  facts.vm.adapters[0].tap.clear();
  EXPECT_EQ(
      row_of(facts, check),
      warning(check,
              "none: VMs on other hosts are unreachable, and you must connect the NIC yourself",
              "paravane vm set db1 --adapter 1 --port-group rdma"));
  EXPECT_EQ(row_of(facts, "Channel"),
            good("Channel", "not needed: no switch of the VM has another host"));
  facts.port_groups.clear();
  EXPECT_EQ(row_of(facts, check).cure, "paravane portgroup create rdma --vds lan");
  facts.cluster = {};
  EXPECT_EQ(row_of(facts, check),
            good(check, "none: the adapter is on this host's built-in switch"));
}

TEST(VmCheck, TapOfTheNic) {
  VmCheckFacts facts = good_facts();
  EXPECT_EQ(row_of(facts, "Adapter 1: NIC"), good("Adapter 1: NIC", "on pv-db1"));
  facts.vm.adapters[0].problem = "pv-db1: its name is used";
  facts.vm.adapters[0].fault = LinkFault::kForeign;
  EXPECT_EQ(row_of(facts, "Adapter 1: NIC"),
            failed("Adapter 1: NIC", "pv-db1: its name is used",
                   "ip link delete pv-db1 && paravane vds repair"));
  facts.vm.adapters[0].fault = LinkFault::kOther;
  EXPECT_EQ(row_of(facts, "Adapter 1: NIC").cure, "paravane vds repair");
  facts.vm.adapters[0].fault = LinkFault::kNoBridges;
  EXPECT_EQ(row_of(facts, "Adapter 1: NIC").cure, "modprobe bridge && paravane vds repair");
}

TEST(VmCheck, Socket) {
  VmCheckFacts facts = good_facts();
  const std::string check = "Adapter 1: socket";
  EXPECT_EQ(row_of(facts, check), good(check, "/run/db1.sock, free"));
  facts.vm.adapters[0].state = VmState::kActive;
  facts.vm.adapters[0].pid = 77;
  EXPECT_EQ(row_of(facts, check),
            good(check, "/run/db1.sock, in use by the running VM (process 77)"));
  facts.vm.adapters[0] = {.state = VmState::kFailed, .problem = "No space left", .tap = "pv-db1"};
  EXPECT_EQ(row_of(facts, check),
            stopping(check, "No space left", "paravane vm set db1 --hw-version 21"));
}

TEST(VmCheck, AnAdapterThatIsDeadToItsGuest) {
  VmCheckFacts facts = good_facts();
  facts.vm.adapters[0].state = VmState::kDead;
  facts.vm.adapters[0].pid = 77;
  const CheckRow row = row_of(facts, "Adapter 1: guest driver");
  EXPECT_EQ(row.verdict, Verdict::kFailed);
  EXPECT_THAT(row.cure, ::testing::StartsWith(std::string(kDeadCure)));
  EXPECT_EQ(row_of(facts, "Adapter 1: socket").verdict, Verdict::kOk);
  EXPECT_EQ(row_of(facts, "Adapter 1: NIC").verdict, Verdict::kOk) << "its tap is well";
}

TEST(VmCheck, Link) {
  VmCheckFacts facts = good_facts();
  EXPECT_FALSE(has_row(facts, "Adapter 1: link"));
  facts.vm.spec.adapters[0].connected = false;
  EXPECT_EQ(row_of(facts, "Adapter 1: link"),
            warning("Adapter 1: link", "the adapter is disconnected from its switch",
                    "paravane vm adapter connect db1 1"));
}

TEST(VmCheck, AddressesThatOthersHave) {
  VmCheckFacts facts = good_facts();
  facts.cluster.lost = {
      "adapters/db1/1/mac/02:00:00:00:00:00 of host h1: MAC address 02:00:00:00:00:00 belongs to "
      "adapter a/1 of host h2",
      "gids/00000000000000aa/v2/00000000000000000000ffff0a4d0004/db1/1 of host h1: host h2 claimed "
      "the GID first",
      "gids/00000000000000aa/v2/fe800000000000000000000000000001/db10/1 of host h1: another VM",
      "gids/00000000000000aa/v2/fe800000000000000000000000000002/db1/1 of host h2: another host",
      "3 more claims"};
  const CheckRow mac = row_of(facts, "Adapter 1: MAC address");
  EXPECT_EQ(mac.verdict, Verdict::kFailed);
  EXPECT_EQ(mac.found, "MAC address 02:00:00:00:00:00 belongs to adapter a/1 of host h2");
  EXPECT_EQ(mac.cure, "paravane vm remove db1 && paravane vm add db1 --mac " +
                          format_mac(mac_for_name("h1/db1")) +
                          " --port-group rdma   # with its other options");
  EXPECT_EQ(row_of(facts, "Adapter 1: address"),
            failed("Adapter 1: address", "10.77.0.4: host h2 claimed the GID first",
                   "ip address   # in the guest: use an address other than 10.77.0.4"));
  EXPECT_EQ(check_vm(facts).size(), 17u) << "other VMs, hosts and lines are none of ours";
}

TEST(VmCheck, AFurtherAdapterIsReplacedWithoutItsVm) {
  VmCheckFacts facts = good_facts();
  facts.vm.spec.adapters.push_back({.number = 2, .mac = MacAddress{4}});
  facts.vm.adapters.push_back({.socket = "/run/db1.2.sock"});
  facts.cluster.lost = {"adapters/db1/2/mac/04:00:00:00:00:00 of host h1: taken"};
  EXPECT_EQ(row_of(facts, "Adapter 2: MAC address").cure,
            "paravane vm adapter remove db1 2 && paravane vm adapter add db1 --mac " +
                format_mac(mac_for_name("h1/db1/2")));
}

TEST(VmCheck, GuestDriver) {
  VmCheckFacts facts = good_facts();
  const std::string check = "Adapter 1: guest driver";
  EXPECT_THAT(row_of(facts, check).found, HasSubstr("not detected yet: the VM is off"));
  facts.vm.adapters[0].state = VmState::kAttached;
  const CheckRow row = row_of(facts, check);
  EXPECT_EQ(row.verdict, Verdict::kWarning);
  EXPECT_THAT(row.found, HasSubstr("docs/guest.md"));
  EXPECT_EQ(row.cure, "modprobe vmw_pvrdma   # in the guest");
  facts.vm.adapters[0].state = VmState::kActive;
  EXPECT_EQ(row_of(facts, check), good(check, "the vmw_pvrdma driver has activated the device"));
}

TEST(Verdict, IsReadAsItIsWritten) {
  for (const Verdict verdict : {Verdict::kOk, Verdict::kWarning, Verdict::kFailed}) {
    EXPECT_EQ(parse_verdict(to_string(verdict)), verdict);
  }
  EXPECT_EQ(parse_verdict("fine"), std::nullopt);
}

}  // namespace
}  // namespace paravane::model
