// Storage is the SRP storage of a host at work: its vmhbas, and the devices that these reach, as
// one tenant of the worker.
//
// Nothing is there before the first vmhba: no memory, no descriptor, no wake-up.
//
// Worker thread only, including construction and destruction. It goes before the PortTable.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/event_loop.h"
#include "base/limited_log.h"
#include "base/result.h"
#include "base/timers.h"
#include "host_verbs/service_memory.h"
#include "model/event.h"
#include "model/storage.h"
#include "storage/device_table.h"
#include "storage/vmhba.h"
#include "worker/port_table.h"
#include "worker/tenant.h"
#include "worker/worker.h"

namespace paravane::storage {

struct StorageConfig {
  SocketPlace sockets{};
  // Must not block.
  std::function<void(model::Event)> tell{};
};

// What there is, without what the control thread knows of it.
struct StorageReport {
  struct OfVmhba {
    std::string name{};
    std::string initiator{};
    std::map<std::string, std::uint64_t> counters{};
    std::string problem{};
  };
  std::vector<OfVmhba> vmhbas{};
  std::vector<model::SrpTargetStatus> targets{};
  std::vector<model::ScsiDevice> devices{};
  std::vector<model::LunPath> refused{};  // logical units that are no devices
};

class Storage final : public worker::Tenant {
 public:
  // Both outlive it.
  Storage(worker::Worker& worker, worker::PortTable& ports, StorageConfig config);
  ~Storage() override;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  // Has these vmhbas from now on, and no others. What could not be made is told by report().
  void apply(const std::vector<VmhbaOrder>& orders);
  // Of one vmhba, or of all. False: there is no such vmhba.
  bool rescan(const std::optional<std::string>& vmhba);
  bool is_scanning(const std::optional<std::string>& vmhba) const;
  // `of_devices`: also of devices and refused units, which may be a thousand.
  StorageReport report(bool of_devices = true) const;

  // ---- Tenant ----
  bool has_work() const override;
  Instant next_look() override;
  bool turn(Instant now, verbs::Budget& budget) override;

 private:
  // Made with the first vmhba, and gone with the last.
  struct Parts {
    std::unique_ptr<host_verbs::ServiceMemory> memory;
    std::unique_ptr<EventLoop> loop;
    TimerQueue timers;
    std::unique_ptr<DeviceTable> devices;
    std::map<std::uint32_t, std::unique_ptr<Vmhba>> vmhbas;  // by number
  };
  Status make_parts();
  void end_parts();
  void make_vmhba(const VmhbaOrder& order);
  // Tries those again that could not be made.
  void make_missing(Instant now);
  void end_vmhba(std::uint32_t number);
  void turn_parts(Instant now, verbs::Budget& budget);
  void tell_news(const DeviceTable::DeviceNews& news);
  void report_devices(StorageReport& report) const;
  static void name_ends(const Vmhba& vmhba, model::LunPath& path);
  model::LunPath describe(const Device& device, const UnitPath& path) const;

  worker::Worker& worker_;
  worker::PortTable& ports_;
  const StorageConfig config_;
  std::unique_ptr<Parts> parts_;
  std::map<std::string, std::string> not_made_;  // vmhbas: why
  std::vector<VmhbaOrder> to_make_;              // of them
  Instant make_again_ = kNever;
  bool is_woken_ = false;
  bool is_readable_ = false;
  LimitedLog log_;
};

}  // namespace paravane::storage
