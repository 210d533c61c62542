// Objects: owns everything that a guest has created on its device, and finds an object by its
// handle. Each object belongs to a context, which is one process of the guest, or the guest's
// kernel (handle 0). Objects of different contexts never interact. For example, a queue pair can
// use only the completion queues of its own context.
//
// A command can destroy a whole context or reset the device, so the number of objects that it
// destroys is not bounded. Such a command only closes the objects. Afterwards, bury() destroys them
// in slices over several turns (time slices of the worker). Until that is complete, no request of
// the guest is served, so the guest never finds an object that it has destroyed.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "device/handle_table.h"
#include "device/journal/kernel_journal.h"
#include "device/pvrdma_device.h"
#include "device/queues/completion_queue.h"
#include "device/queues/queue_pair.h"
#include "device/queues/shared_receive_queue.h"
#include "device/turn_effort.h"
#include "device/user_context.h"
#include "guestmem/guest_memory.h"
#include "state/reader.h"
#include "state/writer.h"
#include "verbs/adapter.h"

namespace paravane::device {

inline constexpr std::uint32_t kKernelContext = 0;

// ObjectWatcher: is notified when a context is created, and before an object is destroyed.
class ObjectWatcher {
 public:
  virtual ~ObjectWatcher() = default;
  virtual void on_context_made(UserContext& context) = 0;
  virtual void on_context_gone(UserContext& context) = 0;
  virtual void on_queue_pair_gone(QueuePair& qp) = 0;
  virtual void on_completion_queue_gone(CompletionQueue& cq) = 0;
  virtual void on_shared_receive_queue_gone(SharedReceiveQueue& srq) = 0;
};

class Objects {
 public:
  // All arguments outlive this object. The destruction of objects is charged to `effort`.
  // `journal`: of the objects of the guest's kernel, which leave it when they are destroyed; null:
  // none.
  Objects(const DeviceConfig& config, verbs::Adapter& adapter, ObjectWatcher& watcher,
          TurnEffort& effort, KernelJournal* journal);
  ~Objects();
  Objects(const Objects&) = delete;
  Objects& operator=(const Objects&) = delete;

  // Sets the version that the guest's driver supports, which decides which queue pair handles
  // exist. REQUIRES: no objects exist.
  void start(std::uint32_t effective_version);
  std::uint32_t effective_version() const { return effective_version_; }
  // Whether the number of a queue pair is also its handle, as drivers before version 20 expect.
  bool number_is_handle() const { return effective_version_ < 20; }

  // ---- Burial ----
  // Closes all objects. GIDs are removed immediately, and bury() destroys the rest.
  void close();
  bool closing() const { return closing_all_ || closing_ != nullptr; }
  // Destroys at least one closed object, and more as long as the turn's effort allows.
  void bury();

  // ---- Contexts ----
  // REQUIRES: page > 0, the page is below the limit, and no context has it.
  UserContext& create_context(std::uint32_t page);
  // Closes a context. Its page is not polled any more, and bury() destroys its objects. REQUIRES:
  // !closing().
  void close_context(UserContext& context);
  UserContext* find_context(std::uint32_t handle) const;
  UserContext* context_of_page(std::uint32_t page) const;
  std::uint32_t contexts() const { return static_cast<std::uint32_t>(contexts_.size()); }

  // ---- Protection domains ----
  Result<std::uint32_t> create_pd(std::uint32_t context);
  Status destroy_pd(std::uint32_t pd);
  bool has_pd(std::uint32_t pd) const { return find_pd(pd) != nullptr; }
  // REQUIRES: has_pd(pd).
  std::uint32_t owner_of_pd(std::uint32_t pd) const { return find_pd(pd)->context; }
  std::uint32_t pds() const { return pds_; }

  // ---- Memory regions: the engine's, whose key is the handle ----
  Status destroy_mr(std::uint32_t handle);
  std::uint32_t mrs() const { return adapter_.regions().count(); }

  // ---- Completion queues ----
  // Errors: kResourceExhausted.
  Result<std::uint32_t> create_cq(std::uint32_t context, std::uint32_t entries, PageList pages,
                                  CompletionSink& sink);
  Status destroy_cq(std::uint32_t handle);
  CompletionQueue* find_cq(std::uint32_t handle) const { return cqs_.find(handle); }
  std::uint32_t cqs() const { return cqs_.count(); }

  // ---- Shared receive queues: of user contexts only ----
  // Chooses `spec.handle`, and takes the context from the protection domain. Errors:
  // kResourceExhausted.
  Result<SharedReceiveQueue*> create_srq(SharedReceiveQueue::Spec spec, PageList pages,
                                         SharedReceiveEvents& events, Counter& broken_rings);
  Status destroy_srq(std::uint32_t handle);
  SharedReceiveQueue* find_srq(std::uint32_t handle) const { return srqs_.find(handle); }

