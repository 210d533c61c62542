// What the tests of DeviceDiscovery share: units that answer, and a search with its surroundings.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "connection/connection_test.h"
#include "connection/device_discovery.h"
#include "wire/infiniband/attribute.h"

namespace paravane::connection::fake {

namespace device_management = wire::infiniband::device_management;
namespace mad_status = wire::infiniband::mad_status;
using wire::infiniband::ControllerProfile;
using wire::infiniband::DeviceManagementPacket;
using wire::infiniband::put_attribute;
using wire::infiniband::ServiceEntries;
using wire::infiniband::ServiceEntry;
using wire::infiniband::UnitInfo;

inline ServiceEntry entry_of(std::string_view name, std::uint64_t id) {
  ServiceEntry entry;
  std::ranges::copy(name, entry.name.begin());
  entry.id.set(id);
  return entry;
}

// As Linux's target has it, with as many controllers and services as wanted.
struct FakeUnit {
  std::uint8_t most_controllers = 16;
  std::vector<unsigned> slots{1};
  ControllerProfile profile{};
  std::vector<ServiceEntry> services{entry_of("SRP.T10:0002c903000e8acd", 0x1122)};

  FakeUnit() {
    profile.guid.set(0x0002'C903'000E'8ACD);
    profile.io_class.set(wire::infiniband::kSrpClass);
    profile.protocol.set(wire::infiniband::kSrpProtocol);
    profile.message_bytes.set(8192);
    profile.transfer_bytes.set(65536);
    profile.send_queue_depth.set(4095);
    profile.read_depth = 4;
    std::ranges::copy(std::string_view("Linux SRP target"), profile.id_string.begin());
  }

  DeviceManagementPacket answer(const DeviceManagementPacket& question) const {
    DeviceManagementPacket packet = question;
    packet.header.method = wire::infiniband::method::kGetResponse;
    const std::uint32_t modifier = question.header.modifier.get();
    switch (question.header.attribute.get()) {
      case device_management::kUnitInfo: put_attribute(unit_info(), packet); break;
      case device_management::kControllerProfile: {
        ControllerProfile told = profile;
        told.service_entries = static_cast<std::uint8_t>(services.size());
        put_attribute(told, packet);
        break;
      }
      case device_management::kServiceEntries: {
        const unsigned first = modifier & 0xFF;
        const unsigned last = (modifier >> 8) & 0xFF;
        if (last >= services.size() || last - first > 3) {
          packet.header.status.set(wire::infiniband::kNoController);
          break;
        }
        ServiceEntries told;
        for (unsigned i = first; i <= last; ++i) told.entries[i - first] = services[i];
        put_attribute(told, packet);
        break;
      }
      default: packet.header.status.set(mad_status::kBadAttribute);
    }
    return packet;
  }

 private:
  UnitInfo unit_info() const {
    UnitInfo info;
    info.most_controllers = most_controllers;
    for (const unsigned slot : slots) {
      std::uint8_t& pair = info.slots[(slot - 1) / 2];
      pair = static_cast<std::uint8_t>(pair | (slot % 2 == 1 ? 0x10 : 0x01));
    }
    return info;
  }
};

class RecordingDiscovery final : public DiscoveryListener {
 public:
  void on_service(const SrpService& service) override {
    services.push_back(service);
    if (then) then();
  }
  void on_finished() override {
    ++finished;
    if (at_end) at_end();
  }
  std::vector<SrpService> services;
  unsigned finished = 0;
  std::function<void()> then;
  std::function<void()> at_end;
};

class DiscoveryRig : public testing::Test {
 protected:
  using Answers = std::function<DeviceManagementPacket(DeviceManagementPacket)>;

  void start(std::vector<wire::infiniband::Gid> gids) { ASSERT_TRUE(discovery_.start(gids, now_)); }
  void hear(const DeviceManagementPacket& packet, const wire::infiniband::Gid& from) {
    discovery_.receive(from, bytes_of(packet), now_);
  }
  // What units answer to all that is asked, and to what is asked then; `change` makes lies of it.
  void serve(const Answers& change = {}) {
    while (!port_.sent.empty()) {
      const std::vector<RecordingPort::Sent> questions = std::exchange(port_.sent, {});
      for (const RecordingPort::Sent& question : questions) {
        asked_.push_back(question);
        const auto unit = units_.find(question.to);
        if (unit == units_.end()) continue;
        const auto answer = unit->second.answer(question.as<DeviceManagementPacket>());
        hear(change ? change(answer) : answer, question.to);
      }
    }
  }
  void pass(Duration duration) {
    const Instant end = now_ + duration;
    while (discovery_.next_deadline() <= end) {
      now_ = std::max(now_, discovery_.next_deadline());
      discovery_.advance(now_);
      serve();
    }
    now_ = end;
  }
  std::size_t asked(std::uint16_t attribute) const {
    return static_cast<std::size_t>(
        std::ranges::count(asked_, attribute, &RecordingPort::Sent::attribute));
  }
  UnitState state(std::size_t unit = 0) const { return discovery_.results().at(unit).state; }
  const DiscoveryCounters& counters() const { return discovery_.counters(); }

  RecordingPort port_;
  RecordingDiscovery events_;
  DeviceDiscovery discovery_{port_, events_, 0x5EED};
  Instant now_{std::chrono::hours(1)};
  std::map<wire::infiniband::Gid, FakeUnit> units_;
  std::vector<RecordingPort::Sent> asked_;
};

}  // namespace paravane::connection::fake
