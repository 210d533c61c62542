// What an engine leaves of its part of an InfiniBand subnet, and of an IPoIB uplink, to the one
// that replaces it, changed by an enemy that has taken it over. The next engine goes on from there.
//
// Besides crashes it looks for broken promises: what is taken over is left as the same bytes, no
// packet goes round for ever, an adapter that begins anew is there as a new one, and each address
// and group has its bounds.

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fuzz_bytes.h"
#include "promise.h"
#include "state_changes.h"
#include "subnet/subnet_image.h"
#include "subnet_state_script.h"
#include "testing/uplink_rig.h"

namespace paravane::fake {
namespace {

using ipoib::MacBytes;
using ipoib::UplinkImage;
using subnet::SubnetImage;

constexpr MacBytes kVmHere{0x00, 0x16, 0x3E, 0, 0, 1};
constexpr MacBytes kVmThere{0x00, 0x16, 0x3E, 0, 0, 2};
constexpr std::uint16_t kLidOfGroup = 0xC005;

template <typename Image>
std::vector<std::byte> state_of(const Image& image) {
  state::Writer out;
  save(image, out);
  return out.take();
}

std::optional<SubnetImage> read_subnet(std::span<const std::byte> bytes) {
  state::Loading loading;
  state::Reader in(bytes, loading);
  SubnetImage image = subnet::load_subnet_image(in);
  return loading.good() ? std::optional(std::move(image)) : std::nullopt;
}

std::optional<UplinkImage> read_uplink(std::span<const std::byte> bytes) {
  state::Loading loading;
  state::Reader in(bytes, loading);
  UplinkImage image = ipoib::load_uplink_image(in);
  return loading.good() ? std::optional(std::move(image)) : std::nullopt;
}

// The engine before, once for all inputs.
class Before {
 public:
  Before() {
    require(rig_.first.add_vlan(0) && rig_.second.add_vlan(0) && rig_.run());
    rig_.net.manager.make_group(kLidOfGroup, std::array{UplinkRig::kFirstPort});
    rig_.first.on_frame(0, arp_frame(kToAll, {.operation = ipoib::ArpOperation::kRequest,
                                              .sender = kVmHere,
                                              .sender_ipv4 = {10, 0, 0, 1},
                                              .target_ipv4 = {10, 0, 0, 2}}));
    require(rig_.run());
    const auto frames = rig_.second_vms.take();
    require(frames.size() == 1);
    here_ = frames[0].frame().source;
    rig_.second.on_frame(0, frame());
    require(rig_.run() && rig_.first_vms.take().size() == 1);
    subnet_ = state_of(rig_.net.subnet.image());
    uplink_ = state_of(rig_.second.image());
  }

  // Of the VM at the second uplink, to the one at the first.
  FrameBytes frame() const {
    return frame_of(here_, kVmThere, wire::roce::kEtherTypeIpv4, ipv4_packet(100));
  }
  const std::vector<std::byte>& subnet() const { return subnet_; }
  const std::vector<std::byte>& uplink() const { return uplink_; }
  Instant now() const { return rig_.net.clock.now; }

 private:
  UplinkRig rig_;
  MacBytes here_{};
  std::vector<std::byte> subnet_;
  std::vector<std::byte> uplink_;
};

class After {
 public:
  explicit After(const Before& before) : before_(before), clock_{.now = before.now()} {}

  void run(std::span<const std::byte> subnet_state, std::span<const std::byte> uplink_state) {
    take_over(subnet_state);
    ipoib::Uplink uplink(adapter("second", SubnetRig::kSecondGuid), 1, clock_, vms_);
    const auto image = read_uplink(uplink_state);
    const bool goes_on = image && uplink.adopt(*image);
    for (const std::uint16_t vlan : uplink.inherited_vlans()) (void)uplink.add_vlan(vlan);
    (void)uplink.add_vlan(0);
    require(goes_on || (uplink.addresses() == 0 && uplink.paths().size() == 0));
    require(uplink.addresses() <= ipoib::OwnAddresses::kMost);
    require(uplink.memberships().size() <= ipoib::Uplink::kMostPartitions);
    require(read_uplink(state_of(uplink.image())).has_value());
    for (int i = 0; i < 4; ++i) {
      uplink.on_frame(0, before_.frame());
      uplink.on_time(clock_.now);
      settle();
      clock_.now += std::chrono::milliseconds(700);
    }
  }

 private:
  void take_over(std::span<const std::byte> state) {
    const auto image = read_subnet(state);
    if (!image) return;
    const std::vector<subnet::Subnet::AdapterWish> wishes{
        {.name = "first", .model = {.name = "Test"}, .guid = SubnetRig::kFirstGuid},
        {.name = "second", .model = {.name = "Test"}, .guid = SubnetRig::kSecondGuid}};
    const auto anew = subnet_.adopt(*image, wishes);
    const bool is_whole = anew.empty();
    require(subnet_.adapters().size() + anew.size() == wishes.size() || subnet_.adapters().empty());
    const auto taken = state_of(subnet_.image());
    // What it became is a state again, and in the same way.
    const auto again = read_subnet(taken);
    require(again.has_value());
    subnet::Subnet twin{"host", SubnetRig::kSwitchGuid, clock_};
    const auto twice = twin.adopt(*again, wishes);
    require(!is_whole || (twice.empty() && state_of(twin.image()) == taken));
  }
  subnet::HostAdapter& adapter(const std::string& name, std::uint64_t guid) {
    if (subnet::HostAdapter* found = subnet_.find(name)) return *found;
    subnet::HostAdapter* made = subnet_.add(name, {.name = "Test"}, guid);
    require(made != nullptr);
    settle();
    require(made->port(1)->state() == wire::infiniband::PortState::kInitialize);
    return *made;
  }
  void settle() {
    for (unsigned turns = 0; turns < SubnetRig::kMostTurns; ++turns) {
      if (!subnet_.turn()) return;
    }
    require(false);
  }

  const Before& before_;
  TurnClock clock_;
  RecordingFrameSink vms_;
  subnet::Subnet subnet_{"host", SubnetRig::kSwitchGuid, clock_};
};

void fuzz_subnet_state(FuzzBytes& input) {
  static const Before before;
  const SubnetStatePart part{
      static_cast<std::uint8_t>(input.below(std::to_underlying(SubnetStatePart::kCount)))};
  std::vector<std::byte> subnet = before.subnet();
  std::vector<std::byte> uplink = before.uplink();
  std::vector<UniqueFd> no_descriptors;
  StateChanges(input, part == SubnetStatePart::kSubnet ? subnet : uplink, no_descriptors, -1)
      .make();
  After(before).run(subnet, uplink);
}

}  // namespace
}  // namespace paravane::fake

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  paravane::fake::FuzzBytes input(data, size);
  paravane::fake::fuzz_subnet_state(input);
  return 0;
}
