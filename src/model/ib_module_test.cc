#include "model/ib_module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paravane::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

const IbModule& module_named(std::string_view name) {
  return *find_ib_module(name);
}

Result<IbOptions> parse(std::string_view module, std::string_view text) {
  return parse_ib_options(module_named(module), text);
}

std::string refusal(std::string_view module, std::string_view text) {
  const auto options = parse(module, text);
  return options ? "taken" : options.error().message;
}

TEST(IbModule, ModulesLoadInTheOrderOfTheGuide) {
  std::vector<std::string_view> names;
  for (const IbModule& module : ib_modules()) {
    names.push_back(module.name);
    for (const std::string_view needed : module.needs)
      EXPECT_THAT(names, testing::Contains(needed)) << module.name;
  }
  EXPECT_THAT(names, ElementsAre("vmkernel", "mlx4_en", "ib_basic", "ib_ipoib", "ib_srp"));
  EXPECT_FALSE(module_named("vmkernel").can_be_disabled);
}

TEST(IbModule, AnUnknownNameIsRefusedWithTheNearest) {
  EXPECT_TRUE(check_ib_module_name("ib_ipoib"));
  EXPECT_EQ(check_ib_module_name("ib_ipob").error().message,
            "there is no module 'ib_ipob'; do you mean ib_ipoib?");
  EXPECT_EQ(check_ib_module_name("e1000").error().message, "there is no module 'e1000'");
  EXPECT_FALSE(check_ib_module_name(""));
}

TEST(IbModule, TheGuidesLinesAreTaken) {
  EXPECT_EQ(parse("mlx4_en", "port_type_default=1")->numbers.at("port_type_default").front(), 1u);
  EXPECT_THAT(parse("mlx4_en", "port_types=13,1,1,13,2,2")->port_types,
              ElementsAre(IbPortTypeWish{.bus = 13, .port = 1, .type = IbPortType::kInfiniband},
                          IbPortTypeWish{.bus = 13, .port = 2, .type = IbPortType::kEthernet}));
  EXPECT_EQ(parse("mlx4_en", "port_types=9,1,1,9,2,1,17,1,1,17,2,2")->port_types.size(), 4u);
  EXPECT_THAT(parse("ib_ipoib", "RxQueueSize=4096,4096")->numbers,
              ElementsAre(Pair("RxQueueSize", ElementsAre(4096, 4096))));
  EXPECT_THAT(parse("ib_ipoib", "UplinkNum=4,6")->numbers,
              ElementsAre(Pair("ipoib_uplink_num", ElementsAre(4, 6))));
  EXPECT_THAT(parse("ib_ipoib", "ipoib_uplink_num=8")->numbers,
              ElementsAre(Pair("ipoib_uplink_num", ElementsAre(8))));
  EXPECT_THAT(parse("ib_basic", "--export-ksyms=linux mlx4_msi_x=1")->numbers,
              ElementsAre(Pair("mlx4_msi_x", ElementsAre(1))));
  EXPECT_THAT(parse("ib_ipoib", "NetQueue=1,1")->numbers,
              ElementsAre(Pair("NetQueue", ElementsAre(1, 1))));
  EXPECT_TRUE(parse("ib_srp", "max_srp_targets=4"));
  EXPECT_TRUE(parse("vmkernel", "netNetqueueEnabled=TRUE"));
}

TEST(IbModule, SeveralOptionsAreTakenAndNoneIsTaken) {
  const auto options = parse("ib_ipoib", "  ipoib_uplink_num=2   NetQueue=0 ");
  ASSERT_TRUE(options);
  EXPECT_EQ(options->numbers.size(), 2u);
  EXPECT_EQ(parse("ib_ipoib", ""), IbOptions());
  EXPECT_EQ(parse("ib_ipoib", "   "), IbOptions());
}

TEST(IbModule, AWrongWordIsRefusedByName) {
  EXPECT_EQ(refusal("ib_ipoib", "UplinkNumber=4"),
            "module ib_ipoib has no parameter 'UplinkNumber'; do you mean UplinkNum?");
  EXPECT_EQ(refusal("ib_ipoib", "port_types=13,1,1"),
            "module ib_ipoib has no parameter 'port_types'");
  EXPECT_EQ(refusal("ib_ipoib", "NetQueue"), "'NetQueue' is not of the form parameter=value");
  EXPECT_EQ(refusal("ib_ipoib", "=1"), "'=1' is not of the form parameter=value");
  EXPECT_EQ(refusal("ib_ipoib", "NetQueue=2"), "NetQueue=2: '2' is not a number from 0 to 1");
  EXPECT_THAT(refusal("ib_ipoib", "NetQueue=1 NetQueue=1"), HasSubstr("is given twice"));
  EXPECT_THAT(refusal("ib_ipoib", "UplinkNum=4 ipoib_uplink_num=4"), HasSubstr("is given twice"));
  // Only before mlx4_msi_x, where the guide has it.
  EXPECT_NE(refusal("ib_ipoib", "--export-ksyms=linux"), "taken");
  EXPECT_NE(refusal("ib_basic", "--export=linux"), "taken");
}

