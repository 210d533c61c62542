// HostUplink: an IPoIB uplink with the taps by which a distributed switch of this host uses it:
// either one for each VLAN, or one that carries the frames of all VLANs with their tags. Another
// may carry those of VMs that tag their frames themselves (guest VLAN tagging).
//
// VMs on either side of that tap are in one VLAN on two bridges: frames between them go from tap to
// tap, and one for a VM that is known to be behind one tap goes to that tap alone. A VM cannot take
// up partitions of the port: a VLAN of its own choice is used if the port has its key, or the
// switch the VLAN.
//
// The taps have a carrier while the port is active, as a NIC has one while its cable is plugged in:
// by that the keeper, which moves the ports of bridges, knows when another uplink of a team is to
// carry the frames (ethernet/uplink_team.h). A kernel that cannot set it (before Linux 5.0) leaves
// it on.
//
// A tap that has frames waits in line with those of the host's other uplinks to be read
// (waiting_taps.h). What a tap does not take, or is above the switch's MTU, which its ports would
// not take, is dropped and counted, as by a NIC. The subnet's thread only.

#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/counter.h"
#include "base/event_loop.h"
#include "ipoib/uplink.h"
#include "subnet_host/uplink_tap.h"
#include "subnet_host/waiting_taps.h"

namespace paravane::subnet_host {

struct TapCounters {
  CounterSet set;
  Counter taps_refused{set, "taps_refused", "frames that a tap did not take"};
  Counter above_switch_mtu{set, "above_switch_mtu", "packets for VMs above the switch's MTU"};
  Counter bad_tags{set, "bad_tags", "frames of VMs whose tag is impossible, or of no partition"};
  Counter no_vlan_room{set, "no_vlan_room", "frames of VMs in a VLAN beyond the 128 of an uplink"};
};

class HostUplink;

// What the other uplinks of a switch must hear of one. Called from within its turns.
class UplinkTeam {
 public:
  virtual ~UplinkTeam() = default;
  virtual void on_new_address(HostUplink& uplink, const ipoib::MacBytes& mac,
                              std::uint16_t vlan) = 0;
  virtual void on_new_vlan(const HostUplink& uplink, std::uint16_t vlan) = 0;
};

class HostUplink final : private ipoib::FrameSink, private WaitingTaps::Reader {
 public:
  // Which VM is behind which tap, while there are two.
  static constexpr std::size_t kMostPlaces = 4096;
  static constexpr Duration kPlaceLife = std::chrono::minutes(5);
  static constexpr Duration kBetweenSweeps = std::chrono::seconds(1);
  // How long a packet above the switch's MTU counts as a sign that the MTU is too small.
  static constexpr Duration kAboveMtuCounts = std::chrono::minutes(10);

  // `on_lost` is called when a tap is gone, from within a call of the loop; the uplink may be
  // destroyed later, not from there. `team` may be null. All outlive us.
  HostUplink(std::string name, subnet::HostAdapter& adapter, subnet::PortNumber port,
             EventLoop& loop, WaitingTaps& waiting, const TurnClock& clock,
             std::function<void()> on_lost, UplinkTeam* team = nullptr);
  ~HostUplink() override;

  const std::string& name() const { return name_; }
  // Whether there was a packet above the switch's MTU within kAboveMtuCounts.
  bool drops_large_packets() const { return clock_.now < above_mtu_until_; }
  // The switch of the last tap.
  const std::string& vds() const { return vds_; }
  ipoib::Uplink& uplink() { return uplink_; }
  const ipoib::Uplink& uplink() const { return uplink_; }
  const TapCounters& counters() const { return counters_; }

  // ---- From one engine to the next ----
  ipoib::UplinkImage image() const;
  // False: it begins anew. REQUIRES: no tap was added.
  bool adopt(ipoib::UplinkImage image);

  // Replaces the tap of the same VLANs; one of all VLANs and those of single ones replace each
  // other. Errors: kIo, kResourceExhausted.
  Status add(UplinkTap tap);
  // kGuestVlans: the tap of these.
  void remove(std::uint16_t vlan);
  bool has_taps() const { return !taps_.empty(); }
  // Whether one of them carries all VLANs.
  bool has_all_vlans() const { return taps_.contains(kAllVlans); }

  void on_time(Instant now);

 private:
  // Of a tap that carries all VLANs.
  static constexpr std::uint16_t kAllVlans = 0xFFFF;

  struct OpenTap {
    OpenTap(UplinkTap opened, WaitingTaps::Reader& reader, std::uint16_t key)
        : tap(std::move(opened)), waits{.reader = reader, .key = key} {}
    UplinkTap tap;
    WaitingTaps::Tap waits;
  };
  // False: nothing is there, or the tap is gone.
  bool read_frame_of(std::uint16_t key, const UplinkTap& tap);
  void take_tagged(std::uint16_t key, std::span<const std::byte> bytes);
  // A frame without its tag, from the tap.
  void take(std::uint16_t key, std::uint16_t vlan, std::span<const std::byte> frame);
  // False: the frame is dropped, and was counted.
  bool may_use(std::uint16_t key, std::uint16_t vlan);
  // The tap of the switch that carries the VLAN; nullptr: it has none.
  const UplinkTap* tap_of(std::uint16_t vlan) const;
  const UplinkTap* guests_tap() const;
  // The tap behind which a VM is; nullptr: that is not known.
  const UplinkTap* place_of(std::uint16_t vlan, const ipoib::MacBytes& mac) const;
  void remember(std::uint16_t key, std::uint16_t vlan, const ipoib::MacBytes& mac);
  void write(const UplinkTap& tap, std::uint16_t vlan, std::span<const std::byte> frame);
  void forget_guests();
  void close(std::uint16_t key);
  void lose(std::uint16_t key);
  // Gives the taps the port's link.
  void follow_link();

  // ---- WaitingTaps::Reader ----
  std::size_t read(std::uint16_t key, std::size_t most) override;
  void wait_again(std::uint16_t key) override;
  // ---- ipoib::FrameSink ----
  void deliver(std::uint16_t vlan, std::span<const std::byte> frame) override;
  void on_new_address(const ipoib::MacBytes& mac, std::uint16_t vlan) override;

  const std::string name_;
  EventLoop& loop_;
  WaitingTaps& waiting_;
  const std::function<void()> on_lost_;
  UplinkTeam* const team_;
  std::string vds_;
  TapCounters counters_;
  ipoib::Uplink uplink_;
  const TurnClock& clock_;
  Instant above_mtu_until_ = Instant::min();
  bool has_link_ = false;                  // as the taps have it
  std::map<std::uint16_t, OpenTap> taps_;  // by VLAN, or kAllVlans, or kGuestVlans
  struct Place {
    std::uint16_t key = 0;  // of taps_
    Instant until{};
  };
  std::map<std::pair<std::uint16_t, ipoib::MacBytes>, Place> places_;  // by VLAN and MAC
  Instant may_sweep_{};                                                // places_ for room
  std::set<std::uint16_t> guest_vlans_;                                // that guests have used
  // Longer than any frame of a tap, whose MTU is at most 9216 (model/distributed_switch.h).
  std::array<std::byte, 9300> read_{};
  // Of one frame each, reused.
  std::vector<std::byte> untagged_;
  std::vector<std::byte> tagged_;
};

}  // namespace paravane::subnet_host
