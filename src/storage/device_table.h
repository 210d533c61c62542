// DeviceTable holds the devices that scans have found, each with its paths and with the socket at
// which it is served.
//
// A device stays when its last path is dead, so its user can wait for a path to come back. It goes
// when its last path is removed and no client has it, or when all its paths are dead, no client has
// it, and there is no place for another device. A path is removed with its target, and when a scan
// of the target finds the logical unit no more while no client has the device.
//
// Worker thread only.

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/event_loop.h"
#include "base/limited_log.h"
#include "base/timers.h"
#include "base/turn_clock.h"
#include "host_verbs/service_memory.h"
#include "storage/device.h"
#include "storage/served_device.h"
#include "storage/unit_facts.h"
#include "storage/unit_path.h"

namespace paravane::storage {

class DeviceTable {
 public:
  static constexpr std::size_t kMostPaths = 64;  // of a device

  struct DeviceNews {
    std::string device{};
    Device::News news{};
  };
  // All outlive it.
  struct Surroundings {
    host_verbs::ServiceMemory& memory;
    TimerQueue& timers;
    EventLoop& loop;
    const TurnClock& clock;
    SocketPlace sockets{};
    std::function<void()> wake;
    std::function<void(const UnitPath::Place&)> look_again;
    std::function<void(const DeviceNews&)> tell;
  };
  explicit DeviceTable(Surroundings surroundings);
  ~DeviceTable();
  DeviceTable(const DeviceTable&) = delete;
  DeviceTable& operator=(const DeviceTable&) = delete;

  // All logical units that a target has now.
  struct Found {
    std::uint32_t vmhba = 0;
    std::uint32_t target = 0;
    std::string vmhba_name{};
    TaskPath* tasks = nullptr;
  };
  void set_units(const Found& found, const std::vector<UnitFacts>& units);
  // Its paths are dead.
  void lose_target(std::uint32_t vmhba, std::uint32_t target, const std::string& why);
  // Its paths are forgotten.
  void remove_target(std::uint32_t vmhba, std::uint32_t target);

  // Serves and moves on what there is to do.
  bool has_work() const;
  Instant next_look();
  void pump(Instant now);
  // Reads and answers clients.
  void serve(Instant now, nbd::TurnBudget& budget);
  // The loop has run: clients may have come.
  void look_at_clients();

  // By name.
  const std::map<std::string, std::unique_ptr<ServedDevice>>& devices() const { return devices_; }
  // Logical units that are no devices, with the reason.
  struct Refused {
    std::string vmhba{};
    std::uint32_t target = 0;
    std::uint32_t vmhba_number = 0;
    UnitFacts facts{};
  };
  const std::vector<Refused>& refused() const { return refused_; }

 private:
  ServedDevice* device_of(const UnitFacts& facts);
  void wake(ServedDevice& served);
  void on_memory();
  void drop_unused();
  void drop_dead();
  void drop_if(bool (*is_unused)(const Device&));

  const Surroundings surroundings_;
  std::map<std::string, std::unique_ptr<ServedDevice>> devices_;
  std::vector<Refused> refused_;
  // With room for all devices: whatever wakes one must not lack memory.
  std::vector<ServedDevice*> woken_;
  std::vector<ServedDevice*> with_clients_;
  bool memory_freed_ = false;
  std::uint64_t last_number_ = 0;  // of a device
  LimitedLog log_;
};

}  // namespace paravane::storage
