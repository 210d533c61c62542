// PortEngine: what the adapters of one engine share, and its turns. PortVm: an adapter with a fake
// guest.
//
// One thread.

#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fuzz_bytes.h"
#include "promise.h"
#include "testing/fake_guest_end.h"
#include "testing/fake_guest_machine.h"
#include "worker/vm_port.h"

namespace paravane::fake {

// Has what was kept last.
class LastKept final : public worker::PortKeeper {
 public:
  void keep(const model::AdapterName&, std::span<const std::byte> state,
            std::span<const int> descriptors) override;
  void drop(const model::AdapterName&) override {}
  worker::PortParcel& last() { return last_; }

 private:
  worker::PortParcel last_;
};

class PortEngine {
 public:
  worker::PortNetwork network();
  fabric::Directory& directory() { return gids_; }
  LastKept& kept() { return kept_; }
  void pass(Duration time) { clock_.now += time; }
  // A turn of each, and of the transports. Null: left out.
  void turn(std::initializer_list<worker::VmPort*> ports);

 private:
  class NoOthers final : public transport_channel::LocalOwners {
   public:
    std::optional<verbs::AdapterId> find_local(verbs::SegmentId, const verbs::Gid&,
                                               verbs::GidType) const override {
      return std::nullopt;
    }
  };
  class EndedAtOnce final : public MappingSink {
   public:
    void take(EndedMapping) override {}
  };

  TurnClock clock_{Instant(std::chrono::hours(1))};
  std::unique_ptr<EventLoop> loop_ = *EventLoop::create();
  EventSignal event_signal_;
  transport_local::LocalTransport local_;
  transport_roce::RoceTransport roce_{clock_, 0};
  fabric::Directory gids_{local_};
  NoOthers owners_;
  transport_channel::ChannelTransport tcp_{{.incarnation = 1}, *loop_, owners_, {}};
  transport_channel::ChannelTransport hca_{{.incarnation = 1, .name = "hca"}, *loop_, owners_, {}};
  EndedAtOnce mappings_;
  LastKept kept_;
  worker::PortWatch::Speech speech_{
      .tell = [](const model::Event&) {},
      .name = [](const verbs::PathUse::Way&) { return worker::PortWatch::WayName{}; }};
};

// Of the VM with this number, with a socket in that directory.
worker::VmPortConfig port_config(std::uint8_t number, const std::filesystem::path& directory);

class PortVm {
 public:
  PortVm(PortEngine& engine, worker::VmPortConfig config, std::uint8_t number);

  worker::VmPort& port() { return *port_; }
  const worker::VmPortConfig& config() const { return config_; }
  verbs::AdapterId id() const { return verbs::AdapterId{number_}; }
  void plug() { machine_->plug(port_->device()); }
  void boot();
  FakeGuest& guest() { return *guest_; }
  GuestMachine& machine() { return *machine_; }

 private:
  PortEngine& engine_;
  worker::VmPortConfig config_;
  std::uint8_t number_;
  std::unique_ptr<worker::VmPort> port_;
  std::optional<GuestMachine> machine_;
  std::optional<FakeGuest> guest_;
};

}  // namespace paravane::fake
