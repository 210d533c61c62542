#include "holder/holder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "privsep/estate_line.h"
#include "privsep/holder_word.h"

namespace paravane::holder {
namespace {

using privsep::HolderWord;

class HolderTest : public ::testing::Test {
 protected:
  HolderTest() {
    auto ends = privsep::ParcelLine::make().value();
    keeper_ = std::move(ends[0]);
    holder_.emplace(std::move(ends[1]));
  }

  void tell(HolderWord::What what, int fd) {
    ASSERT_TRUE(privsep::say_to_holder(keeper_.get(), what, fd));
    ASSERT_TRUE(holder_->hear_keeper());
  }
  // An engine that puts parcels.
  privsep::ParcelLine new_engine() {
    auto ends = privsep::ParcelLine::make().value();
    tell(HolderWord::What::kHear, ends[1].get());
    return privsep::ParcelLine(std::move(ends[0]));
  }
  std::map<std::string, privsep::Parcel> given() {
    auto ends = privsep::EstateLine::make().value();
    tell(HolderWord::What::kGive, ends[1].get());
    ends[1].reset();
    privsep::EstateLine line(std::move(ends[0]));
    auto parcels = line.receive(soon());
    EXPECT_TRUE(parcels) << parcels.error().message;
    std::map<std::string, privsep::Parcel> by_name;
    if (!parcels) return by_name;
    for (privsep::Parcel& parcel : *parcels) {
      const std::string name = parcel.name();
      by_name.emplace(name, std::move(parcel));
    }
    return by_name;
  }
  static Instant soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(5); }
  static std::vector<std::byte> bytes(std::string_view text) {
    const auto all = std::as_bytes(std::span(text));
    return {all.begin(), all.end()};
  }
  static UniqueFd event() { return UniqueFd(::eventfd(7, EFD_CLOEXEC)); }

  UniqueFd keeper_;
  std::optional<Holder> holder_;
};

TEST_F(HolderTest, WhatAnEngineHasPutIsGivenToTheNext) {
  {
    auto engine = new_engine();
    const UniqueFd one = event();
    const int fd = one.get();
    ASSERT_TRUE(engine.send("adapter db1 0", bytes("old"), {&fd, 1}, soon()));
    ASSERT_TRUE(engine.send("adapter db1 0", bytes("new"), {&fd, 1}, soon()));
    ASSERT_TRUE(engine.send("adapter db2 0", bytes("gone"), {}, soon()));
    ASSERT_TRUE(engine.send("adapter db2 0", {}, {}, soon()));
    ASSERT_TRUE(engine.send("api", {}, {&fd, 1}, soon()));
  }  // killed: nothing of it was read yet
  auto parcels = given();
  ASSERT_EQ(parcels.size(), 2U);
  EXPECT_EQ(parcels.at("adapter db1 0").read().value(), bytes("new"));
  ASSERT_EQ(parcels.at("adapter db1 0").descriptors.size(), 1U);
  std::uint64_t value = 0;
  EXPECT_EQ(::read(parcels.at("adapter db1 0").descriptors[0].get(), &value, sizeof value), 8);
  EXPECT_EQ(value, 7U) << "the same eventfd";
  EXPECT_EQ(parcels.at("api").bytes(), 0U);
  EXPECT_EQ(given().size(), 2U) << "and to the one after that";
}

// The engine was killed while it put it.
TEST_F(HolderTest, AParcelThatIsNotWholeLeavesTheOneBeforeIt) {
  {
    auto engine = new_engine();
    const UniqueFd one = event();
    const std::vector<int> many(300, one.get());
    ASSERT_TRUE(engine.send("adapter db1 0", bytes("whole"), many, soon()));
    holder_->hear_engine();
    // The first packet of a parcel with 300 descriptors, and no more.
    auto other = privsep::ParcelLine::make().value();
    privsep::ParcelLine full(std::move(other[0]));
    ASSERT_TRUE(full.send("adapter db1 0", {}, many, soon()));
    std::array<char, 300> packet{};
    const ssize_t size = ::recv(other[1].get(), packet.data(), packet.size(), 0);
    ASSERT_GT(size, 0);
    ASSERT_EQ(::send(engine.fd(), packet.data(), static_cast<std::size_t>(size), 0), size);
  }
  auto parcels = given();
  ASSERT_EQ(parcels.size(), 1U);
  EXPECT_EQ(parcels.at("adapter db1 0").read().value(), bytes("whole"));
  EXPECT_EQ(parcels.at("adapter db1 0").descriptors.size(), 300U);
}

TEST_F(HolderTest, AnEngineThatSaysWhatItShouldNotIsNotHeardAnyMore) {
  auto engine = new_engine();
  ASSERT_TRUE(engine.send("adapter db1 0", bytes("good"), {}, soon()));
  ASSERT_EQ(::send(engine.fd(), "nonsense", 8, 0), 8);
  holder_->hear_engine();
  EXPECT_FALSE(engine.send("adapter db1 0", bytes("late"), {}, soon()));
  EXPECT_EQ(given().at("adapter db1 0").read().value(), bytes("good"));
}

TEST_F(HolderTest, TheNextEngineGoesOnWithWhatIsThere) {
  auto first = new_engine();
  ASSERT_TRUE(first.send("adapter db1 0", bytes("1"), {}, soon()));
  ASSERT_TRUE(first.send("adapter db2 0", bytes("1"), {}, soon()));
  holder_->hear_engine();
  auto second = new_engine();
  EXPECT_FALSE(first.send("adapter db1 0", bytes("late"), {}, soon()));
  ASSERT_TRUE(second.send("adapter db2 0", bytes("2"), {}, soon()));
  auto parcels = given();
  EXPECT_EQ(parcels.at("adapter db1 0").read().value(), bytes("1"));
  EXPECT_EQ(parcels.at("adapter db2 0").read().value(), bytes("2"));
}

TEST_F(HolderTest, EndsWithTheKeeper) {
  keeper_.reset();
  EXPECT_FALSE(holder_->hear_keeper());
}

TEST(ShelfTest, WhatDoesNotFitIsNotHeld) {
  Shelf shelf;
  EXPECT_TRUE(shelf.put(privsep::Parcel("a", {}, Shelf::kMaxBytes / 2)));
  EXPECT_TRUE(shelf.put(privsep::Parcel("b", {}, Shelf::kMaxBytes / 2)));
  EXPECT_FALSE(shelf.put(privsep::Parcel("c", {}, 1)));
  EXPECT_FALSE(shelf.put(privsep::Parcel("b", {}, Shelf::kMaxBytes / 2 + 1)));
  EXPECT_EQ(shelf.parcels().size(), 1U) << "nor is the old b, which says what is not true any more";
  EXPECT_EQ(shelf.bytes(), Shelf::kMaxBytes / 2);
  EXPECT_TRUE(shelf.put(privsep::Parcel("a", {}, 0)));
  EXPECT_EQ(shelf.bytes(), 0U);
}

}  // namespace
}  // namespace paravane::holder
