#include "cli/vm_check.h"

#include <gtest/gtest.h>

namespace paravane::cli {
namespace {

using model::CheckRow;
using model::Verdict;
using text::TableFormat;

const model::CheckRow kRow{
    .check = "Memory", .verdict = model::Verdict::kFailed, .found = "none", .cure = "buy some"};

TEST(VmCheckTable, HasTheCureOfEachRow) {
  EXPECT_EQ(check_table({{"db1", {kRow}}}, false).print(text::TableFormat::kTable),
            "Check   Verdict  Found  Cure\n"
            "------  -------  -----  --------\n"
            "Memory  failed   none   buy some\n");
}

TEST(VmCheckTable, NamesTheVmWhereThereAreSeveral) {
  EXPECT_EQ(check_table({{"db1", {kRow}}, {"db2", {}}}, true).print(text::TableFormat::kCsv),
            "VM,Check,Verdict,Found,Cure\ndb1,Memory,failed,none,buy some\n");
}

}  // namespace
}  // namespace paravane::cli
