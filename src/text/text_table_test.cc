#include "text/text_table.h"

#include <gtest/gtest.h>

#include "text/text_cell.h"

namespace paravane::text {
namespace {

TextTable devices() {
  TextTable table({"Name", "Paired Uplink", "MTU", "Up"});
  table.add({std::string("vmrdma0"), std::string("vmnic4"), std::uint64_t{1024}, true});
  table.add({std::string("vmrdma10"), std::string(), std::uint64_t{0}, false});
  return table;
}

TEST(TextTable, LooksAsEsxcliPrintsIt) {
  EXPECT_EQ(devices().print(TableFormat::kTable),
            "Name      Paired Uplink  MTU   Up\n"
            "--------  -------------  ----  -----\n"
            "vmrdma0   vmnic4         1024  true\n"
            "vmrdma10                 0     false\n");
}

TEST(TextTable, HasItsHeaderWhenItIsEmpty) {
  EXPECT_EQ(TextTable({"Name", "State"}).print(TableFormat::kTable), "Name  State\n----  -----\n");
  EXPECT_EQ(TextTable({"Name", "State"}).print(TableFormat::kCsv), "Name,State\n");
  EXPECT_EQ(TextTable({"Name", "State"}).print(TableFormat::kJson), "[]\n");
}

TEST(TextTable, QuotesCsvWhereItMust) {
  TextTable table({"A", "B,C"});
  table.add({std::string("say \"hi\""), std::string("two\nlines")});
  EXPECT_EQ(table.print(TableFormat::kCsv), "A,\"B,C\"\n\"say \"\"hi\"\"\",\"two\nlines\"\n");
}

TEST(TextTable, KeepsTypesInJson) {
  EXPECT_EQ(TextTable::Cell(true).index(), 2u);
  EXPECT_EQ(devices().print(TableFormat::kJson),
            "[\n  {\n    \"Name\": \"vmrdma0\",\n    \"PairedUplink\": \"vmnic4\",\n"
            "    \"MTU\": 1024,\n    \"Up\": true\n  },\n"
            "  {\n    \"Name\": \"vmrdma10\",\n    \"PairedUplink\": \"\",\n"
            "    \"MTU\": 0,\n    \"Up\": false\n  }\n]\n");
}

TEST(TextTable, HasNullForNoValueInJson) {
  TextTable table({"PID"});
  table.add({TextTable::None()});
  EXPECT_EQ(table.print(TableFormat::kTable), "PID\n---\n-\n");
  EXPECT_EQ(table.print(TableFormat::kCsv), "PID\n-\n");
  EXPECT_EQ(table.print(TableFormat::kJson), "[\n  {\n    \"PID\": null\n  }\n]\n");
}

TEST(TextTable, LetsNothingMoveTheCursor) {
  TextTable table({"A"});
  table.add({std::string("a\033[2Jb\n")});
  EXPECT_EQ(table.print(TableFormat::kTable), "A\n-------\na?[2Jb?\n");
}

TEST(TextTable, KnowsEveryCharacterThatMovesTheCursor) {
  TextTable table({"A"});
  table.add(
      {std::string("\302\233"
                   "2J\302\205\302\240\303\233\177\302")});
  EXPECT_EQ(table.print(TableFormat::kTable), "A\n----------\n?2J?\302\240\303\233?\302\n");
}

TEST(TextCell, MayHaveLines) {
  EXPECT_EQ(printable("evil\u202Etxt.exe\u2069\u200B\uFEFF\u061C"), "evil?txt.exe????");
  EXPECT_EQ(printable("\u2010\u2030 \u2070 \uFEFE caf\u00E9 \u6F22"),
            "\u2010\u2030 \u2070 \uFEFE caf\u00E9 \u6F22");
  EXPECT_EQ(printable("\xE2\x80"), "\xE2\x80");  // cut short
  EXPECT_EQ(printable_lines("a\033\n  b\n"), "a?\n  b\n");
  EXPECT_EQ(printable_lines(""), "");
}

TEST(TextTable, KnowsItsFormats) {
  EXPECT_EQ(parse_table_format("table"), TableFormat::kTable);
  EXPECT_EQ(parse_table_format("json"), TableFormat::kJson);
  EXPECT_EQ(parse_table_format("csv"), TableFormat::kCsv);
  EXPECT_FALSE(parse_table_format("xml"));
}

}  // namespace
}  // namespace paravane::text
