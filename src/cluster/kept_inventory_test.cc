#include "cluster/kept_inventory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "authority/certificate.h"
#include "cluster/cluster_files.h"
#include "inventory/keys.h"
#include "model/segment.h"
#include "testing/temp_dir.h"

namespace paravane::cluster {
namespace {

using inventory::KeyValue;
using inventory::Records;
using inventory::View;

constexpr model::MacAddress kMac{0x02, 0, 0, 0, 0, 0x0A};
const model::AdapterName kVm{"vm", 1};

class KeptInventoryTest : public testing::Test {
 protected:
  KeptInventoryTest() {
    document("vds/lan", inventory::print_switch({.name = "lan"}));
    document("portgroups/a", inventory::print_port_group({.name = "a", .vds = "lan", .vlan = 10}));
    document("members/h1", R"({"host":"h1","joined":"","keys":[]})");
    set_generation(3);
    inventory::OwnKeys said;
    inventory::say_info(said, {.address = "192.0.2.2",
                               .port = 28250,
                               .version = "1",
                               .closed = {},
                               .key = {},
                               .generation = 3});
    inventory::say_adapter(said, kVm, {.mac = kMac, .port_group = "a"});
    inventory::say_gid(said, {.segment = *model_segment(), .gid = inventory::link_local_gid(kMac)},
                       kVm);
    for (const auto& [key, value] : said) put(inventory::host_prefix("h2") + key, value);
  }
  static std::optional<std::uint64_t> model_segment() {
    return model::segment_number({.switches = {{"lan", {.name = "lan"}}},
                                  .port_groups = {{"a", {.name = "a", .vds = "lan", .vlan = 10}}}},
                                 "a");
  }
  void put(const std::string& key, const std::string& value) {
    ++revision_;
    records_.put({.key = key,
                  .value = value,
                  .create_revision = revision_,
                  .mod_revision = revision_,
                  .lease = 0});
  }
  void document(const std::string& name, const std::string& text) {
    put(std::string(inventory::kConfigPrefix) + name, text);
  }
  void set_generation(int number) {
    inventory::Generation generation;
    for (int i = 0; i < number; ++i) {
      generation = next_generation(std::move(generation), std::string(16, '0'));
    }
    document("cluster", inventory::print_cluster("c", "h1", generation));
  }
  View view() { return *records_.build(revision_); }
  Status keep(Instant at) { return kept_.keep(records_, view(), at); }

