// What check_vm() says of the memory that the RDMA adapter of channels to other hosts locks.

#include <gtest/gtest.h>

#include "model/check_facts_test.h"

namespace paravane::model {
namespace {

constexpr const char* kLockedCheck = "Channel: locked memory";
constexpr const char* kLockedCure =
    "systemctl edit paravaned   # [Service] LimitMEMLOCK=infinity, in force from the next start";
constexpr std::uint64_t kLockedMib = 1024 * 1024;

class VmCheckHca : public testing::Test {
 protected:
  VmCheckHca() {
    facts_.configuration.hca = {.device = "mlx5_0", .bytes_per_host = 4 * kLockedMib, .most = {}};
    facts_.machine.rdma_devices = {{.name = "vmrdma0", .linux_name = "mlx5_0"}};
    facts_.cluster.hosts.emplace_back().name = "h3";
  }
  CheckRow row() const { return row_of(facts_, kLockedCheck); }
  bool has_row() const {
    for (const CheckRow& one : check_vm(facts_)) {
      if (one.check == kLockedCheck) return true;
    }
    return false;
  }

  VmCheckFacts facts_ = good_facts();
};

TEST_F(VmCheckHca, SaysWhatIsLockedAndTheLimit) {
  EXPECT_EQ(row(),
            good(kLockedCheck, "0 MiB for channels over mlx5_0 to 0 of 2 other hosts; no limit"));
  facts_.machine.rdma_devices[0].trunks = {"h2"};
  facts_.machine.rdma_devices.push_back({.linux_name = "mlx5_1", .trunks = {"h3"}});
  facts_.configuration.hca.most = 8 * kLockedMib;
  EXPECT_EQ(row(),
            good(kLockedCheck,
                 "4 MiB for channels over mlx5_0 to 1 of 2 other hosts; the limit is 8 MiB"));
}

TEST_F(VmCheckHca, SaysThatTheMemoryOfVmsIsLockedToo) {
  facts_.configuration.hca.locks_vms = true;
  EXPECT_EQ(row().found,
            "0 MiB for channels over mlx5_0 to 0 of 2 other hosts, and the memory of VMs that send "
            "long messages; no limit");
}

TEST_F(VmCheckHca, ALimitThatIsTooLowForTheHostsOfTheClusterIsAWarning) {
  facts_.configuration.hca.most = 8 * kLockedMib - 1;
  EXPECT_EQ(row(), warning(kLockedCheck,
                           "mlx5_0 needs 8 MiB for channels to 2 other hosts, but paravaned may "
                           "lock 8191 KiB: channels for which none is left use TCP",
                           kLockedCure));
  facts_.configuration.hca.most = 65'536;
  facts_.cluster.hosts.pop_back();
  EXPECT_EQ(row().found,
            "mlx5_0 needs 4 MiB for channels to 1 other host, but paravaned may lock 64 KiB: "
            "channels for which none is left use TCP");
}

TEST_F(VmCheckHca, ChannelsThatUseNoAdapterLockNone) {
  facts_.switches[0].spec.hosts = {{"h1", "eth1"}};
  EXPECT_FALSE(has_row()) << "no other host is in the VM's switch";
  facts_ = good_facts();
  EXPECT_FALSE(has_row()) << "the host has no adapter that it is to use";
}

}  // namespace
}  // namespace paravane::model
