#include "model/adapter_name.h"

#include <gtest/gtest.h>

namespace paravane::model {
namespace {

TEST(AdapterName, TheFirstHasTheNameOfItsVm) {
  EXPECT_EQ(to_string(AdapterName{.vm = "db1", .number = 1}), "db1");
  EXPECT_EQ(to_string(AdapterName{.vm = "db1", .number = 2}), "db1/2");
}

TEST(AdapterName, IsInOrderByVmThenByNumber) {
  EXPECT_LT((AdapterName{"db1", 2}), (AdapterName{"db1", 10}));
  EXPECT_LT((AdapterName{"db1", 2}), (AdapterName{"db1-a", 1}));
}

}  // namespace
}  // namespace paravane::model
