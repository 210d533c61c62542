#include "daemon/trunk_fabric.h"

#include <sys/resource.h>

#include <optional>
#include <utility>

#include "transport/hca/trunk_port.h"
#include "transport/hca/trunk_stream.h"

namespace paravane::daemon {

using transport_hca::MadeTrunk;
using transport_hca::NoTrunk;
using transport_hca::TrunkAdapter;
using transport_hca::TrunkMaker;
using verbs::HostId;
using wire::TrunkState;

namespace {

// The reason why the configuration forbids adapters; nullopt: it allows them.
std::optional<NoTrunk> policy_of(const settings::ChannelConfig& config) {
  switch (config.hca) {
    case settings::HcaUse::kOff: return NoTrunk{.state = TrunkState::kOff, .why = "off by policy"};
    case settings::HcaUse::kClear: return std::nullopt;
    case settings::HcaUse::kAuto: break;
  }
  if (!config.encrypted) return std::nullopt;
  return NoTrunk{.state = TrunkState::kEncrypted, .why = "encryption is on"};
}

// The limit applies, because the engine does not have CAP_IPC_LOCK.
std::optional<std::uint64_t> lock_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return std::nullopt;
  return limit.rlim_cur == RLIM_INFINITY ? std::nullopt : std::optional(limit.rlim_cur);
}

}  // namespace

bool may_use_hca(const settings::Config& config) {
  return !config.cluster.address.empty() && !policy_of(config.channel);
}

Result<std::unique_ptr<TrunkFabric>> TrunkFabric::start(const settings::ChannelConfig& config,
                                                        transport_hca::OpenTrunkDevice open,
                                                        worker::Worker& worker,
                                                        worker::PortTable& ports) {
  std::unique_ptr<TrunkFabric> fabric(new TrunkFabric(config, worker, ports));
  auto maker = TrunkMaker::start(std::move(open), fabric->events(), config.seals_payload);
  if (!maker) return std::unexpected(maker.error());
  fabric->maker_ = std::move(*maker);
  if (const auto none = policy_of(config)) fabric->maker_->set_adapter(std::nullopt, *none);
  worker.post([ports = &ports, listener = fabric.get()] { ports->set_trunk_listener(listener); });
  return fabric;
}

// Waits until the worker has handled all messages of the maker and has ended the trunks, however
// long that takes.
TrunkFabric::~TrunkFabric() {
  if (maker_) maker_->stop();
  while (!worker_.ask([this] { return ports_.set_trunk_listener(nullptr), true; })) {
  }
}

TrunkMaker::Events TrunkFabric::events() {
  return {
      .offer =
          [this](HostId host, const wire::TrunkOffer& offer) {
            worker_.post([ports = &ports_, host, offer] { ports->send_trunk_offer(host, offer); });
          },
      .ready =
          [this](HostId host, const wire::TrunkReady& ready) {
            worker_.post([ports = &ports_, host, ready] { ports->send_trunk_ready(host, ready); });
          },
      .made = [this](HostId host, MadeTrunk made,
                     const TrunkAdapter& adapter) { give(host, std::move(made), adapter); },
      .run_at_owner = [this](std::function<void()> act) { worker_.post(std::move(act)); },
      .none =
          [this](HostId host, const NoTrunk& none) {
            worker_.post([ports = &ports_, host, none] {
              ports->set_no_trunk(host, {.why = none.why, .at_peer = none.at_peer});
            });
          }};
}

void TrunkFabric::give(HostId host, MadeTrunk made, const TrunkAdapter& adapter) {
  auto stream = std::make_unique<transport_hca::TrunkStream>(
      std::move(made.port),
      [maker = maker_.get()](std::shared_ptr<transport_hca::TrunkPort> port,
                             std::shared_ptr<transport_hca::RegisteredMemory> memory) {
        maker->retire(std::move(port), std::move(memory));
      },
      std::move(made.memory),
      [maker = maker_.get()](std::shared_ptr<transport_hca::TrunkPort> port,
                             const transport_hca::LaneNumbers& numbers,
                             std::function<void(bool)> done) {
        maker->connect_lane(std::move(port), numbers, std::move(done));
      });
  auto trunk = std::make_shared<worker::Trunk>(worker::Trunk{.host = host,
                                                             .number = made.number,
                                                             .device = adapter.device,
                                                             .port = adapter.port,
                                                             .own = made.own,
                                                             .peer = made.peer,
                                                             .stream = std::move(stream)});
  worker_.post([this, trunk] {
    const HostId to = trunk->host;
    const std::uint64_t number = trunk->number;
    if (const Status opened = ports_.open_trunk(std::move(*trunk)); !opened) {
      maker_->on_lost(to, number, opened.error().message);
    }
  });
}

void TrunkFabric::set_hca(const host::HcaChoice& choice) {
  if (policy_of(config_)) return;
  device_ = choice.device;
  if (choice.device.empty()) {
    return maker_->set_adapter(std::nullopt, {.state = TrunkState::kNoAdapter, .why = choice.why});
  }
  maker_->set_adapter(TrunkAdapter{.device = choice.device,
                                   .port = static_cast<std::uint8_t>(choice.port),
                                   .address = choice.address,
                                   .traffic_class = static_cast<std::uint8_t>(config_.dscp << 2)},
                      {});
}

model::HcaMemory TrunkFabric::memory() const {
  return {.device = device_,
          .bytes_per_host = transport_hca::kTrunkBytes,
          .locks_vms = !config_.seals_payload,
          .most = lock_limit()};
}

void TrunkFabric::on_channel(HostId host, bool leads) {
  maker_->on_channel(host, leads);
}

void TrunkFabric::on_channel_lost(HostId host) {
  maker_->on_channel_lost(host);
}

void TrunkFabric::on_trunk_offer(HostId host, const wire::TrunkOffer& offer) {
  maker_->on_offer(host, offer);
}

void TrunkFabric::on_trunk_ready(HostId host, const wire::TrunkReady& ready) {
  maker_->on_ready(host, ready);
}

void TrunkFabric::on_trunk_lost(HostId host, std::uint64_t number, const std::string& reason) {
  maker_->on_lost(host, number, reason);
}

}  // namespace paravane::daemon
