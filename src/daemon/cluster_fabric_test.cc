// Which GIDs the worker takes for those of native endpoints, by what the cluster's files and its
// inventory say: the service, the fabric, a worker and its directory are those of the daemon.

#include "daemon/cluster_fabric.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cluster/cluster_authority.h"
#include "cluster/kept_inventory.h"
#include "inventory/view.h"
#include "model/segment.h"
#include "testing/scripted_transport.h"
#include "testing/temp_dir.h"

namespace paravane::daemon {
namespace {

using inventory::KeyValue;
using Why = fabric::Directory::Absence::Why;

const authority::Identity kSelf{"00112233445566778899aabbccddeeff", "h1"};
const model::AdapterName kAdapter{.vm = "db1", .number = 1};
const model::Network kNetwork{.switches = {{"lan", {.name = "lan"}}},
                              .port_groups = {{"web", {.name = "web", .vds = "lan"}}}};
constexpr verbs::AdapterId kOwn{200};

verbs::Gid gid(std::uint8_t last) {
  return {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 0, last}};
}
const verbs::Gid kOwnGid = gid(1);
const verbs::Gid kOfH2 = gid(2);       // which is there
const verbs::Gid kOfH3 = gid(3);       // which is away
const verbs::Gid kUnlinked = gid(4);   // of h2's, disconnected
const verbs::Gid kStrangers = gid(9);  // of a machine that is no VM

// The keys of a cluster of h1, h2 and h3, with an adapter each on h2 and h3.
class Keys {
 public:
  Keys() {
    const std::string config(inventory::kConfigPrefix);
    for (const auto& [name, vds] : kNetwork.switches) {
      put(config + inventory::switch_document(name), inventory::print_switch(vds));
    }
    for (const auto& [name, group] : kNetwork.port_groups) {
      put(config + inventory::port_group_document(name), inventory::print_port_group(group));
    }
    put(config + "cluster",
        inventory::print_cluster(kSelf.cluster, "h1",
                                 inventory::next_generation({}, std::string(16, '0'))));
    for (const std::string host : {"h1", "h2", "h3"}) {
      put(config + "members/" + host, R"({"host":")" + host + R"(","joined":"","keys":[]})");
    }
  }
  // A host with an adapter that has one GID, and another one whose link is down.
  void add_host(const std::string& host, const verbs::Gid& owned,
                const std::optional<verbs::Gid>& unlinked = {}) {
    inventory::OwnKeys said;
    inventory::say_info(said, {.address = "192.0.2.2", .port = 28250, .version = "1"});
    inventory::say_adapter(said, kAdapter,
                           {.mac = {2, 0, 0, 0, 0, owned.raw[15]}, .port_group = "web"});
    inventory::say_gid(said, id_of(owned), kAdapter);
    if (unlinked) inventory::say_unlinked_gid(said, id_of(*unlinked), kAdapter);
    for (const auto& [key, value] : said) put(inventory::host_prefix(host) + key, value);
  }
  void put(const std::string& key, const std::string& value) {
    ++revision_;
    all_.push_back({.key = key,
                    .value = value,
                    .create_revision = revision_,
                    .mod_revision = revision_,
                    .lease = 0});
  }
  const std::vector<KeyValue>& all() const { return all_; }
  std::shared_ptr<const inventory::View> view() const {
    inventory::Records records;
    for (const KeyValue& pair : all_) records.put(KeyValue(pair));
    return records.build(revision_);
  }

 private:
  static inventory::GidId id_of(const verbs::Gid& gid) {
    return {*model::segment_number(kNetwork, "web"), gid.raw, inventory::RoceType::kV2};
  }
  std::vector<KeyValue> all_;
  std::int64_t revision_ = 0;
};

class ClusterFabricTest : public testing::Test {
 protected:
  ClusterFabricTest() {
    ports_ = ask(
        [this] { return std::make_unique<worker::PortTable>(*worker_, 1, worker::PortEvents{}); });
    fabric_.emplace(config_,
                    ClusterFabric::Parts{.worker = *worker_,
                                         .cluster = service_,
                                         .dialer = dialer_,
                                         .post = [](const auto&) {},
                                         .hca = [](const host::HcaChoice&) {},
                                         .hca_memory = [] { return model::HcaMemory(); },
                                         .tell = [](const model::Event&) {}},
                    *ports_);
    fabric_->set_site({.closed = {.why = "no channels in this test"}});
    ask([this] {
      port_ = ports_->directory().join(kOwn, "own", {2, 0, 0, 0, 0, 1},
                                       verbs::SegmentId{*model::segment_number(kNetwork, "web")});
      ports_->directory().set_native(kOwn, &native_);
      return port_->announce(kOwnGid, verbs::GidType::kRoceV2).has_value();
    });
  }
  ~ClusterFabricTest() override {
    dialer_.close();
    service_.stop();
    fabric_.reset();
    ask([this] {
      port_.reset();
      ports_.reset();
      return true;
    });
  }
  template <typename Function>
  std::invoke_result_t<Function> ask(Function function) {
    return std::move(*worker_->ask(std::move(function)));
  }
  // The files of h1, which has the authority and reaches no etcd.
  void become_member(const Keys& known, const std::vector<KeyValue>& away, bool cut = false) {
    const cluster::Membership membership{.self = kSelf,
                                         .authority = kSelf.host,
                                         .door = "192.0.2.1:28249",
                                         .runs_etcd = true,
                                         .own_etcd_authority = true,
                                         .etcd = {"https://192.0.2.1:2379"},
                                         .etcd_user = "host-h1",
                                         .etcd_password = "0123456789abcdef"};
    ASSERT_TRUE(cluster::make_cluster_directory(paths_));
    ASSERT_TRUE(cluster::ClusterAuthority::make({.paths = paths_,
                                                 .membership = membership,
                                                 .open = {},
                                                 .lifetime_s = 3600,
                                                 .address = {},
                                                 .write_documents = {}},
                                                {}, authority::wall_clock()));
    ASSERT_TRUE(save_membership(paths_, membership));
    ASSERT_TRUE(cluster::write_file(
        paths_.inventory(),
        cluster::print_inventory(
            {.revision = 100, .keys = known.all(), .addresses = {}, .away = away, .cut = cut})));
  }
  // Starts the service. Until act_on_view(), the fabric has no state of the cluster.
  void start() {
    service_.start();
    ASSERT_TRUE(entered_) << "or what was native stays it until the first view";
    fabric_->on_view(nullptr);
  }
  void act_on_view() { fabric_->on_view(views_.get_future().get()); }