  // ---- Queue pairs ----
  // Chooses `spec.handle`. `loaded_number`: of a queue pair that is loaded with its handle; 0: both
  // are chosen. Errors: kResourceExhausted, kBadState (a second GSI queue pair, or the number is in
  // use).
  Result<QueuePair*> create_qp(QueuePair::Spec spec, PageList pages, const QueueGeometry& geometry,
                               bool signal_all, Counter& broken_rings,
                               std::uint32_t loaded_number = 0);
  Status destroy_qp(std::uint32_t handle);
  QueuePair* find_qp(std::uint32_t handle) const { return qps_.find(handle); }
  const HandleTable<QueuePair>& qps() const { return qps_; }
  std::uint32_t datagram_qps() const { return datagram_qps_; }  // UD alone

  // ---- GIDs ----
  Status bind_gid(std::uint32_t index, const verbs::Gid& gid, verbs::GidType type);
  Status unbind_gid(std::uint32_t index);
  std::uint32_t gids() const { return static_cast<std::uint32_t>(bound_gids_.size()); }

  DeviceObjects counts() const;

  // ---- Saved state (docs/state.md) ---- With the engine's adapter. REQUIRES of save(): not all
  // objects are closed. REQUIRES of load(): start() was called, and nothing was created since. If
  // the state is refused, only close() and bury() may follow.
  struct Makers {
    GuestMemory& memory;
    CompletionSink& completions;
    SharedReceiveEvents& shared_receives;
    Counter& broken_rings;
  };
  void save(state::Writer& out) const;
  void load(state::Reader& in, const Makers& makers);
  template <typename Each>
  void for_each_context(Each each) const {
    for (const auto& [handle, context] : contexts_) each(*context);
  }
  template <typename Each>
  void for_each_cq(Each each) const {
    cqs_.for_each(each);
  }

 private:
  Holdings& holdings_of(std::uint32_t context);
  UserContext& add_context(std::uint32_t handle, std::uint32_t page);
  void add_pd(std::uint32_t pd, std::uint32_t context);
  CompletionQueue& add_cq(const CompletionQueue::Spec& spec, PageList pages, CompletionSink& sink);
  SharedReceiveQueue& add_srq(const SharedReceiveQueue::Spec& spec, PageList pages,
                              SharedReceiveEvents& events, Counter& broken_rings);
  void load_contexts(state::Reader& in);
  void load_domains(state::Reader& in);
  void forget_missing_domains();
  void load_cqs(state::Reader& in, const Makers& makers);
  void load_srqs(state::Reader& in, const Makers& makers);
  void load_qps(state::Reader& in, const Makers& makers);
  bool load_cq(state::Reader& in, const Makers& makers, verbs::IndexPool::Claims& claims);
  bool load_srq(state::Reader& in, const Makers& makers, verbs::IndexPool::Claims& claims);
  bool load_qp(state::Reader& in, const Makers& makers, verbs::IndexPool::Claims& claims);
  bool has_owner(std::uint32_t context) const;
  Domain* find_pd(std::uint32_t pd) const {
    return pd < domains_.size() ? domains_[pd].get() : nullptr;
  }
  bool bury_one(Holdings& holdings);
  [[gnu::cold]] void enter(const QueuePair& qp, const QueuePair::Spec& spec, bool is_loaded);
  void drop_context(UserContext& context);
  void drop_pd(Domain& domain);
  void drop_qp(QueuePair& qp);
  void drop_cq(CompletionQueue& cq);
  void drop_srq(SharedReceiveQueue& srq);
  bool reusable(const QueuePair& qp) const;

  const DeviceConfig& config_;
  verbs::Adapter& adapter_;
  ObjectWatcher& watcher_;
  TurnEffort& effort_;
  KernelJournal* const journal_;
  std::uint32_t effective_version_ = 20;
  std::unordered_map<std::uint32_t, std::unique_ptr<UserContext>> contexts_;
  std::unordered_map<std::uint32_t, UserContext*> contexts_by_page_;
  std::uint32_t last_context_ = 0;
  Holdings kernel_;                               // of the guest's kernel
  std::vector<std::unique_ptr<Domain>> domains_;  // by number
  std::uint32_t pds_ = 0;
  HandleTable<CompletionQueue> cqs_;
  HandleTable<SharedReceiveQueue> srqs_;
  HandleTable<QueuePair> qps_;
  std::uint32_t datagram_qps_ = 0;  // how many of them are UD
  std::unordered_set<std::uint32_t> bound_gids_;
  bool closing_all_ = false;
  UserContext* closing_ = nullptr;
};

}  // namespace paravane::device
