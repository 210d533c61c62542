#include "device/objects.h"

#include <cassert>
#include <optional>
#include <utility>

#include "abi/registers.h"
#include "base/undo.h"

namespace paravane::device {
namespace {

// With number == handle, number 1 belongs to the GSI queue pair only.
std::uint32_t first_qp_handle(std::uint32_t effective_version) {
  return effective_version < abi::kVersionQpHandle ? 2 : 1;
}

// The table has room for what was taken over, which may be more than the guest may create.
template <typename T>
std::optional<std::uint32_t> take_handle(HandleTable<T>& table, std::uint32_t most) {
  return table.count() < most ? table.take_handle() : std::nullopt;
}

}  // namespace

Objects::Objects(const DeviceConfig& config, verbs::Adapter& adapter, ObjectWatcher& watcher,
                 TurnEffort& effort, KernelJournal* journal)
    : config_(config),
      adapter_(adapter),
      watcher_(watcher),
      effort_(effort),
      journal_(journal),
      cqs_(0, config.held_limits().completion_queues),
      srqs_(0, config.held_limits().shared_receive_queues),
      qps_(1, config.held_limits().queue_pairs) {}

Objects::~Objects() {
  assert(qps_.count() == 0 && cqs_.count() == 0 && contexts_.empty());
}

void Objects::start(std::uint32_t effective_version) {
  assert(!closing() && qps_.count() == 0);
  effective_version_ = effective_version;
  qps_ =
      HandleTable<QueuePair>(first_qp_handle(effective_version), config_.held_limits().queue_pairs);
}

// ---- Contexts ----

UserContext& Objects::create_context(std::uint32_t page) {
  assert(context_of_page(page) == nullptr);
  do {
    ++last_context_;
  } while (last_context_ == kKernelContext || contexts_.contains(last_context_));
  const std::uint32_t handle = last_context_;
  UserContext& context = add_context(handle, page);
  Undo forget([&] {
    contexts_by_page_.erase(page);
    contexts_.erase(handle);
  });
  watcher_.on_context_made(context);
  forget.keep();
  return context;
}

UserContext& Objects::add_context(std::uint32_t handle, std::uint32_t page) {
  auto made = std::make_unique<UserContext>();
  made->handle = handle;
  made->page = page;
  UserContext& context = *made;
  Undo forget([&] { contexts_.erase(handle); });
  contexts_.emplace(handle, std::move(made));
  contexts_by_page_.emplace(page, &context);
  forget.keep();
  return context;
}

UserContext* Objects::find_context(std::uint32_t handle) const {
  const auto found = contexts_.find(handle);
  return found == contexts_.end() ? nullptr : found->second.get();
}

UserContext* Objects::context_of_page(std::uint32_t page) const {
  const auto found = contexts_by_page_.find(page);
  return found == contexts_by_page_.end() ? nullptr : found->second;
}

// REQUIRES: the context is there, or is the kernel's.
Holdings& Objects::holdings_of(std::uint32_t context) {
  return context == kKernelContext ? kernel_ : contexts_.at(context)->holdings;
}

// ---- Burial ----

void Objects::close() {
  closing_all_ = true;
  while (!bound_gids_.empty()) static_cast<void>(unbind_gid(*bound_gids_.begin()));
}

void Objects::close_context(UserContext& context) {
  assert(!closing());
  closing_ = &context;
  contexts_by_page_.erase(context.page);
  watcher_.on_context_gone(context);
}

// One object at least, whatever else the turn has done: the guest waits for the last.
void Objects::bury() {
  if (!closing()) return;
  do {
    UserContext* context = closing_;
    if (context == nullptr && !contexts_.empty()) context = contexts_.begin()->second.get();
    if (bury_one(context == nullptr ? kernel_ : context->holdings)) continue;
    if (context == nullptr) {
      closing_all_ = false;
    } else {
      drop_context(*context);
    }
  } while (closing() && effort_.room_for_slice());
}

// In the order in which they use each other. False: nothing is left.
bool Objects::bury_one(Holdings& holdings) {
  if (!holdings.queue_pairs.empty()) {
    drop_qp(*holdings.queue_pairs.back());
  } else if (!holdings.shared_receive_queues.empty()) {
    drop_srq(*holdings.shared_receive_queues.back());
  } else if (CompletionQueue* cq = holdings.completion_queues.first()) {
    drop_cq(*cq);
  } else if (Domain* domain = holdings.protection_domains.first()) {
    const auto region = adapter_.regions().any_in(verbs::PdNumber{domain->number});
    if (region) {
      static_cast<void>(destroy_mr(*region));
    } else {
      drop_pd(*domain);
    }
  } else {
    return false;
  }
  return true;
}

void Objects::drop_context(UserContext& context) {
  effort_.spend(TurnEffort::kOtherObject);
  if (closing_ == &context) {
    closing_ = nullptr;
  } else {
    contexts_by_page_.erase(context.page);
    watcher_.on_context_gone(context);
  }
  contexts_.erase(context.handle);
}

// ---- Protection domains and memory regions ----

Result<std::uint32_t> Objects::create_pd(std::uint32_t context) {
  UserContext* owner = find_context(context);
  if (context != kKernelContext && owner == nullptr) {
    return fail(Errc::kNotFound, "no such context");
  }
  if (pds_ >= config_.limits.protection_domains) {
    return fail(Errc::kResourceExhausted, "too many protection domains");
  }
  const Result<verbs::PdNumber> number = adapter_.create_pd();
  if (!number) return std::unexpected(number.error());
  const std::uint32_t pd = std::to_underlying(*number);
  Undo destroy([&] { static_cast<void>(adapter_.destroy_pd(*number)); });
  add_pd(pd, context);
  destroy.keep();
  return pd;
}

void Objects::add_pd(std::uint32_t pd, std::uint32_t context) {
  if (pd >= domains_.size()) domains_.resize(std::size_t{pd} + 1);
  domains_[pd] = std::make_unique<Domain>();
  domains_[pd]->number = pd;
  domains_[pd]->context = context;
  ++pds_;
  holdings_of(context).protection_domains.join(*domains_[pd], domains_[pd]->place);
}

Status Objects::destroy_pd(std::uint32_t pd) {
  Domain* domain = find_pd(pd);
  if (domain == nullptr) return fail(Errc::kNotFound, "no such protection domain");
  if (domain->shared_receive_queues > 0) {
    return fail(Errc::kBadState, "the protection domain is in use");
  }
  if (Status status = adapter_.destroy_pd(verbs::PdNumber{pd}); !status) return status;
  effort_.spend(TurnEffort::kOtherObject);
  holdings_of(domain->context).protection_domains.leave(domain->place);
  domains_[pd].reset();
  --pds_;
  return {};
}

// REQUIRES: nothing is in it.
void Objects::drop_pd(Domain& domain) {
  const Status gone = destroy_pd(domain.number);
  assert(gone);
  static_cast<void>(gone);
}

Status Objects::destroy_mr(std::uint32_t handle) {
  effort_.spend(TurnEffort::kOtherObject + adapter_.regions().pages_kept(handle));
  if (!adapter_.regions().remove(handle)) return fail(Errc::kNotFound, "no such memory region");
  return {};
}

// ---- Completion queues ----

Result<std::uint32_t> Objects::create_cq(std::uint32_t context, std::uint32_t entries,
                                         PageList pages, CompletionSink& sink) {
  UserContext* owner = find_context(context);
  if (context != kKernelContext && owner == nullptr) {
    return fail(Errc::kNotFound, "no such context");
  }
  const auto handle = take_handle(cqs_, config_.limits.completion_queues);
  if (!handle) return fail(Errc::kResourceExhausted, "too many completion queues");
  Undo untake([&] { cqs_.give_back(*handle); });
  add_cq({.handle = *handle, .owner = owner, .entries = entries}, std::move(pages), sink);
  untake.keep();
  return *handle;
}

CompletionQueue& Objects::add_cq(const CompletionQueue::Spec& spec, PageList pages,
                                 CompletionSink& sink) {
  auto made = std::make_unique<CompletionQueue>(spec, std::move(pages), sink);
  CompletionQueue& cq = *made;
  if (journal_ != nullptr && !cq.of_user()) cq.note_in(*journal_);
  holdings_of(cq.context()).completion_queues.join(cq, cq.place());
  cqs_.put(spec.handle, std::move(made));
  return cq;
}

Status Objects::destroy_cq(std::uint32_t handle) {
  CompletionQueue* cq = cqs_.find(handle);
  if (cq == nullptr) return fail(Errc::kNotFound, "no such completion queue");
  if (cq->users() > 0) return fail(Errc::kBadState, "the completion queue is in use");
  drop_cq(*cq);
  return {};
}

void Objects::drop_cq(CompletionQueue& cq) {
  effort_.spend(TurnEffort::kOtherObject + cq.pages_kept());
  watcher_.on_completion_queue_gone(cq);
  if (journal_ != nullptr && !cq.of_user()) journal_->drop_cq(cq.handle());
  holdings_of(cq.context()).completion_queues.leave(cq.place());
  cqs_.erase(cq.handle());
}

// ---- Shared receive queues ----

Result<SharedReceiveQueue*> Objects::create_srq(SharedReceiveQueue::Spec spec, PageList pages,
                                                SharedReceiveEvents& events,
                                                Counter& broken_rings) {
  Domain* domain = find_pd(spec.protection_domain);
  if (domain == nullptr) return fail(Errc::kNotFound, "no such protection domain");
  UserContext* owner = find_context(domain->context);
  if (owner == nullptr) {
    return fail(Errc::kInvalidArgument, "the guest's kernel cannot create a shared receive queue");
  }
  const auto handle = take_handle(srqs_, config_.limits.shared_receive_queues);
  if (!handle) return fail(Errc::kResourceExhausted, "too many shared receive queues");
  Undo untake([&] { srqs_.give_back(*handle); });
  spec.handle = *handle;
  spec.context = owner->handle;
  SharedReceiveQueue& srq = add_srq(spec, std::move(pages), events, broken_rings);
  untake.keep();
  return &srq;
}

SharedReceiveQueue& Objects::add_srq(const SharedReceiveQueue::Spec& spec, PageList pages,
                                     SharedReceiveEvents& events, Counter& broken_rings) {
  auto made = std::make_unique<SharedReceiveQueue>(spec, std::move(pages), events, broken_rings);
  SharedReceiveQueue& srq = *made;
  std::vector<SharedReceiveQueue*>& listed = holdings_of(spec.context).shared_receive_queues;
  srq.set_place(listed.size());
  listed.push_back(&srq);
  srqs_.put(spec.handle, std::move(made));
  ++find_pd(spec.protection_domain)->shared_receive_queues;
  return srq;
}

Status Objects::destroy_srq(std::uint32_t handle) {
  SharedReceiveQueue* srq = srqs_.find(handle);
  if (srq == nullptr) return fail(Errc::kNotFound, "no such shared receive queue");
  if (srq->users() > 0) return fail(Errc::kBadState, "the shared receive queue is in use");
  drop_srq(*srq);
  return {};
}

// REQUIRES: no queue pair uses it.
void Objects::drop_srq(SharedReceiveQueue& srq) {
  effort_.spend(TurnEffort::kOtherObject + srq.pages_kept());
  watcher_.on_shared_receive_queue_gone(srq);
  --find_pd(srq.protection_domain())->shared_receive_queues;
  auto& listed = holdings_of(srq.context()).shared_receive_queues;
  listed[srq.place()] = listed.back();
  listed.back()->set_place(srq.place());
  listed.pop_back();
  srqs_.erase(srq.handle());
}

// ---- Queue pairs ----

Result<QueuePair*> Objects::create_qp(QueuePair::Spec spec, PageList pages,
                                      const QueueGeometry& geometry, bool signal_all,
                                      Counter& broken_rings, std::uint32_t loaded_number) {
  const bool is_loaded = loaded_number != 0;
  const bool is_gsi = spec.type == verbs::QpType::kGeneralServices;
  const std::uint32_t most = config_.limits.queue_pairs;
  const bool fixed = is_gsi && number_is_handle();
  if (fixed && qps_.find(verbs::kGsiQpNumber) != nullptr) {
    return fail(Errc::kBadState, "a GSI queue pair already exists");
  }
  const std::optional<std::uint32_t> handle = is_loaded ? std::optional(spec.handle)
                                              : fixed   ? std::optional(verbs::kGsiQpNumber)
                                                        : take_handle(qps_, most);
  if (!handle) return fail(Errc::kResourceExhausted, "too many queue pairs");

  Undo untake([&] {
    if (!fixed && !is_loaded) qps_.give_back(*handle);
  });
  if (fixed || is_loaded) qps_.make_place(*handle);
  std::vector<QueuePair*>& listed = holdings_of(spec.context).queue_pairs;
  if (listed.size() == listed.capacity()) listed.reserve(2 * listed.size() + 1);
  if (spec.context == kKernelContext && journal_ != nullptr) [[unlikely]]
    journal_->make_room_for_rings(*handle);
  spec.handle = *handle;
  auto qp = std::make_unique<QueuePair>(spec, std::move(pages), geometry, broken_rings);
  std::optional<verbs::PdNumber> shared_receives;
  if (spec.shared_receives != nullptr) {
    shared_receives = verbs::PdNumber{spec.shared_receives->protection_domain()};
  }
  auto engine = adapter_.create_qp({.type = spec.type,
                                    .pd = verbs::PdNumber{spec.protection_domain},
                                    .tag = *handle,
                                    .number = is_gsi               ? verbs::kGsiQpNumber
                                              : number_is_handle() ? *handle
                                                                   : loaded_number,
                                    .send_cq = spec.send_cq,
                                    .receive_cq = spec.receive_cq,
                                    .work = qp.get(),
                                    .signal_all = signal_all,
                                    .shared_receives = shared_receives});
  if (!engine) return std::unexpected(engine.error());
  untake.keep();
  qp->set_engine(std::move(*engine));
  QueuePair* made = qp.get();
  qps_.put(*handle, std::move(qp));
  if (spec.type == verbs::QpType::kUnreliableDatagram) ++datagram_qps_;
  made->set_place(listed.size());
  listed.push_back(made);
  if (spec.context == kKernelContext && journal_ != nullptr) [[unlikely]]
    enter(*made, spec, is_loaded);
  return made;
}

// Without its queues the journal could not tell how far it is. One that is loaded is in the journal
// of the process before, or was made by a process that had none.
void Objects::enter(const QueuePair& qp, const QueuePair::Spec& spec, bool is_loaded) {
  const KernelJournal::Qp entry{.directory = spec.directory,
                                .send_cq = spec.send_cq->handle(),
                                .receive_cq = spec.receive_cq->handle(),
                                .send_requests = spec.caps.send_requests,
                                .receive_requests = spec.caps.receive_requests,
                                .send_sges = spec.caps.send_sges,
                                .receive_sges = spec.caps.receive_sges,
                                .is_datagram = spec.type != verbs::QpType::kReliableConnected};
  if (!is_loaded) {
    if (!journal_->cq(entry.send_cq) || !journal_->cq(entry.receive_cq)) return;
    journal_->add_qp(qp.handle(), entry);
  }
  journal_->set_rings(qp.handle(), qp.rings());
}

Status Objects::destroy_qp(std::uint32_t handle) {
  QueuePair* qp = qps_.find(handle);
  if (qp == nullptr) return fail(Errc::kNotFound, "no such queue pair");
  drop_qp(*qp);
  return {};
}

void Objects::drop_qp(QueuePair& qp) {
  effort_.spend(TurnEffort::kQueuePair + qp.pages_kept());
  watcher_.on_queue_pair_gone(qp);
  if (journal_ != nullptr && qp.context() == kKernelContext) [[unlikely]]
    journal_->drop_qp(qp.handle());
  std::vector<QueuePair*>& listed = holdings_of(qp.context()).queue_pairs;
  listed[qp.place()] = listed.back();
  listed.back()->set_place(qp.place());
  listed.pop_back();
  if (qp.type() == verbs::QpType::kUnreliableDatagram) --datagram_qps_;
  qps_.erase(qp.handle(), reusable(qp));
}

bool Objects::reusable(const QueuePair& qp) const {
  return !(number_is_handle() && qp.type() == verbs::QpType::kGeneralServices);
}

// ---- GIDs ----

Status Objects::bind_gid(std::uint32_t index, const verbs::Gid& gid, verbs::GidType type) {
  const bool is_new = bound_gids_.insert(index).second;
  Undo forget([&] {
    if (is_new) bound_gids_.erase(index);
  });
  if (Status status = adapter_.bind_gid(index, gid, type); !status) return status;
  forget.keep();
  return {};
}

Status Objects::unbind_gid(std::uint32_t index) {
  bound_gids_.erase(index);
  return adapter_.unbind_gid(index);
}

DeviceObjects Objects::counts() const {
  return {.contexts = contexts(),
          .protection_domains = pds(),
          .memory_regions = mrs(),
          .completion_queues = cqs(),
          .shared_receive_queues = srqs_.count(),
          .queue_pairs = qps_.count(),
          .gids = gids()};
}

}  // namespace paravane::device
