// HostUplink: an IPoIB uplink with the taps by which a distributed switch of this host uses it:
// either one for each VLAN, or one that carries the frames of all VLANs with their tags.
//
// A tap is read in portions, so that a VM that floods it holds the thread for a bounded time. What
// a tap does not take is dropped and counted, as by a NIC. The subnet's thread only.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/counter.h"
#include "base/event_loop.h"
#include "ipoib/uplink.h"
#include "subnet_host/uplink_tap.h"

namespace paravane::subnet_host {

struct TapCounters {
  CounterSet set;
  Counter taps_refused{set, "taps_refused", "frames that a tap did not take"};
  Counter bad_tags{set, "bad_tags", "frames of VMs whose tag is impossible"};
};

class HostUplink final : private ipoib::FrameSink {
 public:
  static constexpr std::size_t kFramesPerWake = 64;  // of one tap

  // `on_lost` is called when a tap is gone, from within a call of the loop; the uplink may be
  // destroyed later, not from there. All outlive us.
  HostUplink(std::string name, subnet::HostAdapter& adapter, subnet::PortNumber port,
             EventLoop& loop, const TurnClock& clock, std::function<void()> on_lost);
  ~HostUplink() override;

  const std::string& name() const { return name_; }
  ipoib::Uplink& uplink() { return uplink_; }
  const ipoib::Uplink& uplink() const { return uplink_; }
  const TapCounters& counters() const { return counters_; }

  // Replaces the tap of the same VLAN, and any of the other form. Errors: kIo, kResourceExhausted.
  Status add(UplinkTap tap);
  void remove(std::uint16_t vlan);
  bool has_taps() const { return !taps_.empty(); }

 private:
  // Of a tap that carries all VLANs.
  static constexpr std::uint16_t kAllVlans = 0xFFFF;

  void on_ready(std::uint16_t key);
  // False: nothing is there, or the tap is gone.
  bool read_frame_of(std::uint16_t key, const UplinkTap& tap);
  void take_tagged(std::span<const std::byte> bytes);
  void close(std::uint16_t key);
  void lose(std::uint16_t key);

  // ---- ipoib::FrameSink ----
  void deliver(std::uint16_t vlan, std::span<const std::byte> frame) override;

  const std::string name_;
  EventLoop& loop_;
  const std::function<void()> on_lost_;
  TapCounters counters_;
  ipoib::Uplink uplink_;
  std::map<std::uint16_t, UplinkTap> taps_;  // by VLAN, or kAllVlans
  // Longer than any frame of a tap, whose MTU is at most 9216 (model/distributed_switch.h).
  std::array<std::byte, 9300> read_{};
  // Of one frame each, reused.
  std::vector<std::byte> untagged_;
  std::vector<std::byte> tagged_;
};

}  // namespace paravane::subnet_host
