// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/* Completion queues: a ring each. Handlers run from the work queue, in the context of a soft
 * interrupt, as they would be called by an adapter's. */
#include <linux/slab.h>

#include "ib_lab.h"

static void call_handler(struct work_struct* work) {
  struct lab_cq* queue = container_of(work, struct lab_cq, notice);

  local_bh_disable();
  queue->ib.comp_handler(&queue->ib, queue->ib.cq_context);
  local_bh_enable();
}

int lab_create_cq(struct ib_cq* ib, const struct ib_cq_init_attr* wanted, lab_user* user) {
  struct lab_cq* queue = lab_cq_of(ib);

  if (user) return -EOPNOTSUPP;
  if (wanted->cqe < 1 || wanted->cqe > LAB_MOST_COMPLETIONS) return -EINVAL;
  queue->ring = kvcalloc(wanted->cqe, sizeof *queue->ring, GFP_KERNEL);
  if (!queue->ring) return -ENOMEM;
  queue->size = wanted->cqe;
  INIT_WORK(&queue->notice, call_handler);
  ib->cqe = wanted->cqe;
  return 0;
}

int lab_destroy_cq(struct ib_cq* ib, struct ib_udata* udata) {
  struct lab_cq* queue = lab_cq_of(ib);

  cancel_work_sync(&queue->notice);
  kvfree(queue->ring);
  return 0;
}

int lab_poll_cq(struct ib_cq* ib, int most, struct ib_wc* wc) {
  struct lab_device* lab = lab_of(ib->device);
  struct lab_cq* queue = lab_cq_of(ib);
  unsigned long flags;
  int found = 0;

  spin_lock_irqsave(&lab->lock, flags);
  while (found < most && queue->count > 0) {
    wc[found++] = queue->ring[queue->head];
    queue->head = (queue->head + 1) % queue->size;
    queue->count--;
  }
  spin_unlock_irqrestore(&lab->lock, flags);
  return found;
}

int lab_req_notify_cq(struct ib_cq* ib, enum ib_cq_notify_flags wanted) {
  struct lab_device* lab = lab_of(ib->device);
  struct lab_cq* queue = lab_cq_of(ib);
  unsigned long flags;
  int missed;

  spin_lock_irqsave(&lab->lock, flags);
  queue->armed = true;
  queue->armed_for_solicited = (wanted & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED;
  missed = (wanted & IB_CQ_REPORT_MISSED_EVENTS) && queue->count > 0;
  spin_unlock_irqrestore(&lab->lock, flags);
  return missed;
}

void lab_complete_locked(struct lab_cq* queue, const struct ib_wc* wc, bool is_solicited) {
  if (queue->count == queue->size) {
    lab_full_queues++;
    return;
  }
  queue->ring[(queue->head + queue->count) % queue->size] = *wc;
  queue->count++;
  if (!queue->armed || (queue->armed_for_solicited && !is_solicited && wc->status == IB_WC_SUCCESS))
    return;
  queue->armed = false;
  queue_work(lab_of(queue->ib.device)->workers, &queue->notice);
}

void lab_forget_locked(struct lab_cq* queue, const struct ib_qp* pair) {
  u32 kept = 0, k;

  for (k = 0; k < queue->count; k++) {
    const struct ib_wc* wc = &queue->ring[(queue->head + k) % queue->size];

    if (wc->qp != pair) queue->ring[(queue->head + kept++) % queue->size] = *wc;
  }
  queue->count = kept;
}
