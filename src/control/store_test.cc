#include "control/store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <fstream>
#include <string>

#include "testing/temp_dir.h"

namespace paravane::control {
namespace {

using testing::HasSubstr;

VmSpec spec_of(const std::string& name) {
  VmSpec spec;
  spec.name = name;
  spec.mac = mac_for_name(name);
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
  static void add(Store& store, const VmSpec& spec) {
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
  VmSpec again = spec_of("a");
  again.mac = mac_for_name("other");
  const auto inserted = store->begin()->insert(again);
  ASSERT_FALSE(inserted);
  EXPECT_EQ(inserted.error().code, ApiErrorCode::kExists);
}

TEST_F(StoreTest, RefusesAnAddressThatExists) {
  const auto store = open();
  add(*store, spec_of("a"));
  VmSpec twin = spec_of("b");
  twin.mac = mac_for_name("a");
  const auto inserted = store->begin()->insert(twin);
  ASSERT_FALSE(inserted);
  EXPECT_EQ(inserted.error().code, ApiErrorCode::kMacInUse);
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
  EXPECT_EQ(removed.error().code, ApiErrorCode::kNotFound);
}

TEST_F(StoreTest, RefusesAFileOfANewerVersion) {
  open();
  run_sql("PRAGMA user_version=99");
  const auto store = Store::open(file_);
  ASSERT_FALSE(store);
  EXPECT_THAT(store.error().message, HasSubstr("newer version (schema 99"));
}

TEST_F(StoreTest, RefusesAFileThatIsNoDatabase) {
  std::ofstream(file_) << std::string(4096, 'x');
  const auto store = Store::open(file_);
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ApiErrorCode::kStore);
  EXPECT_THAT(store.error().remedy, HasSubstr("damaged"));
}

TEST_F(StoreTest, RefusesARowThatItDidNotWrite) {
  open();
  run_sql("INSERT INTO vm VALUES('a', 'm', '{\"name\":1}')");
  const auto vms = open()->vms();
  ASSERT_FALSE(vms);
  EXPECT_THAT(vms.error().message, HasSubstr("cannot be read"));
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
}  // namespace paravane::control