  fabric::Directory::Absence why_none(const verbs::Gid& peer) {
    return ask([this, &peer] {
      return ports_->directory().why_no_route(kOwn, kOwnGid, peer, verbs::GidType::kRoceV2);
    });
  }
  bool is_native(const verbs::Gid& peer) {
    return ask([this, &peer] {
      const auto path = port_->find(peer, verbs::GidType::kRoceV2);
      return path && path->transport == &native_;
    });
  }
  std::string owner(const verbs::Gid& peer) {
    const auto absence = why_none(peer);
    return absence.why == Why::kHeld ? absence.owner : "not held";
  }

  TempDir dir_;
  const settings::Config config_ = [this] {
    settings::Config config;
    config.state_dir = dir_.path();
    return config;
  }();
  const settings::ClusterPaths paths_{dir_.path()};
  fake::ScriptedTransport native_{"roce"};
  privsep::Dialer dialer_{[](const privsep::Note&) {}};
  bool entered_ = false;
  std::promise<std::shared_ptr<const inventory::View>> views_;
  bool told_ = false;
  cluster::ClusterService service_{
      config_, dialer_, [](privsep::EtcdReach) {},
      [this] {
        cluster::ClusterService::Listeners all;
        all.entered = [this] { entered_ = true; };
        all.view = [this](std::shared_ptr<const inventory::View> view) {
          if (!std::exchange(told_, true)) views_.set_value(std::move(view));
        };
        return all;
      }()};
  std::unique_ptr<worker::Worker> worker_ =
      std::move(*worker::Worker::start({.spin = worker::SpinMode::kNever}));
  std::unique_ptr<worker::PortTable> ports_;
  std::unique_ptr<verbs::FabricPort> port_;
  std::optional<ClusterFabric> fabric_;
};

TEST_F(ClusterFabricTest, WithoutAClusterWhatNoAdapterHasIsANativeEndpoints) {
  service_.start();
  fabric_->on_view(nullptr);
  EXPECT_TRUE(is_native(kOfH2));
  EXPECT_FALSE(entered_);
}

TEST_F(ClusterFabricTest, NoGidOfTheClusterIsANativeEndpointsFromTheFirstMomentOn) {
  Keys known;
  known.add_host("h2", kOfH2, kUnlinked);
  Keys all = known;
  all.add_host("h3", kOfH3);
  const std::vector<KeyValue> away(
      all.all().begin() + static_cast<std::ptrdiff_t>(known.all().size()), all.all().end());
  become_member(known, away);
  start();
  EXPECT_EQ(why_none(kOfH2).why, Why::kUnknown);
  EXPECT_EQ(why_none(kStrangers).why, Why::kUnknown);
  act_on_view();
  EXPECT_EQ(why_none(kOfH2).why, Why::kNone);
  EXPECT_FALSE(is_native(kOfH2)) << "its adapter has it";
  EXPECT_EQ(owner(kOfH3), "adapter db1 of host h3, which is away") << "also after a restart";
  EXPECT_EQ(owner(kUnlinked), "adapter db1 of host h2, which is disconnected from its switch");
  EXPECT_TRUE(is_native(kStrangers));

  fabric_->on_view(Keys().view());  // all others are away
  EXPECT_EQ(owner(kOfH2), "adapter db1 of host h2, which is away");
  EXPECT_EQ(owner(kUnlinked), "adapter db1 of host h2, which is away");
  EXPECT_TRUE(is_native(kStrangers));
}

TEST_F(ClusterFabricTest, WhatTheWorkerLostIsToldAgain) {
  Keys known;
  known.add_host("h2", kOfH2, kUnlinked);
  become_member(known, {});
  start();
  act_on_view();
  ask([this] {
    ports_->set_others({.known = false});
    return true;
  });
  ASSERT_EQ(why_none(kStrangers).why, Why::kUnknown);
  fabric_->tell_again();
  EXPECT_TRUE(is_native(kStrangers));
  EXPECT_FALSE(is_native(kOfH2));
  EXPECT_EQ(owner(kUnlinked), "adapter db1 of host h2, which is disconnected from its switch");
}

TEST_F(ClusterFabricTest, AKeptInventoryThatLacksClaimsMakesNothingANativeEndpoints) {
  become_member(Keys(), {}, true);
  start();
  act_on_view();
  EXPECT_EQ(why_none(kStrangers).why, Why::kUnknown);
  fabric_->on_view(Keys().view());  // of etcd
  EXPECT_TRUE(is_native(kStrangers));
}

}  // namespace
}  // namespace paravane::daemon
