#include "device/journal/lost_queues.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "abi/commands.h"
#include "device/queues/queue_geometry.h"
#include "device/queues/work_decoder.h"
#include "device/queues/work_ring.h"
#include "device/registers.h"
#include "verbs/request_check.h"

namespace paravane::device {
namespace {

constexpr std::uint32_t kMostInARow = 64;     // requests of one queue pair
constexpr std::uint32_t kTablesPerSlice = 4;  // of 512 pages each
constexpr Duration kTryAgain = std::chrono::milliseconds(10);
constexpr std::uint8_t kErrInvalid = 22;

// Linux's connection manager takes a datagram that was flushed for one that was sent
// (cm_send_handler() of drivers/infiniband/core/cm.c), and would wait for the answer for ever.
verbs::WcStatus status_of_send(bool is_datagram) {
  return is_datagram ? verbs::WcStatus::kFatal : verbs::WcStatus::kFlushed;
}

}  // namespace

struct LostQueues::Cq {
  Cq(const CompletionQueue::Spec& spec, PageList pages, CompletionSink& sink)
      : queue(spec, std::move(pages), sink) {}

  CompletionQueue queue;
  bool is_destroyed = false;  // by the kernel, while queue pairs that it has not destroyed use it
};

struct LostQueues::Qp {
  struct Queues {
    Cq& send;
    Cq& receive;
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
        send_cq(queues.send),
        receive_cq(queues.receive) {
    send_cq.queue.add_user();
    receive_cq.queue.add_user();
  }
  ~Qp() {
    send_cq.queue.forget_taken(send.ring());
    receive_cq.queue.forget_taken(receive.ring());
    send_cq.queue.drop_user();
    receive_cq.queue.drop_user();
  }
  Qp(const Qp&) = delete;
  Qp& operator=(const Qp&) = delete;