  TempDir directory_;
  const std::filesystem::path file_ = directory_ / "inventory.json";
  Records records_;
  std::int64_t revision_ = 0;
  KeptInventory kept_{file_};
  const Instant start_ = Instant() + std::chrono::hours(1);
};

TEST_F(KeptInventoryTest, NothingWasKept) {
  const auto loaded = kept_.load();
  ASSERT_TRUE(loaded);
  EXPECT_EQ(*loaded, nullptr);
  EXPECT_EQ(kept_.seen().number, 0U);
}

TEST_F(KeptInventoryTest, WhatWasKnownIsKnownAgain) {
  ASSERT_TRUE(keep(start_));
  KeptInventory next(file_);
  const auto loaded = next.load();
  ASSERT_TRUE(loaded);
  ASSERT_NE(*loaded, nullptr);
  const View before = view();
  const View& after = **loaded;
  EXPECT_EQ(after.documents, before.documents);
  EXPECT_EQ(after.generation, before.generation);
  EXPECT_EQ(after.network, before.network);
  EXPECT_EQ(after.gids, before.gids);
  EXPECT_EQ(after.macs, before.macs);
  EXPECT_EQ(after.gids.size(), 1U);
  EXPECT_EQ(after.hosts.at("h2").info->address, "192.0.2.2");
  EXPECT_EQ(after.hosts.at("h2").info->generation, 3U);
  EXPECT_EQ(after.members.size(), 1U);
  EXPECT_EQ(after.odd_keys, 0U);
  EXPECT_EQ(next.seen().number, 3U);
  EXPECT_EQ(next.seen().revision, before.revision);
}

TEST_F(KeptInventoryTest, AnotherGenerationIsKeptAtOnceAndTheRestInAWhile) {
  ASSERT_TRUE(keep(start_));
  put(inventory::host_prefix("h3") + "info", R"({"address":"192.0.2.3","port":1,"version":"1"})");
  ASSERT_TRUE(keep(start_ + std::chrono::seconds(1)));
  EXPECT_FALSE(KeptInventory(file_).load().value()->hosts.contains("h3"));
  EXPECT_EQ(kept_.next_step(), start_ + KeptInventory::kEvery);
  ASSERT_TRUE(kept_.step(records_, start_ + KeptInventory::kEvery));
  EXPECT_TRUE(KeptInventory(file_).load().value()->hosts.contains("h3"));
  EXPECT_EQ(kept_.next_step(), kNever);
  set_generation(4);
  ASSERT_TRUE(keep(start_ + KeptInventory::kEvery + std::chrono::seconds(1)));
  EXPECT_EQ(KeptInventory(file_).load().value()->generation.number, 4U);
}

// A backup flushes, and what comes later is counted from then.
TEST_F(KeptInventoryTest, AFlushKeepsWhatIsDueBeforeItsTime) {
  ASSERT_TRUE(keep(start_));
  put(inventory::host_prefix("h3") + "info", R"({"address":"192.0.2.3","port":1,"version":"1"})");
  ASSERT_TRUE(keep(start_ + std::chrono::seconds(1)));
  ASSERT_TRUE(kept_.flush(records_, start_ + std::chrono::seconds(2)));
  EXPECT_TRUE(KeptInventory(file_).load().value()->hosts.contains("h3"));
  put(inventory::host_prefix("h4") + "info", R"({"address":"192.0.2.4","port":1,"version":"1"})");
  ASSERT_TRUE(keep(start_ + std::chrono::seconds(3)));
  EXPECT_EQ(kept_.next_step(), start_ + std::chrono::seconds(2) + KeptInventory::kEvery);
  EXPECT_FALSE(KeptInventory(file_).load().value()->hosts.contains("h4"));
}

TEST_F(KeptInventoryTest, TheClaimsOfAMemberThatIsAwayAreKeptUntilItIsRemoved) {
  document("members/h2", R"({"host":"h2","joined":"","keys":[]})");
  ASSERT_TRUE(keep(start_));
  const auto later = [this](int times) { return start_ + times * KeptInventory::kEvery; };
  const View before = view();
  EXPECT_EQ(kept_.away(), nullptr);
  for (const KeyValue& pair : records_.entries()) {
    if (pair.key.starts_with(inventory::host_prefix("h2"))) records_.erase(pair.key);
  }
  ASSERT_FALSE(view().hosts.contains("h2"));
  // Again, from what was kept of it.
  for (const int times : {1, 2}) {
    ASSERT_TRUE(keep(later(times)));
    KeptInventory next(file_);
    ASSERT_TRUE(next.load());
    EXPECT_TRUE(next.load().value()->gids.empty()) << "no host has the claims now";
    ASSERT_NE(next.away(), nullptr);
    EXPECT_EQ(next.away()->hosts.at("h2").gids, before.hosts.at("h2").gids);
    EXPECT_EQ(next.away()->hosts.at("h2").adapters.at(kVm).mac, kMac);
    EXPECT_FALSE(next.away()->hosts.at("h2").info);
  }
  records_.erase(std::string(inventory::kConfigPrefix) + "members/h2");
  ASSERT_TRUE(keep(later(3)));
  KeptInventory next(file_);
  ASSERT_TRUE(next.load());
  EXPECT_EQ(next.away(), nullptr);
}

// Of an older release. The host may come back, so its claims count as long as it may be a member.
TEST_F(KeptInventoryTest, WithoutAListOfMembersTheClaimsOfAHostThatIsAwayAreKept) {
  records_.erase(std::string(inventory::kConfigPrefix) + "members/h1");
  ASSERT_TRUE(keep(start_));
  const View before = view();
  ASSERT_TRUE(before.members.empty());
  for (const KeyValue& pair : records_.entries()) {
    if (pair.key.starts_with(inventory::host_prefix("h2"))) records_.erase(pair.key);
  }
  for (const int times : {1, 2}) {
    ASSERT_TRUE(keep(start_ + times * KeptInventory::kEvery));
    KeptInventory next(file_);
    ASSERT_TRUE(next.load());
    ASSERT_NE(next.away(), nullptr) << times;
    EXPECT_EQ(next.away()->hosts.at("h2").gids, before.hosts.at("h2").gids);
  }
}

TEST_F(KeptInventoryTest, AStateThatIsTooLargeIsKnownToLackClaims) {
  ASSERT_TRUE(keep(start_));
  EXPECT_TRUE(KeptInventory(file_).load().value()->is_whole);
  const std::string text(View::kMaxDocument - 64, 'x');
  for (int i = 0; i < 100; ++i) {
    document("notes/" + std::to_string(i), R"({"text":")" + text + R"("})");
  }
  ASSERT_TRUE(kept_.keep(records_, view(), start_ + KeptInventory::kEvery));
  const auto part = KeptInventory(file_).load();
  ASSERT_TRUE(part);
  EXPECT_FALSE((*part)->is_whole);
  EXPECT_TRUE((*part)->gids.empty());
  EXPECT_TRUE(view().is_whole) << "that is so of the file alone";
}

TEST_F(KeptInventoryTest, AMemberThatIsAwayIsFoundWhereItWas) {
  document("members/h2", R"({"host":"h2","joined":"","keys":[]})");
  ASSERT_TRUE(keep(start_));
  records_.erase(inventory::host_prefix("h2") + "info");
  ASSERT_TRUE(keep(start_ + KeptInventory::kEvery));
  KeptInventory next(file_);
  EXPECT_FALSE(next.load().value()->hosts.at("h2").info);
  EXPECT_EQ(next.addresses(), (MemberAddresses{{"h2", "192.0.2.2"}}));
  records_.erase(std::string(inventory::kConfigPrefix) + "members/h2");
  ASSERT_TRUE(next.keep(records_, view(), start_));
  EXPECT_EQ(next.addresses(), MemberAddresses()) << "it is no member";
}

TEST_F(KeptInventoryTest, AFileOfAnOlderVersionShowsWhereHostsAre) {
  document("members/h2", R"({"host":"h2","joined":"","keys":[]})");
  ASSERT_TRUE(keep(start_));
  std::string line = *read_file(file_);
  line = line.substr(0, line.find('\n'));
  const std::string addresses = R"("addresses":{"h2":"192.0.2.2"},)";
  ASSERT_NE(line.find(addresses), std::string::npos) << line;
  line = line.erase(line.find(addresses), addresses.size()) + "\n";
  ASSERT_TRUE(write_file(file_, line + authority::hash(line) + "\n"));
  KeptInventory next(file_);
  ASSERT_TRUE(next.load());
  EXPECT_EQ(next.addresses(), (MemberAddresses{{"h2", "192.0.2.2"}}));
}

TEST_F(KeptInventoryTest, AFullDiskIsTriedAgain) {
  KeptInventory nowhere(directory_ / "gone/inventory.json");
  EXPECT_FALSE(nowhere.keep(records_, view(), start_));
  EXPECT_EQ(nowhere.next_step(), start_ + KeptInventory::kEvery);
  EXPECT_EQ(nowhere.seen().number, 3U) << "an older one is refused all the same";
}

TEST_F(KeptInventoryTest, ADamagedFileIsAsIfNothingWasKept) {
  ASSERT_TRUE(keep(start_));
  const std::string good = *read_file(file_);
  std::mt19937 random(1);  // NOLINT: the same each time
  for (int i = 0; i < 200; ++i) {
    std::string damaged = good;
    const std::size_t at = random() % damaged.size();
    if (i % 2 == 0) damaged.resize(at);
    if (i % 2 == 1) damaged[at] = static_cast<char>(damaged[at] ^ (1 << (random() % 8)));
    ASSERT_TRUE(write_file(file_, damaged));
    KeptInventory next(file_);
    const auto loaded = next.load();
    ASSERT_FALSE(loaded.has_value()) << "damage " << i;
    EXPECT_THAT(loaded.error().message, testing::HasSubstr("inventory.json is damaged"));
    EXPECT_EQ(next.seen().number, 0U);
  }
}

}  // namespace
}  // namespace paravane::cluster
