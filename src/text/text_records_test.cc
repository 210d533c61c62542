#include "text/text_records.h"

#include <gtest/gtest.h>

namespace paravane::text {
namespace {

TextRecord interface(const std::string& name, std::uint64_t mtu) {
  return {.title = name,
          .fields = {{"Name", name}, {"Enabled", true}, {"VDS Name", ""}, {"MTU", mtu}}};
}

TEST(TextRecords, PrintsALineForEachField) {
  EXPECT_EQ(print_records(std::vector{interface("vmk0", 1500), interface("vmk1", 9000)},
                          TableFormat::kTable),
            "vmk0\n"
            "   Name: vmk0\n"
            "   Enabled: true\n"
            "   VDS Name:\n"
            "   MTU: 1500\n"
            "\n"
            "vmk1\n"
            "   Name: vmk1\n"
            "   Enabled: true\n"
            "   VDS Name:\n"
            "   MTU: 9000\n");
}

TEST(TextRecords, PrintsRecordsBelowTheirField) {
  const TextRecord port{.title = "",
                        .fields = {{"Client", "vmnic4"}, {"In Use", true}, {"Port ID", "0"}}};
  const TextRecord vds{.title = "VDS-Prod",
                       .fields = {{"Beacon Timeout", std::int64_t{-1}},
                                  {"Uplinks", std::vector<std::string>{"vmnic4", "vmnic5"}},
                                  {"DVPort", std::vector<TextRecord>{port, port}}}};
  EXPECT_EQ(print_records(std::vector{vds}, TableFormat::kTable),
            "VDS-Prod\n"
            "   Beacon Timeout: -1\n"
            "   Uplinks: vmnic4, vmnic5\n"
            "   DVPort:\n"
            "         Client: vmnic4\n"
            "         In Use: true\n"
            "         Port ID: 0\n"
            "\n"
            "         Client: vmnic4\n"
            "         In Use: true\n"
            "         Port ID: 0\n");
  EXPECT_EQ(print_records(std::vector{vds}, TableFormat::kCsv),
            "Beacon Timeout,Uplinks,DVPort\n"
            "-1,\"vmnic4, vmnic5\",\"[{\"\"Client\"\":\"\"vmnic4\"\",\"\"InUse\"\":true,"
            "\"\"PortID\"\":\"\"0\"\"},{\"\"Client\"\":\"\"vmnic4\"\",\"\"InUse\"\":true,"
            "\"\"PortID\"\":\"\"0\"\"}]\"\n");
}

TEST(TextRecords, PrintsJsonWithKeysWithoutSpaces) {
  EXPECT_EQ(print_records(std::vector{interface("vmk1", 9000)}, TableFormat::kJson),
            "[\n"
            "  {\n"
            "    \"Name\": \"vmk1\",\n"
            "    \"Enabled\": true,\n"
            "    \"VDSName\": \"\",\n"
            "    \"MTU\": 9000\n"
            "  }\n"
            "]\n");
}

TEST(TextRecords, OfNothingAreNothing) {
  EXPECT_EQ(print_records({}, TableFormat::kTable), "");
  EXPECT_EQ(print_records({}, TableFormat::kJson), "[]\n");
}

TEST(TextRecords, ShowNoControlCharacters) {
  EXPECT_EQ(print_records(std::vector{TextRecord{.title = "a\x1b", .fields = {{"B", "c\nd"}}}},
                          TableFormat::kTable),
            "a?\n   B: c?d\n");
}

}  // namespace
}  // namespace paravane::text
