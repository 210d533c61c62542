#include "device/lost_queues.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "abi/commands.h"
#include "device/queue_geometry.h"
#include "device/registers.h"
#include "device/work_decoder.h"
#include "device/work_ring.h"
#include "guestmem/page_list.h"
#include "verbs/request_check.h"

namespace paravane::device {
namespace {

constexpr std::uint32_t kMostInARow = 64;  // requests of one queue pair
constexpr Duration kTryAgain = std::chrono::milliseconds(10);
constexpr std::uint8_t kErrInvalid = 22;

verbs::Completion flushed(std::uint32_t qp, std::uint64_t wr_id, verbs::WcOpcode opcode) {
  return {.wr_id = wr_id, .qp_tag = qp, .opcode = opcode, .status = verbs::WcStatus::kFlushed};
}

}  // namespace

struct LostQueues::Qp {
  struct Queues {
    CompletionQueue& send;
    CompletionQueue& receive;
  };
  Qp(std::uint32_t number, const KernelJournal::Qp& is, PageList list,
     const QueueGeometry& geometry, const Queues& queues, Counter& broken_rings)
      : handle(number),
        is_datagram(is.is_datagram),
        decoder({.poster = Poster::kKernel,
                 .datagrams = is.is_datagram,
                 .max_send_sges = static_cast<std::uint8_t>(is.send_sges),
                 .max_receive_sges = static_cast<std::uint8_t>(is.receive_sges)}),
        pages(std::move(list)),
        send(pages, geometry.send, broken_rings),
        receive(pages, geometry.receive, broken_rings),
        send_cq(&queues.send),
        receive_cq(&queues.receive) {
    send_cq->add_user();
    receive_cq->add_user();
  }
  ~Qp() {
    send_cq->forget_taken(send.ring());
    receive_cq->forget_taken(receive.ring());
    send_cq->drop_user();
    receive_cq->drop_user();
  }
  Qp(const Qp&) = delete;
  Qp& operator=(const Qp&) = delete;

