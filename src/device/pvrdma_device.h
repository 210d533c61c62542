// PvrdmaDevice: the PVRDMA PCI function of one VM.
//
// It is a vfio_user::PciDevice for the VMM and a client of verbs::Adapter in the engine.
// Registers, the shared region, commands, rings, doorbells and interrupts each have a file of
// their own in this folder; this class joins them and tells the worker what work there is, and
// when.
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
#include "base/timers.h"
#include "base/turn_clock.h"
#include "device/device_config.h"
#include "guestmem/guest_memory.h"
#include "verbs/adapter.h"
#include "verbs/fabric_port.h"
#include "vfio_user/interrupts.h"
#include "vfio_user/pci_device.h"

namespace paravane::device {

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
                       "maximum number of objects, pages and entries touched in a turn"};
  Counter posted_dsr_writes{set, "posted_dsr_writes", "DSRHIGH writes posted by the VMM"};
};

// What the device holds at the moment; all zero after a reset.
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
  verbs::HostId peer_host{};             // on a path that leads to another host
  verbs::QueuePairStats stats;
};

class PvrdmaDevice : public vfio_user::PciDevice {
 public:
  // Errors: kInvalidArgument (a limit that the guest ABI cannot express, with
  // the name of the limit), kIo (no memory for the doorbell pages).
  // Everything handed in must outlive the device.
  static Result<std::unique_ptr<PvrdmaDevice>> create(const DeviceConfig& config,
                                                      verbs::AdapterId id, GuestMemory& memory,
                                                      vfio_user::Interrupts& interrupts,
                                                      TimerQueue& timers, const TurnClock& clock,
                                                      verbs::FabricPort& fabric);

  // Lets the owner answer what was put off (vfio_user::Server::answer).
  using AnswerFunction = std::function<void(vfio_user::ReplyToken)>;
  virtual void set_answer(AnswerFunction answer) = 0;

  // One turn: looks at doorbell pages that are due, lets queue pairs work within
  // `budget`, goes on with sliced commands and with events that did not fit.
  virtual void poll(verbs::Budget& budget) = 0;

  // True: call poll() again without sleeping.
  virtual bool has_work() const = 0;
  // Otherwise, when poll() is next needed even if nothing happens; kNever when
  // no user context is open and nothing is under way. (Timers are apart.)
  virtual Instant next_look() const = 0;

  // What the last turn touched: objects, pages and entries (turn_effort.h).
  virtual std::uint32_t last_touched() const = 0;

  // The port's link, up when the device is made: the guest sees the port's state
  // change, and an event.
  virtual void set_link(bool up) = 0;

  // An attached VMM keeps the old rules; the next one gets these.
  virtual void set_rules(const DeviceRules& rules) = 0;

  // The VM is about to lose the device: the guest's programs get DEVICE_FATAL, as far
  // as the guest's memory still takes it.
  virtual void tell_gone() = 0;

  // The memory failed or the device cannot go on: the VM must lose it.
  // Empty: all is well.
  virtual std::string_view fatal_reason() const = 0;

  virtual verbs::Adapter& adapter() = 0;
  virtual const DeviceCounters& counters() const = 0;
  virtual DeviceObjects objects() const = 0;
  virtual std::vector<QueuePairView> queue_pairs() const = 0;
  // Those whose handles are in [first, first+count), for callers that may not read all in one
  // turn; queue_pair_span() is one above the highest handle there ever was.
  virtual std::vector<QueuePairView> queue_pairs(std::uint32_t first,
                                                 std::uint32_t count) const = 0;
  virtual std::uint32_t queue_pair_span() const = 0;
  virtual bool active() const = 0;  // the guest driver has activated it
};

}  // namespace paravane::device
