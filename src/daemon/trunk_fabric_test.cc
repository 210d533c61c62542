#include "daemon/trunk_fabric.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "transport/hca/trunk_port.h"

namespace paravane::daemon {
namespace {

class TrunkFabricTest : public testing::Test {
 protected:
  TrunkFabricTest() {
    ::getrlimit(RLIMIT_MEMLOCK, &before_);
    ports_ = *worker_->ask(
        [this] { return std::make_unique<worker::PortTable>(*worker_, 1, worker::PortEvents{}); });
  }
  ~TrunkFabricTest() override {
    fabric_.reset();
    worker_->ask([this] { return ports_.reset(), true; });
    ::setrlimit(RLIMIT_MEMLOCK, &before_);
  }
  void start(settings::HcaUse use) {
    config_.hca = use;
    auto fabric = TrunkFabric::start(
        config_,
        [](const transport_hca::TrunkAdapter&)
            -> Result<std::shared_ptr<transport_hca::TrunkDevice>> {
          return fail(Errc::kNotFound, "none in this test");
        },
        *worker_, *ports_);
    ASSERT_TRUE(fabric);
    fabric_ = std::move(*fabric);
  }
  void set_limit(rlim_t bytes) {
    const rlimit limit{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_MEMLOCK, &limit), 0);
  }

  rlimit before_{};
  settings::ChannelConfig config_;
  std::unique_ptr<worker::Worker> worker_ = std::move(*worker::Worker::start({}));
  std::unique_ptr<worker::PortTable> ports_;
  std::unique_ptr<TrunkFabric> fabric_;
};

TEST_F(TrunkFabricTest, SaysWhatItsAdapterLocksAndMayLock) {
  start(settings::HcaUse::kClear);
  EXPECT_EQ(fabric_->memory().device, "");
  fabric_->set_hca({.device = "mlx5_0"});
  set_limit(65'536);
  EXPECT_EQ(fabric_->memory(),
            (model::HcaMemory{
                .device = "mlx5_0", .bytes_per_host = transport_hca::kTrunkBytes, .most = 65'536}));
  fabric_->set_hca({.why = "vmnic0 has no RDMA adapter"});
  EXPECT_EQ(fabric_->memory().device, "");
}

TEST_F(TrunkFabricTest, WithEncryptionAnAdapterIsUsedOnlyIfTheFileSaysClear) {
  struct Case {
    settings::HcaUse use;
    bool encrypted;
    bool is_used;
  };
  for (const Case& one :
       {Case{settings::HcaUse::kAuto, true, false}, Case{settings::HcaUse::kAuto, false, true},
        Case{settings::HcaUse::kClear, true, true}, Case{settings::HcaUse::kOff, false, false}}) {
    settings::Config config;
    config.cluster.address = "192.0.2.1";
    config.channel.hca = one.use;
    config.channel.encrypted = one.encrypted;
    EXPECT_EQ(may_use_hca(config), one.is_used);
    config_.encrypted = one.encrypted;
    start(one.use);
    fabric_->set_hca({.device = "mlx5_0"});
    EXPECT_EQ(fabric_->has_hca(), one.is_used);
    fabric_.reset();
  }
  EXPECT_FALSE(may_use_hca({})) << "no other host can be reached";
}

TEST_F(TrunkFabricTest, AnAdapterThatMayNotBeUsedLocksNothing) {
  start(settings::HcaUse::kOff);
  fabric_->set_hca({.device = "mlx5_0"});
  EXPECT_EQ(fabric_->memory().device, "");
}

}  // namespace
}  // namespace paravane::daemon
