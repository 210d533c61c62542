// Captures, as an operator asks a host for them.

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "host/host.h"
#include "testing/temp_dir.h"

namespace paravane::host {
namespace {

class HostCaptureTest : public testing::Test {
 protected:
  HostCaptureTest() {
    std::filesystem::create_directory(dir_ / "state");
    std::filesystem::create_directory(dir_ / "vms");
    HostConfig config;
    config.config.state_dir = dir_ / "state";
    config.config.vfio_user.socket_dir = dir_ / "vms";
    config.config.infiniband.umad_socket = dir_ / "umad.sock";
    auto host = Host::start(config, [] {});
    EXPECT_TRUE(host);
    host_ = std::move(*host);
    for (const char* name : {"a", "b", "c", "d", "e"}) {
      model::VmSpec spec;
      spec.name = name;
      EXPECT_TRUE(host_->add_vm(spec));
    }
  }
  TempDir dir_;
  std::unique_ptr<Host> host_;
};

TEST_F(HostCaptureTest, OneOfEachVmAndSoManyAltogether) {
  const auto first = host_->start_capture({.vm = "a"});
  ASSERT_TRUE(first);
  EXPECT_EQ(first->interfaces.at(0).name, "a");
  EXPECT_EQ(host_->start_capture({.vm = "a"}).error().code, model::ApiErrorCode::kExists);
  EXPECT_EQ(host_->start_capture({.vm = "x"}).error().code, model::ApiErrorCode::kNotFound);
  for (const char* name : {"b", "c", "d"}) EXPECT_TRUE(host_->start_capture({.vm = name}));
  EXPECT_EQ(host_->start_capture({.vm = "e"}).error().code, model::ApiErrorCode::kLimitReached);
  EXPECT_EQ(host_->list_captures()->size(), model::kMaxCaptures);
  const auto read = host_->read_capture(first->id);
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->blocks.empty());
  EXPECT_TRUE(host_->end_capture(first->id));
  EXPECT_EQ(host_->end_capture(first->id).error().code, model::ApiErrorCode::kNotFound);
  EXPECT_EQ(host_->read_capture(first->id).error().code, model::ApiErrorCode::kNotFound);
  EXPECT_TRUE(host_->start_capture({.vm = "e"}));
}

TEST_F(HostCaptureTest, UplinksOfInfinibandAdaptersCountTogetherWithVms) {
  EXPECT_EQ(host_->start_capture({.uplink = "vmnic32"}).error().code,
            model::ApiErrorCode::kNotFound);
  ASSERT_TRUE(host_->add_ib_adapter({.name = "mlx4_0", .device = "MT26428", .bus = 13}));
  const auto first = host_->start_capture({.uplink = "vmnic32"});
  ASSERT_TRUE(first);
  EXPECT_EQ(first->spec.uplink, "vmnic32");
  EXPECT_EQ(first->interfaces.at(0).name, "vmnic32");
  EXPECT_EQ(host_->start_capture({.uplink = "vmnic32"}).error().code, model::ApiErrorCode::kExists);
  EXPECT_TRUE(host_->start_capture({.uplink = "vmnic33"}));
  for (const char* name : {"a", "b"}) EXPECT_TRUE(host_->start_capture({.vm = name}));
  EXPECT_EQ(host_->start_capture({.vm = "c"}).error().code, model::ApiErrorCode::kLimitReached);
  EXPECT_TRUE(host_->end_capture(first->id));
  EXPECT_EQ(host_->start_capture({.uplink = "vmnic34"}).error().code,
            model::ApiErrorCode::kNotFound);
  EXPECT_TRUE(host_->start_capture({.uplink = "vmnic32"}));
}

TEST_F(HostCaptureTest, EndsWithItsInfinibandAdapter) {
  ASSERT_TRUE(host_->add_ib_adapter({.name = "mlx4_0", .device = "MT26428", .bus = 13}));
  const auto started = host_->start_capture({.uplink = "vmnic33"});
  ASSERT_TRUE(started);
  EXPECT_FALSE(host_->read_capture(started->id)->status.ended);
  ASSERT_TRUE(host_->remove_ib_adapter("mlx4_0"));
  while (!host_->read_capture(started->id)->blocks.empty()) continue;
  EXPECT_TRUE(host_->read_capture(started->id)->status.ended);
  EXPECT_TRUE(host_->end_capture(started->id));
}

TEST_F(HostCaptureTest, EndsWithItsVm) {
  const auto started = host_->start_capture({.vm = "a"});
  ASSERT_TRUE(started);
  ASSERT_TRUE(host_->remove_vm("a", false));
  const auto read = host_->read_capture(started->id);
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->status.ended);
}

}  // namespace
}  // namespace paravane::host
