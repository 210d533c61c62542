#include "model/ib_port_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paravane::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using enum IbPortType;

const IbModule& mlx4() {
  return *find_ib_module(kModuleMlx4);
}

IbOptions options(std::string_view text) {
  return parse_ib_options(mlx4(), text).value_or(IbOptions{});
}

IbAdapter adapter(std::string device = "MT26428", std::uint32_t bus = 13) {
  return {.name = "mlx4_0", .device = std::move(device), .bus = bus};
}

std::string refusal(std::string_view text, const std::vector<IbAdapter>& adapters) {
  const Status checked = check_ib_options(mlx4(), options(text), adapters);
  return checked ? "taken" : checked.error().message;
}

TEST(IbPortTypes, TripletsGoBeforeTheDefault) {
  EXPECT_THAT(ib_port_types({}, adapter()).ports, ElementsAre(kInfiniband, kInfiniband));
  EXPECT_THAT(ib_port_types(options("port_types=13,1,1,13,2,2"), adapter()).ports,
              ElementsAre(kInfiniband, kEthernet));
  EXPECT_THAT(ib_port_types(options("port_types=13,1,1 port_type_default=2"), adapter()).ports,
              ElementsAre(kInfiniband, kEthernet));
  const auto other = ib_port_types(options("port_types=9,2,2"), adapter());
  EXPECT_THAT(other.ports, ElementsAre(kInfiniband, kInfiniband));
  EXPECT_THAT(other.problem, IsEmpty());
  EXPECT_FALSE(other.is_ethernet(0));
  EXPECT_FALSE(other.is_ethernet(3));
}

TEST(IbPortTypes, AnAdapterWithoutVpiStartsAsInfinibandAndThatIsTold) {
  for (const char* device : {"MT25408", "MT25208", "MT25208-MF"}) {
    EXPECT_EQ(refusal("port_types=13,2,2", {adapter(device)}), "taken");
    const auto types = ib_port_types(options("port_types=13,2,2"), adapter(device));
    EXPECT_THAT(types.ports, ElementsAre(kInfiniband, kInfiniband));
    EXPECT_THAT(types.problem, HasSubstr("is not capable of VPI"));
  }
  const auto one = ib_port_types(options("port_type_default=2"), adapter("MT25204"));
  EXPECT_THAT(one.ports, ElementsAre(kInfiniband));
  EXPECT_THAT(one.problem, HasSubstr("mlx4_0 (MT25204)"));
}

TEST(IbPortTypes, EthernetBeforeInfinibandIsNotAllowed) {
  EXPECT_EQ(refusal("port_types=13,1,2,13,2,1", {adapter()}),
            "adapter mlx4_0 at PCI bus 13: port 1 ETH and port 2 IB is not allowed");
  EXPECT_THAT(refusal("port_types=13,2,1 port_type_default=2", {adapter()}),
              HasSubstr("is not allowed"));
  EXPECT_EQ(refusal("port_types=13,1,2,13,2,2", {adapter()}), "taken");
  // With an adapter that came later.
  const auto types = ib_port_types(options("port_types=13,1,2"), adapter());
  EXPECT_THAT(types.ports, ElementsAre(kInfiniband, kInfiniband));
  EXPECT_THAT(types.problem, HasSubstr("is not allowed"));
}

TEST(IbPortTypes, AWrongBusOrPortIsRefused) {
  EXPECT_EQ(refusal("port_types=9,1,1", {adapter()}),
            "port_types: PCI bus 9 has no InfiniBand adapter; those of this host are at 13 "
            "(mlx4_0)");
  EXPECT_THAT(refusal("port_types=9,1,1", {}), HasSubstr("this host has none"));
  EXPECT_EQ(refusal("port_types=13,2,1", {adapter("MT25204")}),
            "port_types: adapter mlx4_0 at PCI bus 13 has no port 2");
}

TEST(IbPortTypes, AListHasAtMostANumberForEachPort) {
  const IbModule& ipoib = *find_ib_module(kModuleIpoib);
  const auto check = [&ipoib](std::string_view text, const std::vector<IbAdapter>& adapters) {
    return check_ib_options(ipoib, *parse_ib_options(ipoib, text), adapters);
  };
  EXPECT_TRUE(check("UplinkNum=4,6", {adapter()}));
  EXPECT_TRUE(check("UplinkNum=4", {adapter()}));
  EXPECT_TRUE(check("UplinkNum=4,6,1,1", {}));
  EXPECT_EQ(check("UplinkNum=4,6,1", {adapter()}).error().message,
            "ipoib_uplink_num: 3 numbers are given, and this host has 2 InfiniBand ports");
}

}  // namespace
}  // namespace paravane::model
