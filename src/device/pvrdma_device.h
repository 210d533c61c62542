// PvrdmaDevice: the PVRDMA device of one VM, which is a PCI function for the VMM
// (vfio_user::PciDevice) and a client of the RDMA engine (verbs::Adapter).
//
// Registers, the shared region, commands, rings, doorbells and interrupts are implemented in
// separate files of this folder. This class connects these parts, and reports to the worker thread
// whether there is work and when the device must be called next.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/counter.h"
#include "base/instant.h"
#include "base/result.h"
#include "base/turn_time.h"
#include "base/unique_fd.h"
#include "device/device_config.h"
#include "guestmem/guest_memory.h"
#include "state/reader.h"
#include "state/writer.h"
#include "verbs/adapter.h"
#include "verbs/fabric_port.h"
#include "vfio_user/interrupts.h"
#include "vfio_user/pci_device.h"

namespace paravane::device {

class KernelJournal;

struct DeviceCounters {
  CounterSet set;
  Counter commands{set, "commands", "commands processed"};
  Counter failed_commands{set, "failed_commands", "commands refused"};
  Counter quota_refusals{set, "quota_refusals", "objects refused because a limit was reached"};
  Counter trapped_doorbells{set, "trapped_doorbells", "doorbells received as messages"};
  Counter mapped_doorbells{set, "mapped_doorbells", "doorbell words taken from shared pages"};
  Counter foreign_doorbells{set, "foreign_doorbells", "doorbells for an unknown or foreign handle"};
  Counter arms{set, "arms_seen", "completion queue arms observed"};
  Counter events{set, "completion_events", "completion events of armed queues"};
  Counter late_events{set, "late_events", "completion events for arms that were not observed"};
  Counter longest_wait_us{set, "longest_event_wait_us",
                          "longest time a completion waited for a late event, in microseconds"};
  Counter async_events{set, "async_events", "asynchronous events raised"};
  Counter link_downs{set, "link_downs", "times the port's link went down"};
  Counter cq_overruns{set, "cq_overruns", "completion queues that overflowed"};
  Counter broken_rings{set, "broken_rings", "rings with an impossible index"};
  Counter most_touched{set, "most_touched_in_a_turn",
                       "maximum number of objects, pages and entries touched in a time slice"};
  Counter posted_dsr_writes{set, "posted_dsr_writes", "DSRHIGH writes posted by the VMM"};
};

// The number of objects on the device at the moment. All are zero after a reset.
struct DeviceObjects {
  std::uint32_t contexts = 0;
  std::uint32_t protection_domains = 0;
  std::uint32_t memory_regions = 0;
  std::uint32_t completion_queues = 0;
  std::uint32_t shared_receive_queues = 0;
  std::uint32_t queue_pairs = 0;
  std::uint32_t gids = 0;

  friend bool operator==(const DeviceObjects&, const DeviceObjects&) = default;
};

struct QueuePairView {
  std::uint32_t handle = 0;
  std::uint32_t number = 0;
  verbs::QpType type = verbs::QpType::kReliableConnected;
  verbs::QpState state = verbs::QpState::kReset;
  std::uint32_t dest_qpn = 0;
  std::string_view path;
  std::optional<verbs::Gid> peer_gid{};  // of a connection
  verbs::Gid own_gid{};                  // its other end
  verbs::GidType gid_type{};             // of both
  verbs::HostId peer_host{};             // on a path that leads to another host
  verbs::QueuePairStats stats;
};

// The configuration of a device that loads `saved`. Its doorbell pages are hardware that the VMM
// has mapped, so it keeps them when their limit has been lowered since (DeviceConfig::held).
DeviceConfig with_saved_doorbells(DeviceConfig config, state::Reader saved);

class PvrdmaDevice : public vfio_user::PciDevice {
 public:
  // All arguments must outlive the device. `doorbell_file`: the doorbell pages of a device whose
  // state is loaded afterwards; none: new ones. `journal`: tells another process how far the queues
  // of the guest's kernel are, if this one is killed; null: they are lost then. Errors:
  // kInvalidArgument (a limit that the guest ABI cannot express; the message names it; the file is
  // not one of doorbell pages), kIo (no memory for the doorbell pages).
  static Result<std::unique_ptr<PvrdmaDevice>> create(const DeviceConfig& config,
                                                      verbs::AdapterId id, GuestMemory& memory,
                                                      vfio_user::Interrupts& interrupts,
                                                      TurnTime time, verbs::FabricPort& fabric,
                                                      UniqueFd doorbell_file = {},
                                                      KernelJournal* journal = nullptr);

