// The models of InfiniBand adapters, as table 2 of the guide has them.

#include "model/ib_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace paravane::model {
namespace {

using testing::HasSubstr;

TEST(IbDevices, AreFoundByName) {
  const auto device = find_ib_device("MT26428");
  ASSERT_TRUE(device);
  EXPECT_EQ(device->description, "ConnectX IB QDR, PCIe 2.0 5.0GT/s");
  EXPECT_EQ(device->pci_device, 0x673C);
  EXPECT_EQ(device->ports, 2U);
  EXPECT_EQ(device->rate_gbps, 40U);
  EXPECT_FALSE(find_ib_device("MT2642"));
  EXPECT_FALSE(find_ib_device("mt26428"));
  EXPECT_FALSE(find_ib_device(""));
}

TEST(IbDevices, HaveNamesAndPciNumbersOfTheirOwn) {
  std::set<std::string_view> names;
  std::set<std::uint16_t> numbers;
  for (const IbDevice& device : ib_devices()) {
    EXPECT_TRUE(names.insert(device.name).second) << device.name;
    EXPECT_TRUE(numbers.insert(device.pci_device).second) << device.name;
    EXPECT_THAT(ib_device_names(), HasSubstr(std::string(device.name)));
  }
  EXPECT_EQ(names.size(), 7U);
}

// Guide, 4.4.2.4.
TEST(IbDevices, HaveTheNumberOfPartitionsOfTheirFamily) {
  for (const IbDevice& device : ib_devices()) {
    const bool is_connectx = device.description.starts_with("ConnectX");
    EXPECT_EQ(device.partitions, is_connectx ? 128U : 64U) << device.name;
    EXPECT_EQ(device.mtu, is_connectx ? 4096U : 2048U) << device.name;
    EXPECT_TRUE(is_connectx || !device.can_be_ethernet) << device.name;
  }
}

}  // namespace
}  // namespace paravane::model
