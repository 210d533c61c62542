#include "device/objects.h"

#include <cassert>
#include <optional>
#include <utility>

#include "abi/registers.h"

namespace paravane::device {
namespace {

// With number == handle, number 1 is the GSI queue pair's and nobody else's.
std::uint32_t first_qp_handle(std::uint32_t effective_version) {
  return effective_version < abi::kVersionQpHandle ? 2 : 1;
}

}  // namespace

Objects::Objects(const DeviceConfig& config, verbs::Adapter& adapter, ObjectWatcher& watcher)
    : config_(config),
      adapter_(adapter),
      watcher_(watcher),
      cqs_(0, config.limits.completion_queues),
      srqs_(0, config.limits.shared_receive_queues),
      qps_(1, config.limits.queue_pairs) {}

Objects::~Objects() {
  clear();
}

void Objects::start(std::uint32_t effective_version) {
  assert(qps_.count() == 0);
  effective_version_ = effective_version;
  qps_ = HandleTable<QueuePair>(first_qp_handle(effective_version), config_.limits.queue_pairs);
}

void Objects::clear() {
  for (std::uint32_t handle = 0; handle < qps_.span(); ++handle) {
    if (QueuePair* qp = qps_.find(handle)) drop_qp(*qp);
  }
  for (std::uint32_t handle = 0; handle < srqs_.span(); ++handle) {
    if (SharedReceiveQueue* srq = srqs_.find(handle)) drop_srq(*srq);
  }
  for (std::uint32_t handle = 0; handle < cqs_.span(); ++handle) {
    if (CompletionQueue* cq = cqs_.find(handle)) drop_cq(*cq);
  }
  while (!domains_.empty()) drop_pd(domains_.begin()->first);
  while (!contexts_.empty()) destroy_context(*contexts_.begin()->second);
  while (!bound_gids_.empty()) static_cast<void>(unbind_gid(*bound_gids_.begin()));
}

// ---- Contexts ----

UserContext& Objects::create_context(std::uint32_t page) {
  if (UserContext* stale = context_of_page(page)) destroy_context(*stale);
  do {
    ++last_context_;
  } while (last_context_ == kKernelContext || contexts_.contains(last_context_));
  auto made = std::make_unique<UserContext>();
  made->handle = last_context_;
  made->page = page;
  UserContext& context = *made;
  contexts_.emplace(context.handle, std::move(made));
  contexts_by_page_.emplace(page, &context);
  watcher_.on_context_made(context);
  return context;
}

Status Objects::destroy_context(std::uint32_t handle) {
  UserContext* context = find_context(handle);
  if (context == nullptr) return fail(Errc::kNotFound, "no such context");
  destroy_context(*context);
  return {};
}

void Objects::destroy_context(UserContext& context) {
  while (!context.queue_pairs.empty()) drop_qp(*context.queue_pairs.back());
  while (!context.shared_receive_queues.empty()) drop_srq(*context.shared_receive_queues.back());
  while (!context.completion_queues.empty()) {
    drop_cq(*cqs_.find(*context.completion_queues.begin()));
  }
  while (!context.protection_domains.empty()) drop_pd(*context.protection_domains.begin());
  watcher_.on_context_gone(context);
  contexts_by_page_.erase(context.page);
  contexts_.erase(context.handle);
}

UserContext* Objects::find_context(std::uint32_t handle) const {
  const auto found = contexts_.find(handle);
  return found == contexts_.end() ? nullptr : found->second.get();
}

UserContext* Objects::context_of_page(std::uint32_t page) const {
  const auto found = contexts_by_page_.find(page);
  return found == contexts_by_page_.end() ? nullptr : found->second;
}

// ---- Protection domains and memory regions ----

Result<std::uint32_t> Objects::create_pd(std::uint32_t context) {
  UserContext* owner = find_context(context);
  if (context != kKernelContext && owner == nullptr) {
    return fail(Errc::kNotFound, "no such context");
  }
  const Result<verbs::PdNumber> number = adapter_.create_pd();
  if (!number) return std::unexpected(number.error());
  const std::uint32_t pd = std::to_underlying(*number);
  domains_.emplace(pd, Domain{.context = context, .regions = {}});
  if (owner != nullptr) owner->protection_domains.insert(pd);
  return pd;
}

Status Objects::destroy_pd(std::uint32_t pd) {
  const auto domain = domains_.find(pd);
  if (domain == domains_.end()) return fail(Errc::kNotFound, "no such protection domain");
  if (domain->second.shared_receive_queues > 0) {
    return fail(Errc::kBadState, "the protection domain is in use");
  }
  if (Status status = adapter_.destroy_pd(verbs::PdNumber{pd}); !status) return status;
  if (UserContext* owner = find_context(domain->second.context)) {
    owner->protection_domains.erase(pd);
  }
  domains_.erase(domain);
  return {};
}

// With all that is in it. REQUIRES: no queue uses it.
void Objects::drop_pd(std::uint32_t pd) {
  while (!domains_.at(pd).regions.empty()) {
    static_cast<void>(destroy_mr(*domains_.at(pd).regions.begin()));
  }
  const Status gone = destroy_pd(pd);
  assert(gone);
  static_cast<void>(gone);
}

void Objects::add_mr(std::uint32_t pd, std::uint32_t key) {
  regions_.emplace(key, pd);
  domains_.at(pd).regions.insert(key);
}

Status Objects::destroy_mr(std::uint32_t handle) {
  const auto region = regions_.find(handle);
  if (region == regions_.end()) return fail(Errc::kNotFound, "no such memory region");
  if (Status status = adapter_.regions().remove(handle); !status) return status;
  domains_.at(region->second).regions.erase(handle);
  regions_.erase(region);
  return {};
}

// ---- Completion queues ----

Result<std::uint32_t> Objects::create_cq(std::uint32_t context, std::uint32_t entries,
                                         PageList pages, CompletionSink& sink) {
  UserContext* owner = find_context(context);
  if (context != kKernelContext && owner == nullptr) {
    return fail(Errc::kNotFound, "no such context");
  }
  const std::optional<std::uint32_t> handle = cqs_.take_handle();
  if (!handle) return fail(Errc::kResourceExhausted, "too many completion queues");
  const CompletionQueue::Spec spec{.handle = *handle, .owner = owner, .entries = entries};
  cqs_.put(*handle, std::make_unique<CompletionQueue>(spec, std::move(pages), sink));
  if (owner != nullptr) owner->completion_queues.insert(*handle);
  return *handle;
}

Status Objects::destroy_cq(std::uint32_t handle) {
  CompletionQueue* cq = cqs_.find(handle);
  if (cq == nullptr) return fail(Errc::kNotFound, "no such completion queue");
  if (cq->users() > 0) return fail(Errc::kBadState, "the completion queue is in use");
  drop_cq(*cq);
  return {};
}

void Objects::drop_cq(CompletionQueue& cq) {
  watcher_.on_completion_queue_gone(cq);
  if (cq.of_user()) cq.owner()->completion_queues.erase(cq.handle());
  cqs_.erase(cq.handle());
}

// ---- Shared receive queues ----

Result<SharedReceiveQueue*> Objects::create_srq(SharedReceiveQueue::Spec spec, PageList pages,
                                                SharedReceiveEvents& events,
                                                Counter& broken_rings) {
  const auto domain = domains_.find(spec.protection_domain);
  if (domain == domains_.end()) return fail(Errc::kNotFound, "no such protection domain");
  UserContext* owner = find_context(domain->second.context);
  if (owner == nullptr) {
    return fail(Errc::kInvalidArgument, "a shared receive queue of the guest's kernel");
  }
  const std::optional<std::uint32_t> handle = srqs_.take_handle();
  if (!handle) return fail(Errc::kResourceExhausted, "too many shared receive queues");
  spec.handle = *handle;
  spec.context = owner->handle;
  auto made = std::make_unique<SharedReceiveQueue>(spec, std::move(pages), events, broken_rings);
  SharedReceiveQueue* srq = made.get();
  srqs_.put(*handle, std::move(made));
  ++domain->second.shared_receive_queues;
  srq->set_place(owner->shared_receive_queues.size());
  owner->shared_receive_queues.push_back(srq);
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
  watcher_.on_shared_receive_queue_gone(srq);
  --domains_.at(srq.protection_domain()).shared_receive_queues;
  auto& listed = find_context(srq.context())->shared_receive_queues;
  listed[srq.place()] = listed.back();
  listed.back()->set_place(srq.place());
  listed.pop_back();
  srqs_.erase(srq.handle());
}

// ---- Queue pairs ----

Result<QueuePair*> Objects::create_qp(QueuePair::Spec spec, PageList pages,
                                      const QueueGeometry& geometry, bool signal_all,
                                      Counter& broken_rings) {
  const bool is_gsi = spec.type == verbs::QpType::kGeneralServices;
  const bool fixed = is_gsi && number_is_handle();
  if (fixed && qps_.find(verbs::kGsiQpNumber) != nullptr) {
    return fail(Errc::kBadState, "there is a GSI queue pair already");
  }
  const std::optional<std::uint32_t> handle =
      fixed ? std::optional(verbs::kGsiQpNumber) : qps_.take_handle();
  if (!handle) return fail(Errc::kResourceExhausted, "too many queue pairs");

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
                                                                   : 0,
                                    .send_cq = spec.send_cq,
                                    .receive_cq = spec.receive_cq,
                                    .work = qp.get(),
                                    .signal_all = signal_all,
                                    .shared_receives = shared_receives});
  if (!engine) {
    if (!fixed) qps_.give_back(*handle);
    return std::unexpected(engine.error());
  }
  qp->set_engine(std::move(*engine));
  QueuePair* made = qp.get();
  qps_.put(*handle, std::move(qp));
  if (spec.type == verbs::QpType::kUnreliableDatagram) ++datagram_qps_;
  if (UserContext* owner = find_context(spec.context)) {
    made->set_place(owner->queue_pairs.size());
    owner->queue_pairs.push_back(made);
  }
  return made;
}

Status Objects::destroy_qp(std::uint32_t handle) {
  QueuePair* qp = qps_.find(handle);
  if (qp == nullptr) return fail(Errc::kNotFound, "no such queue pair");
  drop_qp(*qp);
  return {};
}

void Objects::drop_qp(QueuePair& qp) {
  watcher_.on_queue_pair_gone(qp);
  if (UserContext* owner = find_context(qp.context())) {
    QueuePair* last = owner->queue_pairs.back();
    owner->queue_pairs[qp.place()] = last;
    last->set_place(qp.place());
    owner->queue_pairs.pop_back();
  }
  if (qp.spec().type == verbs::QpType::kUnreliableDatagram) --datagram_qps_;
  qps_.erase(qp.handle(), reusable(qp));
}

bool Objects::reusable(const QueuePair& qp) const {
  return !(number_is_handle() && qp.spec().type == verbs::QpType::kGeneralServices);
}

// ---- GIDs ----

Status Objects::bind_gid(std::uint32_t index, const verbs::Gid& gid, verbs::GidType type) {
  if (Status status = adapter_.bind_gid(index, gid, type); !status) return status;
  bound_gids_.insert(index);
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
