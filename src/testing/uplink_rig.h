// UplinkRig: two IPoIB uplinks at two adapters of one subnet, in a time that only the test moves:
// what one VM sends at the first comes out at the second. The subnet's manager and administration
// are at the first adapter's port. A third can be made beside the first, at the same port.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "ipoib/uplink.h"
#include "testing/ip_frames.h"
#include "testing/subnet_administration.h"
#include "testing/subnet_rig.h"

namespace paravane::fake {

class RecordingFrameSink final : public ipoib::FrameSink {
 public:
  struct Delivered {
    std::uint16_t vlan = 0;
    FrameBytes bytes{};
    ipoib::EthernetFrame frame() const {
      return ipoib::read_frame(bytes).value_or(ipoib::EthernetFrame{});
    }
    friend bool operator==(const Delivered&, const Delivered&) = default;
  };
  // Queries of listeners, which come at times of their own, stand apart.
  void deliver(std::uint16_t vlan, std::span<const std::byte> frame) override {
    const Delivered delivered{.vlan = vlan, .bytes = FrameBytes(frame.begin(), frame.end())};
    (is_query(delivered.frame()) ? queries : frames).push_back(delivered);
  }
  std::vector<Delivered> take() { return std::exchange(frames, {}); }

  std::vector<Delivered> frames;
  std::vector<Delivered> queries;

 private:
  static bool is_query(const ipoib::EthernetFrame& frame) {
    constexpr std::byte kIgmp{2};
    constexpr std::byte kMldQuery{130};
    const auto at = [&frame](std::size_t place) {
      return place < frame.payload.size() ? frame.payload[place] : std::byte{};
    };
    if (frame.type == wire::roce::kEtherTypeIpv4)
      return at(9) == kIgmp && at(24) == std::byte{0x11};
    return frame.type == wire::roce::kEtherTypeIpv6 && at(6) == std::byte{} && at(48) == kMldQuery;
  }
};

class UplinkRig {
 public:
  static constexpr std::uint64_t kFirstPort = SubnetRig::kFirstGuid + 1;
  static constexpr std::uint64_t kSecondPort = SubnetRig::kSecondGuid + 1;
  static constexpr unsigned kMostRounds = 10'000;

  explicit UplinkRig(const subnet::AdapterModel& model = {.name = "Test"})
      : net(model),
        administration(net.first.mads(1), net.manager, net.clock),
        first(net.first, 1, net.clock, first_vms),
        second(net.second, 1, net.clock, second_vms) {
    administration.make_group(wire::infiniband::kDefaultPartition);
  }

  // Until nothing is to be done at this time. False: it goes on and on.
  bool run() {
    for (unsigned round = 0; round < kMostRounds; ++round) {
      first.on_time(net.clock.now);
      second.on_time(net.clock.now);
      if (beside) beside->on_time(net.clock.now);
      if (!net.settle()) return false;
      const bool has_served = administration.serve();
      if (!has_served && next_deadline() > net.clock.now) return true;
    }
    return false;
  }
  // With all that is due on the way.
  bool advance(Duration duration) {
    const Instant end = net.clock.now + duration;
    for (unsigned round = 0; round < kMostRounds && next_deadline() <= end; ++round) {
      net.clock.now = std::max(net.clock.now, next_deadline());
      if (!run()) return false;
    }
    net.clock.now = end;
    return run();
  }
  Instant next_deadline() const {
    return std::min({net.subnet.next_deadline(), first.next_deadline(), second.next_deadline(),
                     beside ? beside->next_deadline() : kNever});
  }

  void make_beside() {
    beside = std::make_unique<ipoib::Uplink>(net.first, 1, net.clock, beside_vms);
  }

  // Keys of an adapter's port; it is one of the two.
  bool write_partitions(std::uint64_t port_guid, std::vector<std::uint16_t> keys) {
    const SubnetManager::Node* node = net.manager.find(port_guid);
    return node != nullptr && net.manager.write_partitions(*node, std::move(keys));
  }

  SubnetRig net;
  SubnetAdministration administration;
  RecordingFrameSink first_vms;
  RecordingFrameSink second_vms;
  ipoib::Uplink first;
  ipoib::Uplink second;
  RecordingFrameSink beside_vms;
  std::unique_ptr<ipoib::Uplink> beside;  // null: it was not made
};

// 0 also of a name that it has not.
inline std::uint64_t count_of(const ipoib::Uplink& uplink, std::string_view name) {
  for (const Counter* counter : uplink.counters().set.all()) {
    if (counter->name() == name) return counter->value();
  }
  return 0;
}

}  // namespace paravane::fake
