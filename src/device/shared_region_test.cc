#include "device/shared_region.h"

#include <gtest/gtest.h>

#include <cstring>

#include "device/limits.h"
#include "testing/test_memory.h"

namespace paravane::device {
namespace {

class SharedRegionTest : public ::testing::Test {
 protected:
  SharedRegionTest() { ram_.show(memory_); }

  abi::SharedRegionHead good_head() const {
    abi::SharedRegionHead head{};
    head.driver_version.set(20);
    head.cmd_slot_dma.set(0x1000);
    head.resp_slot_dma.set(0x2000);
    head.async_ring.num_pages.set(4);
    head.async_ring.pdir_dma.set(0x3000);
    head.cq_ring.num_pages.set(5);
    head.cq_ring.pdir_dma.set(0x4000);
    head.uar_pfn.set(0xFEB00);
    return head;
  }

  GuestMemory memory_;
  TestMemory ram_{1 << 20};
  GuestAddr at_ = ram_.allocate();
  abi::DeviceCaps caps_ = make_caps({});
};

TEST_F(SharedRegionTest, C03_WritesTheCapabilitiesAndNothingElse) {
  ram_.fill(at_, kPageBytes, std::byte{0xA5});
  ram_.write(at_, good_head());
  const auto region = load_shared_region(memory_, at_, caps_);

  ASSERT_TRUE(region.has_value());
  const auto head = ram_.read<abi::SharedRegionHead>(at_);
  const auto before = good_head();
  EXPECT_EQ(std::memcmp(&head, &before, sizeof(head)), 0);
  const auto caps = ram_.read<abi::DeviceCaps>({at_.value + 72});
  EXPECT_EQ(std::memcmp(&caps, &caps_, sizeof(caps)), 0);
  EXPECT_EQ(ram_.load_byte({at_.value + 280}), std::byte{0xA5});
}

TEST_F(SharedRegionTest, KeepsWhatTheGuestSaid) {
  ram_.write(at_, good_head());
  const auto region = load_shared_region(memory_, at_, caps_);

  ASSERT_TRUE(region.has_value());
  EXPECT_EQ(region->command_slot.value, 0x1000u);
  EXPECT_EQ(region->response_slot.value, 0x2000u);
  EXPECT_EQ(region->async_ring.pages, 4u);
  EXPECT_EQ(region->async_ring.directory.value, 0x3000u);
  EXPECT_EQ(region->completion_ring.pages, 5u);
  EXPECT_EQ(region->doorbell_frame, 0xFEB00u);
  EXPECT_EQ(region->effective_version(20), 20u);
  EXPECT_EQ(region->effective_version(18), 18u);
}

TEST_F(SharedRegionTest, AnOldDriverDecides) {
  auto head = good_head();
  head.driver_version.set(18);
  ram_.write(at_, head);
  const auto region = load_shared_region(memory_, at_, caps_);

  ASSERT_TRUE(region.has_value());
  EXPECT_EQ(region->effective_version(20), 18u);
}

TEST_F(SharedRegionTest, AllZeroMeansThatMemoryIsNotShared) {
  const auto region = load_shared_region(memory_, at_, caps_);

  ASSERT_FALSE(region.has_value());
  EXPECT_NE(region.error().message.find("share=on"), std::string::npos);
}

TEST_F(SharedRegionTest, MemoryWithoutAFileNamesTheRemedyToo) {
  const GuestAddr hidden{std::uint64_t{1} << 32};
  ASSERT_TRUE(memory_.map(UniqueFd(), 0, hidden, 64 << 20, Rights::kReadWrite));
  const auto region = load_shared_region(memory_, hidden, caps_);

  ASSERT_FALSE(region.has_value());
  EXPECT_NE(region.error().message.find("share=on"), std::string::npos);
}

TEST_F(SharedRegionTest, AnAddressThatCannotBeReachedIsRefused) {
  EXPECT_FALSE(load_shared_region(memory_, {0}, caps_).has_value());
  EXPECT_FALSE(load_shared_region(memory_, {UINT64_MAX - 100}, caps_).has_value());
  const GuestAddr last{ram_.base().value + ram_.size() - 100};  // the head fits, the rest does not
  ram_.write(last, good_head());
  EXPECT_FALSE(load_shared_region(memory_, last, caps_).has_value());
}

}  // namespace
}  // namespace paravane::device
