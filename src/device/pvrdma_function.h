// PvrdmaFunction: implements PvrdmaDevice, the PVRDMA device of one VM. It owns the parts of the
// device, connects them, and controls the device's life cycle, from the activation by the guest's
// driver until the device is reset or destroyed.
//
// Owner thread only. Source: docs/device-spec.md, section 11.

#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/log_limit.h"
#include "base/owner_thread.h"
#include "base/turn_clock.h"
#include "device/command_channel.h"
#include "device/doorbell_pages.h"
#include "device/doorbell_watch.h"
#include "device/doorbells.h"
#include "device/held_reply.h"
#include "device/interrupt_lines.h"
#include "device/journal/lost_queues.h"
#include "device/map_change_watch.h"
#include "device/notifier.h"
#include "device/objects.h"
#include "device/pvrdma_device.h"
#include "device/queues/completion_events.h"
#include "device/queues/late_events.h"
#include "device/registers.h"
#include "device/shared_region.h"
#include "device/turn_effort.h"
#include "verbs/events.h"

namespace paravane::device {

class PvrdmaFunction final : public PvrdmaDevice,
                             private RegisterActions,
                             private ObjectWatcher,
                             private verbs::QpEvents,
                             private SharedReceiveEvents {
 public:
  struct Surroundings {
    verbs::AdapterId id;
    GuestMemory& memory;
    vfio_user::Interrupts& interrupts;
    TimerQueue& timers;
    const TurnClock& clock;
    verbs::FabricPort& fabric;
    KernelJournal* journal;  // null: none
  };
  PvrdmaFunction(const DeviceConfig& config, const Surroundings& around,
                 std::unique_ptr<DoorbellPages> pages);
  ~PvrdmaFunction() override;

  // ---- vfio_user::PciDevice ----
  const vfio_user::DeviceSpec& spec() const override { return spec_; }
  void read_bar(unsigned bar, std::uint64_t offset, std::span<std::byte> out) override;
  void on_attach() override { rules_ = next_rules_; }
  bool takes_requests() const override { return !is_closing() && effort_.room_for_request(); }
  vfio_user::Answer write_bar(unsigned bar, std::uint64_t offset, std::span<const std::byte> in,
                              bool posted, vfio_user::ReplyToken token) override;
  void on_bus_master(bool enabled) override;
  vfio_user::Answer on_reset(vfio_user::ResetCause cause, vfio_user::ReplyToken token) override;
  vfio_user::Answer on_dma_unmap(GuestAddr iova, std::uint64_t size,
                                 vfio_user::ReplyToken token) override;

  // ---- PvrdmaDevice ----
  void set_answer(AnswerFunction answer) override { held_reply_.set_answer(std::move(answer)); }
  void poll(verbs::Budget& budget) override;
  bool has_work() const override;
  Instant next_look() const override;
  std::uint32_t last_touched() const override { return last_touched_; }
  void set_link(bool up) override;
  void set_network_mtu(std::optional<std::uint32_t> path_mtu) override;
  void set_rules(const DeviceRules& rules) override { next_rules_ = rules; }
  void tell_gone() override;
  std::string_view fatal_reason() const override { return fatal_reason_; }
  verbs::Adapter& adapter() override { return adapter_; }
  const DeviceCounters& counters() const override { return counters_; }
  DeviceObjects objects() const override { return objects_.counts(); }
  std::vector<QueuePairView> queue_pairs() const override {
    return queue_pairs(0, queue_pair_span());
  }
  std::vector<QueuePairView> queue_pairs(std::uint32_t first, std::uint32_t count) const override;
  std::uint32_t queue_pair_span() const override { return objects_.qps().span(); }
  bool active() const override { return active_; }
  void save(state::Writer& out) override;
  void load(state::Reader& in) override;
  void keep(state::Writer& out) override;
  bool lost() const override { return lost_; }
  void tell_lost() override;
  bool take_setup_changed() override { return std::exchange(setup_changed_, false); }
  int doorbell_file() const override { return pages_->fd(); }

 private:
  static constexpr std::uint32_t kPort = 1;  // the only one

  // ---- RegisterActions ----
  std::uint32_t load_region(GuestAddr at) override;
  std::uint32_t control(std::uint32_t value) override;
  std::uint32_t request() override;

  // ---- ObjectWatcher ----
  void on_context_made(UserContext& context) override;
  void on_context_gone(UserContext& context) override;
  void on_queue_pair_gone(QueuePair& qp) override;
  void on_completion_queue_gone(CompletionQueue& cq) override;
  void on_shared_receive_queue_gone(SharedReceiveQueue& srq) override;

  // ---- verbs::QpEvents ----
  void on_qp_event(std::uint32_t tag, verbs::QpEvent event) override;

  // ---- SharedReceiveEvents ----
  void on_limit_reached(std::uint32_t handle) override;
  void on_shared_receive_error(std::uint32_t handle) override;

  std::uint32_t activate();
  [[gnu::cold]] std::uint32_t request_without_device();
  vfio_user::Answer write_registers(std::uint64_t offset, std::span<const std::byte> in,
                                    bool posted, vfio_user::ReplyToken token);
  void write_doorbells(std::uint64_t offset, std::span<const std::byte> in, bool posted);
  void warn_posted();
  void reset();
  void end_life();
  bool is_closing() const;
  void bury();
  void work(verbs::Budget& budget);
  // What it touched.
  std::uint64_t run_adapter(verbs::Budget& budget);
  void check_memory();
  void save_whole(state::Writer& out, bool active);
  void save_parts(state::Writer& out);
  void load_identity(state::Reader& in) const;
  void load_parts(state::Reader& in);
  void load_lost();
  void resume_notices();
  // The guest's rings of notices were not shown, and may be by now.
  bool may_tell_again() const { return !is_told_ && told_map_ != memory_.generation(); }
  std::uint32_t end_of_handles() const;
  bool flushes() const {
    return lost_queues_ && !lost_queues_->is_closed() && memory_.dma_enabled() &&
           fatal_reason_.empty();
  }
  bool running() const { return active_ && memory_.dma_enabled() && fatal_reason_.empty(); }

  const DeviceConfig config_;
  OwnerThread thread_;
  const TurnClock& clock_;
  TurnEffort effort_;
  std::uint32_t last_touched_ = 0;
  DeviceCounters counters_;
  GuestMemory& memory_;
  KernelJournal* const journal_;
  std::unique_ptr<DoorbellPages> pages_;
  const vfio_user::DeviceSpec spec_;
  DeviceRules rules_;  // for the VMM that is attached or was attached last
  DeviceRules next_rules_;
  SharedRegion region_;
  std::optional<Error> region_error_;  // why ACTIVATE cannot succeed
  bool active_ = false;
  bool lost_ = false;           // its objects ended with the process that had them
  bool is_told_ = true;         // the guest, that it is lost
  std::uint64_t told_map_ = 0;  // the generation of the map when it was last told
  bool setup_changed_ = false;  // and was not kept since
  bool link_up_ = true;
  std::uint32_t active_mtu_ = config_.active_mtu;
  static constexpr std::string_view kMemoryFailed =
      "guest memory failed: the VMM truncated its file, or a page is bad";
  std::string fatal_reason_;
  LogLimit log_limit_;                                 // for failures
  LogLimit life_limit_{std::chrono::seconds(10), 20};  // for activations and resets
  HeldReply held_reply_;

  // Each part may use the parts above it. During construction, a part may store references to the
  // parts below it but must not use them.
  InterruptLines lines_;
  Registers registers_;
  Notifier notifier_;
  verbs::Adapter adapter_;
  Objects objects_;
  DoorbellWatch watch_;
  LateEvents late_events_;
  CompletionEvents completion_events_;
  Doorbells doorbells_;
  MapChangeWatch map_changes_;
  CommandChannel commands_;
  std::optional<LostQueues> lost_queues_;  // of a lost device with a journal
};

}  // namespace paravane::device
