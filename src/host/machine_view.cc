#include "host/machine_view.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/log.h"
#include "base/nearest_name.h"
#include "json/json_reader.h"

namespace paravane::host {

using model::ApiResult;
using model::Machine;

namespace {

// "vmnic10" is after "vmnic9".
auto by_number(const std::string& name) {
  return std::pair(name.size(), name);
}

template <typename Device>
std::vector<std::string> identities_of(const std::vector<Device>& devices) {
  std::vector<std::string> identities;
  identities.reserve(devices.size());
  for (const Device& device : devices) identities.push_back(device.identity);
  return identities;
}

template <typename Device>
void give_names(std::vector<Device>& devices, store::DeviceNumbers& numbers) {
  const auto names = numbers.name(identities_of(devices));
  for (std::size_t i = 0; i < devices.size(); ++i) devices[i].name = names[i];
  std::ranges::sort(devices, {}, [](const Device& device) { return by_number(device.name); });
}

// Without the numbers of IPoIB uplinks.
store::DeviceRange nic_range() {
  store::DeviceRange range;
  for (unsigned i = 0; i < model::kMaxIpoibUplinks; ++i) {
    range.barred.insert(model::kFirstIpoibUplink + i);
  }
  return range;
}

}  // namespace

MachineView::MachineView(privsep::MachineLooker* looker, store::Store& store,
                         std::function<Instant()> now)
    : looker_(looker),
      store_(store),
      now_(std::move(now)),
      nics_(model::kNicPrefix, {}, nic_range()),
      rdma_devices_(model::kRdmaPrefix, {}) {}

model::ApiResult<void> MachineView::load() {
  auto nics = read_numbers(kNicNumberKind, model::kNicPrefix, nic_range());
  if (!nics) return std::unexpected(nics.error());
  auto rdma_devices = read_numbers(kRdmaNumberKind, model::kRdmaPrefix, {});
  if (!rdma_devices) return std::unexpected(rdma_devices.error());
  nics_ = std::move(*nics);
  rdma_devices_ = std::move(*rdma_devices);
  return {};
}

model::ApiResult<store::DeviceNumbers> MachineView::read_numbers(const char* kind,
                                                                 std::string_view prefix,
                                                                 store::DeviceRange range) {
  const auto documents = store_.documents(kind);
  if (!documents) return std::unexpected(documents.error());
  std::map<std::string, std::string> known;
  for (const auto& [name, value] : *documents) {
    JsonReader reader(value, name);
    known[name] = reader.need_text("identity");
    if (const Status good = reader.finish_ignoring_unknown(); !good) {
      log::warn("{}: its number is lost: {}", name, good.error().message);
      known.erase(name);
    }
  }
  return store::DeviceNumbers(prefix, known, std::move(range));
}

model::ApiResult<model::Machine> MachineView::look() {
  if (seen_ && now_() - seen_at_ < kFresh) return *seen_;
  if (looker_ == nullptr) {
    return model::refuse(model::ApiErrorCode::kInternal,
                         "the devices of this host are not monitored");
  }
  if (failed_ && now_() - failed_at_ < kAfterFailure) return std::unexpected(*failed_);
  auto machine = looker_->look();
  failed_.reset();
  if (!machine) {
    failed_at_ = now_();
    failed_ = model::ApiError{
        .code = model::ApiErrorCode::kInternal,
        .message = "cannot read the devices of this host: " + machine.error().message,
        .remedy = "Try again later; the daemon's log may have details."};
    return std::unexpected(*failed_);
  }
  number(*machine);
  seen_ = std::move(*machine);
  seen_at_ = now_();
  return *seen_;
}

void MachineView::number(model::Machine& machine) {
  give_names(machine.nics, nics_);
  give_names(machine.rdma_devices, rdma_devices_);
  for (model::RdmaDevice& device : machine.rdma_devices) {
    const auto nic =
        std::ranges::find(machine.nics, device.paired_link, &model::PhysicalNic::linux_name);
    if (nic != machine.nics.end()) device.paired_uplink = nic->name;
  }
  keep(kNicNumberKind, nics_.take_changes());
  keep(kRdmaNumberKind, rdma_devices_.take_changes());
}

// A disk that is full is no reason to show nothing.
void MachineView::keep(const char* kind, const std::map<std::string, std::string>& names) {
  for (const auto& [name, identity] : names) {
    log::info("{} is {}", name, identity);
    const auto kept = store_.put_document(kind, name, {{"identity", identity}});
    if (!kept) log::warn("{}: cannot save its number: {}", name, kept.error().message);
  }
}

model::ApiResult<model::NicDcb> MachineView::dcb(const std::string& name) {
  const auto machine = look();
  if (!machine) return std::unexpected(machine.error());
  const model::PhysicalNic* nic = model::nic_named(*machine, name);
  if (nic == nullptr) {
    std::vector<std::string> names;
    for (const auto& one : machine->nics) names.push_back(one.name);
    return model::refuse(
        model::ApiErrorCode::kNotFound, fmt::format("this host has no NIC {}", name),
        do_you_mean(name, names) + "List the NICs with: paravane network nic list");
  }
  const std::string shown = model::shown_nic(*nic);
  if (!nic->dcb) {
    return model::refuse(model::ApiErrorCode::kNotFound,
                         fmt::format("{}: its driver{} does not support Data Center Bridging",
                                     shown, nic->driver.empty() ? "" : " " + nic->driver),
                         "Pause frames for the whole link may be supported; see: paravane network "
                         "nic pauseParams list");
  }
  auto dcb = looker_->read_dcb(nic->linux_name);
  if (!dcb) {
    return model::refuse(model::ApiErrorCode::kInternal,
                         fmt::format("{}: {}", shown, dcb.error().message),
                         "Check that the NIC is still present with: paravane network nic list");
  }
  dcb->name = nic->name;
  return std::move(*dcb);
}

model::ApiResult<model::RdmaStats> MachineView::stats(const std::string& name) {
  const auto machine = look();
  if (!machine) return std::unexpected(machine.error());
  const auto& devices = machine->rdma_devices;
  const auto device = std::ranges::find(devices, name, &model::RdmaDevice::name);
  if (device == devices.end()) {
    std::vector<std::string> names;
    names.reserve(devices.size());
    for (const auto& one : devices) names.push_back(one.name);
    return model::refuse(
        model::ApiErrorCode::kNotFound, fmt::format("RDMA device {} does not exist", name),
        do_you_mean(name, names) + "List the devices with: paravane rdma device list");
  }
  auto stats = looker_->read_stats(device->linux_name, device->port);
  if (!stats) {
    return model::refuse(model::ApiErrorCode::kInternal,
                         fmt::format("{}: {}", name, stats.error().message),
                         "Check that the device is still present with: paravane rdma device list");
  }
  stats->name = name;
  return std::move(*stats);
}

}  // namespace paravane::host
