#include "worker/vm_port.h"

#include <algorithm>
#include <utility>

#include "base/memory_shortage.h"
#include "base/undo.h"

namespace paravane::worker {
namespace {

// The Linux driver asks for command response, asynchronous events and completions.
constexpr std::uint16_t kVectors = 3;

constexpr std::size_t kTimersPerTurn = 256;

}  // namespace

Result<std::unique_ptr<VmPort>> VmPort::create(const VmPortConfig& config, verbs::AdapterId id,
                                               const PortNetwork& network) {
  std::unique_ptr<VmPort> port(new VmPort(config, id, network));
  if (Status built = port->build(nullptr); !built) return std::unexpected(built.error());
  return port;
}

Result<std::unique_ptr<VmPort>> VmPort::adopt(const VmPortConfig& config, verbs::AdapterId id,
                                              const PortNetwork& network, PortParcel parcel) {
  std::unique_ptr<VmPort> port(new VmPort(config, id, network));
  if (Status built = port->build(&parcel); !built) return std::unexpected(built.error());
  return port;
}

VmPort::VmPort(const VmPortConfig& config, verbs::AdapterId id, const PortNetwork& network)
    : config_(config),
      id_(id),
      network_(network),
      watch_(config.adapter, network.speech),
      memory_(config.memory),
      interrupts_(kVectors) {
  interrupts_.signal_through(&network_.event_signal);
  memory_.end_mappings_through(&network_.mappings);
}

Status VmPort::build(PortParcel* inherited) {
  auto loop = EventLoop::create();
  if (!loop) return std::unexpected(loop.error());
  loop_ = std::move(*loop);
  if (network_.keeper != nullptr && inherited == nullptr) {
    if (Status made = make_exchange(); !made) return made;
    if (Status made = make_journal(); !made) return made;
  }
  fabric_ = network_.directory.join(id_, name(), config_.device.mac, config_.segment);
  Status built = inherited != nullptr ? load(*inherited) : join({});
  if (built && inherited == nullptr) built = listen();
  if (!built) return built;
  if (inherited == nullptr) keep();
  device_->set_answer([this](vfio_user::ReplyToken token) {
    if (server_) server_->answer(token);
  });
  return {};
}

Status VmPort::join(UniqueFd doorbell_file) {
  const TurnTime time{timers_, network_.clock};
  auto device =
      device::PvrdmaDevice::create(config_.device, id_, memory_, interrupts_, time, *fabric_,
                                   std::move(doorbell_file), journal_ ? &*journal_ : nullptr);
  if (!device) return std::unexpected(device.error());
  device_ = std::move(*device);
  set_connected(config_.connected);
  network_.local.attach(device_->adapter());
  Undo detach([this] { network_.local.detach(device_->adapter()); });
  network_.tcp.attach(device_->adapter());
  network_.hca.attach(device_->adapter());
  detach.keep();
  on_transport_ = true;
  return {};
}

Status VmPort::make_exchange() {
  auto made = vfio_user::Exchange::make();
  if (!made) return std::unexpected(made.error());
  exchange_.emplace(std::move(*made));
  return {};
}

Status VmPort::make_journal() {
  auto made = device::KernelJournal::make(config_.device.held_limits());
  if (!made) return std::unexpected(made.error());
  journal_.emplace(std::move(*made));
  journal_->number_by([this] { return exchange_->serial(); });
  return {};
}

vfio_user::ServerConfig VmPort::server_config() {
  vfio_user::ServerConfig config{.name = name(), .socket_path = config_.socket};
  config.leaves_client_out = cut_off_;
  if (exchange_) config.keeping = {.exchange = &*exchange_, .keeper = this};
  return config;
}

Status VmPort::listen() {
  auto server = vfio_user::Server::listen(server_config(), *loop_, {timers_, network_.clock},
                                          *device_, memory_, interrupts_);
  if (!server) return std::unexpected(server.error());
  server_ = std::move(*server);
  return apply_access(config_.socket, config_.access);
}

VmPort::~VmPort() {
  leave();
  if (!device_) return;  // refused before there was one
  set_door(nullptr);
  if (!on_transport_) return;
  network_.tcp.detach(device_->adapter());
  network_.hca.detach(device_->adapter());
  network_.local.detach(device_->adapter());
}

void VmPort::leave() {
  if (!server_) return;
  // The guest can still be told.
  if (server_->attached()) device_->tell_gone();
  // The VMM leaves first: that resets the device while all of it is still there.
  server_.reset();
  if (exchange_) network_.keeper->drop(config_.adapter);
  readable_ = false;
  runs_in_memory([this] { watch_.look({.linked = config_.connected}, {}, network_.clock.now); });
}

void VmPort::set_connected(bool connected) {
  config_.connected = connected;
  look_due_ = true;
  network_.directory.set_link(id_, connected);
  device_->set_link(connected);
}

void VmPort::set_segment(verbs::SegmentId segment) {
  config_.segment = segment;
  network_.directory.set_segment(id_, segment);
}

std::unique_ptr<transport_roce::TapDoor> VmPort::set_door(
    std::unique_ptr<transport_roce::TapDoor> door) {
  if (door_) {
    network_.directory.set_native(id_, nullptr);
    network_.roce.detach(device_->adapter());
  }
  std::swap(door_, door);
  if (door_) {
    network_.roce.attach(device_->adapter(), config_.device.mac, *door_);
    network_.directory.set_native(id_, &network_.roce);
  }
  set_network_mtu(door_ ? std::optional(transport_roce::path_mtu_of(door_->mtu())) : std::nullopt);
  return door;
}

void VmPort::set_network_mtu(std::optional<std::uint32_t> path_mtu) {
  network_mtu_ = path_mtu;
  device_->set_network_mtu(path_mtu);
}

transport_roce::ProbeReport VmPort::probe_of(std::uint32_t qp) const {
  const verbs::QueuePair* found = device_->adapter().find_qp(qp);
  return found != nullptr ? network_.roce.probe_of(*found) : transport_roce::ProbeReport{};
}

bool VmPort::has_work() const {
  return readable_ || look_due_ || device_->has_work();
}

Instant VmPort::next_look() {
  return std::min({device_->next_look(), timers_.next_deadline(), watch_.next_look()});
}

void VmPort::begin() {
  if (std::exchange(tell_cut_off_, false)) tell_cut_off();
  if (!std::exchange(journal_waits_, false)) return;
  journal_->begin_writing();
  journal_->go_on(device::KernelJournal::kNoRequest);
}

void VmPort::tell_cut_off() {
  constexpr std::string_view kWhy =
      "three engines have ended in its turns, so it is not served any more until the VM is shut "
      "down and started again";
  complaints_.error(network_.clock.now, "{}: its VMM is disconnected: {}", name(), kWhy);
  watch_.failed(kWhy, network_.clock.now);
}

// The next engine reads whose turn it was when this one was killed.
bool VmPort::turn(Instant now, verbs::Budget& budget) {
  bool worked = true;
  if (exchange_) exchange_->mark_turn(true);
  const bool had_memory = runs_in_memory([&] { worked = take_turn(now, budget); });
  if (exchange_) exchange_->mark_turn(false);
  if (had_memory) return worked;
  // What it was at is done by half: its life ends, as if the VMM had gone.
  complaints_.error(
      now, "{}: out of memory for a request of its guest; the adapter is lost to its VM", name());
  runs_in_memory([this] {
    if (server_) server_->disconnect("out of memory");
  });
  return true;
}

bool VmPort::take_turn(Instant now, verbs::Budget& budget) {
  const verbs::Budget before = budget;
  bool worked = false;
  if (std::exchange(tell_lost_, false)) device_->tell_lost();
  if (readable_) {
    readable_ = false;  // the worker's loop says so again while there is more
    const Result<int> ran = loop_->poll(Duration::zero());
    if (!ran) complaints_.error(now, "{}: {}", name(), ran.error().message);
    worked = ran && *ran > 0;
  }
  worked = timers_.run_due(now, kTimersPerTurn) > 0 || worked;
  device_->poll(budget);
  if (server_) {
    end_if_fatal();
    if (!runs_in_memory([&] { look(now); })) look_due_ = true;  // it only tells
  }
  return worked || budget.operations != before.operations || budget.bytes != before.bytes ||
         device_->has_work();
}

void VmPort::end_if_fatal() {
  if (!server_->attached()) return;
  if (const std::string_view reason = device_->fatal_reason(); !reason.empty()) {
    watch_.failed(reason, network_.clock.now);
    server_->disconnect(std::string(reason));
  }
}

void VmPort::look(Instant now) {
  look_due_ = false;
  const bool attached = server_->attached();
  verbs::Adapter& adapter = device_->adapter();
  watch_.look({.attached = attached,
               .pid = attached ? server_->peer_pid() : 0,
               .active = device_->active(),
               .lost = device_->lost(),
               .dead = server_->configuration_lost(),
               .linked = config_.connected,
               .errors = adapter.counters().completion_errors.value(),
               .refusals = device_->counters().quota_refusals.value(),
               .probe_changes = network_.roce.probe_changes(id_)},
              adapter.path_use(), now);
}

}  // namespace paravane::worker
