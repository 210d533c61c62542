// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/* Queue pairs: numbers 0 and 1 for management, the others for unreliable datagrams. What is sent is
 * copied at once, so that a send completes before lab_post_send() returns. */
#include <linux/slab.h>
#include <rdma/ib_mad.h>

#include "ib_lab.h"

static bool is_known(enum ib_qp_type type) {
  return type == IB_QPT_SMI || type == IB_QPT_GSI || type == IB_QPT_UD;
}

static u32 number_for_locked(struct lab_device* lab, enum ib_qp_type type) {
  if (type == IB_QPT_SMI) return 0;
  return type == IB_QPT_GSI ? 1 : lab->next_pair++;
}

int lab_create_qp(struct ib_qp* ib, struct ib_qp_init_attr* wanted, struct ib_udata* udata) {
  struct lab_device* lab = lab_of(ib->device);
  struct lab_qp* pair = lab_qp_of(ib);
  const struct ib_qp_cap* cap = &wanted->cap;
  unsigned long flags;

  if (udata || !is_known(wanted->qp_type) || wanted->srq || wanted->create_flags)
    return -EOPNOTSUPP;
  if (cap->max_recv_wr > LAB_MOST_WORK || cap->max_send_wr > LAB_MOST_WORK ||
      cap->max_recv_sge > LAB_MOST_SGE || cap->max_send_sge > LAB_MOST_SGE || cap->max_inline_data)
    return -EINVAL;
  pair->ring = kvcalloc(max(cap->max_recv_wr, 1U), sizeof *pair->ring, GFP_KERNEL);
  if (!pair->ring) return -ENOMEM;
  pair->cap = *cap;
  pair->cap.max_recv_wr = max(cap->max_recv_wr, 1U);
  pair->state = IB_QPS_RESET;
  pair->signals_all = wanted->sq_sig_type == IB_SIGNAL_ALL_WR;
  spin_lock_irqsave(&lab->lock, flags);
  ib->qp_num = number_for_locked(lab, wanted->qp_type);
  list_add_tail(&pair->entry, &lab->pairs);
  spin_unlock_irqrestore(&lab->lock, flags);
  return 0;
}

static struct ib_wc flushed(struct lab_qp* pair, u64 id) {
  return (struct ib_wc){.wr_id = id, .status = IB_WC_WR_FLUSH_ERR, .qp = &pair->ib};
}

static void flush_locked(struct lab_qp* pair) {
  while (pair->count > 0) {
    struct ib_wc wc = flushed(pair, pair->ring[pair->head].id);

    wc.opcode = IB_WC_RECV;
    pair->head = (pair->head + 1) % pair->cap.max_recv_wr;
    pair->count--;
    lab_complete_locked(lab_cq_of(pair->ib.recv_cq), &wc, true);
  }
}

static void reset_locked(struct lab_qp* pair) {
  pair->head = pair->count = 0;
  lab_forget_locked(lab_cq_of(pair->ib.recv_cq), &pair->ib);
  lab_forget_locked(lab_cq_of(pair->ib.send_cq), &pair->ib);
}

int lab_modify_qp(struct ib_qp* ib, struct ib_qp_attr* change, int mask, struct ib_udata* udata) {
  struct lab_device* lab = lab_of(ib->device);
  struct lab_qp* pair = lab_qp_of(ib);
  enum ib_qp_state next;
  unsigned long flags;
  int result = 0;

  spin_lock_irqsave(&lab->lock, flags);
  next = mask & IB_QP_STATE ? change->qp_state : pair->state;
  if (!ib_modify_qp_is_ok(pair->state, next, ib->qp_type, mask) ||
      ((mask & IB_QP_PKEY_INDEX) && change->pkey_index >= LAB_PARTITIONS)) {
    result = -EINVAL;
  } else {
    if (mask & IB_QP_QKEY) pair->qkey = change->qkey;
    if (mask & IB_QP_PKEY_INDEX) pair->partition = change->pkey_index;
    if (mask & IB_QP_SQ_PSN) pair->next_packet = change->sq_psn;
    pair->state = next;
    if (next == IB_QPS_ERR) flush_locked(pair);
    if (next == IB_QPS_RESET) reset_locked(pair);
  }
  spin_unlock_irqrestore(&lab->lock, flags);
  return result;
}

int lab_query_qp(struct ib_qp* ib, struct ib_qp_attr* attributes, int mask,
                 struct ib_qp_init_attr* initial) {
  struct lab_qp* pair = lab_qp_of(ib);

  attributes->qp_state = attributes->cur_qp_state = pair->state;
  attributes->qkey = pair->qkey;
  attributes->pkey_index = pair->partition;
  attributes->sq_psn = pair->next_packet;
  attributes->port_num = 1;
  attributes->cap = initial->cap = pair->cap;
  initial->qp_type = ib->qp_type;
  initial->send_cq = ib->send_cq;
  initial->recv_cq = ib->recv_cq;
  initial->sq_sig_type = pair->signals_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR;
  return 0;
}

