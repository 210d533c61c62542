#include "device/doorbells.h"

#include "abi/uar.h"

namespace paravane::device {

Doorbells::Doorbells(Objects& objects, CompletionEvents& events, DoorbellWatch& watch,
                     DeviceCounters& counters)
    : objects_(objects), events_(events), watch_(watch), counters_(counters) {}

void Doorbells::on_message(std::uint32_t page, std::uint32_t offset, std::uint32_t word,
                           bool posted) {
  if (offset != abi::kUarQpOffset && offset != abi::kUarCqOffset && offset != abi::kUarSrqOffset)
    return;
  counters_.trapped_doorbells.add();
  UserContext* context = page == 0 ? nullptr : objects_.context_of_page(page);
  if (page != 0 && context == nullptr) return counters_.foreign_doorbells.add();
  const std::uint32_t owner = context == nullptr ? kKernelContext : context->handle;
  if (offset == abi::kUarQpOffset) {
    ring_qp(owner, word);
    if (context != nullptr) watch_.on_work(*context);
  } else if (offset == abi::kUarSrqOffset) {
    ring_srq(owner, word);
    if (context != nullptr) watch_.on_work(*context);
  } else {
    if (context != nullptr) context->note_completion_word(word);
    ring_cq(owner, word, posted ? ArmPath::kPosted : ArmPath::kAnswered);
  }
}

QueuePair* Doorbells::find_qp(std::uint32_t context, std::uint32_t word) {
  QueuePair* qp = objects_.find_qp(word & abi::kUarHandleMask);
  if (qp != nullptr && qp->context() == context) return qp;
  counters_.foreign_doorbells.add();
  return nullptr;
}

void Doorbells::ring_qp(std::uint32_t context, std::uint32_t word) {
  QueuePair* qp = find_qp(context, word);
  if (qp == nullptr) return;
  // Receives are taken when a message comes; only a queue pair in error has to do
  // something about them now.
  const bool receives = (word & abi::kUarQpReceive) != 0;
  const bool flushes = qp->engine().state() == verbs::QpState::kError;
  if ((word & abi::kUarQpSend) != 0 || (receives && flushes)) qp->engine().kick();
}

SharedReceiveQueue* Doorbells::find_srq(std::uint32_t context, std::uint32_t word) {
  SharedReceiveQueue* srq = objects_.find_srq(word & abi::kUarHandleMask);
  if (srq != nullptr && srq->context() == context) return srq;
  counters_.foreign_doorbells.add();
  return nullptr;
}

void Doorbells::ring_srq(std::uint32_t context, std::uint32_t word) {
  SharedReceiveQueue* srq = find_srq(context, word);
  if (srq != nullptr && (word & abi::kUarSrqReceive) != 0) srq->look();
}

void Doorbells::ring_cq(std::uint32_t context, std::uint32_t word, ArmPath path) {
  CompletionQueue* cq = objects_.find_cq(word & abi::kUarHandleMask);
  if (cq == nullptr || cq->context() != context) return counters_.foreign_doorbells.add();
  if ((word & (abi::kUarCqArm | abi::kUarCqArmSolicited)) != 0) {
    events_.arm(*cq, (word & abi::kUarCqArm) == 0, path);
  }
  if ((word & abi::kUarCqPoll) != 0) events_.retry_held(*cq);
}

QueuePair* Doorbells::resolve_qp_word(UserContext& context, std::uint32_t word) {
  return find_qp(context.handle, word);
}

SharedReceiveQueue* Doorbells::resolve_srq_word(UserContext& context, std::uint32_t word) {
  return find_srq(context.handle, word);
}

void Doorbells::on_cq_word(UserContext& context, std::uint32_t word) {
  ring_cq(context.handle, word, ArmPath::kPosted);
}

}  // namespace paravane::device
