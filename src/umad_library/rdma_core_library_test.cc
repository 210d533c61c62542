// Compares what does not ask the door with rdma-core's own library, where Debian has it installed.

#include "umad_library/rdma_core_library.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>

#include "umad_library/umad_abi.h"
#include "umad_library/umad_test_mads.h"

namespace paravane::umad_library {
namespace {

class RdmaCoreLibraryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (rdma_core_library() == nullptr) GTEST_SKIP() << "rdma-core's libibumad is not installed";
  }
  template <typename Function>
  Function* theirs(Function* /*ours*/, const char* name) {
    return reinterpret_cast<Function*>(::dlsym(rdma_core_library(), name));
  }
};

TEST_F(RdmaCoreLibraryTest, AllNamesAreTheSame) {
  auto* class_str = theirs(&umad_class_str, "umad_class_str");
  auto* method_str = theirs(&umad_method_str, "umad_method_str");
  auto* attribute_str = theirs(&umad_attribute_str, "umad_attribute_str");
  auto* common_str = theirs(&umad_common_mad_status_str, "umad_common_mad_status_str");
  auto* sa_str = theirs(&umad_sa_mad_status_str, "umad_sa_mad_status_str");
  for (unsigned number = 0; number < 256; ++number) {
    const auto mgmt_class = static_cast<std::uint8_t>(number);
    EXPECT_STREQ(umad_class_str(mgmt_class), class_str(mgmt_class));
    for (unsigned method = 0; method < 256; ++method) {
      const auto value = static_cast<std::uint8_t>(method);
      ASSERT_STREQ(umad_method_str(mgmt_class, value), method_str(mgmt_class, value));
    }
    for (unsigned attribute = 0; attribute < 65536; ++attribute) {
      const auto value = static_cast<__be16>(attribute);
      ASSERT_STREQ(umad_attribute_str(mgmt_class, value), attribute_str(mgmt_class, value));
    }
  }
  for (unsigned status = 0; status < 65536; ++status) {
    const auto value = static_cast<__be16>(status);
    ASSERT_STREQ(umad_common_mad_status_str(value), common_str(value));
    ASSERT_STREQ(umad_sa_mad_status_str(value), sa_str(value));
  }
}

TEST_F(RdmaCoreLibraryTest, AddressesAreSetAndShownTheSame) {
  auto* set_addr = theirs(&umad_set_addr, "umad_set_addr");
  auto* set_addr_net = theirs(&umad_set_addr_net, "umad_set_addr_net");
  auto* set_grh = theirs(&umad_set_grh, "umad_set_grh");
  auto* dump = theirs(&umad_dump, "umad_dump");
  ib_mad_addr route{};
  for (unsigned i = 0; i < 16; ++i) route.gid[i] = static_cast<std::uint8_t>(17 * i);
  route.flow_label = 0xABCDE;
  route.hop_limit = 3;
  route.traffic_class = 4;
  UmadBuffer one(256);
  UmadBuffer two(256);
  for (const int value : {0, 1, 0x1234, 0x7FFFFFFF, -1}) {
    umad_set_addr(one.get(), value, value, value, value);
    set_addr(two.get(), value, value, value, value);
    EXPECT_EQ(one.mad(256), two.mad(256));
    umad_set_grh(one.get(), &route);
    set_grh(two.get(), &route);
    EXPECT_EQ(std::memcmp(one.get(), two.get(), sizeof(ib_user_mad)), 0);
    ::testing::internal::CaptureStderr();
    umad_dump(one.get());
    const std::string ours = ::testing::internal::GetCapturedStderr();
    ::testing::internal::CaptureStderr();
    dump(two.get());
    EXPECT_EQ(ours, ::testing::internal::GetCapturedStderr());
    umad_set_grh(one.get(), nullptr);
    set_grh(two.get(), nullptr);
    umad_set_addr_net(one.get(), 0x1234, 0x12345678, 4, 0x9ABCDEF0);
    set_addr_net(two.get(), 0x1234, 0x12345678, 4, 0x9ABCDEF0);
    EXPECT_EQ(std::memcmp(one.get(), two.get(), sizeof(ib_user_mad)), 0);
  }
}

}  // namespace
}  // namespace paravane::umad_library