TEST(IbModule, NumbersAreDigitsWithinTheirRange) {
  for (const char* bad :
       {"", "x", "0", "17", "-1", "+1", "1x", "1,", ",1", "1,,1", "4294967297", "0x1", "1.0"})
    EXPECT_NE(refusal("ib_ipoib", std::string("ipoib_uplink_num=") + bad), "taken") << bad;
  std::string list = "1";
  for (std::size_t i = 1; i < kMaxIbPorts; ++i) list += ",1";
  EXPECT_TRUE(parse("ib_ipoib", "UplinkNum=" + list));
  EXPECT_THAT(refusal("ib_ipoib", "UplinkNum=" + list + ",1"), HasSubstr("at most 32 numbers"));
  EXPECT_THAT(refusal("ib_srp", "max_vmhbas=1,1"), HasSubstr("at most one number"));
  EXPECT_EQ(refusal("vmkernel", "netNetqueueEnabled=yes"),
            "netNetqueueEnabled=yes: 'yes' is neither TRUE nor FALSE");
}

TEST(IbModule, PortTypesAreTriplets) {
  const auto refused = [](const std::string& value) {
    return refusal("mlx4_en", "port_types=" + value);
  };
  EXPECT_EQ(refused("13,1,1,13,2"),
            "port_types=13,1,1,13,2: the types are given in triplets of PCI bus, port and type");
  EXPECT_EQ(refused("13,1,3"),
            "port_types=13,1,3: '3' is not a type, 1 (InfiniBand) or 2 (Ethernet)");
  EXPECT_EQ(refused("13,3,1"), "port_types=13,3,1: '3' is not a port, 1 or 2");
  EXPECT_EQ(refused("256,1,1"), "port_types=256,1,1: '256' is not a PCI bus, 0 to 255");
  EXPECT_EQ(refused("0d,1,1"), "port_types=0d,1,1: '0d' is not a PCI bus, 0 to 255");
  EXPECT_EQ(refused("13,1,1,13,1,2"), "port_types=13,1,1,13,1,2: port 1 of bus 13 is given twice");
  EXPECT_NE(refused(""), "taken");
  std::string many;
  for (int i = 0; i < 33; ++i) many += (i == 0 ? "" : ",") + std::to_string(i) + ",1,1";
  EXPECT_THAT(refused(many), HasSubstr("more triplets than ports"));
}

TEST(IbModule, LongTextsAndOddCharactersAreRefused) {
  EXPECT_THAT(refusal("ib_basic", "--export-ksyms=" + std::string(kMaxIbOptionsBytes, 'x')),
              HasSubstr("longer than 1024 characters"));
  for (const char* odd :
       {"--export-ksyms=\x1b[2J", "--export-ksyms=a\nb", "mlx4_msi_x=1\t", "\xff"})
    EXPECT_THAT(refusal("ib_basic", odd), HasSubstr("contain a character")) << odd;
}

TEST(IbModule, AValueIsThatOfThePort) {
  const IbModule& ipoib = module_named("ib_ipoib");
  const auto list = *parse("ib_ipoib", "UplinkNum=4,6");
  EXPECT_EQ(ib_value(ipoib, list, kUplinkNum, 0), 4u);
  EXPECT_EQ(ib_value(ipoib, list, kUplinkNum, 1), 6u);
  EXPECT_EQ(ib_value(ipoib, list, kUplinkNum, 2), 1u) << "its initial value";
  const auto one = *parse("ib_ipoib", "ipoib_uplink_num=3");
  EXPECT_EQ(ib_value(ipoib, one, kUplinkNum, 7), 3u) << "of all ports";
  EXPECT_EQ(ib_value(ipoib, {}, kNetQueue, 7), 1u);
}

TEST(IbModule, OneOptionIsSetAmongOthers) {
  const IbModule& ipoib = module_named("ib_ipoib");
  EXPECT_EQ(with_ib_option(ipoib, "", "NetQueue", "1"), "NetQueue=1");
  EXPECT_EQ(with_ib_option(ipoib, "UplinkNum=4  NetQueue=0", "ipoib_uplink_num", "2"),
            "NetQueue=0 ipoib_uplink_num=2");
}

}  // namespace
}  // namespace paravane::model
