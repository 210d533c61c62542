// Objects: what is saved of all that a guest has created on its device.

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>
#include <vector>

#include "device/limits.h"
#include "device/objects.h"
#include "device/queues/queue_geometry.h"

namespace paravane::device {
namespace {

using state::Tag;

constexpr Tag kLastContext{1};
constexpr Tag kContext{2};  // a list
constexpr Tag kDomain{3};   // a list
constexpr Tag kAdapter{4};
constexpr Tag kCqHandles{5};
constexpr Tag kCq{6};  // a list
constexpr Tag kSrqHandles{7};
constexpr Tag kSrq{8};  // a list
constexpr Tag kQpHandles{9};
constexpr Tag kQp{10};  // a list
// Of a context.
constexpr Tag kContextHandle{1};
constexpr Tag kContextPage{2};
constexpr Tag kIsClosing{3};
constexpr Tag kCompletionWords{4};
constexpr Tag kPollWords{5};
// Of a protection domain.
constexpr Tag kDomainNumber{1};
constexpr Tag kDomainContext{2};
// Of a completion queue.
constexpr Tag kCqHandle{1};
constexpr Tag kCqContext{2};
constexpr Tag kCqEntries{3};
constexpr Tag kCqPages{4};
constexpr Tag kCqState{5};
// Of a shared receive queue.
constexpr Tag kSrqHandle{1};
constexpr Tag kSrqDomain{2};
constexpr Tag kSrqRequests{3};
constexpr Tag kSrqSges{4};
constexpr Tag kSrqPages{5};
constexpr Tag kSrqState{6};
// Of a queue pair.
constexpr Tag kQpHandle{1};
constexpr Tag kQpNumber{2};
constexpr Tag kQpType{3};
constexpr Tag kQpDomain{4};
constexpr Tag kQpSendCq{5};
constexpr Tag kQpReceiveCq{6};
constexpr Tag kQpSrq{7};  // missing: it has receives of its own
constexpr Tag kQpSendRequests{8};
constexpr Tag kQpSendSges{9};
constexpr Tag kQpReceiveRequests{10};
constexpr Tag kQpReceiveSges{11};
constexpr Tag kQpAtomics{12};
constexpr Tag kQpSignalAll{13};
constexpr Tag kQpPages{14};
constexpr Tag kQpState{15};

template <typename Object>
void save_pages(Tag tag, const Object& object, state::Writer& out) {
  const state::Writer::Group group(out, tag);
  object.pages().save(out);
}

template <typename Object>
void save_state(Tag tag, const Object& object, state::Writer& out) {
  const state::Writer::Group group(out, tag);
  object.save(out);
}

std::uint32_t small_in(state::Reader& in, Tag tag, std::uint64_t most = UINT32_MAX) {
  return static_cast<std::uint32_t>(in.number(tag, most));
}

// As many as `needed`, which is an error if the sizes of a queue are impossible.
PageList pages_in(state::Reader& in, Tag tag, GuestMemory& memory,
                  const Result<std::uint64_t>& needed) {
  state::Reader group = in.group(tag);
  if (!in.expect(needed.has_value(), needed ? "" : needed.error().message)) return {};
  PageList pages = PageList::load(group, memory, Rights::kReadWrite);
  in.expect(pages.size_bytes() == *needed * kPageBytes, "the pages do not fit the queue");
  return pages;
}

void save_object(const UserContext& context, bool is_closing, state::Writer& out) {
  out.number(kContextHandle, context.handle);
  out.number(kContextPage, context.page);
  out.flag(kIsClosing, is_closing);
  out.number(kCompletionWords, context.completion_words);
  out.number(kPollWords, context.poll_words);
}

void save_object(const CompletionQueue& cq, state::Writer& out) {
  out.number(kCqHandle, cq.handle());
  out.number(kCqContext, cq.context());
  out.number(kCqEntries, cq.entries());
  save_pages(kCqPages, cq, out);
  save_state(kCqState, cq, out);
}

void save_object(const SharedReceiveQueue& srq, state::Writer& out) {
  out.number(kSrqHandle, srq.handle());
  out.number(kSrqDomain, srq.protection_domain());
  out.number(kSrqRequests, srq.spec().requests);
  out.number(kSrqSges, srq.spec().sges);
  save_pages(kSrqPages, srq, out);
  save_state(kSrqState, srq, out);
}

void save_object(const QueuePair& qp, state::Writer& out) {
  const QueuePair::Spec spec = qp.spec();
  const verbs::QueuePairSpec& engine = qp.engine().spec();
  out.number(kQpHandle, spec.handle);
  out.number(kQpNumber, qp.engine().number());
  out.choice(kQpType, spec.type);
  out.number(kQpDomain, spec.protection_domain);
  out.number(kQpSendCq, spec.send_cq->handle());
  out.number(kQpReceiveCq, spec.receive_cq->handle());
  if (spec.shared_receives != nullptr) out.number(kQpSrq, spec.shared_receives->handle());
  out.number(kQpSendRequests, spec.caps.send_requests);
  out.number(kQpSendSges, spec.caps.send_sges);
  out.number(kQpReceiveRequests, spec.caps.receive_requests);
  out.number(kQpReceiveSges, spec.caps.receive_sges);
  out.flag(kQpAtomics, spec.atomics);
  out.flag(kQpSignalAll, engine.signal_all);
  save_pages(kQpPages, qp, out);
  save_state(kQpState, qp, out);
}

}  // namespace

void Objects::save(state::Writer& out) const {
  assert(!closing_all_);
  out.number(kLastContext, last_context_);
  std::vector<const UserContext*> contexts;
  for_each_context([&](const UserContext& context) { contexts.push_back(&context); });
  std::ranges::sort(contexts, {}, &UserContext::handle);
  for (const UserContext* context : contexts) {
    const state::Writer::Group group(out, kContext);
    save_object(*context, context == closing_, out);
  }
  for (const auto& domain : domains_) {
    if (domain == nullptr) continue;
    const state::Writer::Group group(out, kDomain);
    out.number(kDomainNumber, domain->number);
    out.number(kDomainContext, domain->context);
  }
  {
    const state::Writer::Group group(out, kAdapter);
    adapter_.save(out);
  }
  const auto save_table = [&out](Tag handles, Tag each, const auto& table) {
    {
      const state::Writer::Group group(out, handles);
      table.save_handles(out);
    }
    table.for_each([&](const auto& object) {
      const state::Writer::Group group(out, each);
      save_object(object, out);
    });
  };
  save_table(kCqHandles, kCq, cqs_);
  save_table(kSrqHandles, kSrq, srqs_);
  save_table(kQpHandles, kQp, qps_);
}

void Objects::load(state::Reader& in, const Makers& makers) {
  last_context_ = small_in(in, kLastContext);
  load_contexts(in);
  load_domains(in);
  state::Reader adapter = in.group(kAdapter);
  adapter_.load(adapter, [this](const verbs::RegionKind& kind) {
    const Domain* domain = find_pd(std::to_underlying(kind.pd));
    if (domain == nullptr) return false;
    const bool is_of_kernel = kind.is_all_memory || kind.fast_pages > 0;
    return !is_of_kernel ||
           (domain->context == kKernelContext && kind.fast_pages <= kMaxFastRegionPages);
  });
  const auto end =
      static_cast<std::uint32_t>(std::max<std::size_t>(domains_.size(), adapter_.pd_end()));
  for (std::uint32_t pd = 0; in.good() && pd < end; ++pd) {
    in.expect(has_pd(pd) == adapter_.has_pd(verbs::PdNumber{pd}), "a protection domain is amiss");
  }
  if (!in.good()) forget_missing_domains();
  for (std::uint32_t index = 0; index < adapter_.gids().size(); ++index) {
    if (adapter_.gid(index)) bound_gids_.insert(index);
  }
  load_cqs(in, makers);
  load_srqs(in, makers);
  load_qps(in, makers);
  in.end();
}

void Objects::load_contexts(state::Reader& in) {
  while (auto group = in.group_if(kContext)) {
    const std::uint32_t handle = small_in(*group, kContextHandle);
    const std::uint32_t page = small_in(*group, kContextPage, config_.held_limits().contexts - 1);
    const bool is_closing = group->flag(kIsClosing);
    const std::uint64_t completion_words = group->number(kCompletionWords);
    const std::uint64_t poll_words = group->number(kPollWords);
    group->end();
    const bool is_new = handle != kKernelContext && find_context(handle) == nullptr && page != 0 &&
                        context_of_page(page) == nullptr && (!is_closing || closing_ == nullptr);
    if (!group->expect(is_new, "there can be no such context") || !group->good()) return;
    UserContext& context = add_context(handle, page);
    context.completion_words = completion_words;
    context.poll_words = poll_words;
    if (!is_closing) continue;
    closing_ = &context;
    contexts_by_page_.erase(page);
  }
}

bool Objects::has_owner(std::uint32_t context) const {
  return context == kKernelContext || find_context(context) != nullptr;
}

void Objects::load_domains(state::Reader& in) {
  while (auto group = in.group_if(kDomain)) {
    const std::uint32_t number =
        small_in(*group, kDomainNumber, config_.held_limits().protection_domains - 1);
    const std::uint32_t context = small_in(*group, kDomainContext);
    group->end();
    const bool is_new = !has_pd(number) && has_owner(context);
    if (!group->expect(is_new, "there can be no such protection domain") || !group->good()) return;
    add_pd(number, context);
  }
}

// A state was refused before the engine had them, which could destroy none of them.
void Objects::forget_missing_domains() {
  for (auto& domain : domains_) {
    if (domain == nullptr || adapter_.has_pd(verbs::PdNumber{domain->number})) continue;
    holdings_of(domain->context).protection_domains.leave(domain->place);
    domain.reset();
    --pds_;
  }
}

void Objects::load_cqs(state::Reader& in, const Makers& makers) {
  state::Reader handles = in.group(kCqHandles);
  verbs::IndexPool::Claims claims = cqs_.load_handles(handles);
  while (auto group = in.group_if(kCq)) {
    if (!load_cq(*group, makers, claims)) return;
  }
  in.expect(claims.complete(), "a completion queue is missing");
}

bool Objects::load_cq(state::Reader& in, const Makers& makers, verbs::IndexPool::Claims& claims) {
  const std::uint32_t handle = small_in(in, kCqHandle);
  const std::uint32_t context = small_in(in, kCqContext);
  const std::uint32_t entries = small_in(in, kCqEntries);
  PageList pages =
      pages_in(in, kCqPages, makers.memory, completion_queue_pages(entries, config_.held_limits()));
  if (!in.expect(has_owner(context) && claims.claim(handle),
                 "there can be no such completion queue") ||
      !in.good()) {
    return false;
  }
  cqs_.make_place(handle);
  CompletionQueue& cq =
      add_cq({.handle = handle, .owner = find_context(context), .entries = entries},
             std::move(pages), makers.completions);
  state::Reader rest = in.group(kCqState);
  cq.load(rest);
  in.end();
  return in.good();
}

void Objects::load_srqs(state::Reader& in, const Makers& makers) {
  state::Reader handles = in.group(kSrqHandles);
  verbs::IndexPool::Claims claims = srqs_.load_handles(handles);
  while (auto group = in.group_if(kSrq)) {
    if (!load_srq(*group, makers, claims)) return;
  }
  in.expect(claims.complete(), "a shared receive queue is missing");
}

bool Objects::load_srq(state::Reader& in, const Makers& makers, verbs::IndexPool::Claims& claims) {
  SharedReceiveQueue::Spec spec{.handle = small_in(in, kSrqHandle),
                                .protection_domain = small_in(in, kSrqDomain),
                                .requests = small_in(in, kSrqRequests),
                                .sges = small_in(in, kSrqSges)};
  PageList pages =
      pages_in(in, kSrqPages, makers.memory,
               shared_receive_queue_pages(spec.requests, spec.sges, config_.held_limits()));
  const Domain* domain = find_pd(spec.protection_domain);
  if (!in.expect(
          domain != nullptr && domain->context != kKernelContext && claims.claim(spec.handle),
          "there can be no such shared receive queue") ||
      !in.good()) {
    return false;
  }
  spec.context = domain->context;
  srqs_.make_place(spec.handle);
  SharedReceiveQueue& srq =
      add_srq(spec, std::move(pages), makers.shared_receives, makers.broken_rings);
  state::Reader rest = in.group(kSrqState);
  srq.load(rest);
  in.end();
  return in.good();
}

void Objects::load_qps(state::Reader& in, const Makers& makers) {
  state::Reader handles = in.group(kQpHandles);
  verbs::IndexPool::Claims claims = qps_.load_handles(handles);
  while (auto group = in.group_if(kQp)) {
    if (!load_qp(*group, makers, claims)) return;
  }
  in.expect(claims.complete(), "a queue pair is missing");
}

// What create_qp() of the commands demands, demanded again.
bool Objects::load_qp(state::Reader& in, const Makers& makers, verbs::IndexPool::Claims& claims) {
  QueuePair::Spec spec;
  spec.handle = small_in(in, kQpHandle);
  const std::uint32_t number = small_in(in, kQpNumber, verbs::kQpNumberMask);
  spec.type = in.choice(kQpType, verbs::QpType::kGeneralServices);
  spec.protection_domain = small_in(in, kQpDomain);
  spec.send_cq = find_cq(small_in(in, kQpSendCq));
  spec.receive_cq = find_cq(small_in(in, kQpReceiveCq));
  const auto shared = in.number_if(kQpSrq, UINT32_MAX);
  if (shared) spec.shared_receives = find_srq(static_cast<std::uint32_t>(*shared));
  spec.caps.send_requests = small_in(in, kQpSendRequests);
  spec.caps.send_sges = static_cast<std::uint8_t>(in.number(kQpSendSges, UINT8_MAX));
  spec.caps.receive_requests = small_in(in, kQpReceiveRequests);
  spec.caps.receive_sges = static_cast<std::uint8_t>(in.number(kQpReceiveSges, UINT8_MAX));
  spec.atomics = in.flag(kQpAtomics);
  const bool signal_all = in.flag(kQpSignalAll);
  const Result<QueueGeometry> geometry =
      queue_geometry(QueueSizes{.send_requests = spec.caps.send_requests,
                                .send_sges = spec.caps.send_sges,
                                .receive_requests = spec.caps.receive_requests,
                                .receive_sges = spec.caps.receive_sges,
                                .has_receives = !shared},
                     config_.held_limits());
  PageList pages = pages_in(
      in, kQpPages, makers.memory,
      geometry ? Result<std::uint64_t>(geometry->pages) : std::unexpected(geometry.error()));
  if (!in.good()) return false;

  const Domain* domain = find_pd(spec.protection_domain);
  spec.context = domain == nullptr ? kKernelContext : domain->context;
  const bool is_of_context =
      domain != nullptr && spec.send_cq != nullptr && spec.receive_cq != nullptr &&
      spec.send_cq->context() == spec.context && spec.receive_cq->context() == spec.context &&
      (!shared ||
       (spec.shared_receives != nullptr && spec.shared_receives->context() == spec.context));
  if (!in.expect(is_of_context, "a part of the queue pair is missing, or of another context")) {
    return false;
  }
  const bool is_gsi = spec.type == verbs::QpType::kGeneralServices;
  const bool has_fixed_handle = is_gsi && number_is_handle();
  const bool has_handle =
      has_fixed_handle ? spec.handle == verbs::kGsiQpNumber && find_qp(spec.handle) == nullptr
                       : claims.claim(spec.handle);
  const bool has_number = number != 0 && (number == verbs::kGsiQpNumber) == is_gsi &&
                          (!number_is_handle() || number == spec.handle);
  if (!in.expect((!is_gsi || spec.context == kKernelContext) && has_handle && has_number,
                 "there can be no such queue pair")) {
    return false;
  }
  const Result<QueuePair*> qp =
      create_qp(spec, std::move(pages), *geometry, signal_all, makers.broken_rings, number);
  if (!in.expect(qp.has_value(), qp ? "" : qp.error().message)) return false;
  state::Reader rest = in.group(kQpState);
  (*qp)->load(rest);
  in.end();
  const verbs::QpAttributes attributes = (*qp)->engine().query();
  return in.expect(attributes.max_reads <= config_.held_limits().reads_outstanding &&
                       attributes.max_dest_reads <= config_.held_limits().reads_outstanding,
                   "too many reads outstanding") &&
         in.good();
}

}  // namespace paravane::device