int lab_destroy_qp(struct ib_qp* ib, struct ib_udata* udata) {
  struct lab_device* lab = lab_of(ib->device);
  struct lab_qp* pair = lab_qp_of(ib);
  struct lab_attachment *one, *next;
  unsigned long flags;

  spin_lock_irqsave(&lab->lock, flags);
  list_del(&pair->entry);
  list_for_each_entry_safe(one, next, &lab->attachments, entry) {
    if (one->pair != pair) continue;
    list_del(&one->entry);
    kfree(one);
  }
  reset_locked(pair);
  spin_unlock_irqrestore(&lab->lock, flags);
  kvfree(pair->ring);
  return 0;
}

int lab_post_send(struct ib_qp* ib, const struct ib_send_wr* work, const struct ib_send_wr** bad) {
  struct lab_device* lab = lab_of(ib->device);
  struct lab_qp* pair = lab_qp_of(ib);
  unsigned long flags;
  int result = 0;

  spin_lock_irqsave(&lab->lock, flags);
  for (; work; work = work->next) {
    struct ib_wc wc = flushed(pair, work->wr_id);

    if (work->num_sge > LAB_MOST_SGE || (pair->state != IB_QPS_RTS && pair->state != IB_QPS_ERR) ||
        (work->opcode != IB_WR_SEND && work->opcode != IB_WR_SEND_WITH_IMM)) {
      *bad = work;
      result = -EINVAL;
      break;
    }
    wc.opcode = IB_WC_SEND;
    if (pair->state == IB_QPS_RTS) {
      lab_send_locked(lab, pair, work);
      wc.status = IB_WC_SUCCESS;
    }
    if (pair->signals_all || (work->send_flags & IB_SEND_SIGNALED) || wc.status != IB_WC_SUCCESS)
      lab_complete_locked(lab_cq_of(ib->send_cq), &wc, true);
  }
  spin_unlock_irqrestore(&lab->lock, flags);
  return result;
}

int lab_post_recv(struct ib_qp* ib, const struct ib_recv_wr* work, const struct ib_recv_wr** bad) {
  struct lab_device* lab = lab_of(ib->device);
  struct lab_qp* pair = lab_qp_of(ib);
  unsigned long flags;
  int result = 0;

  spin_lock_irqsave(&lab->lock, flags);
  for (; work; work = work->next) {
    struct lab_receive* receive;

    if (pair->count == pair->cap.max_recv_wr || work->num_sge > LAB_MOST_SGE ||
        pair->state == IB_QPS_RESET) {
      *bad = work;
      result = pair->state == IB_QPS_RESET ? -EINVAL : -ENOMEM;
      break;
    }
    receive = &pair->ring[(pair->head + pair->count) % pair->cap.max_recv_wr];
    receive->id = work->wr_id;
    receive->parts = work->num_sge;
    memcpy(receive->part, work->sg_list, work->num_sge * sizeof *receive->part);
    pair->count++;
    if (pair->state == IB_QPS_ERR) flush_locked(pair);
  }
  spin_unlock_irqrestore(&lab->lock, flags);
  return result;
}

int lab_attach(struct ib_qp* ib, union ib_gid* group, u16 lid) {
  struct lab_device* lab = lab_of(ib->device);
  struct lab_attachment* one = kzalloc(sizeof *one, GFP_KERNEL);
  unsigned long flags;

  if (!one) return -ENOMEM;
  one->pair = lab_qp_of(ib);
  one->group = *group;
  spin_lock_irqsave(&lab->lock, flags);
  list_add_tail(&one->entry, &lab->attachments);
  spin_unlock_irqrestore(&lab->lock, flags);
  return 0;
}

int lab_detach(struct ib_qp* ib, union ib_gid* group, u16 lid) {
  struct lab_device* lab = lab_of(ib->device);
  struct lab_attachment *one, *next;
  unsigned long flags;
  int result = -EINVAL;

  spin_lock_irqsave(&lab->lock, flags);
  list_for_each_entry_safe(one, next, &lab->attachments, entry) {
    if (&one->pair->ib != ib || memcmp(&one->group, group, sizeof *group)) continue;
    list_del(&one->entry);
    kfree(one);
    result = 0;
    break;
  }
  spin_unlock_irqrestore(&lab->lock, flags);
  return result;
}
