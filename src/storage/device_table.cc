#include "storage/device_table.h"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "model/storage.h"

namespace paravane::storage {

DeviceTable::DeviceTable(Surroundings surroundings) : surroundings_(std::move(surroundings)) {}

DeviceTable::~DeviceTable() {
  // Clients that go wake devices.
  devices_.clear();
}

void DeviceTable::wake(ServedDevice& served) {
  if (!std::exchange(served.is_woken, true)) woken_.push_back(&served);
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
  // A target may give its logical units other names again and again.
  if (devices_.size() >= model::kMaxDevices) drop_dead();
  if (devices_.size() >= model::kMaxDevices) return nullptr;
  const std::string name = facts.name;
  woken_.reserve(devices_.size() + 1);
  // It is there when the device wakes for the first time.
  const auto self = std::make_shared<ServedDevice*>();
  auto made = std::make_unique<ServedDevice>(
      facts, Device::Surroundings{.number = ++last_number_,
                                  .memory = surroundings_.memory,
                                  .timers = surroundings_.timers,
                                  .wake = [this, self] { wake(**self); },
                                  .memory_freed = [this] { on_memory(); },
                                  .look_again = surroundings_.look_again,
                                  .tell =
                                      [this, name](const Device::News& news) {
                                        surroundings_.tell({.device = name, .news = news});
                                      }});
  *self = made.get();
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
    const UnitPath::Place place{.vmhba = found.vmhba, .target = found.target, .lun = facts.number};
    if (served != nullptr && served->device().paths().find(place) == nullptr &&
        served->device().paths().all().size() >= kMostPaths) {
      judged.problem = "there are too many paths to the device";
      served = nullptr;
    }
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
         .place = place,
         .lun = facts.lun,
         .tasks = found.tasks,
         .problem = {}},
        judged);
  }
  // A unit that is gone, or is another device now.
  for (auto& [name, served] : devices_) {
    for (const UnitPath& path : served->device().paths().all()) {
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
    for (const UnitPath& path : served->device().paths().all()) {
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
    const std::vector<UnitPath>& paths = served->device().paths().all();
    for (std::size_t at = 0; at < paths.size();) {
      const UnitPath::Place place = paths[at].place;
      if (place.vmhba == vmhba && place.target == target) {
        served->device().remove_path(place);
      } else {
        ++at;
      }
    }
  }
  drop_unused();
}

void DeviceTable::drop_unused() {
  drop_if([](const Device& device) { return device.paths().all().empty(); });
}

void DeviceTable::drop_dead() {
  drop_if([](const Device& device) { return device.paths().best() == nullptr; });
}

void DeviceTable::drop_if(bool (*is_unused)(const Device&)) {
  std::erase_if(devices_, [&](const auto& entry) {
    const Device& device = entry.second->device();
    if (device.is_busy() || !is_unused(device)) return false;
    std::erase(with_clients_, entry.second.get());
    std::erase(woken_, entry.second.get());
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
  // Those that wake meanwhile have their turn later. One that lacks memory stays.
  for (std::size_t left = woken_.size(); left > 0 && !woken_.empty(); --left) {
    ServedDevice& served = *woken_.front();
    served.is_woken = false;
    std::ranges::rotate(woken_, woken_.begin() + 1);
    woken_.pop_back();
    try {
      served.device().pump(now);
    } catch (const std::bad_alloc&) {
      wake(served);
      throw;
    }
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
