#include "host/hca_choice.h"

#include <gtest/gtest.h>

namespace paravane::host {
namespace {

const model::Machine kMachine{
    .nics = {{.name = "vmnic0", .linux_name = "eth0"}, {.name = "vmnic1", .linux_name = "eth1"}},
    .rdma_devices = {
        {.name = "vmrdma0", .linux_name = "mlx5_0", .port = 2, .paired_link = "eth1"}}};

TEST(HcaChoice, IsTheAdapterOfTheUplink) {
  EXPECT_EQ(choose_hca({.linux_name = "eth1", .vds = "lan", .address = "192.0.2.1"}, kMachine),
            (HcaChoice{.device = "mlx5_0", .port = 2, .address = "192.0.2.1"}));
}

TEST(HcaChoice, OfTheManagementIsTheAdapterOfItsNic) {
  EXPECT_EQ(choose_hca({.linux_name = "eth1", .address = "192.0.2.1"}, kMachine).device, "mlx5_0");
}

TEST(HcaChoice, SaysWhyThereIsNone) {
  EXPECT_EQ(choose_hca({.linux_name = "eth0", .vds = "lan"}, kMachine).why,
            "vmnic0 (eth0) has no RDMA adapter");
  EXPECT_EQ(choose_hca({.linux_name = "eth7"}, kMachine).why, "eth7 has no RDMA adapter");
  EXPECT_EQ(choose_hca({.vds = "lan"}, kMachine).why, "switch lan has no uplink here");
  EXPECT_EQ(choose_hca({}, kMachine).why, "no NIC has the channel's address");
}

}  // namespace
}  // namespace paravane::host
