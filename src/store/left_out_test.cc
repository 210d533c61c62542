// What is damaged in the store costs its own object and no other, and is named.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "store/damaged_rows_test.h"
#include "store/store.h"
#include "testing/damage.h"
#include "testing/temp_dir.h"

namespace paravane::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr int kRounds = 200;

model::VmSpec left_spec_of(const std::string& name) {
  model::VmSpec spec;
  spec.name = name;
  spec.adapters[0].mac = model::mac_for_name(name);
  spec.limits.gids = 16;
  return spec;
}

const model::PortGroup kStorage{.name = "storage", .vds = "lan", .vlan = 10};

class LeftOutTest : public testing::Test {
 protected:
  LeftOutTest() {
    const auto store = open();
    for (const char* name : {"a", "b", "c"}) add(*store, left_spec_of(name));
    EXPECT_TRUE(store->put_switch({.name = "lan", .hosts = {{"h1", "eth1"}}}));
    EXPECT_TRUE(store->put_switch({.name = "san"}));
    EXPECT_TRUE(store->put_port_group(kStorage));
    EXPECT_TRUE(store->put_port_group({.name = "web", .vds = "san", .vlan = 11}));
    EXPECT_TRUE(store->put_document("host", "address_seed", "00112233445566778899aabbccddeeff"));
    EXPECT_TRUE(store->put_document("host", "other", "x"));
  }
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
  // All that is kept, by kind and name.
  using Kept = std::map<std::string, std::string>;
  static Kept read(Store& store) {
    Kept kept;
    const auto vms = store.vms();
    EXPECT_TRUE(vms) << vms.error().message;
    for (const model::VmSpec& vm : *vms) {
      kept["vm " + vm.name] = model::format_mac(*vm.adapters[0].mac) +
                              std::to_string(vm.limits.gids.value_or(0)) +
                              std::to_string(vm.machine.memory_mib);
    }
    const auto network = store.read_network();
    EXPECT_TRUE(network) << network.error().message;
    for (const auto& [name, vds] : network->switches) {
      kept["switch " + name] = std::to_string(vds.mtu);
      for (const auto& [host, uplink] : vds.hosts) kept["switch " + name] += host + uplink;
    }
    for (const auto& [name, group] : network->port_groups) {
      kept["port group " + name] = group.vds + std::to_string(group.vlan);
    }
    const auto documents = store.documents("host");
    EXPECT_TRUE(documents) << documents.error().message;
    for (const auto& [name, value] : *documents) kept["host " + name] = value.dump();
    return kept;
  }
  // Damages the object in all kinds of ways; `with_it` goes with it.
  void damage(const std::string& table, const std::string& column, const std::string& kind,
              const std::string& name, const std::string& with_it = {}) {
    const Kept good = read(*open());
    const std::string text = *DamagedRows(file_).read(table, column, name);
    const std::filesystem::path copy = dir_ / "good.db";
    std::filesystem::copy_file(file_, copy);
    Damage damage(17);
    int left_out = 0;
    for (int round = 0; round < kRounds; ++round) {
      std::filesystem::copy_file(copy, file_, std::filesystem::copy_options::overwrite_existing);
      const auto damaged = damage.apply(text);
      DamagedRows(file_).write(table, column, name, damaged);
      const auto store = open();
      ASSERT_TRUE(store) << round;
      Kept expected = good;
      Kept found = read(*store);
      const bool is_named = store->find_left_out(kind, name).has_value();
      if (is_named) {
        ++left_out;
        expected.erase(kind + " " + name);
        expected.erase(with_it);
      }
      ASSERT_EQ(found, expected) << round << " " << damaged.value_or("gone");
      if (round >= 10) continue;  // two of each kind, since each change waits for the disk
      // Others may change, and it stays as it is.
      add(*store, left_spec_of("new"));
      ASSERT_TRUE(store->put_switch({.name = "new"}));
      ASSERT_EQ(DamagedRows(file_).read(table, column, name), damaged) << round;
      ASSERT_EQ(open()->vms()->size(), is_named && kind == "vm" ? 3U : 4U);
    }
    EXPECT_GE(left_out, kRounds - kRounds / 20);  // or nothing was damaged
  }

  TempDir dir_;
  std::filesystem::path file_ = dir_ / "paravane.db";
};

