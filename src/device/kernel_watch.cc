#include "device/kernel_watch.h"

#include <algorithm>

namespace paravane::device {

void KernelWatch::on_doorbell(QueuePair& qp) {
  until_ = clock_.now + kAfterWork;
  const auto known = std::ranges::find(busy_, &qp, &Busy::qp);
  if (known != busy_.end()) {
    known->last_work = clock_.now;
    return;
  }
  busy_[next_] = {&qp, clock_.now};
  next_ = (next_ + 1) % kBusyQueuePairs;
}

void KernelWatch::look() {
  if (until_ <= clock_.now) return;
  for (Busy& busy : busy_) {
    if (busy.qp == nullptr) continue;
    if (clock_.now - busy.last_work >= kAfterWork) {
      busy = {};
    } else if (busy.qp->look()) {
      busy.last_work = clock_.now;
      until_ = clock_.now + kAfterWork;
    }
  }
}

void KernelWatch::forget(const QueuePair& qp) {
  for (Busy& busy : busy_) {
    if (busy.qp == &qp) busy = {};
  }
}

Instant KernelWatch::next_due() const {
  return clock_.now < until_ ? clock_.now + kInterval : kNever;
}

}  // namespace paravane::device
