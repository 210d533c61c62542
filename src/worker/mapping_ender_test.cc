#include "worker/mapping_ender.h"

#include <gtest/gtest.h>

#include <optional>

#include "guestmem/guest_memory.h"
#include "testing/named_file.h"

namespace paravane::worker {
namespace {

constexpr std::uint64_t kBytes = std::uint64_t{20} << 20;

TEST(MappingEnder, TakesDownAllThatItWasGivenBeforeItEnds) {
  const NamedFile file("paravane-mapping-ender", kBytes);
  std::optional<MappingEnder> ender(std::in_place);
  GuestMemory memory;
  memory.end_mappings_through(&*ender);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(
        memory.map(file.fd(), 0, GuestAddr{std::uint64_t{1} << 32}, kBytes, Rights::kReadWrite));
    memory.unmap_all();
    EXPECT_EQ(memory.usage().files, 0u);
  }
  ender.reset();
  EXPECT_EQ(file.mapped_bytes(), 0u);
}

}  // namespace
}  // namespace paravane::worker
