// The settings of storage adapters, on a real store and a real worker's thread: no target is there.

#include "host/host_storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/storage_json.h"
#include "testing/temp_dir.h"

namespace paravane::host {
namespace {

using model::ApiErrorCode;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class HostStorageTest : public testing::Test {
 protected:
  void SetUp() override {
    worker_ = std::move(worker::Worker::start({}).value());
    begin();
  }
  void TearDown() override { end(); }

  void begin() {
    store_ = std::move(store::Store::open(directory_ / "paravane.db").value());
    ASSERT_TRUE(worker_->ask([this] {
      ports_ = std::make_unique<worker::PortTable>(*worker_, 1, worker::PortEvents{});
      return true;
    }));
    storage_ = std::make_unique<HostStorage>(
        HostStorageConfig{
            .sockets = {.directory = directory_.path()},
            .vmhbas = [this]() -> model::ApiResult<subnet_host::SrpVmhbas> { return made_; },
            .segment_of = [this](const std::string& group,
                                 const model::AdapterName&) -> std::optional<verbs::SegmentId> {
              if (!groups_.contains(group)) return std::nullopt;
              return verbs::SegmentId{7};
            },
            .luns_of_vms = [] { return std::map<std::string, std::string>(); },
            .tell = [](const model::Event&) {},
            .changed = [this] { ++changes_; },
            .moved =
                [this](const std::vector<model::AdapterName>& adapters) {
                  for (const model::AdapterName& adapter : adapters) {
                    moved_.push_back(to_string(adapter));
                  }
                },
            .check_ipv4 = [](const std::string& group) -> model::ApiResult<void> {
              if (group != "off") return {};
              return model::refuse(ApiErrorCode::kInvalidRequest, "RoCE is off there");
            },
            .why_no_roce = [this](const model::AdapterName&,
                                  const inventory::AdapterInfo&) { return why_no_roce_; }},
        *store_, *worker_, *ports_);
    ASSERT_TRUE(storage_->load());
    storage_->apply();
  }
  void end() {
    ASSERT_TRUE(worker_->ask([this] {
      storage_->end();
      ports_.reset();
      return true;
    }));
    storage_.reset();
    store_.reset();
  }
  static subnet_host::SrpVmhba port(const std::string& adapter, std::uint64_t guid) {
    return {.adapter = adapter, .device = "MT25204", .port = 1, .port_guid = guid, .is_up = true};
  }
  static model::SrpTarget target(std::uint16_t number) {
    model::SrpTarget target{.vmhba = "vmhba32", .address = "10.0.0.2"};
    target.id_ext = 1;
    target.ioc_guid = number;
    target.port = 5555;
    return target;
  }
  model::Vmhba vmhba(std::size_t index = 0) { return storage_->list_vmhbas().value().at(index); }

  TempDir directory_;
  subnet_host::SrpVmhbas made_{.all = {port("ib0", 0x0250'5600'0001'0001)}, .most_targets = 2};
  std::set<std::string> groups_{"storage", "off"};
  std::string why_no_roce_;
  int changes_ = 0;
  std::vector<std::string> moved_;
  std::unique_ptr<worker::Worker> worker_;
  std::unique_ptr<worker::PortTable> ports_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<HostStorage> storage_;
};

TEST_F(HostStorageTest, WhatIsSetAndNamedIsKept) {
  ASSERT_TRUE(storage_->set_vmhba(
      "vmhba32", {.port_group = "storage", .ipv4 = "10.0.0.9/24", .gateway = "10.0.0.1"}));
  ASSERT_TRUE(storage_->add_srp_target(target(1)));
  end();
  begin();
  EXPECT_EQ(vmhba().setting.ipv4, "10.0.0.9/24");
  EXPECT_EQ(vmhba().setting.gateway, "10.0.0.1");
  const auto targets = storage_->list_srp_targets();
  ASSERT_TRUE(targets);
  ASSERT_EQ(targets->size(), 1u);
  EXPECT_EQ(targets->at(0).target.address, "::ffff:10.0.0.2");
  EXPECT_TRUE(targets->at(0).is_named);
}

TEST_F(HostStorageTest, APortGroupMakesAPlaceThatTheSwitchesHearOf) {
  EXPECT_THAT(storage_->in_port_groups(), IsEmpty());
  ASSERT_TRUE(storage_->set_vmhba("vmhba32", {.port_group = "storage"}));
  const auto places = storage_->in_port_groups();
  ASSERT_EQ(places.size(), 1u);
  EXPECT_EQ(to_string(places.begin()->first), "vmhba32");
  EXPECT_EQ(places.begin()->second.mac, (model::MacAddress{0, 0x50, 0x56, 1, 0, 1}));
  EXPECT_EQ(changes_, 1);
  storage_->apply();
  EXPECT_EQ(changes_, 1) << "nothing of it has changed";
  EXPECT_THAT(moved_, IsEmpty());
  ASSERT_TRUE(storage_->set_vmhba("vmhba32", {}));
  EXPECT_EQ(changes_, 2);
  EXPECT_THAT(moved_, ElementsAre("vmhba32"));
}

TEST_F(HostStorageTest, AnAddressNeedsAPortGroupWithRoceAndIsOneAdaptersAlone) {
  const auto off = storage_->set_vmhba("vmhba32", {.port_group = "off", .ipv4 = "10.0.0.9/24"});
  ASSERT_FALSE(off);
  EXPECT_THAT(off.error().message, HasSubstr("RoCE is off"));
  made_.all.push_back(port("ib1", 0x0250'5600'0001'0002));
  ASSERT_TRUE(storage_->set_vmhba("vmhba32", {.port_group = "storage", .ipv4 = "10.0.0.9/24"}));
  storage_->apply();
  const auto twice =
      storage_->set_vmhba("vmhba33", {.port_group = "storage", .ipv4 = "10.0.0.9/16"});
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code, ApiErrorCode::kExists);
  EXPECT_THAT(twice.error().message, HasSubstr("vmhba32"));
  EXPECT_TRUE(storage_->set_vmhba("vmhba33", {.port_group = "storage", .ipv4 = "10.0.0.8/24"}));
  why_no_roce_ = "its tap is gone";
  EXPECT_THAT(vmhba().problem, HasSubstr("targets on an Ethernet are not reached: its tap"));
}

TEST_F(HostStorageTest, NamesAsManyTargetsAsTheModuleAllows) {
  ASSERT_TRUE(storage_->add_srp_target(target(1)));
  EXPECT_EQ(storage_->add_srp_target(target(1)).error().code, ApiErrorCode::kExists);
  ASSERT_TRUE(storage_->add_srp_target(target(2)));
  const auto third = storage_->add_srp_target(target(3));
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, ApiErrorCode::kLimitReached);
  EXPECT_THAT(third.error().remedy, HasSubstr("max_srp_targets"));
  ASSERT_TRUE(storage_->remove_srp_target("vmhba32", 0, false));
  EXPECT_TRUE(storage_->add_srp_target(target(3)));
}

TEST_F(HostStorageTest, ANumberThatIsLostCostsNoSettings) {
  ASSERT_TRUE(storage_->set_vmhba("vmhba32", {.port_group = "storage"}));
  ASSERT_TRUE(storage_->add_srp_target(target(1)));
  ASSERT_TRUE(store_->erase_document(api::kVmhbaNumberKind, "vmhba32"));
  end();
  begin();
  EXPECT_EQ(vmhba().name, "vmhba32");
  EXPECT_EQ(vmhba().setting.port_group, "storage");
  EXPECT_EQ(storage_->list_srp_targets()->size(), 1u);
}

// All numbers have been given, and a port is gone for good: its number goes to a new one.
TEST_F(HostStorageTest, AnotherPortInheritsNothing) {
  ASSERT_TRUE(storage_->set_vmhba("vmhba32", {.port_group = "storage"}));
  ASSERT_TRUE(storage_->add_srp_target(target(1)));
  made_.all.clear();
  for (std::uint64_t number = 1; number <= model::kMaxVmhbas; ++number) {
    made_.all.push_back(port("other" + std::to_string(number), 0x0250'5600'0002'0000 + number));
  }
  EXPECT_EQ(storage_->list_vmhbas()->size(), model::kMaxVmhbas) << "listed before it is applied";
  storage_->apply();
  EXPECT_EQ(storage_->list_vmhbas()->size(), model::kMaxVmhbas);
  EXPECT_THAT(storage_->in_port_groups(), IsEmpty());
  EXPECT_THAT(storage_->list_srp_targets().value(), IsEmpty());
  end();
  begin();
  EXPECT_THAT(storage_->in_port_groups(), IsEmpty()) << "in the store, too";
}

}  // namespace
}  // namespace paravane::host
