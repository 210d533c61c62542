#include "device/doorbell_pages.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace paravane::device {
namespace {

// What the guest sees: the same file, mapped once more.
class GuestView {
 public:
  explicit GuestView(const DoorbellPages& pages)
      : size_(pages.size()),
        base_(::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, pages.fd(), 0)) {}
  ~GuestView() { ::munmap(base_, size_); }
  GuestView(const GuestView&) = delete;
  GuestView& operator=(const GuestView&) = delete;

  bool mapped() const { return base_ != MAP_FAILED; }
  void store(std::uint32_t page, std::uint32_t offset, std::uint32_t word) {
    std::memcpy(static_cast<std::byte*>(base_) + page * 4096ull + offset, &word, sizeof(word));
  }

 private:
  std::uint64_t size_;
  void* base_;
};

TEST(DoorbellPages, TakesWhatTheGuestStoredOnce) {
  auto pages = DoorbellPages::create(4);
  ASSERT_TRUE(pages.has_value());
  GuestView guest(**pages);
  ASSERT_TRUE(guest.mapped());
  guest.store(2, abi::kUarQpOffset, 0x4000'0007);
  guest.store(2, abi::kUarCqOffset, 0x8000'0003);

  EXPECT_EQ((*pages)->take_qp_word(1), 0u);
  EXPECT_EQ((*pages)->take_qp_word(2), 0x4000'0007u);
  EXPECT_EQ((*pages)->take_qp_word(2), 0u);
  EXPECT_EQ((*pages)->take_cq_word(2), 0x8000'0003u);
}

TEST(DoorbellPages, ClearForgetsWhatAnEarlierContextLeft) {
  auto pages = DoorbellPages::create(2);
  ASSERT_TRUE(pages.has_value());
  GuestView guest(**pages);
  guest.store(1, abi::kUarQpOffset, 1);
  guest.store(1, abi::kUarCqOffset, 2);
  (*pages)->clear(1);

  EXPECT_EQ((*pages)->take_qp_word(1), 0u);
  EXPECT_EQ((*pages)->take_cq_word(1), 0u);
}

TEST(DoorbellPages, NobodyCanShrinkTheFile) {
  auto pages = DoorbellPages::create(2);
  ASSERT_TRUE(pages.has_value());

  EXPECT_NE(::ftruncate((*pages)->fd(), 0), 0);
  EXPECT_NE(::fcntl((*pages)->fd(), F_GET_SEALS) & F_SEAL_SHRINK, 0);
}

}  // namespace
}  // namespace paravane::device
