#include "storage/storage.h"

#include <fmt/core.h>
#include <sys/epoll.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/memory_shortage.h"
#include "worker/port_report.h"

namespace paravane::storage {
namespace {

// 56 MiB for payload, and messages for all targets that can be logged in to at once.
constexpr host_verbs::ServiceMemory::Size kMemory{.payloads = 56, .messages = 10240};
constexpr std::size_t kMostTimers = 256;  // of a turn
constexpr Duration kMakeAgain = std::chrono::seconds(10);
constexpr nbd::TurnBudget kClients{.bytes = std::int64_t{2} << 20, .operations = 256};

}  // namespace

Storage::Storage(worker::Worker& worker, worker::PortTable& ports, StorageConfig config)
    : worker_(worker), ports_(ports), config_(std::move(config)) {
  worker_.schedule().add(*this);
}

Storage::~Storage() {
  worker_.schedule().remove(*this);
  end_parts();
}

Status Storage::make_parts() {
  if (parts_) return {};
  auto parts = std::make_unique<Parts>();
  auto memory = host_verbs::ServiceMemory::make(kMemory);
  if (!memory) return std::unexpected(memory.error());
  parts->memory = std::move(*memory);
  auto loop = EventLoop::create();
  if (!loop) return std::unexpected(loop.error());
  parts->loop = std::move(*loop);
  parts->devices = std::make_unique<DeviceTable>(DeviceTable::Surroundings{
      .memory = *parts->memory,
      .timers = parts->timers,
      .loop = *parts->loop,
      .clock = worker_.schedule().turn_clock(),
      .sockets = config_.sockets,
      .wake = [this] { is_woken_ = true; },
      .look_again =
          [this](const UnitPath::Place& place) {
            const auto found = parts_->vmhbas.find(place.vmhba);
            if (found != parts_->vmhbas.end()) {
              found->second->look_again(place.target);
            }
          },
      .tell = [this](const DeviceTable::DeviceNews& news) { tell_news(news); }});
  Status watched = worker_.loop().watch(parts->loop->fd(), EPOLLIN,
                                        [this](std::uint32_t) { is_readable_ = true; });
  if (watched) parts_ = std::move(parts);
  return watched;
}

void Storage::end_parts() {
  if (!parts_) return;
  while (!parts_->vmhbas.empty()) end_vmhba(parts_->vmhbas.begin()->first);
  parts_->devices.reset();
  worker_.loop().unwatch(parts_->loop->fd());
  parts_.reset();
}

// ---- Vmhbas ----

void Storage::apply(const std::vector<VmhbaOrder>& orders) {
  not_made_.clear();
  to_make_.clear();
  make_again_ = kNever;
  std::set<std::uint32_t> wanted;
  for (const VmhbaOrder& order : orders) wanted.insert(order.number);
  if (parts_) {
    std::vector<std::uint32_t> gone;
    for (const auto& [number, vmhba] : parts_->vmhbas) {
      if (!wanted.contains(number)) gone.push_back(number);
    }
    for (const std::uint32_t number : gone) end_vmhba(number);
  }
  for (const VmhbaOrder& order : orders) {
    if (parts_) {
      const auto found = parts_->vmhbas.find(order.number);
      if (found != parts_->vmhbas.end()) {
        if (found->second->can_change_to(order)) {
          if (found->second->order() != order) {
            found->second->change(order, worker_.schedule().time());
          }
          continue;
        }
        end_vmhba(order.number);
      }
    }
    make_vmhba(order);
  }
  if (orders.empty()) end_parts();
  is_woken_ = parts_ != nullptr;
}

void Storage::make_vmhba(const VmhbaOrder& order) {
  Status made = make_parts();
  if (made) {
    auto vmhba = Vmhba::make(
        order, ports_, *parts_->memory, parts_->timers,
        {.units_found =
             [this](Vmhba& of, Target& target, const std::vector<UnitFacts>& units) {
               parts_->devices->set_units({.vmhba = of.order().number,
                                           .target = target.facts().number,
                                           .vmhba_name = of.order().name,
                                           .tasks = target.login()},
                                          units);
             },
         .units_lost =
             [this](Vmhba& of, Target& target, const std::string& why) {
               parts_->devices->lose_target(of.order().number, target.facts().number, why);
             },
         .target_gone =
             [this](Vmhba& of, std::uint32_t target) {
               parts_->devices->pump(worker_.schedule().time());
               parts_->devices->remove_target(of.order().number, target);
             },
         .wake = [this] { is_woken_ = true; }},
        worker_.schedule().time());
    made = vmhba ? Status() : std::unexpected(vmhba.error());
    if (made) parts_->vmhbas.emplace(order.number, std::move(*vmhba));
  }
  std::erase_if(to_make_, [&](const VmhbaOrder& one) { return one.number == order.number; });
  if (made) {
    not_made_.erase(order.name);
    return;
  }
  log_.error(worker_.schedule().time(), "{}: {}", order.name, made.error().message);
  not_made_.insert_or_assign(order.name, made.error().message);
  to_make_.push_back(order);
  make_again_ = worker_.schedule().time() + kMakeAgain;
}

// What was lacking may be there now.
void Storage::make_missing(Instant now) {
  if (now < make_again_) return;
  make_again_ = kNever;
  const std::vector<VmhbaOrder> trying = to_make_;
  for (const VmhbaOrder& order : trying) make_vmhba(order);
}

// The vmhba goes last: where memory runs out before, no path is left whose login is gone.
void Storage::end_vmhba(std::uint32_t number) {
  const auto ending = parts_->vmhbas.find(number);
  if (ending == parts_->vmhbas.end()) return;
  Vmhba& vmhba = *ending->second;
  for (const auto& [target, known] : vmhba.targets()) {
    // The login gives its tasks back before its paths go.
    if (known->login() != nullptr) {
      known->login()->end("the vmhba is removed", worker_.schedule().time());
    }
  }
  // Results of tasks that were given back are taken before the paths are forgotten.
  parts_->devices->pump(worker_.schedule().time());
  for (const auto& [target, known] : vmhba.targets()) {
    parts_->devices->remove_target(number, target);
  }
  parts_->vmhbas.erase(ending);
}

bool Storage::rescan(const std::optional<std::string>& vmhba) {
  bool found = !vmhba;
  if (!parts_) return found;
  for (auto& [number, one] : parts_->vmhbas) {
    if (vmhba && one->order().name != *vmhba) continue;
    found = true;
    one->rescan(worker_.schedule().time());
  }
  return found;
}

bool Storage::is_scanning(const std::optional<std::string>& vmhba) const {
  return parts_ && std::ranges::any_of(parts_->vmhbas, [&](const auto& entry) {
           return (!vmhba || entry.second->order().name == *vmhba) && entry.second->is_scanning();
         });
}

// ---- Tenant ----

bool Storage::has_work() const {
  return parts_ && (is_woken_ || is_readable_ || parts_->devices->has_work() ||
                    std::ranges::any_of(parts_->vmhbas, [](const auto& entry) {
                      return entry.second->has_work();
                    }));
}

Instant Storage::next_look() {
  if (!parts_) return make_again_;
  Instant next =
      std::min({make_again_, parts_->timers.next_deadline(), parts_->devices->next_look()});
  for (auto& [number, vmhba] : parts_->vmhbas) next = std::min(next, vmhba->next_look());
  return next;
}

bool Storage::turn(Instant now, verbs::Budget& budget) {
  if (now >= make_again_ && !runs_in_memory([&] { make_missing(now); }))
    make_again_ = now + kMakeAgain;
  if (!parts_) return false;
  if (!runs_in_memory([&] { turn_parts(now, budget); })) {
    log_.error(now, "storage: out of memory for a part of its work");
    is_woken_ = true;
  }
  return true;
}

void Storage::turn_parts(Instant now, verbs::Budget& budget) {
  is_woken_ = false;
  if (std::exchange(is_readable_, false)) {
    const Result<int> ran = parts_->loop->poll(Duration::zero());
    if (!ran) log_.error(now, "storage: {}", ran.error().message);
    parts_->devices->look_at_clients();
  }
  parts_->timers.run_due(now, kMostTimers);
  for (auto& [number, vmhba] : parts_->vmhbas) vmhba->pump(now, budget);
  parts_->devices->pump(now);
  nbd::TurnBudget clients = kClients;
  parts_->devices->serve(now, clients);
  budget.bytes -= kClients.bytes - clients.bytes;
  budget.operations -= kClients.operations - clients.operations;
  // What clients have asked for goes out in this turn.
  parts_->devices->pump(now);
  for (auto& [number, vmhba] : parts_->vmhbas) {
    if (vmhba->has_work()) vmhba->pump(now, budget);
  }
}

// ---- What is told ----

void Storage::tell_news(const DeviceTable::DeviceNews& news) {
  using What = Device::News::What;
  if (!config_.tell) return;
  model::Event event;
  event.fields.emplace("device", news.device);
  if (!news.news.path.empty()) event.fields.emplace("path", news.news.path);
  switch (news.news.what) {
    case What::kPathDead:
      event.type = "storage.path.dead";
      event.severity = model::Severity::kWarning;
      event.fields.emplace("reason", news.news.why);
      event.text =
          fmt::format("path {} to {} is dead: {}", news.news.path, news.device, news.news.why);
      break;
    case What::kPathBack:
      event.type = "storage.path.active";
      event.text = fmt::format("path {} to {} works", news.news.path, news.device);
      break;
    case What::kFailover:
      event.type = "storage.device.failover";
      event.text = fmt::format("{} goes by path {} now", news.device, news.news.path);
      break;
    case What::kNoPath:
      event.type = "storage.device.unreachable";
      event.severity = model::Severity::kError;
      event.text = fmt::format("no path to {} works", news.device);
      break;
    case What::kFailing:
      event.type = "storage.device.failing";
      event.severity = model::Severity::kError;
      event.fields.emplace("reason", news.news.why);
      event.text = fmt::format("requests to {} fail: {}", news.device, news.news.why);
      break;
  }
  config_.tell(std::move(event));
}

// REQUIRES: the path's target is set.
void Storage::name_ends(const Vmhba& vmhba, model::LunPath& path) {
  path.adapter_identifier = model::srp_adapter_identifier(vmhba.order().port_guid);
  const auto target = vmhba.targets().find(path.target);
  if (target == vmhba.targets().end()) return;
  const TargetAddress& address = target->second->facts().address;
  path.target_identifier = model::srp_target_identifier(address.id_ext, address.ioc_guid);
}

model::LunPath Storage::describe(const Device& device, const UnitPath& path) const {
  model::LunPath told{.name = path.name,
                      .target = path.place.target,
                      .lun = path.place.lun,
                      .device = device.facts().name,
                      .problem = path.problem};
  const auto vmhba = parts_->vmhbas.find(path.place.vmhba);
  if (vmhba != parts_->vmhbas.end()) {
    told.vmhba = vmhba->second->order().name;
    name_ends(*vmhba->second, told);
  }
  const UnitPath* best = device.paths().best();
  if (path.tasks == nullptr || !path.tasks->is_up()) {
    told.state = model::PathState::kDead;
  } else {
    told.state = best != nullptr && best->place == path.place ? model::PathState::kActive
                                                              : model::PathState::kStandby;
  }
  told.is_preferred = device.paths().preferred() == path.place;
  return told;
}

void Storage::report_devices(StorageReport& report) const {
  for (const auto& [name, served] : parts_->devices->devices()) {
    const Device& device = served->device();
    const UnitFacts& facts = device.facts();
    model::ScsiDevice told{.name = name,
                           .display_name = fmt::format("{} SRP Disk ({})", facts.vendor, name),
                           .vendor = facts.vendor,
                           .model = facts.product,
                           .revision = facts.revision,
                           .bytes = facts.blocks * facts.block_bytes,
                           .block_bytes = facts.block_bytes,
                           .is_read_only = facts.is_read_only,
                           .is_thin = facts.most_unmap_blocks > 0};
    for (const UnitPath& path : device.paths().all()) {
      told.paths.push_back(describe(device, path));
      if (told.paths.back().state == model::PathState::kActive) told.working_path = path.name;
    }
    if (served->problem().empty()) told.socket = served->socket().string();
    told.is_open = device.is_open();
    for (const Counter* counter : device.counters().set.all()) {
      told.counters.emplace(counter->name(), counter->value());
    }
    told.counters.emplace("unit_resets", device.resets());
    told.problem = served->problem().empty() ? device.problem() : served->problem();
    report.devices.push_back(std::move(told));
  }
  for (const DeviceTable::Refused& refused : parts_->devices->refused()) {
    model::LunPath told{
        .name = model::lun_path_name(refused.vmhba, refused.target, refused.facts.number),
        .vmhba = refused.vmhba,
        .target = refused.target,
        .lun = refused.facts.number,
        .state = model::PathState::kDead,
        .problem = refused.facts.problem};
    for (const auto& [number, vmhba] : parts_->vmhbas) {
      if (vmhba->order().name == refused.vmhba) name_ends(*vmhba, told);
    }
    report.refused.push_back(std::move(told));
  }
}

StorageReport Storage::report(bool of_devices) const {
  StorageReport report;
  for (const auto& [name, why] : not_made_) report.vmhbas.push_back({.name = name, .problem = why});
  if (!parts_) return report;
  for (const auto& [number, vmhba] : parts_->vmhbas) {
    const VmhbaOrder& order = vmhba->order();
    report.vmhbas.push_back({.name = order.name,
                             .initiator = vmhba->initiator_text(),
                             .counters = vmhba->counters(),
                             .problem = vmhba->problem(worker_.schedule().time())});
    for (const auto& [target_number, target] : vmhba->targets()) {
      const TargetAddress& address = target->facts().address;
      model::SrpTargetStatus told;
      told.number = target_number;
      told.is_named = target->facts().is_named;
      told.description = target->facts().description;
      told.state = target->state();
      told.luns = target->units();
      told.problem = target->problem();
      told.target.vmhba = order.name;
      told.target.address = worker::format_gid(address.gid);
      if (address.is_by_rdma) {
        told.target.port = static_cast<std::uint16_t>(address.service & 0xFFFF);
      } else {
        told.target.service = address.service;
      }
      told.target.id_ext = address.id_ext;
      told.target.ioc_guid = address.ioc_guid;
      report.targets.push_back(std::move(told));
    }
  }
  if (of_devices) report_devices(report);
  return report;
}

}  // namespace paravane::storage
