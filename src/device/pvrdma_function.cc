#include "device/pvrdma_function.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "abi/uar.h"
#include "base/log.h"
#include "base/memory_shortage.h"
#include "base/wire_int.h"
#include "device/activation.h"
#include "device/journal/kernel_journal.h"
#include "device/limits.h"
#include "device/pci_identity.h"
#include "verbs/connection.h"

namespace paravane::device {
namespace {

constexpr Duration kHeldRetry = std::chrono::milliseconds(1);

verbs::AdapterLimits adapter_limits(const DeviceLimits& limits) {
  return {.queue_pairs = limits.queue_pairs,
          .memory_regions = limits.memory_regions,
          .protection_domains = limits.protection_domains,
          .gids = limits.gids};
}

abi::AsyncEventType event_type(verbs::QpEvent event) {
  switch (event) {
    case verbs::QpEvent::kFatal: return abi::kEventQpFatal;
    case verbs::QpEvent::kRequestError: return abi::kEventQpRequestError;
    case verbs::QpEvent::kAccessError: return abi::kEventQpAccessError;
    case verbs::QpEvent::kCommunicationEstablished: return abi::kEventCommEstablished;
    case verbs::QpEvent::kSendQueueDrained: return abi::kEventSendQueueDrained;
    case verbs::QpEvent::kLastReceiveReached: return abi::kEventLastWqeReached;
  }
  std::unreachable();
}

QueuePairView view_of(const QueuePair& qp) {
  const verbs::QueuePair& engine = qp.engine();
  const verbs::Connection& connection = engine.connection();
  const bool connected = engine.type() == verbs::QpType::kReliableConnected && connection.is_set();
  const verbs::Path* path = connection.last_path();
  return {.handle = qp.handle(),
          .number = engine.number(),
          .type = engine.type(),
          .state = engine.state(),
          .dest_qpn = engine.dest_qpn(),
          .path = engine.path_name(),
          .peer_gid = connected ? std::optional(connection.dgid()) : std::nullopt,
          .own_gid = connection.sgid(),
          .gid_type = connection.gid_type(),
          .peer_host = path != nullptr ? path->host : verbs::HostId{},
          .stats = engine.stats()};
}

std::uint32_t word_at(std::span<const std::byte> bytes) {
  Le32 word;
  std::memcpy(&word, bytes.data(), sizeof(word));
  return word.get();
}

}  // namespace

Result<std::unique_ptr<PvrdmaDevice>> PvrdmaDevice::create(const DeviceConfig& config,
                                                           verbs::AdapterId id, GuestMemory& memory,
                                                           vfio_user::Interrupts& interrupts,
                                                           TurnTime time, verbs::FabricPort& fabric,
                                                           UniqueFd doorbell_file,
                                                           KernelJournal* journal) {
  if (Status fits = check_config(config); !fits) return std::unexpected(fits.error());
  const std::uint32_t count = doorbell_bar_pages(config);
  auto pages = doorbell_file ? DoorbellPages::adopt(std::move(doorbell_file), count)
                             : DoorbellPages::create(count);
  if (!pages) return std::unexpected(pages.error());
  const PvrdmaFunction::Surroundings around{id,         memory, interrupts, time.timers,
                                            time.clock, fabric, journal};
  return std::make_unique<PvrdmaFunction>(config, around, std::move(*pages));
}

PvrdmaFunction::PvrdmaFunction(const DeviceConfig& config, const Surroundings& around,
                               std::unique_ptr<DoorbellPages> pages)
    : config_(config),
      clock_(around.clock),
      effort_(config_.burial_effort),
      memory_(around.memory),
      journal_(around.journal),
      pages_(std::move(pages)),
      spec_(make_device_spec(config_, *pages_)),
      rules_(config_.rules),
      next_rules_(config_.rules),
      region_error_(Error{Errc::kBadState, "no shared region yet"}),
      lines_(around.interrupts),
      registers_(config_.version, config_.mac, lines_, *this),
      notifier_(lines_, around.timers, clock_, counters_),
      adapter_(around.id, adapter_limits(config_.held_limits()), around.memory, around.timers,
               around.fabric, *this),
      objects_(config_, adapter_, *this, effort_, around.journal),
      watch_(config_, *pages_, doorbells_, clock_, counters_),
      late_events_(config_, watch_, notifier_, clock_, counters_),
      completion_events_(notifier_, late_events_, clock_, counters_),
      doorbells_(objects_, completion_events_, watch_, counters_),
      map_changes_(memory_, objects_),
      commands_({.config = config_,
                 .rules = rules_,
                 .memory = memory_,
                 .adapter = adapter_,
                 .objects = objects_,
                 .journal = around.journal,
                 .effort = effort_,
                 .completion_sink = completion_events_,
                 .shared_receive_events = *this,
                 .counters = counters_,
                 .region = region_,
                 .link_up = link_up_,
                 .active_mtu = active_mtu_,
                 .now = {},
                 .later = nullptr},
                lines_, clock_) {}

PvrdmaFunction::~PvrdmaFunction() {
  end_life();
  while (is_closing()) {
    effort_.end_turn();
    bury();
  }
}

// ---- BARs ----

void PvrdmaFunction::read_bar(unsigned bar, std::uint64_t offset, std::span<std::byte> out) {
  thread_.check();
  std::ranges::fill(out, std::byte{0});
  if (bar != abi::kRegisterBar || out.size() != sizeof(Le32) || offset % sizeof(Le32) != 0) return;
  const Le32 value(registers_.read(offset));
  std::memcpy(out.data(), &value, sizeof(value));
}

vfio_user::Answer PvrdmaFunction::write_bar(unsigned bar, std::uint64_t offset,
                                            std::span<const std::byte> in, bool posted,
                                            vfio_user::ReplyToken token) {
  thread_.check();
  if (bar == abi::kRegisterBar) return write_registers(offset, in, posted, token);
  if (bar == abi::kDoorbellBar) write_doorbells(offset, in, posted);
  return vfio_user::Answer::kNow;
}

vfio_user::Answer PvrdmaFunction::write_registers(std::uint64_t offset,
                                                  std::span<const std::byte> in, bool posted,
                                                  vfio_user::ReplyToken token) {
  if (in.size() != sizeof(Le32) || offset % sizeof(Le32) != 0) return vfio_user::Answer::kNow;
  if (posted && offset == abi::kRegDsrHigh) warn_posted();
  if (offset != abi::kRegRequest) setup_changed_ = true;
  registers_.write(offset, word_at(in));
  if (journal_ != nullptr) [[unlikely]]
    journal_->set_error(registers_.error());
  if (posted || offset != abi::kRegRequest || !commands_.busy()) return vfio_user::Answer::kNow;
  held_reply_.hold(token, clock_.now);
  return vfio_user::Answer::kLater;
}

void PvrdmaFunction::write_doorbells(std::uint64_t offset, std::span<const std::byte> in,
                                     bool posted) {
  if (flushes()) lost_queues_->look();
  // No processor stores more at once, so no VMM says more in one message.
  if (!running() || offset % sizeof(Le32) != 0 || in.size() > sizeof(Le64)) return;
  for (; in.size() >= sizeof(Le32); in = in.subspan(sizeof(Le32)), offset += sizeof(Le32)) {
    const std::uint64_t page = offset / abi::kUarPageBytes;
    if (page >= config_.limits.contexts) return;
    doorbells_.on_message(static_cast<std::uint32_t>(page),
                          static_cast<std::uint32_t>(offset % abi::kUarPageBytes), word_at(in),
                          posted);
  }
}

void PvrdmaFunction::warn_posted() {
  counters_.posted_dsr_writes.add();
  if (!log_limit_.allow(clock_.now)) return;
  log::warn(
      "{}: the VMM posted the write to DSRHIGH, so the guest's driver may read the capabilities "
      "too early and fail to probe; add x-no-posted-writes=on to its vfio-user-pci device",
      config_.name);
}

// ---- Life ----

std::uint32_t PvrdmaFunction::load_region(GuestAddr at) {
  reset();
  Result<SharedRegion> region = fail(Errc::kResourceExhausted, "no memory");
  runs_in_memory([&] { region = load_shared_region(memory_, at, make_caps(config_, rules_)); });
  if (region) {
    region_ = *region;
    region_error_.reset();
    return kErrorAtReset;
  }
  region_error_ = region.error();
  if (log_limit_.allow(clock_.now)) log::warn("{}: {}", config_.name, region.error().message);
  return kErrorBadAddress;
}

std::uint32_t PvrdmaFunction::control(std::uint32_t value) {
  switch (value) {
    case abi::kControlActivate: return activate();
    case abi::kControlUnquiesce:
      if (!active_) return kErrorNoDevice;
      notifier_.open_gate();
      return kErrorNone;
    case abi::kControlReset: reset(); return kErrorAtReset;
    default: return kErrorInvalid;
  }
}

std::uint32_t PvrdmaFunction::activate() {
  if (active_) return kErrorNone;
  if (is_closing()) return kErrorNoDevice;
  Result<DeviceRings> rings = fail(Errc::kResourceExhausted, "no memory");
  const bool had_memory = runs_in_memory([&] {
    rings = region_error_ ? Result<DeviceRings>(std::unexpected(*region_error_))
                          : map_device_rings(memory_, region_);
    if (rings) objects_.start(region_.effective_version(config_.version));
  });
  if (!had_memory) rings = fail(Errc::kResourceExhausted, "no memory");
  if (!rings) {
    if (log_limit_.allow(clock_.now)) {
      log::warn("{}: cannot activate the device for the guest's driver: {}", config_.name,
                rings.error().message);
    }
    return kErrorInvalid;
  }
  notifier_.start(std::move(rings->completion), std::move(rings->async));
  active_ = true;
  if (life_limit_.allow(clock_.now)) {
    log::info("{}: the guest's driver has activated the device (level {})", config_.name,
              region_.driver_version);
  }
  return kErrorNone;
}

std::uint32_t PvrdmaFunction::request() {
  if (!running() || objects_.closing()) return request_without_device();
  const std::uint32_t error = commands_.submit();
  if (effort_.room_for_request()) objects_.bury();
  return error;
}

std::uint32_t PvrdmaFunction::request_without_device() {
  return flushes() ? lost_queues_->submit() : std::uint32_t{kErrorNoDevice};
}

void PvrdmaFunction::reset() {
  end_life();
  if (effort_.room_for_request()) bury();
  if (!is_closing()) adapter_.set_closed(false);
}

// At once, however much there is: the guest's objects can no longer access its memory, and
// peers can no longer reach them. It is destroyed in this turn and those after it.
void PvrdmaFunction::end_life() {
  if (lost_queues_) lost_queues_->close();
  if (journal_ != nullptr) journal_->clear();
  commands_.reset();
  held_reply_.release();
  memory_.end_lists();
  adapter_.set_closed(true);
  objects_.close();
  watch_.clear();
  effort_.spend(notifier_.pages_kept());
  notifier_.stop();
  registers_.reset();
  region_ = {};
  region_error_ =
      Error{Errc::kBadState, "no shared region yet"};  // short, so that it needs no memory
  lost_ = false;
  is_told_ = true;
  if (std::exchange(active_, false) && life_limit_.allow(clock_.now)) {
    log::info("{}: reset", config_.name);
  }
}

bool PvrdmaFunction::is_closing() const {
  return objects_.closing() || (lost_queues_ && lost_queues_->is_closed());
}

// A lost device has no other objects than its lost queues.
void PvrdmaFunction::bury() {
  objects_.bury();
  if (lost_queues_ && lost_queues_->is_closed() && lost_queues_->bury()) lost_queues_.reset();
}

void PvrdmaFunction::on_bus_master(bool enabled) {
  thread_.check();
  // The only sign of a driver that is gone without a RESET (a failed probe, kexec):
  // its memory may be anybody's when DMA is allowed again.
  if (!enabled && (active_ || lost_)) reset();
}

vfio_user::Answer PvrdmaFunction::on_reset(vfio_user::ResetCause cause, vfio_user::ReplyToken) {
  thread_.check();
  reset();
  if (cause == vfio_user::ResetCause::kDisconnect) fatal_reason_.clear();
  return vfio_user::Answer::kNow;
}

vfio_user::Answer PvrdmaFunction::on_dma_unmap(GuestAddr, std::uint64_t, vfio_user::ReplyToken) {
  // Nothing holds on to guest memory between two turns (guestmem/extent.h).
  thread_.check();
  return vfio_user::Answer::kNow;
}

// ---- Turns ----

void PvrdmaFunction::poll(verbs::Budget& budget) {
  thread_.check();
  check_memory();
  if (running()) work(budget);
  if (flushes()) {
    if (may_tell_again()) tell_lost();
    lost_queues_->poll(clock_.now, budget);
    effort_.spend(notifier_.flush());
    check_memory();
  }
  if (is_closing()) {
    bury();
    if (!is_closing()) adapter_.set_closed(false);
  }
  if (running()) {
    commands_.poll();
    check_memory();
  }
  held_reply_.poll(running() && commands_.busy(), clock_.now);
  last_touched_ = effort_.end_turn();
  counters_.most_touched.raise_to(last_touched_);
}

void PvrdmaFunction::work(verbs::Budget& budget) {
  std::uint64_t touched = map_changes_.poll();
  // What was just busy is first: the doorbell that announces its next request, and
  // all that comes with looking at pages, can wait until the request is done.
  watch_.look_at_hot();
  touched += run_adapter(budget);
  touched += watch_.poll();
  touched += run_adapter(budget);
  if (completion_events_.holding()) touched += completion_events_.retry_held();
  touched += late_events_.poll();
  touched += notifier_.flush();
  effort_.spend(touched);
}

std::uint64_t PvrdmaFunction::run_adapter(verbs::Budget& budget) {
  if (!adapter_.has_work()) return 0;
  const std::uint64_t touched = adapter_.regions().touched();
  const std::int32_t operations = budget.operations;
  adapter_.run(clock_.now, budget);
  return adapter_.regions().touched() - touched +
         static_cast<std::uint64_t>(operations - budget.operations);
}

void PvrdmaFunction::check_memory() {
  if (!fatal_reason_.empty() || !memory_.failed()) return;
  tell_gone();
  fatal_reason_ = kMemoryFailed;
}

void PvrdmaFunction::set_link(bool up) {
  thread_.check();
  if (std::exchange(link_up_, up) == up) return;
  if (!up) counters_.link_downs.add();
  notifier_.async(up ? abi::kEventPortActive : abi::kEventPortError, kPort);
}

void PvrdmaFunction::set_network_mtu(std::optional<std::uint32_t> path_mtu) {
  thread_.check();
  active_mtu_ = path_mtu ? std::min(*path_mtu, config_.active_mtu) : config_.active_mtu;
}

void PvrdmaFunction::tell_gone() {
  thread_.check();
  notifier_.async(abi::kEventDeviceFatal, kPort);
}

bool PvrdmaFunction::has_work() const {
  if (is_closing()) return true;
  if (flushes()) return lost_queues_->has_work() || notifier_.has_work() || may_tell_again();
  return running() && (adapter_.has_work() || commands_.busy() || watch_.sweeping() ||
                       map_changes_.has_work() || notifier_.has_work());
}

Instant PvrdmaFunction::next_look() const {
  if (flushes()) return lost_queues_->next_look();
  if (!running()) return kNever;
  Instant next = std::min(watch_.next_due(), late_events_.next_due());
  if (completion_events_.holding()) next = std::min(next, clock_.now + kHeldRetry);
  return next;
}

std::vector<QueuePairView> PvrdmaFunction::queue_pairs(std::uint32_t first,
                                                       std::uint32_t count) const {
  std::vector<QueuePairView> views;
  const std::uint32_t span = queue_pair_span();
  const std::uint32_t end = first < span ? first + std::min(count, span - first) : first;
  for (std::uint32_t handle = first; handle < end; ++handle) {
    if (const QueuePair* qp = objects_.qps().find(handle)) views.push_back(view_of(*qp));
  }
  return views;
}

// ---- What the parts tell ----

void PvrdmaFunction::on_context_made(UserContext& context) {
  notifier_.open_gate();
  watch_.add(context);
}

void PvrdmaFunction::on_context_gone(UserContext& context) {
  watch_.remove(context);
}

void PvrdmaFunction::on_queue_pair_gone(QueuePair& qp) {
  watch_.forget(qp, objects_.find_context(qp.context()));
  completion_events_.forget_qp(qp.handle());
  notifier_.forget(Notice::About::kQueuePair, qp.handle());
}

void PvrdmaFunction::on_completion_queue_gone(CompletionQueue& cq) {
  completion_events_.forget(cq);
  late_events_.forget(cq);
  notifier_.forget(Notice::About::kCompletionQueue, cq.handle());
}

void PvrdmaFunction::on_shared_receive_queue_gone(SharedReceiveQueue& srq) {
  watch_.forget_shared(*objects_.find_context(srq.context()));
  notifier_.forget(Notice::About::kSharedReceiveQueue, srq.handle());
}

void PvrdmaFunction::on_limit_reached(std::uint32_t handle) {
  notifier_.async(abi::kEventSrqLimitReached, handle);
}

void PvrdmaFunction::on_shared_receive_error(std::uint32_t handle) {
  notifier_.async(abi::kEventSrqError, handle);
}

void PvrdmaFunction::on_qp_event(std::uint32_t tag, verbs::QpEvent event) {
  notifier_.async(event_type(event), tag);
}

}  // namespace paravane::device
