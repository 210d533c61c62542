// Units that lie to a search for storage targets: any answers to its questions, in any order and
// number, from right and wrong addresses, and any bytes; searches that replace each other; and a
// port that is full.
//
// What must hold besides the sanitizers: a search asks at most its window at once, and ends in
// time, once; a unit's services have a bound, and come from a unit that was asked; texts are
// printable; and a search that was stopped tells of nothing.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string_view>
#include <utility>
#include <vector>

#include "connection/device_discovery.h"
#include "device_management_script.h"
#include "fuzz_bytes.h"
#include "promise.h"
#include "wire/infiniband/attribute.h"

namespace paravane::fake {
namespace {

namespace device_management = wire::infiniband::device_management;
using connection::DeviceDiscovery;
using wire::infiniband::ControllerProfile;
using wire::infiniband::DeviceManagementPacket;
using wire::infiniband::Gid;
using wire::infiniband::MadBytes;
using wire::infiniband::put_attribute;
using wire::infiniband::ServiceEntries;
using wire::infiniband::UnitInfo;

constexpr int kMostActs = 2000;
constexpr std::size_t kMostRemembered = 64;

class DiscoveryFuzz : private connection::DatagramPort, private connection::DiscoveryListener {
 public:
  explicit DiscoveryFuzz(FuzzBytes& input) : input_(input) {}

  void run() {
    for (int acts = 0; acts < kMostActs && !input_.at_end(); ++acts) {
      act(static_cast<DiscoveryAct>(input_.below(std::to_underlying(DiscoveryAct::kCount))));
      require(discovery_.is_running() == is_running_);
    }
    pass(DeviceDiscovery::kMostDuration);
    require(!is_running_);
  }

 private:
  struct Asked {
    Gid to{};
    DeviceManagementPacket packet{};
  };

  static Gid gid(std::uint32_t number) { return Gid{1, static_cast<std::uint8_t>(number)}; }

  void act(DiscoveryAct what) {
    switch (what) {
      case DiscoveryAct::kStart: {
        std::vector<Gid> gids;
        const std::uint8_t count = input_.u8();
        for (unsigned i = 0; i < count; ++i) gids.push_back(gid(i));
        sent_ = 0;
        require(discovery_.start(gids, now_).has_value());
        require(sent_ <= DeviceDiscovery::kWindow);
        is_running_ = true;
        started_ = now_;
        return;
      }
      case DiscoveryAct::kAnswer: return answer();
      case DiscoveryAct::kBytes: {
        const Gid from = gid(input_.u8());
        MadBytes mad{};
        const std::uint8_t count = input_.u8();
        for (unsigned i = 0; i < count; ++i) mad[i] = std::byte{input_.u8()};
        return hear(from, mad);
      }
      case DiscoveryAct::kTime: return pass(std::chrono::milliseconds(input_.u16()));
      case DiscoveryAct::kRoom: room_ = input_.u8(); return;
      case DiscoveryAct::kStop:
        discovery_.stop();
        is_running_ = false;
        return;
      case DiscoveryAct::kCount: return;
    }
  }

  void answer() {
    const std::uint8_t which = input_.u8();
    const std::uint8_t lies = input_.u8();
    if (asked_.empty()) return;
    const Asked asked = asked_[asked_.size() - 1 - which % asked_.size()];
    DeviceManagementPacket packet = asked.packet;
    packet.header.method = wire::infiniband::method::kGetResponse;
    if ((lies & discovery_lie::kAttribute) != 0)
      packet.header.attribute.set(static_cast<std::uint16_t>(0x10 + input_.u8()));
    if ((lies & discovery_lie::kModifier) != 0) packet.header.modifier.set(input_.u32());
    if ((lies & discovery_lie::kStatus) != 0) packet.header.status.set(input_.u16());
    if ((lies & discovery_lie::kVersion) != 0) packet.header.class_version = input_.u8();
    switch (packet.header.attribute.get()) {
      case device_management::kUnitInfo: put_attribute(unit(), packet); break;
      case device_management::kControllerProfile: put_attribute(profile(), packet); break;
      default: put_attribute(services(), packet);
    }
    MadBytes mad{};
    std::memcpy(mad.data(), &packet, sizeof packet);
    hear((lies & discovery_lie::kSender) != 0 ? gid(input_.u8()) : asked.to, mad);
  }