  // The function with which the device answers a delayed access (vfio_user::Server::answer()).
  using AnswerFunction = std::function<void(vfio_user::ReplyToken)>;
  virtual void set_answer(AnswerFunction answer) = 0;

  // Does the work of one turn. It polls the doorbell pages that are due, lets queue pairs work
  // within `budget`, and continues long commands and events that did not fit.
  virtual void poll(verbs::Budget& budget) = 0;

  // Whether poll() must be called again without sleeping.
  virtual bool has_work() const = 0;
  // Without work, the time at which poll() must be called even if nothing happens; kNever: no
  // process of the guest has the device open, and nothing is in progress. Timers are not included.
  virtual Instant next_look() const = 0;

  // The effort of the last turn, as the number of objects, pages and entries that were touched
  // (turn_effort.h).
  virtual std::uint32_t last_touched() const = 0;

  // Sets the link state of the port, which is up at first. The guest sees a new port state and
  // receives an event.
  virtual void set_link(bool up) = 0;

  // The largest path MTU that the port's network carries (enum ib_mtu), which the guest sees as
  // active_mtu from then on; nullopt: that of the configuration, since nothing of the adapter goes
  // over a network in packets.
  virtual void set_network_mtu(std::optional<std::uint32_t> path_mtu) = 0;

  // Sets the rules for the next VMM that attaches. A VMM that is attached keeps the old rules.
  virtual void set_rules(const DeviceRules& rules) = 0;

  // The VM is about to lose the device. The guest's programs receive the event DEVICE_FATAL, if the
  // guest's memory is still accessible.
  virtual void tell_gone() = 0;

  // The reason why the VM must lose the device, such as failed memory; empty: the device works.
  virtual std::string_view fatal_reason() const = 0;

  virtual verbs::Adapter& adapter() = 0;
  virtual const DeviceCounters& counters() const = 0;
  virtual DeviceObjects objects() const = 0;
  virtual std::vector<QueuePairView> queue_pairs() const = 0;
  // The queue pairs whose handles are in [first, first+count), for callers that must not read all
  // of them in one turn. queue_pair_span() is one above the highest handle that was ever used.
  virtual std::vector<QueuePairView> queue_pairs(std::uint32_t first,
                                                 std::uint32_t count) const = 0;
  virtual std::uint32_t queue_pair_span() const = 0;
  virtual bool active() const = 0;  // the guest driver has activated it

  // ---- Saved state (docs/state.md) ---- save() is called between two turns, and the device can go
  // on afterwards. The DMA map, the interrupt vectors and the doorbell pages are saved by the
  // caller, and are there before load().
  // REQUIRES of load(): the device is new. If the state is refused, it can only be destroyed.
  virtual void save(state::Writer& out) = 0;
  virtual void load(state::Reader& in) = 0;
  // What remains of the device if this process is killed: all but its objects and what they were
  // at. The device that loads it is lost to the guest's driver, until the driver resets it:
  // commands fail at once, but for those with which a kernel ends its queues, whose requests
  // complete in error if there is a journal (journal/lost_queues.h). REQUIRES: take_setup_changed()
  // is true, or nothing was kept yet.
  virtual void keep(state::Writer& out) = 0;
  virtual bool lost() const = 0;
  // Tells the guest, once, and before poll(): the command that it waits for has failed, and its
  // programs get the event DEVICE_FATAL. REQUIRES: lost().
  virtual void tell_lost() = 0;
  // The file of the doorbell pages; borrowed.
  virtual int doorbell_file() const = 0;
};

}  // namespace paravane::device
