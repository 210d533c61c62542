#include "storage/device_table.h"

#include <algorithm>
#include <utility>

#include "base/undo.h"
#include "model/storage.h"

namespace paravane::storage {

DeviceTable::DeviceTable(Surroundings surroundings) : surroundings_(std::move(surroundings)) {}

DeviceTable::~DeviceTable() = default;

void DeviceTable::wake(const std::string& name) {
  woken_.insert(name);
  surroundings_.wake();
}

void DeviceTable::on_memory() {
  memory_freed_ = true;
  surroundings_.wake();
}

ServedDevice* DeviceTable::device_of(const UnitFacts& facts) {
  if (const auto found = devices_.find(facts.name); found != devices_.end()) {
    return found->second.get();
  }
  if (devices_.size() >= model::kMaxDevices) return nullptr;
  const std::string name = facts.name;
  auto made = std::make_unique<ServedDevice>(
      facts, Device::Surroundings{.number = ++last_number_,
                                  .memory = surroundings_.memory,
                                  .timers = surroundings_.timers,
                                  .wake = [this, name] { wake(name); },
                                  .memory_freed = [this] { on_memory(); },
                                  .look_again = surroundings_.look_again,
                                  .tell =
                                      [this, name](const Device::News& news) {
                                        surroundings_.tell({.device = name, .news = news});
                                      }});
  if (Status served = made->serve(surroundings_.sockets, surroundings_.loop, surroundings_.clock);
      !served) {
    log_.error(surroundings_.clock.now, "device {}: {}", name, served.error().message);
  }
  return devices_.emplace(name, std::move(made)).first->second.get();
}

void DeviceTable::set_units(const Found& found, const std::vector<UnitFacts>& units) {
  std::erase_if(refused_, [&](const Refused& refused) {
    return refused.vmhba_number == found.vmhba && refused.target == found.target;
  });
  std::map<std::uint32_t, std::string> there;  // by LUN: the device
  for (const UnitFacts& facts : units) {
    UnitFacts judged = facts;
    if (judged.problem.empty()) {
      if (const Status good = model::check_device_name(judged.name); !good) {
        judged.problem = good.error().message;
      }
    }
    ServedDevice* served = judged.problem.empty() ? device_of(judged) : nullptr;
    if (judged.problem.empty() && served == nullptr) judged.problem = "there are too many devices";
    if (served == nullptr) {
      refused_.push_back({.vmhba = found.vmhba_name,
                          .target = found.target,
                          .vmhba_number = found.vmhba,
                          .facts = std::move(judged)});
      continue;
    }
    there.emplace(facts.number, facts.name);
    served->device().add_path(
        {.name = model::lun_path_name(found.vmhba_name, found.target, facts.number),
         .place = {.vmhba = found.vmhba, .target = found.target, .lun = facts.number},
         .lun = facts.lun,
         .tasks = found.tasks,
         .problem = {}},
        judged);
  }
  // A unit that is gone, or is another device now.
  for (auto& [name, served] : devices_) {
    for (const UnitPath& path : std::vector(served->device().paths().all())) {
      if (path.place.vmhba != found.vmhba || path.place.target != found.target) continue;
      const auto same = there.find(path.place.lun);
      if (same != there.end() && same->second == name) continue;
      served->device().lose_path(path.place, "the target has no such logical unit any more");
      // What no program uses is forgotten, or a target could fill the table with names that it
      // changes at each scan.
      if (!served->device().is_busy()) served->device().remove_path(path.place);
    }
  }
  drop_unused();
}

void DeviceTable::lose_target(std::uint32_t vmhba, std::uint32_t target, const std::string& why) {
  for (auto& [name, served] : devices_) {
    for (const UnitPath& path : std::vector(served->device().paths().all())) {
      if (path.place.vmhba == vmhba && path.place.target == target) {
        served->device().lose_path(path.place, why);
      }
    }
  }
}

void DeviceTable::remove_target(std::uint32_t vmhba, std::uint32_t target) {
  lose_target(vmhba, target, "the target has been removed");
  std::erase_if(refused_, [&](const Refused& refused) {
    return refused.vmhba_number == vmhba && refused.target == target;
  });
  for (auto& [name, served] : devices_) {
    for (const UnitPath& path : std::vector(served->device().paths().all())) {
      if (path.place.vmhba == vmhba && path.place.target == target) {
        served->device().remove_path(path.place);
      }
    }
  }
  drop_unused();
}

void DeviceTable::drop_unused() {
  std::erase_if(devices_, [this](const auto& entry) {
    const Device& device = entry.second->device();
    if (!device.paths().all().empty() || device.is_busy()) return false;
    std::erase(with_clients_, entry.second.get());
    woken_.erase(entry.first);
    return true;
  });
}

bool DeviceTable::has_work() const {
  return !woken_.empty() || memory_freed_ ||
         std::ranges::any_of(with_clients_, [](const ServedDevice* served) {
           return served->server()->has_work();
         });
}

Instant DeviceTable::next_look() {
  Instant next = kNever;
  for (ServedDevice* served : with_clients_) next = std::min(next, served->server()->next_look());
  return next;
}

void DeviceTable::look_at_clients() {
  with_clients_.clear();
  for (auto& [name, served] : devices_) {
    if (served->server() != nullptr && served->server()->connections() > 0) {
      with_clients_.push_back(served.get());
    }
  }
}

void DeviceTable::pump(Instant now) {
  if (memory_freed_) {
    for (auto& [name, served] : devices_) served->device().on_memory();
    memory_freed_ = false;
  }
  // Where memory runs out at one device, it and the others are still to be pumped.
  std::set<std::string> woken;
  woken.swap(woken_);
  const Undo keep([&] { woken_.merge(woken); });
  while (!woken.empty()) {
    const auto first = woken.begin();
    if (const auto found = devices_.find(*first); found != devices_.end()) {
      found->second->device().pump(now);
    }
    woken.erase(first);
  }
}

void DeviceTable::serve(Instant now, nbd::TurnBudget& budget) {
  if (with_clients_.empty()) return;
  // Each begins with another one.
  std::ranges::rotate(with_clients_, with_clients_.begin() + 1);
  for (ServedDevice* served : with_clients_) {
    if (budget.is_spent()) return;
    served->server()->turn(now, budget);
  }
}

}  // namespace paravane::storage
