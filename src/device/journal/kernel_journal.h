// KernelJournal: the queues of the guest's kernel, and how far their requests are, in a file in
// memory that outlives this process. If the process is killed, another one finds there which
// requests have no completion, and completes them in error (lost_queues.h). Without that, what the
// kernel itself has under way, as for NVMe over Fabrics or the connection manager, would wait for
// ever, and its driver could not be unloaded. Programs of the guest need no journal: they get the
// event DEVICE_FATAL, and their queues end with them.
//
// Each request is completed exactly once, since the guest's index of a completion queue decides.
// Before it is stored, the journal notes what the new completions are for; afterwards, that they
// are done. A process that goes on compares the guest's index with the notes.
//
// An object counts from the moment at which the guest can know of it: if its command has no answer
// yet, the guest will be told that it failed.
//
// The process that goes on does not trust the file, which a guest may have written to before. What
// it finds there is checked as the guest's own commands are.
//
// Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "device/device_config.h"
#include "guestmem/guest_addr.h"

namespace paravane::device {

class WorkRing;

class KernelJournal {
 public:
  // Completions that are noted at most, for each queue, before they are done.
  static constexpr std::uint32_t kMostNoted = 8;

  static constexpr std::uint32_t kNoQp = UINT32_MAX;

  enum class Queue : std::uint8_t { kSend, kReceive };

  struct Cq {
    GuestAddr directory;  // of its pages
    std::uint32_t entries = 0;
  };
  struct Qp {
    GuestAddr directory;
    std::uint32_t send_cq = 0;  // handles
    std::uint32_t receive_cq = 0;
    std::uint32_t send_requests = 0;
    std::uint32_t receive_requests = 0;
    std::uint32_t send_sges = 0;
    std::uint32_t receive_sges = 0;
    bool is_datagram = false;
  };
  // The indices in its rings of the first requests that have no completion.
  struct Undone {
    std::uint32_t send = 0;
    std::uint32_t receive = 0;
  };

  // Errors: kIo, kResourceExhausted.
  static Result<KernelJournal> make(const DeviceLimits& limits);
  // That of another process, which may still go on: what is changed here stays in this process
  // until begin_writing(). Errors: kInvalidArgument (this is no such file, or one of a device with
  // other limits), kIo.
  static Result<KernelJournal> take_over(UniqueFd file, const DeviceLimits& limits);
  ~KernelJournal();
  KernelJournal(KernelJournal&& other) noexcept;
  KernelJournal& operator=(KernelJournal&&) = delete;

  int fd() const { return file_.get(); }

  // The other process has ended. What was changed until now is forgotten.
  void begin_writing();
  // Another process goes on: what is changed from now on stays in this one.
  void end_writing();

  // ---- Commands of the driver ----
  // Each command belongs to the request of the VMM that announced it. `serial` tells its number
  // (vfio_user::Exchange), which is not kNoRequest.
  static constexpr std::uint64_t kNoRequest = UINT64_MAX;
  void number_by(std::function<std::uint64_t()> serial) { serial_ = std::move(serial); }
  void begin_command();
  // Its response is in guest memory, or it has none.
  void end_command();
  // The value that the register ERR has from now on.
  void set_error(std::uint32_t error);

  // ---- What the kernel has created ---- Handles are below the limits of the device.
  void add_cq(std::uint32_t handle, const Cq& cq);
  void add_qp(std::uint32_t handle, const Qp& qp);
  void drop_cq(std::uint32_t handle);
  void drop_qp(std::uint32_t handle);
  // The queue pair is in RESET, where nothing is posted, or leaves it with both indices 0.
  void stop_qp(std::uint32_t handle);
  void start_qp(std::uint32_t handle);
  // The device begins anew.
  void clear();

  // ---- Completions ----
  // After it, set_rings() of this queue pair needs no memory.
  void make_room_for_rings(std::uint32_t qp);
  // The rings of a queue pair of this process, which leave before they end; null: they leave.
  struct Rings {
    const WorkRing* send = nullptr;
    const WorkRing* receive = nullptr;
  };
  void set_rings(std::uint32_t qp, Rings rings);
  // The index that a ring will have reached when the request is done after which `behind` others
  // were taken. nullopt: the queue pair has no place in the journal.
  std::optional<std::uint32_t> reached(std::uint32_t qp, Queue queue, std::uint32_t behind) const;
  // A completion was written to a queue, where the guest does not see it yet. Each has to be noted,
  // since they are counted: those of no request in the journal with kNoQp. `index`: of the queue's
  // first completion that the guest does not see. REQUIRES: fewer than kMostNoted are
  // noted.
  void note(std::uint32_t cq, std::uint32_t index, std::uint32_t qp, Queue queue,
            std::uint32_t reached);
  // The guest sees them.
  void settle(std::uint32_t cq);

  // ---- What a process finds that goes on ----
  // After the other process was killed. The request with this number has no answer and will be
  // dealt with again; kNoRequest: every request has one. What the guest will never learn of is
  // dropped. REQUIRES: begin_writing() was called, and nothing else.
  void go_on(std::uint64_t unanswered);
  std::uint32_t error() const;
  // Whether the driver has the response to its last command.
  bool has_ended_command() const;
  // Above all handles.
  std::uint32_t cqs_end() const;
  std::uint32_t qps_end() const;
  std::optional<Cq> cq(std::uint32_t handle) const;
  std::optional<Qp> qp(std::uint32_t handle) const;
  // nullopt: it is in RESET.
  std::optional<Undone> undone(std::uint32_t qp) const;
  // Of what was noted for this queue, the guest sees what is before `index`. REQUIRES: its number
  // of entries was checked.
  void settle_seen(std::uint32_t cq, std::uint32_t index);

 private:
  struct Page;
  struct Note;
  struct CqRecord;
  struct QpRecord;

  static std::size_t bytes_of(const DeviceLimits& limits);
  KernelJournal(UniqueFd file, std::byte* base, const DeviceLimits& limits);
  static Result<KernelJournal> map(UniqueFd file, const DeviceLimits& limits, int flags);
  Page& page() const;
  // REQUIRES: the handle is below the device's limit.
  CqRecord& cq_at(std::uint32_t handle) const;
  QpRecord& qp_at(std::uint32_t handle) const;
  CqRecord* cq_record(std::uint32_t handle) const;
  QpRecord* qp_record(std::uint32_t handle) const;
  std::size_t bytes() const;
  void map_again(int flags);
  void apply(const Note& note);

  UniqueFd file_;
  std::byte* base_;
  std::uint32_t cqs_;  // the limits
  std::uint32_t qps_;
  std::function<std::uint64_t()> serial_;
  std::vector<Rings> rings_;  // by handle, as far as the kernel's queue pairs go
};

}  // namespace paravane::device