  const std::uint32_t handle;
  const bool is_datagram;
  const WorkDecoder decoder;
  PageList pages;
  WorkRing send;
  WorkRing receive;
  CompletionQueue* send_cq;
  CompletionQueue* receive_cq;
  bool is_started = false;
};

LostQueues::LostQueues(const Parts& parts)
    : config_(parts.config),
      journal_(parts.journal),
      memory_(parts.memory),
      region_(parts.region),
      lines_(parts.lines),
      notifier_(parts.notifier),
      effort_(parts.effort),
      counters_(parts.counters) {}

LostQueues::~LostQueues() {
  for (const auto& [handle, qp] : qps_) journal_.set_rings(handle, {});
}

void LostQueues::poll(Instant now, verbs::Budget& budget) {
  if (is_finding()) find_some();
  if (has_waiting_ && now >= next_try_) look();
  if (is_sweeping_) sweep(now, budget);
}

void LostQueues::look() {
  is_sweeping_ = true;
  has_waiting_ = false;
  idle_ = 0;
}

// ---- Finding what the journal names ----

// Completion queues first, since they tell how far the queue pairs are.
void LostQueues::find_some() {
  do {
    effort_.spend(1);
    if (next_cq_ < journal_.cqs_end()) {
      find_cq(next_cq_++);
    } else if (find_qp(next_qp_++) != nullptr) {
      look();
    }
  } while (is_finding() && effort_.room_for_slice());
}

// The guest is told of each: a completion may have come just before the process was killed.
CompletionQueue* LostQueues::find_cq(std::uint32_t handle) {
  if (const auto found = cqs_.find(handle); found != cqs_.end()) return found->second.get();
  const auto is = journal_.cq(handle);
  if (!is) return nullptr;
  const auto needed = completion_queue_pages(is->entries, config_.limits);
  if (!needed) return nullptr;
  auto pages = PageList::from_directory(memory_, is->directory, *needed, Rights::kReadWrite);
  effort_.spend(TurnEffort::kOtherObject + *needed);
  if (!pages) return nullptr;
  auto cq = std::make_unique<CompletionQueue>(
      CompletionQueue::Spec{.handle = handle, .entries = is->entries}, std::move(*pages),
      static_cast<CompletionSink&>(*this));
  const auto index = cq->resume();
  if (!index) return nullptr;
  journal_.settle_seen(handle, *index);
  cq->note_in(journal_);
  notifier_.completion(handle);
  return cqs_.emplace(handle, std::move(cq)).first->second.get();
}

LostQueues::Qp* LostQueues::find_qp(std::uint32_t handle) {
  if (const auto found = qps_.find(handle); found != qps_.end()) return found->second.get();
  const auto is = journal_.qp(handle);
  if (!is) return nullptr;
  const auto geometry = queue_geometry(QueueSizes{.send_requests = is->send_requests,
                                                  .send_sges = is->send_sges,
                                                  .receive_requests = is->receive_requests,
                                                  .receive_sges = is->receive_sges},
                                       config_.limits);
  CompletionQueue* send_cq = find_cq(is->send_cq);
  CompletionQueue* receive_cq = find_cq(is->receive_cq);
  if (!geometry || send_cq == nullptr || receive_cq == nullptr) return nullptr;
  auto pages =
      PageList::from_directory(memory_, is->directory, geometry->pages, Rights::kReadWrite);
  effort_.spend(TurnEffort::kQueuePair + geometry->pages);
  if (!pages) return nullptr;
  auto qp = std::make_unique<Qp>(handle, *is, std::move(*pages), *geometry,
                                 Qp::Queues{.send = *send_cq, .receive = *receive_cq},
                                 counters_.broken_rings);
  if (const auto undone = journal_.undone(handle)) {
    qp->is_started = qp->send.resume(undone->send) && qp->receive.resume(undone->receive);
  }
  Qp* const found = qps_.emplace(handle, std::move(qp)).first->second.get();
  // Datagrams may complete their receives in another order, so it is not known which are left. No
  // kernel waits for these.
  journal_.set_rings(
      handle, {.send = &found->send, .receive = found->is_datagram ? nullptr : &found->receive});
  return found;
}

// ---- Flushing ----

void LostQueues::sweep(Instant now, const verbs::Budget& budget) {
  do {
    if (idle_ >= qps_.size()) {
      is_sweeping_ = false;
      return;
    }
    auto next = qps_.lower_bound(next_swept_);
    if (next == qps_.end()) next = qps_.begin();
    Qp& qp = *next->second;
    next_swept_ = qp.handle + 1;
    effort_.spend(1);
    switch (flush(qp)) {
      case Flushed::kSome: idle_ = 0; break;
      case Flushed::kWaits:
        has_waiting_ = true;
        next_try_ = now + kTryAgain;
        [[fallthrough]];
      case Flushed::kNothing: ++idle_; break;
    }
  } while (effort_.room_for_slice() && !budget.spent());
}

LostQueues::Flushed LostQueues::flush(Qp& qp) {
  if (!qp.is_started) return Flushed::kNothing;
  // What has no place in its queue would end it.
  if (!qp.send_cq->is_reachable() || !qp.receive_cq->is_reachable()) return Flushed::kWaits;
  const Flushed sent = flush_send(qp);
  qp.send_cq->reveal();
  const Flushed received = qp.is_datagram ? Flushed::kNothing : flush_receive(qp);
  qp.receive_cq->reveal();
  if (sent == Flushed::kSome || received == Flushed::kSome) return Flushed::kSome;
  return sent == Flushed::kWaits || received == Flushed::kWaits ? Flushed::kWaits
                                                                : Flushed::kNothing;
}

LostQueues::Flushed LostQueues::flush_send(Qp& qp) {
  verbs::SendRequest request;
  for (std::uint32_t done = 0; done < kMostInARow; ++done) {
    const Flushed so_far = done > 0 ? Flushed::kSome : Flushed::kNothing;
    switch (qp.send.peek_send(qp.decoder, request)) {
      case WorkRing::Fetch::kTaken: break;
      case WorkRing::Fetch::kAbsent: return done > 0 ? Flushed::kSome : Flushed::kWaits;
      case WorkRing::Fetch::kEmpty:
      case WorkRing::Fetch::kBroken: return so_far;
    }
    if (!qp.send_cq->has_room()) return done > 0 ? Flushed::kSome : Flushed::kWaits;
    qp.send.pass_send();
    qp.send_cq->publish_before_reveal(qp.send.ring());
    effort_.spend(1);
    const auto opcode = verbs::completion_opcode(request.opcode);
    if (!qp.send_cq->push(flushed(qp.handle, request.wr_id, opcode), verbs::Reveal::kSoon)) {
      qp.is_started = false;  // the guest has broken its ring
      return so_far;
    }
  }
  return Flushed::kSome;
}

LostQueues::Flushed LostQueues::flush_receive(Qp& qp) {
  verbs::ReceiveRequest request;
  for (std::uint32_t done = 0; done < kMostInARow; ++done) {
    const Flushed so_far = done > 0 ? Flushed::kSome : Flushed::kNothing;
    if (!qp.receive_cq->has_room()) {
      const bool has_more = qp.receive.peek() == RingConsumer::Next::kEntry;
      return done > 0 ? Flushed::kSome : has_more ? Flushed::kWaits : Flushed::kNothing;
    }
    switch (qp.receive.take_receive(qp.decoder, request)) {
      case WorkRing::Fetch::kTaken: break;
      case WorkRing::Fetch::kAbsent: return done > 0 ? Flushed::kSome : Flushed::kWaits;
      case WorkRing::Fetch::kEmpty:
      case WorkRing::Fetch::kBroken: return so_far;
    }
    qp.receive_cq->publish_before_reveal(qp.receive.ring());
    effort_.spend(1);
    if (!qp.receive_cq->push(flushed(qp.handle, request.wr_id, verbs::WcOpcode::kReceive),
                             verbs::Reveal::kSoon)) {
      qp.is_started = false;
      return so_far;
    }
  }
  return Flushed::kSome;
}

// ---- Commands ----

std::uint32_t LostQueues::submit() {
  Request request;
  lines_.forget(abi::kVectorResponse);
  journal_.begin_command();
  effort_.spend(TurnEffort::kOtherObject);
  counters_.commands.add();
  std::uint32_t error = kErrorBadAddress;
  if (memory_.copy_in(region_.command_slot, request.bytes)) error = execute(request);
  if (error != kErrorNone) counters_.failed_commands.add();
  journal_.end_command();
  return error;
}

std::uint32_t LostQueues::execute(const Request& request) {
  const auto handle = request.as<abi::HandleCommand>().handle.get();
  switch (request.as<abi::CommandHeader>().cmd.get()) {
    case abi::kModifyQp: return modify_qp(request);
    case abi::kDestroyQp: return destroy_qp(handle) ? kErrorNone : kErrorNoDevice;
    case abi::kDestroyCq: return destroy_cq(handle) ? kErrorNone : kErrorNoDevice;
    default: return kErrorNoDevice;
  }
}

// To ERR, where they are already, or to RESET.
std::uint32_t LostQueues::modify_qp(const Request& request) {
  const auto command = request.as<abi::ModifyQpCommand>();
  Qp* const qp = find_qp(command.qp_handle.get());
  if (qp == nullptr) return kErrorNoDevice;
  const bool has_state = (command.attr_mask.get() & verbs::kAttrState) != 0;
  const std::uint32_t state = command.attrs.qp_state.get();
  const bool is_reset = has_state && state == std::to_underlying(verbs::QpState::kReset);
  const bool is_error = has_state && state == std::to_underlying(verbs::QpState::kError);
  if (is_reset) {
    qp->is_started = false;
    journal_.stop_qp(qp->handle);
  }
  abi::ResponseHeader header{};
  header.response = command.header.response;
  header.ack.set(abi::kAckBit | abi::kModifyQp);
  if (!is_reset && !is_error) header.err = kErrInvalid;
  Response response;
  response.set(header);
  if (!memory_.copy_out(region_.response_slot, response.bytes)) return kErrorBadAddress;
  journal_.end_command();
  lines_.raise(abi::kVectorResponse);
  look();  // a kernel that drains its queue posts one more
  return kErrorNone;
}

bool LostQueues::destroy_qp(std::uint32_t handle) {
  const bool is_known = journal_.qp(handle).has_value();
  journal_.drop_qp(handle);
  qps_.erase(handle);
  return is_known;
}

void LostQueues::destroy_users(const CompletionQueue& cq) {
  effort_.spend(qps_.size());
  std::erase_if(qps_, [&](const auto& entry) {
    const Qp& qp = *entry.second;
    const bool uses = qp.send_cq == &cq || qp.receive_cq == &cq;
    if (uses) journal_.drop_qp(qp.handle);
    return uses;
  });
}

// With what is left of its queue pairs, which the kernel has destroyed before.
bool LostQueues::destroy_cq(std::uint32_t handle) {
  if (const auto found = cqs_.find(handle); found != cqs_.end()) {
    if (found->second->users() > 0) destroy_users(*found->second);
    cqs_.erase(found);
  }
  const bool is_known = journal_.cq(handle).has_value();
  journal_.drop_cq(handle);
  notifier_.forget(Notice::About::kCompletionQueue, handle);
  return is_known;
}

}  // namespace paravane::device
