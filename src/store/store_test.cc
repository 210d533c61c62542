#include "store/store.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "model/adapter_name.h"
#include "store/damaged_rows_test.h"
#include "testing/temp_dir.h"

namespace paravane::store {
namespace {

using testing::HasSubstr;

model::VmSpec spec_of(const std::string& name) {
  model::VmSpec spec;
  spec.name = name;
  spec.adapters[0].mac = model::mac_for_name(name);
  spec.limits.gids = 16;
  return spec;
}

class StoreTest : public testing::Test {
 protected:
  std::unique_ptr<Store> open() {
    auto store = Store::open(file_);
    EXPECT_TRUE(store) << store.error().message;
    return store ? std::move(*store) : nullptr;
  }
  static void add(Store& store, const model::VmSpec& spec) {
    auto change = store.begin();
    ASSERT_TRUE(change);
    ASSERT_TRUE(change->insert(spec));
    ASSERT_TRUE(change->commit());
  }
  void run_sql(const char* sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(file_.c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(db);
  }

  TempDir dir_;
  std::filesystem::path file_ = dir_ / "paravane.db";
};

TEST_F(StoreTest, StartsEmpty) {
  EXPECT_TRUE(open()->vms()->empty());
}

TEST_F(StoreTest, KeepsVmsInTheOrderOfTheirNames) {
  {
    const auto store = open();
    add(*store, spec_of("b"));
    add(*store, spec_of("a"));
  }
  const auto vms = open()->vms();
  ASSERT_TRUE(vms);
  EXPECT_THAT(*vms, testing::ElementsAre(spec_of("a"), spec_of("b")));
}

TEST_F(StoreTest, IsTakenOverWithoutAChange) {
  const auto serving = open();
  add(*serving, spec_of("a"));
  auto heir = Store::open(file_, StoreUse::kTakeOver);
  ASSERT_TRUE(heir) << heir.error().message;
  EXPECT_THAT(*(*heir)->vms(), testing::ElementsAre(spec_of("a")));
  EXPECT_FALSE((*heir)->put_document("kind", "name", 1));
  add(*serving, spec_of("b"));
  (*heir)->allow_changes();
  add(**heir, spec_of("c"));
  EXPECT_EQ((*heir)->vms()->size(), 3U);
  EXPECT_EQ(open()->vms()->size(), 3U);
}

TEST_F(StoreTest, IsNotTakenOverWithAnotherSchema) {
  open();
  run_sql("PRAGMA user_version=4");
  const auto heir = Store::open(file_, StoreUse::kTakeOver);
  ASSERT_FALSE(heir);
  EXPECT_THAT(heir.error().message, HasSubstr("schema 4"));
  EXPECT_THAT(heir.error().remedy, HasSubstr("Restart"));
}

TEST_F(StoreTest, UndoesWhatIsNotCommitted) {
  const auto store = open();
  {
    auto change = store->begin();
    ASSERT_TRUE(change->insert(spec_of("a")));
  }
  EXPECT_TRUE(store->vms()->empty());
  add(*store, spec_of("a"));  // and is ready for the next
}

TEST_F(StoreTest, RefusesANameThatExists) {
  const auto store = open();
  add(*store, spec_of("a"));
  model::VmSpec again = spec_of("a");
  again.adapters[0].mac = model::mac_for_name("other");
  const auto inserted = store->begin()->insert(again);
  ASSERT_FALSE(inserted);
  EXPECT_EQ(inserted.error().code, model::ApiErrorCode::kExists);
}

TEST_F(StoreTest, RefusesAnAddressThatExists) {
  const auto store = open();
  add(*store, spec_of("a"));
  model::VmSpec twin = spec_of("b");
  twin.adapters[0].mac = model::mac_for_name("a");
  const auto inserted = store->begin()->insert(twin);
  ASSERT_FALSE(inserted);
  EXPECT_EQ(inserted.error().code, model::ApiErrorCode::kMacInUse);
}

constexpr model::MacAddress kOldMac{2, 0x50, 0x56, 0x4c, 0xdc, 0xc8};

model::VmSpec with_mac(const std::string& name, const model::MacAddress& mac) {
  model::VmSpec spec = spec_of(name);
  spec.adapters[0].mac = mac;
  return spec;
}

model::VmSpec with_two_adapters(const std::string& name) {
  model::VmSpec spec = spec_of(name);
  spec.adapters.push_back(
      {.number = 2, .mac = model::mac_for_name(to_string(model::AdapterName{name, 2}))});
  return spec;
}

TEST_F(StoreTest, KeepsEveryAdapter) {
  add(*open(), with_two_adapters("a"));
  EXPECT_THAT(*open()->vms(), testing::ElementsAre(with_two_adapters("a")));
}

TEST_F(StoreTest, RefusesTheAddressOfAnyAdapter) {
  const auto store = open();
  add(*store, with_two_adapters("a"));
  model::VmSpec twin = spec_of("b");
  twin.adapters[0].mac = model::mac_for_name("a/2");
  EXPECT_EQ(store->begin()->insert(twin).error().code, model::ApiErrorCode::kMacInUse);
}

TEST_F(StoreTest, ReplacesAVm) {
  const auto store = open();
  add(*store, with_two_adapters("a"));
  model::VmSpec changed = spec_of("a");
  changed.hw_version = 15;
  {
    auto change = store->begin();
    ASSERT_TRUE(change->replace(changed));
    ASSERT_TRUE(change->commit());
  }
  EXPECT_THAT(*store->vms(), testing::ElementsAre(changed));
  // The address of the adapter that went is free again.
  model::VmSpec other = spec_of("b");
  other.adapters[0].mac = model::mac_for_name("a/2");
  add(*store, other);
  EXPECT_EQ(store->begin()->replace(spec_of("c")).error().code, model::ApiErrorCode::kNotFound);
}

TEST_F(StoreTest, BringsAFileOfSchema1UpToDate) {
  run_sql(
      "CREATE TABLE vm(name TEXT PRIMARY KEY NOT NULL, mac TEXT UNIQUE NOT NULL,"
      "                spec TEXT NOT NULL) WITHOUT ROWID;"
      "INSERT INTO vm VALUES('a', '02:50:56:00:00:01',"
      " '{\"name\":\"a\",\"mac\":\"02:50:56:00:00:01\",\"version\":18,\"doorbells\":\"trapped\","
      "\"limits\":{\"gids\":16}}');"
      "INSERT INTO vm VALUES('b', '02:50:56:00:00:02',"
      " '{\"name\":\"b\",\"mac\":\"02:50:56:00:00:02\",\"version\":17,\"doorbells\":\"mapped\","
      "\"limits\":{}}');"
      "PRAGMA user_version=1;");
  model::VmSpec a = spec_of("a");
  a.version = 18;
  a.doorbells = model::Doorbells::kTrapped;
  a.adapters[0].mac = model::MacAddress{2, 0x50, 0x56, 0, 0, 1};
  model::VmSpec b;
  b.name = "b";
  b.hw_version = 13;
  b.version = 17;
  b.adapters[0] = {.mac = model::MacAddress{2, 0x50, 0x56, 0, 0, 2},
                   .protocol = model::Protocol::kRoceV1};
  for (int round = 0; round < 2; ++round) {
    EXPECT_THAT(*open()->vms(), testing::ElementsAre(a, b)) << round;
  }
  model::VmSpec twin = spec_of("c");
  twin.adapters[0].mac = b.adapters[0].mac;
  EXPECT_EQ(open()->begin()->insert(twin).error().code, model::ApiErrorCode::kMacInUse);
}

TEST_F(StoreTest, BringsAFileOfSchema2UpToDate) {
  run_sql(
      "CREATE TABLE vm(name TEXT PRIMARY KEY NOT NULL, spec TEXT NOT NULL) WITHOUT ROWID;"
      "CREATE TABLE adapter(mac TEXT PRIMARY KEY NOT NULL,"
      "                     vm TEXT NOT NULL REFERENCES vm(name) ON DELETE CASCADE) WITHOUT ROWID;"
      "INSERT INTO vm VALUES('a', '{\"name\":\"a\",\"hw_version\":21,\"version\":20,"
      "\"doorbells\":\"mapped\",\"limits\":{\"gids\":16},\"adapters\":[{\"number\":1,"
      "\"mac\":\"02:50:56:00:00:01\",\"protocol\":\"v2\",\"connected\":true}]}');"
      "INSERT INTO adapter VALUES('02:50:56:00:00:01', 'a');"
      "PRAGMA user_version=2;");
  model::VmSpec a = spec_of("a");
  a.adapters[0].mac = model::MacAddress{2, 0x50, 0x56, 0, 0, 1};
  for (int round = 0; round < 2; ++round) {
    const auto store = open();
    EXPECT_THAT(*store->vms(), testing::ElementsAre(a)) << round;
    EXPECT_TRUE(store->put_switch({.name = "lan"}));
  }
  EXPECT_EQ(open()->read_network()->switches.size(), 1u);
}

constexpr const char* kSchema3 =
    "CREATE TABLE vm(name TEXT PRIMARY KEY NOT NULL, spec TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE adapter(mac TEXT PRIMARY KEY NOT NULL,"
    "                     vm TEXT NOT NULL REFERENCES vm(name) ON DELETE CASCADE) WITHOUT ROWID;"
    "CREATE TABLE vds(name TEXT PRIMARY KEY NOT NULL, spec TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE port_group(name TEXT PRIMARY KEY NOT NULL,"
    "                        vds TEXT NOT NULL REFERENCES vds(name),"
    "                        spec TEXT NOT NULL) WITHOUT ROWID;"
    "INSERT INTO vm VALUES('a', '{\"adapters\":[{\"connected\":true,\"mac\":\"02:50:56:4c:dc:c8\","
    "\"number\":1,\"port_group\":\"\",\"protocol\":\"v2\"}],\"doorbells\":\"mapped\","
    "\"hw_version\":21,\"limits\":{\"gids\":16},\"name\":\"a\",\"version\":20}');"
    "INSERT INTO adapter VALUES('02:50:56:4c:dc:c8', 'a');"
    "INSERT INTO vds VALUES('lan', '{\"hosts\":[],\"mtu\":1500,\"name\":\"lan\"}');";

TEST_F(StoreTest, BringsAFileOfSchema3UpToDate) {
  run_sql(kSchema3);
  run_sql("PRAGMA user_version=3");
  for (int round = 0; round < 2; ++round) {
    const auto store = open();
    EXPECT_THAT(*store->vms(), testing::ElementsAre(with_mac("a", kOldMac))) << round;
    EXPECT_EQ(store->vms()->front().machine, model::VmMachine{});  // which schema 3 has not
    EXPECT_EQ(store->read_network()->switches.size(), 1u);
    EXPECT_TRUE(store->put_document("nic", "vmnic0", {{"key", "x"}}));
  }
}

// Before rows had sums: release 0.1.0.
TEST_F(StoreTest, BringsAFileOfSchema4WithoutSumsUpToDate) {
  run_sql(kSchema3);
  run_sql(
      "CREATE TABLE document(kind TEXT NOT NULL, name TEXT NOT NULL, json TEXT NOT NULL,"
      "                      PRIMARY KEY(kind, name)) WITHOUT ROWID;"
      "INSERT INTO document VALUES('vmnic', 'vmnic0', '{\"identity\":\"0000:00:03.0\"}');"
      "INSERT INTO port_group VALUES('web', 'lan',"
      "  '{\"name\":\"web\",\"vds\":\"lan\",\"vlan\":7}');"
      "PRAGMA user_version=4");
  for (int round = 0; round < 2; ++round) {
    const auto store = open();
    EXPECT_THAT(*store->vms(), testing::ElementsAre(with_mac("a", kOldMac))) << round;
    EXPECT_EQ(store->read_network()->port_groups.at("web").vlan, 7U);
    EXPECT_EQ(store->documents("vmnic")->size(), 1U);
    EXPECT_TRUE(store->left_out().empty());
    EXPECT_TRUE(store->put_switch({.name = "lan", .mtu = 9000}));
  }
  DamagedRows(file_).write("vm", "spec", "a", std::nullopt);  // what was there is known by now
  const auto store = open();
  ASSERT_TRUE(store->vms());
  EXPECT_TRUE(store->find_left_out("vm", "a"));
}

TEST_F(StoreTest, KeepsDocumentsOfEachKind) {
  {
    const auto store = open();
    ASSERT_TRUE(store->put_document("nic", "vmnic1", {{"key", "old"}}));
    ASSERT_TRUE(store->put_document("nic", "vmnic1", {{"key", "b"}}));  // instead of the one before
    ASSERT_TRUE(store->put_document("nic", "vmnic0", {{"key", "a"}}));
    ASSERT_TRUE(store->put_document("setting", "vmnic0", "on"));
    ASSERT_TRUE(store->put_document("setting", "x", 1));
    ASSERT_TRUE(store->erase_document("setting", "x"));
    ASSERT_TRUE(store->erase_document("setting", "x"));  // none is no error
  }
  const auto store = open();
  using Documents = std::map<std::string, nlohmann::json>;
  EXPECT_EQ(*store->documents("nic"),
            (Documents{{"vmnic0", {{"key", "a"}}}, {"vmnic1", {{"key", "b"}}}}));
  EXPECT_EQ(*store->documents("setting"), (Documents{{"vmnic0", "on"}}));
  EXPECT_EQ(*store->documents("none"), Documents{});
}

TEST_F(StoreTest, LeavesOutADocumentThatItDidNotWrite) {
  open();
  run_sql("INSERT INTO document VALUES('nic', 'vmnic0', '{')");
  const auto store = open();
  EXPECT_TRUE(store->documents("nic")->empty());
  EXPECT_THAT(store->find_left_out("nic", "vmnic0")->reason, HasSubstr("cannot be read"));
}

TEST_F(StoreTest, KeepsSwitchesAndPortGroups) {
  const model::DistributedSwitch lan{
      .name = "lan", .mtu = 9000, .hosts = {{"h1", "eth1"}, {"h2", ""}}};
  const model::PortGroup storage{.name = "storage", .vds = "lan", .vlan = 10};
  {
    const auto store = open();
    ASSERT_TRUE(store->put_switch({.name = "lan"}));
    ASSERT_TRUE(store->put_port_group(storage));
    ASSERT_TRUE(store->put_switch(lan));  // instead of the one before
  }
  const auto network = open()->read_network();
  ASSERT_TRUE(network);
  EXPECT_EQ(*network,
            (model::Network{.switches = {{"lan", lan}}, .port_groups = {{"storage", storage}}}));
}

TEST_F(StoreTest, KeepsNoPortGroupWithoutItsSwitch) {
  const auto store = open();
  const model::PortGroup storage{.name = "storage", .vds = "lan", .vlan = 10};
  EXPECT_EQ(store->put_port_group(storage).error().code, model::ApiErrorCode::kNotFound);
  ASSERT_TRUE(store->put_switch({.name = "lan"}));
  ASSERT_TRUE(store->put_port_group(storage));
  EXPECT_EQ(store->erase_switch("lan").error().code, model::ApiErrorCode::kInUse);
  ASSERT_TRUE(store->erase_port_group("storage"));
  ASSERT_TRUE(store->erase_switch("lan"));
  EXPECT_EQ(store->erase_switch("lan").error().code, model::ApiErrorCode::kNotFound);
  EXPECT_EQ(store->erase_port_group("storage").error().code, model::ApiErrorCode::kNotFound);
  EXPECT_EQ(*store->read_network(), model::Network{});
}

TEST_F(StoreTest, LeavesOutASwitchThatItDidNotWrite) {
  open();
  run_sql("INSERT INTO vds VALUES('lan', '{\"name\":\"lan\",\"mtu\":1}')");
  const auto store = open();
  EXPECT_TRUE(store->read_network()->switches.empty());
  EXPECT_THAT(store->find_left_out("switch", "lan")->reason, HasSubstr("cannot be read"));
}

TEST_F(StoreTest, RemovesAVm) {
  const auto store = open();
  add(*store, spec_of("a"));
  auto change = store->begin();
  ASSERT_TRUE(change->remove("a"));
  ASSERT_TRUE(change->commit());
  EXPECT_TRUE(store->vms()->empty());
}

TEST_F(StoreTest, CannotRemoveWhatIsNotThere) {
  const auto removed = open()->begin()->remove("a");
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().code, model::ApiErrorCode::kNotFound);
}

TEST_F(StoreTest, RefusesAFileOfANewerVersion) {
  open();
  run_sql("PRAGMA user_version=99");
  const auto store = Store::open(file_);
  ASSERT_FALSE(store);
  EXPECT_THAT(store.error().message, HasSubstr("newer version (schema 99"));
  EXPECT_THAT(store.error().remedy, HasSubstr("Install that version again"));
  run_sql(fmt::format("PRAGMA user_version={}", kStoreVersion).c_str());  // and it is as it was
  EXPECT_TRUE(Store::open(file_));
}

// Release 0.1.0 knows schema 4, and asks for nothing but the number before it writes.
TEST_F(StoreTest, IsNewerThanTheReleaseBefore) {
  open();
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(file_.c_str(), &db), SQLITE_OK);
  int version = 0;
  const auto take = [](void* to, int /*count*/, char** values, char** /*names*/) {
    *static_cast<int*>(to) = std::atoi(values[0]);
    return 0;
  };
  EXPECT_EQ(sqlite3_exec(db, "PRAGMA user_version", take, &version, nullptr), SQLITE_OK);
  sqlite3_close(db);
  EXPECT_GT(version, 4);
}

TEST_F(StoreTest, RefusesAFileThatIsNoDatabase) {
  std::ofstream(file_) << std::string(4096, 'x');
  const auto store = Store::open(file_);
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, model::ApiErrorCode::kStore);
  EXPECT_THAT(store.error().remedy, HasSubstr("damaged"));
}

TEST_F(StoreTest, LeavesOutARowThatItDidNotWrite) {
  open();
  run_sql("INSERT INTO vm VALUES('a', '{\"name\":1}')");
  const auto store = open();
  EXPECT_TRUE(store->vms()->empty());
  EXPECT_THAT(store->find_left_out("vm", "a")->reason, HasSubstr("cannot be read"));
}

TEST_F(StoreTest, NamesTheFileWhenItsDirectoryIsMissing) {
  const auto store = Store::open(dir_ / "nowhere/paravane.db");
  ASSERT_FALSE(store);
  EXPECT_THAT(store.error().message, HasSubstr("nowhere/paravane.db"));
}

TEST_F(StoreTest, SaysThatAnotherProgramHoldsTheFile) {
  const auto store = open();
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(file_.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr), SQLITE_OK);
  const auto change = store->begin();
  ASSERT_FALSE(change);
  EXPECT_THAT(change.error().remedy, HasSubstr("Another program"));
  sqlite3_close(db);
}

}  // namespace
}  // namespace paravane::store
