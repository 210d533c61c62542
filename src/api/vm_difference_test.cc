#include "api/vm_difference.h"

#include <gtest/gtest.h>

namespace paravane::api {
namespace {

using Names = std::vector<std::string>;

TEST(VmDifference, NamesWhatIsAnotherAsTheApiDoes) {
  const model::VmSpec before{.name = "db1", .limits = {}};
  EXPECT_EQ(changed_properties(before, before), Names{});
  model::VmSpec after = before;
  after.hw_version = 14;
  after.limits.queue_pairs = 64;
  after.machine.memory_mib = 4096;
  EXPECT_EQ(changed_properties(before, after), (Names{"hw_version", "memory_mib", "queue_pairs"}));
  EXPECT_EQ(changed_properties(after, before), (Names{"hw_version", "memory_mib", "queue_pairs"}));
}

TEST(VmDifference, NamesWhatSeveralAdaptersChangeOnce) {
  model::VmSpec before{.name = "db1", .limits = {}};
  before.adapters.push_back({.number = 2});
  model::VmSpec after = before;
  for (model::AdapterSpec& adapter : after.adapters) adapter.port_group = "rdma";
  EXPECT_EQ(changed_properties(before, after), Names{"port_group"});
  after = before;
  after.adapters.pop_back();
  EXPECT_EQ(changed_properties(before, after), Names{"adapters"});
}

TEST(VmDifference, NamesAListWhole) {
  model::VmSpec before{.name = "db1", .limits = {}};
  before.machine.disks = {{.file = "/a"}};
  model::VmSpec after = before;
  after.machine.disks[0].read_only = true;
  EXPECT_EQ(changed_properties(before, after), Names{"disks"});
}

}  // namespace
}  // namespace paravane::api