  UnitInfo unit() {
    UnitInfo info;
    info.most_controllers = input_.u8();
    const std::uint8_t even = input_.u8();
    const std::uint8_t odd = input_.u8();
    for (std::size_t i = 0; i < info.slots.size(); ++i) info.slots[i] = i % 2 == 0 ? even : odd;
    return info;
  }
  ControllerProfile profile() {
    ControllerProfile told;
    const std::uint8_t io_class = input_.u8();
    told.io_class.set(io_class == 0 ? wire::infiniband::kSrpRevision10Class
                                    : static_cast<std::uint16_t>(io_class << 8));
    told.protocol.set(wire::infiniband::kSrpProtocol);
    told.service_entries = input_.u8();
    told.id_string.fill(static_cast<char>(told.service_entries));
    return told;
  }
  ServiceEntries services() {
    constexpr std::array<std::string_view, 5> kNames{
        "SRP.T10:0123456789abcdef", "SRP.T10:0123456789ABCDEF0", "SRP.T10:", "other",
        "SRP.T10:0123456789abcde\x1B"};
    ServiceEntries told;
    for (wire::infiniband::ServiceEntry& entry : told.entries) {
      const std::uint8_t kind = input_.u8();
      std::ranges::copy(kNames[kind % kNames.size()], entry.name.begin());
      entry.id.set(kind);
    }
    return told;
  }

  void hear(const Gid& from, const MadBytes& mad) {
    sent_ = 0;
    discovery_.receive(from, mad, now_);
    require(sent_ <= DeviceDiscovery::kWindow);
  }

  void pass(Duration duration) {
    const Instant end = now_ + duration;
    for (std::size_t turns = 0; discovery_.next_deadline() <= end; ++turns) {
      require(turns < 100'000);
      now_ = std::max(now_, discovery_.next_deadline());
      sent_ = 0;
      discovery_.advance(now_);
      require(sent_ <= 2 * DeviceDiscovery::kWindow);
    }
    now_ = end;
    require(!is_running_ || now_ - started_ < DeviceDiscovery::kMostDuration);
  }

  // ---- connection::DatagramPort ----
  bool send(const Gid& to, std::span<const std::byte, wire::infiniband::kMadBytes> mad) override {
    if (room_ == 0) return false;
    --room_;
    ++sent_;
    asked_.push_back(
        {.to = to, .packet = wire::infiniband::part_of<DeviceManagementPacket>(mad, 0)});
    if (asked_.size() > kMostRemembered) asked_.pop_front();
    return true;
  }

  // ---- connection::DiscoveryListener ----
  void on_service(const connection::SrpService& service) override {
    require(is_running_);
    require(service.service != 0 && service.slot != 0);
    const auto is_printable = [](char letter) { return letter >= ' ' && letter <= '~'; };
    require(std::ranges::all_of(service.controller, is_printable));
    require(std::ranges::all_of(service.name, is_printable));
    const auto unit =
        std::ranges::find(discovery_.results(), service.gid, &connection::UnitResult::gid);
    require(unit != discovery_.results().end());
    require(unit->state == connection::UnitState::kAnswered);
    require(unit->services <= DeviceDiscovery::kMostServices);
    require(unit->controllers <= DeviceDiscovery::kMostControllers);
  }
  void on_finished() override {
    require(std::exchange(is_running_, false));
    for (const connection::UnitResult& unit : discovery_.results())
      require(unit.state != connection::UnitState::kAsked);
  }

  FuzzBytes& input_;
  Instant now_{std::chrono::hours(1)};
  Instant started_{};
  bool is_running_ = false;
  std::size_t room_ = 1'000'000;
  std::size_t sent_ = 0;
  std::deque<Asked> asked_;
  DeviceDiscovery discovery_{*this, *this, 0x5EED};
};

}  // namespace
}  // namespace paravane::fake

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  paravane::fake::FuzzBytes input(data, size);
  paravane::fake::DiscoveryFuzz(input).run();
  return 0;
}
