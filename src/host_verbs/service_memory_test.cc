#include "host_verbs/service_memory.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "guestmem/page_list.h"
#include "guestmem/payload.h"

namespace paravane::host_verbs {
namespace {

std::unique_ptr<ServiceMemory> make_memory() {
  auto made = ServiceMemory::make({.payloads = 3, .messages = 10});
  EXPECT_TRUE(made) << made.error().message;
  return std::move(*made);
}

TEST(PlacesTest, APlaceThatIsGivenBackIsTakenLast) {
  Places places(3);
  EXPECT_EQ(places.take(), 0u);
  EXPECT_EQ(places.take(), 1u);
  places.give_back(0);
  EXPECT_EQ(places.free(), 2u);
  EXPECT_EQ(places.take(), 2u);
  EXPECT_EQ(places.take(), 0u);
  EXPECT_EQ(places.take(), std::nullopt);
  places.give_back(2);
  EXPECT_EQ(places.take(), 2u);
}

TEST(ServiceMemoryTest, EachPlaceHasBytesOfItsOwn) {
  const auto memory = make_memory();
  std::set<std::pair<std::uint64_t, std::uint64_t>> parts;  // first and end
  for (std::uint32_t place = 0; place < 3; ++place) {
    const std::uint64_t payload = memory->payload(place).value;
    EXPECT_EQ(payload % kPageBytes, 0u);
    parts.emplace(payload, payload + ServiceMemory::kPayloadBytes);
    const std::uint64_t directory = memory->payload_directory(place).value;
    parts.emplace(directory, directory + 2 * kPageBytes);
  }
  for (std::uint32_t place = 0; place < 10; ++place) {
    const std::uint64_t message = memory->message(place).value;
    parts.emplace(message, message + ServiceMemory::kMessageBytes);
  }
  ASSERT_EQ(parts.size(), 16u);
  for (auto part = parts.begin(); std::next(part) != parts.end(); ++part) {
    EXPECT_LE(part->second, std::next(part)->first);
  }
}

TEST(ServiceMemoryTest, ADirectoryNamesThePagesOfItsPayload) {
  const auto memory = make_memory();
  GuestMemory shown;
  ASSERT_TRUE(memory->show_in(shown));
  for (std::uint32_t place = 0; place < 3; ++place) {
    auto list =
        PageList::from_directory(shown, memory->payload_directory(place), 256, Rights::kReadWrite);
    ASSERT_TRUE(list) << list.error().message;
    EXPECT_EQ(list->run_count(), 1u);
    const std::array bytes{static_cast<std::byte>(place + 7), std::byte{9}};
    ASSERT_EQ(list->copy_out(ServiceMemory::kPayloadBytes - 2, bytes), Reach::kOk);
    ExtentList extents;
    ASSERT_TRUE(memory->extents(place, ServiceMemory::kPayloadBytes - 2, 2, extents));
    std::array<std::byte, 2> read{};
    ASSERT_TRUE(gather_payload(extents, read));
    EXPECT_EQ(read, bytes);
  }
}

TEST(ServiceMemoryTest, AUserFindsNothingOfAnother) {
  const auto memory = make_memory();
  const auto write = [&](std::byte value, std::uint32_t offset, std::uint32_t length) {
    ExtentList extents;
    ASSERT_TRUE(memory->extents(1, offset, length, extents));
    ASSERT_TRUE(scatter_payload(std::vector(length, value), extents));
  };
  const auto read = [&](std::uint32_t length) {
    std::vector<std::byte> bytes(length);
    ExtentList extents;
    EXPECT_TRUE(memory->extents(1, 0, length, extents));
    EXPECT_TRUE(gather_payload(extents, bytes));
    return bytes;
  };
  memory->take_over(1, 7);
  write(std::byte{7}, 0, 200'000);
  memory->note_filled(1, 200'000);
  EXPECT_TRUE(memory->clear_others(1, 200'000));
  EXPECT_EQ(read(200'000), std::vector(200'000, std::byte{7})) << "its own stays";
  memory->take_over(1, 8);
  EXPECT_TRUE(memory->clear_others(1, 4096));
  EXPECT_EQ(read(4096), std::vector(4096, std::byte{0}));
  memory->take_over(1, 8);
  EXPECT_TRUE(memory->clear_others(1, 200'000)) << "the rest is still another's";
  EXPECT_EQ(read(200'000), std::vector(200'000, std::byte{0}));
  // What was never finished is seen by no other either.
  memory->take_over(1, 9);
  write(std::byte{9}, 0, 4096);
  memory->take_over(1, 8);
  EXPECT_TRUE(memory->clear_others(1, 4096));
  EXPECT_EQ(read(4096), std::vector(4096, std::byte{0}));
}

TEST(ServiceMemoryTest, AMessageIsReadAsItWasWritten) {
  const auto memory = make_memory();
  std::array<std::byte, ServiceMemory::kMessageBytes> first{};
  std::array<std::byte, ServiceMemory::kMessageBytes> second{};
  first.fill(std::byte{1});
  second.fill(std::byte{2});
  ASSERT_TRUE(memory->write(8, first));
  ASSERT_TRUE(memory->write(9, second));
  std::array<std::byte, ServiceMemory::kMessageBytes> read{};
  ASSERT_TRUE(memory->read(8, read));
  EXPECT_EQ(read, first);
  ASSERT_TRUE(memory->read(9, read));
  EXPECT_EQ(read, second);
}

}  // namespace
}  // namespace paravane::host_verbs
