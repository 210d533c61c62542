#include "host/port_config.h"

#include <gtest/gtest.h>

#include "device/limits.h"

namespace paravane::host {
namespace {

worker::VmPortConfig port_of(const model::VmSpec& spec) {
  model::AdapterSpec adapter;
  adapter.mac = {0x02, 0x50, 0x56, 0, 0, 1};
  adapter.protocol = model::default_protocol(spec.hw_version);
  return make_port_config(spec, adapter, HostConfig{});
}
device::DeviceConfig device_of(const model::VmSpec& spec) {
  return port_of(spec).device;
}

TEST(PortConfig, HardwareVersion13HasRoceV1AndNoSharedReceiveQueues) {
  model::VmSpec spec;
  spec.name = "db1";
  spec.hw_version = 13;
  spec.version = model::default_device_version(13);
  spec.limits.shared_receive_queues = 8;
  const device::DeviceConfig device = device_of(spec);
  EXPECT_EQ(device.version, 17u);
  EXPECT_EQ(device.gid_type, verbs::GidType::kRoceV1);
  EXPECT_EQ(device.limits.shared_receive_queues, 0u);
}

TEST(PortConfig, LaterHardwareVersionsHaveThem) {
  model::VmSpec spec;
  spec.name = "db1";
  EXPECT_GT(device_of(spec).limits.shared_receive_queues, 0u);
  EXPECT_EQ(device_of(spec).gid_type, verbs::GidType::kRoceV2);
  spec.limits.shared_receive_queues = 8;
  EXPECT_EQ(device_of(spec).limits.shared_receive_queues, 8u);
}

// It cannot be lowered while the VM runs; what a release has built in can.
TEST(PortConfig, AStateHoldsNoMoreThanALimitThatWasSet) {
  model::VmSpec spec;
  spec.name = "db1";
  spec.limits.queue_pairs = 8;
  const device::DeviceConfig device = device_of(spec);
  EXPECT_EQ(device.held_limits().queue_pairs, 8u);
  EXPECT_GE(device.held_limits().completion_queues, device.limits.completion_queues);
  EXPECT_TRUE(device::check_config(device));
  spec.hw_version = 13;
  EXPECT_EQ(device_of(spec).held_limits().shared_receive_queues, 0u);
}

TEST(PortConfig, DoorbellsAreWatchedAsTheSettingsSay) {
  model::VmSpec spec;
  spec.name = "db1";
  const device::DeviceConfig built_in;
  EXPECT_EQ(device_of(spec).watch_ceiling, built_in.watch_ceiling);
  EXPECT_EQ(device_of(spec).late_event_after, built_in.late_event_after);
  EXPECT_EQ(device_of(spec).late_event_budget, built_in.late_event_budget);
  EXPECT_EQ(device_of(spec).late_event_refill_per_second, built_in.late_event_refill_per_second);

  model::AdapterSpec adapter;
  adapter.mac = {0x02, 0x50, 0x56, 0, 0, 1};
  HostConfig host;
  host.config.doorbells = {.watch_ceiling = std::chrono::microseconds(1),
                           .late_event_after = std::chrono::microseconds(2),
                           .late_event_budget = 3,
                           .late_event_refill_per_second = 4};
  const device::DeviceConfig device = make_port_config(spec, adapter, host).device;
  EXPECT_EQ(device.watch_ceiling, std::chrono::microseconds(1));
  EXPECT_EQ(device.late_event_after, std::chrono::microseconds(2));
  EXPECT_EQ(device.late_event_budget, 3u);
  EXPECT_EQ(device.late_event_refill_per_second, 4u);
}

TEST(PortConfig, PageListsAreLimitedInMebibytes) {
  model::VmSpec spec;
  spec.name = "db1";
  EXPECT_EQ(port_of(spec).memory.page_list_bytes, 0u) << "derived from guest memory";
  spec.limits.page_list_mib = 5000;
  EXPECT_EQ(port_of(spec).memory.page_list_bytes, std::uint64_t{5000} << 20);
}

}  // namespace
}  // namespace paravane::host