  const std::uint32_t handle;
  const bool is_datagram;
  const WorkDecoder decoder;
  PageList pages;
  WorkRing send;
  WorkRing receive;
  Cq& send_cq;
  Cq& receive_cq;
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
      counters_(parts.counters),
      searched_map_(memory_.generation()) {}

LostQueues::~LostQueues() {
  while (!qps_.empty()) bury_qp(*qps_.begin()->second);
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
  if (may_find_missing()) search_again();
  do {
    effort_.spend(1);
    if (next_cq_ < journal_.cqs_end()) {
      if (find_cq(next_cq_) == Search::kEnded) ++next_cq_;
    } else if (next_qp_ < journal_.qps_end()) {
      if (find_qp(next_qp_) == Search::kEnded) ++next_qp_;
    }
  } while (is_finding() && effort_.room_for_slice());
}

void LostQueues::search_again() {
  searched_map_ = memory_.generation();
  is_missing_ = false;
  next_cq_ = 0;
  next_qp_ = 0;
}

LostQueues::Search LostQueues::miss() {
  is_missing_ = true;
  return pass();
}

// Also one that was destroyed while its pages were read.
LostQueues::Search LostQueues::pass() {
  reading_.reset();
  return Search::kEnded;
}

// When it has ended, pages_ has them all, or none: they are not shown.
LostQueues::Search LostQueues::read_pages(GuestAddr directory, std::uint64_t pages) {
  pages_ = PageList();
  if (!reading_) {
    auto started = PageListBuilder::start(memory_, directory, pages, Rights::kReadWrite);
    if (!started) return miss();
    reading_ = std::move(*started);
  }
  const Result<bool> done = reading_->advance(kTablesPerSlice);
  effort_.spend(reading_->last_touched());
  if (!done) return miss();
  if (!*done) return Search::kGoesOn;
  pages_ = reading_->take();
  reading_.reset();
  return Search::kEnded;
}

LostQueues::Cq* LostQueues::found_cq(std::uint32_t handle) const {
  const auto found = cqs_.find(handle);
  return found == cqs_.end() || found->second->is_destroyed ? nullptr : found->second.get();
}

// The guest is told of each: a completion may have come just before the process was killed.
LostQueues::Search LostQueues::find_cq(std::uint32_t handle) {
  const auto is = journal_.cq(handle);
  if (!is) return pass();
  if (cqs_.contains(handle)) {
    notifier_.completion(handle);  // the ring of notices may have been missing, too
    return pass();
  }
  const auto needed = completion_queue_pages(is->entries, config_.limits);
  if (!needed) return pass();
  if (read_pages(is->directory, *needed) == Search::kGoesOn) return Search::kGoesOn;
  if (pages_.size_bytes() == 0) return Search::kEnded;
  effort_.spend(TurnEffort::kOtherObject);
  auto cq = std::make_unique<Cq>(CompletionQueue::Spec{.handle = handle, .entries = is->entries},
                                 std::move(pages_), static_cast<CompletionSink&>(*this));
  const auto index = cq->queue.resume();
  if (!index) return miss();
  journal_.settle_seen(handle, *index);
  cq->queue.note_in(journal_);
  cqs_.emplace(handle, std::move(cq));
  notifier_.completion(handle);
  return Search::kEnded;
}

LostQueues::Search LostQueues::find_qp(std::uint32_t handle) {
  const auto is = journal_.qp(handle);
  if (!is || qps_.contains(handle)) return pass();
  const auto geometry = queue_geometry(QueueSizes{.send_requests = is->send_requests,
                                                  .send_sges = is->send_sges,
                                                  .receive_requests = is->receive_requests,
                                                  .receive_sges = is->receive_sges},
                                       config_.limits);
  Cq* const send_cq = found_cq(is->send_cq);
  Cq* const receive_cq = found_cq(is->receive_cq);
  if (!geometry || send_cq == nullptr || receive_cq == nullptr) return pass();
  if (read_pages(is->directory, geometry->pages) == Search::kGoesOn) return Search::kGoesOn;
  if (pages_.size_bytes() == 0) return Search::kEnded;
  effort_.spend(TurnEffort::kQueuePair);
  journal_.make_room_for_rings(handle);
  auto made = std::make_unique<Qp>(handle, *is, std::move(pages_), *geometry,
                                   Qp::Queues{.send = *send_cq, .receive = *receive_cq},
                                   counters_.broken_rings);
  if (const auto undone = journal_.undone(handle)) {
    made->is_started = made->send.resume(undone->send) && made->receive.resume(undone->receive);
  }
  Qp& qp = *made;
  qps_.emplace(handle, std::move(made));
  // Datagrams may complete their receives in another order, so it is not known which are left. No
  // kernel waits for these.
  journal_.set_rings(handle, {.send = &qp.send, .receive = qp.is_datagram ? nullptr : &qp.receive});
  look();
  return Search::kEnded;
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
  if (qp.send_cq.is_destroyed || qp.receive_cq.is_destroyed) return Flushed::kNothing;
  // What has no place in its queue would end it.
  if (!qp.send_cq.queue.is_reachable() || !qp.receive_cq.queue.is_reachable())
    return Flushed::kWaits;
  const Flushed sent = flush_send(qp);
  qp.send_cq.queue.reveal();
  const Flushed received = qp.is_datagram ? Flushed::kNothing : flush_receive(qp);
  qp.receive_cq.queue.reveal();
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
    if (!qp.send_cq.queue.has_room()) return done > 0 ? Flushed::kSome : Flushed::kWaits;
    qp.send.pass_send();
    qp.send_cq.queue.publish_before_reveal(qp.send.ring());
    effort_.spend(1);
    const verbs::Completion completion{.wr_id = request.wr_id,
                                       .qp_tag = qp.handle,
                                       .opcode = verbs::completion_opcode(request.opcode),
                                       .status = status_of_send(qp.is_datagram)};
    if (!qp.send_cq.queue.push(completion, verbs::Reveal::kSoon)) {
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
    if (!qp.receive_cq.queue.has_room()) {
      const bool has_more = qp.receive.peek() == RingConsumer::Next::kEntry;
      return done > 0 ? Flushed::kSome : has_more ? Flushed::kWaits : Flushed::kNothing;
    }
    switch (qp.receive.take_receive(qp.decoder, request)) {
      case WorkRing::Fetch::kTaken: break;
      case WorkRing::Fetch::kAbsent: return done > 0 ? Flushed::kSome : Flushed::kWaits;
      case WorkRing::Fetch::kEmpty:
      case WorkRing::Fetch::kBroken: return so_far;
    }
    qp.receive_cq.queue.publish_before_reveal(qp.receive.ring());
    effort_.spend(1);
    const verbs::Completion completion{.wr_id = request.wr_id,
                                       .qp_tag = qp.handle,
                                       .opcode = verbs::WcOpcode::kReceive,
                                       .status = verbs::WcStatus::kFlushed};
    if (!qp.receive_cq.queue.push(completion, verbs::Reveal::kSoon)) {
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
  const std::uint32_t handle = command.qp_handle.get();
  if (!journal_.qp(handle)) return kErrorNoDevice;
  const bool has_state = (command.attr_mask.get() & verbs::kAttrState) != 0;
  const std::uint32_t state = command.attrs.qp_state.get();
  const bool is_reset = has_state && state == std::to_underlying(verbs::QpState::kReset);
  const bool is_error = has_state && state == std::to_underlying(verbs::QpState::kError);
  if (is_reset) {
    journal_.stop_qp(handle);
    if (const auto found = qps_.find(handle); found != qps_.end())
      found->second->is_started = false;
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
  if (const auto found = qps_.find(handle); found != qps_.end()) bury_qp(*found->second);
  journal_.drop_qp(handle);
  return is_known;
}

// A kernel destroys the queue pairs before. Those that it has not destroyed stand still.
bool LostQueues::destroy_cq(std::uint32_t handle) {
  const bool is_known = journal_.cq(handle).has_value();
  journal_.drop_cq(handle);
  notifier_.forget(Notice::About::kCompletionQueue, handle);
  if (const auto found = cqs_.find(handle); found != cqs_.end()) {
    Cq& cq = *found->second;
    cq.is_destroyed = true;
    if (cq.queue.users() == 0) bury_cq(cq);
  }
  return is_known;
}

// ---- The end ----

bool LostQueues::bury() {
  do {
    if (!qps_.empty()) {
      bury_qp(*qps_.begin()->second);
    } else if (!cqs_.empty()) {
      bury_cq(*cqs_.begin()->second);
    }
  } while (!(qps_.empty() && cqs_.empty()) && effort_.room_for_slice());
  return qps_.empty() && cqs_.empty();
}

// With the completion queues that only it was using, of those that the kernel has destroyed.
void LostQueues::bury_qp(Qp& qp) {
  effort_.spend(TurnEffort::kQueuePair + qp.pages.pages_kept());
  journal_.set_rings(qp.handle, {});
  Cq& send_cq = qp.send_cq;
  Cq& receive_cq = qp.receive_cq;
  qps_.erase(qp.handle);
  for (Cq* const cq : {&send_cq, &receive_cq}) {
    if (cq->is_destroyed && cq->queue.users() == 0) bury_cq(*cq);
    if (&send_cq == &receive_cq) break;
  }
}

void LostQueues::bury_cq(Cq& cq) {
  effort_.spend(TurnEffort::kOtherObject + cq.queue.pages_kept());
  cqs_.erase(cq.queue.handle());
}

}  // namespace paravane::device