TEST_F(LeftOutTest, ADamagedVmKeepsNoOtherAway) {
  damage("vm", "spec", "vm", "b");
}

TEST_F(LeftOutTest, ADamagedSwitchKeepsNoOtherAway) {
  damage("vds", "spec", "switch", "lan", "port group storage");
}

TEST_F(LeftOutTest, ADamagedPortGroupKeepsNoOtherAway) {
  damage("port_group", "spec", "port group", "storage");
}

TEST_F(LeftOutTest, ADamagedDocumentKeepsNoOtherAway) {
  damage("document", "json", "host", "address_seed");
}

TEST_F(LeftOutTest, ADamagedNameIsNamedOnBothSides) {
  DamagedRows(file_).write("vm", "name", "b", "bad");
  const auto store = open();
  ASSERT_THAT(*store->vms(), SizeIs(2));
  const auto left_out = store->left_out();
  ASSERT_THAT(left_out, SizeIs(2));
  EXPECT_EQ(left_out[0].name, "b");
  EXPECT_THAT(left_out[0].reason, HasSubstr("paravane.db is gone"));
  EXPECT_EQ(left_out[1].name, "bad");
  EXPECT_THAT(left_out[1].reason, HasSubstr("its name is b"));
}

TEST_F(LeftOutTest, SaysWhatIsWrongAndWhatToDo) {
  DamagedRows(file_).write("vm", "spec", "b", "{}");
  const auto store = open();
  ASSERT_TRUE(store->vms());
  const auto found = store->find_left_out("vm", "b");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->reason, fmt::format("its record in {} is damaged: its checksum does not match",
                                       file_.string()));
  EXPECT_EQ(found->remedy,
            "Restore paravane.db from a backup, or remove the VM with: paravane vm remove b");
  EXPECT_EQ(model::name_of(*found), "vm b");
  EXPECT_EQ(store->find_left_out("vm", "a"), std::nullopt);
  EXPECT_EQ(store->find_left_out("switch", "b"), std::nullopt);
}

TEST_F(LeftOutTest, IsErasedWhenItIsToldTo) {
  DamagedRows(file_).write("vm", "spec", "b", "{}");
  DamagedRows(file_).write("vm", "spec", "c", std::nullopt);  // its addresses are still there
  const auto store = open();
  ASSERT_TRUE(store->vms());
  for (const char* name : {"b", "c"}) {
    const auto found = store->find_left_out("vm", name);
    ASSERT_TRUE(found);
    const auto erased = store->erase_left_out(*found);
    ASSERT_TRUE(erased) << erased.error().message;
  }
  EXPECT_THAT(store->left_out(), IsEmpty());
  ASSERT_TRUE(store->vms());
  EXPECT_THAT(store->left_out(), IsEmpty());
  add(*store, left_spec_of("b"));
  add(*store, left_spec_of("c"));
  EXPECT_THAT(*open()->vms(), ElementsAre(left_spec_of("a"), left_spec_of("b"), left_spec_of("c")));
}

TEST_F(LeftOutTest, ASwitchGoesAfterItsPortGroups) {
  DamagedRows(file_).write("vds", "spec", "lan", "{");
  const auto store = open();
  ASSERT_TRUE(store->read_network());
  const auto vds = store->find_left_out("switch", "lan");
  const auto group = store->find_left_out("port group", "storage");
  ASSERT_TRUE(vds);
  ASSERT_TRUE(group);
  EXPECT_EQ(group->reason, "its switch lan is unusable");
  EXPECT_EQ(store->erase_left_out(*vds).error().code, model::ApiErrorCode::kInUse);
  EXPECT_TRUE(store->erase_left_out(*group));
  EXPECT_TRUE(store->erase_left_out(*vds));
  EXPECT_THAT(store->left_out(), IsEmpty());
}

TEST_F(LeftOutTest, IsThereAgainWhenItIsPutAnew) {
  DamagedRows(file_).write("vds", "spec", "san", "{");
  DamagedRows(file_).write("document", "json", "other", "{");
  const auto store = open();
  ASSERT_TRUE(store->read_network());
  ASSERT_TRUE(store->documents("host"));
  EXPECT_THAT(store->left_out(), SizeIs(3));
  ASSERT_TRUE(store->put_switch({.name = "san"}));
  ASSERT_TRUE(store->put_document("host", "other", "y"));
  EXPECT_EQ(store->read_network()->port_groups.size(), 2U);
  EXPECT_THAT(store->left_out(), IsEmpty());
}

