#include "vmm/hot_add.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paravane::vmm {
namespace {

AdapterSlot second_adapter() {
  model::VmStatus vm;
  vm.spec.name = "db1";
  vm.spec.adapters = {{.number = 1, .mac = model::MacAddress{2, 0x50, 0x56, 1, 2, 2}},
                      {.number = 2, .mac = model::MacAddress{2, 0x50, 0x56, 1, 2, 3}}};
  vm.adapters = {{.socket = "/run/db1.sock"}, {.socket = "/run/db1.2.sock"}};
  return slots_of(vm, kFirstSlot).value().back();
}

std::vector<std::string> lines(const NicNetwork& network) {
  std::vector<std::string> text;
  for (const QmpCommand& command : hot_add_commands(second_adapter(), "rp1", network)) {
    text.push_back(print(command));
  }
  return text;
}

constexpr const char* kDevice =
    R"({"execute":"device_add","arguments":{"driver":"vfio-user-pci","id":"paravane1","bus":"rp1",)"
    R"("addr":"0.1","socket":{"type":"unix","path":"/run/db1.2.sock"}}})";
constexpr const char* kNic =
    R"({"execute":"device_add","arguments":{"driver":"vmxnet3","id":"paravane-nic1",)"
    R"("mac":"02:50:56:01:02:03","bus":"rp1","addr":"0.0","multifunction":true)";

// The guest looks when function 0 comes.
TEST(HotAdd, PlugsFunctionZeroLast) {
  EXPECT_THAT(lines({}), testing::ElementsAre(kDevice, std::string(kNic) + "}}"));
}

TEST(HotAdd, TakesANetdevThatIsThere) {
  EXPECT_THAT(lines({.netdev = "lan"}),
              testing::ElementsAre(kDevice, std::string(kNic) + R"(,"netdev":"lan"}})"));
}

TEST(HotAdd, MakesANetdevOfATap) {
  EXPECT_EQ(lines({.tap = "pv-db1.2"}).front(),
            R"({"execute":"netdev_add","arguments":{"type":"tap","id":"paravane-net1",)"
            R"("ifname":"pv-db1.2","script":"no","downscript":"no"}})");
  EXPECT_EQ(lines({.descriptor = "tap7"}).front(),
            R"({"execute":"netdev_add","arguments":{"type":"tap","id":"paravane-net1",)"
            R"("fd":"tap7"}})");
  EXPECT_EQ(lines({.descriptor = "tap7"}).back(),
            std::string(kNic) + R"(,"netdev":"paravane-net1"}})");
}

}  // namespace
}  // namespace paravane::vmm