// As an older program of the same schema does, which knows nothing of sums.
TEST_F(LeftOutTest, WhatAnOlderProgramHasChangedIsGood) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(file_.c_str(), &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db,
                         "DELETE FROM vm WHERE name = 'a';"
                         "INSERT INTO vm SELECT 'd', replace(spec, '\"b\"', '\"d\"') FROM vm"
                         "  WHERE name = 'b';"
                         "DELETE FROM vm WHERE name = 'b';"
                         "INSERT INTO vm SELECT 'b', replace(spec, '\"d\"', '\"b\"') FROM vm"
                         "  WHERE name = 'd';"
                         "UPDATE vm SET spec = replace(spec, '16', '17') WHERE name = 'c';"
                         "INSERT INTO vds(name, spec) VALUES('lan', '{\"name\":\"lan\"}')"
                         "  ON CONFLICT(name) DO UPDATE SET spec = '{\"name\":\"lan\"}';"
                         "DELETE FROM document WHERE name = 'other';",
                         nullptr, nullptr, nullptr),
            SQLITE_OK)
      << sqlite3_errmsg(db);
  sqlite3_close(db);
  for (int round = 0; round < 2; ++round) {
    const auto store = open();
    const auto vms = store->vms();
    ASSERT_THAT(*vms, SizeIs(3));
    EXPECT_EQ(vms->at(1).limits.gids, 17U);
    EXPECT_TRUE(store->read_network()->switches.at("lan").hosts.empty());
    ASSERT_TRUE(store->documents("host"));
    EXPECT_THAT(store->left_out(), IsEmpty()) << round;
  }
  // It is known again from now on.
  DamagedRows(file_).write("vm", "spec", "c", std::nullopt);
  const auto store = open();
  ASSERT_TRUE(store->vms());
  EXPECT_TRUE(store->find_left_out("vm", "c"));
}

TEST_F(LeftOutTest, WhatANewerProgramOfThisSchemaHasAddedIsPassedBy) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(file_.c_str(), &db), SQLITE_OK);
  EXPECT_EQ(
      sqlite3_exec(db,
                   "UPDATE vm SET spec = replace(replace(replace(spec, '\"limits\":{',"
                   "  '\"limits\":{\"newer\":1,'), '\"machine\":{', '\"machine\":{\"newer\":1,'),"
                   "  '\"number\":1', '\"newer\":[],\"number\":1');"
                   "UPDATE vds SET spec = replace(spec, '\"mtu\"', '\"newer\":{},\"mtu\"');"
                   "UPDATE port_group SET spec = replace(spec, '\"vlan\"',"
                   "  '\"newer\":null,\"vlan\"');",
                   nullptr, nullptr, nullptr),
      SQLITE_OK);
  sqlite3_close(db);
  EXPECT_THAT(*DamagedRows(file_).read("vm", "spec", "a"), HasSubstr("newer"));
  const auto store = open();
  EXPECT_THAT(*store->vms(), ElementsAre(left_spec_of("a"), left_spec_of("b"), left_spec_of("c")));
  EXPECT_EQ(store->read_network()->port_groups.size(), 2U);
  EXPECT_THAT(store->left_out(), IsEmpty());
}

TEST_F(LeftOutTest, OfStorageSayWhichCommandMendsThem) {
  const auto store = open();
  store->leave_out("vmhba", "vmhba32", "x");
  store->leave_out("srp_target", "vmhba32.0", "y");
  const auto vmhba = store->find_left_out("storage adapter", "vmhba32");
  ASSERT_TRUE(vmhba);
  EXPECT_THAT(vmhba->remedy, HasSubstr("paravane infiniband vmhba set vmhba32"));
  const auto target = store->find_left_out("SRP target", "vmhba32.0");
  ASSERT_TRUE(target);
  EXPECT_THAT(target->remedy, HasSubstr("paravane infiniband target remove vmhba32 0"));
  EXPECT_TRUE(store->put_document("vmhba", "vmhba32", {{"port_group", "storage"}}));
  EXPECT_FALSE(store->find_left_out("storage adapter", "vmhba32"));
}

}  // namespace
}  // namespace paravane::store
