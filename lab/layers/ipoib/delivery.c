// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/* Packets: written from what is sent, read into what waits to receive (IBTA volume
 * 1, 7.7, 8.3, 9.2, 9.5). */
#include <rdma/ib_mad.h>

#include "ib_lab.h"

enum {
  NEXT_TRANSPORT = 2,
  NEXT_GLOBAL = 3,
  MANAGEMENT_LANE = 15,
  OPCODE_SEND = 0x64,
  OPCODE_SEND_IMMEDIATE = 0x65,
  FIRST_MULTICAST = 0xC000,
  PERMISSIVE = 0xFFFF,
};

/* ---- Sending ---- */

static u32 bytes_of(const struct ib_send_wr* work) {
  u32 bytes = 0;
  int k;

  for (k = 0; k < work->num_sge; k++) bytes += work->sg_list[k].length;
  return bytes;
}

static u8* put_global(u8* out, const struct lab_ah* ah, u32 following) {
  put_unaligned_be32(6U << 28 | (u32)ah->traffic_class << 20 | (ah->flow_label & 0xfffff), out);
  put_unaligned_be16(following, out + 4);
  out[6] = 0x1b;
  out[7] = ah->hop_limit;
  memcpy(out + 8, &ah->source, 16);
  memcpy(out + 24, &ah->destination, 16);
  return out + LAB_GLOBAL_ROUTE;
}

static bool is_own(const struct lab_device* lab, u16 lid) {
  return lab->port.lid != 0 && lid == lab->port.lid;
}

void lab_send_locked(struct lab_device* lab, struct lab_qp* pair, const struct ib_send_wr* work) {
  const struct ib_ud_wr* to = container_of(work, struct ib_ud_wr, wr);
  const struct lab_ah* ah = container_of(to->ah, struct lab_ah, ib);
  const bool immediate = work->opcode == IB_WR_SEND_WITH_IMM;
  const u32 payload = bytes_of(work), padding = -payload & 3;
  const u32 transport = LAB_BASE + LAB_EXTENSION + (immediate ? 4 : 0) + payload + padding;
  const u32 all = LAB_LOCAL_ROUTE + (ah->is_global ? LAB_GLOBAL_ROUTE : 0) + transport;
  const bool is_subnet = pair->ib.qp_num == 0;
  const u16 index = pair->ib.qp_num <= 1 ? to->pkey_index : pair->partition;
  struct lab_frame* frame;
  u8 *packet, *out;
  int k;

  if (payload > LAB_MOST_PAYLOAD) {
    lab_refuse(lab, "a message above the port's MTU, to be sent");
    return;
  }
  frame = lab_new_frame(all);
  if (!frame) return;
  frame->data[2] = LAB_PACKET;
  packet = out = frame->data + LAB_FRAME_HEADER;

  out[0] = is_subnet ? MANAGEMENT_LANE << 4 : 0;
  out[1] = (is_subnet ? 0 : ah->level << 4) | (ah->is_global ? NEXT_GLOBAL : NEXT_TRANSPORT);
  put_unaligned_be16(ah->lid, out + 2);
  put_unaligned_be16((all + LAB_INVARIANT_CRC) / 4, out + 4);
  put_unaligned_be16(lab->port.lid ? lab->port.lid : PERMISSIVE, out + 6);
  out += LAB_LOCAL_ROUTE;
  if (ah->is_global) out = put_global(out, ah, transport + LAB_INVARIANT_CRC);

  out[0] = immediate ? OPCODE_SEND_IMMEDIATE : OPCODE_SEND;
  out[1] = (work->send_flags & IB_SEND_SOLICITED ? 0x80 : 0) | padding << 4;
  put_unaligned_be16(
      is_subnet ? IB_DEFAULT_PKEY_FULL : lab->port.partitions[index % LAB_PARTITIONS], out + 2);
  put_unaligned_be32(to->remote_qpn & 0xffffff, out + 4);
  put_unaligned_be32(pair->next_packet++ & 0xffffff, out + 8);
  out += LAB_BASE;
  put_unaligned_be32(to->remote_qkey & 0x80000000 ? pair->qkey : to->remote_qkey, out);
  put_unaligned_be32(pair->ib.qp_num, out + 4);
  if (pair->ib.qp_num == 1) put_unaligned_be32(IB_QP1_QKEY, out);
  out += LAB_EXTENSION;
  if (immediate) {
    memcpy(out, &work->ex.imm_data, 4);
    out += 4;
  }
  for (k = 0; k < work->num_sge; k++) {
    const struct ib_sge* part = &work->sg_list[k];

    memcpy(out, lab_pointer(part->addr), part->length);
    out += part->length;
  }
  memset(out, 0, padding);

  if (is_own(lab, ah->lid)) {
    lab_deliver_locked(lab, packet, all);
    kfree(frame);
    return;
  }
  if (ah->lid >= FIRST_MULTICAST && ah->lid != PERMISSIVE) lab_deliver_locked(lab, packet, all);
  lab_sent++;
  lab_cable_put_locked(lab, frame);
}

/* ---- Receiving ---- */

struct arrived {
  const u8* global; /* NULL: none */
  const u8* payload;
  u32 bytes;
  u16 from, to, key;
  u8 lane, level;
  bool is_solicited;
  u32 pair, from_pair, qkey;
  const u8* immediate; /* NULL: none */
};

static bool read_packet(const u8* packet, u32 bytes, struct arrived* a) {
  u32 rest = bytes, padding;

  if (bytes < LAB_LOCAL_ROUTE + LAB_BASE + LAB_EXTENSION) return false;
  if ((get_unaligned_be16(packet + 4) & 0x7ff) * 4 != bytes + LAB_INVARIANT_CRC || packet[0] & 0xf)
    return false;
  a->lane = packet[0] >> 4;
  a->level = packet[1] >> 4;
  a->to = get_unaligned_be16(packet + 2);
  a->from = get_unaligned_be16(packet + 6);
  a->global = NULL;
  rest -= LAB_LOCAL_ROUTE;
  if ((packet[1] & 3) == NEXT_GLOBAL) {
    a->global = packet + LAB_LOCAL_ROUTE;
    if (rest < LAB_GLOBAL_ROUTE + LAB_BASE + LAB_EXTENSION || a->global[0] >> 4 != 6 ||
        a->global[6] != 0x1b)
      return false;
    rest -= LAB_GLOBAL_ROUTE;
    if (get_unaligned_be16(a->global + 4) != rest + LAB_INVARIANT_CRC) return false;
  } else if ((packet[1] & 3) != NEXT_TRANSPORT) {
    return false;
  }
  packet += bytes - rest;

  if ((packet[0] != OPCODE_SEND && packet[0] != OPCODE_SEND_IMMEDIATE) || packet[1] & 0xf)
    return false;
  padding = packet[1] >> 4 & 3;
  a->is_solicited = packet[1] & 0x80;
  a->key = get_unaligned_be16(packet + 2);
  a->pair = get_unaligned_be32(packet + 4) & 0xffffff;
  a->qkey = get_unaligned_be32(packet + LAB_BASE);
  a->from_pair = get_unaligned_be32(packet + LAB_BASE + 4) & 0xffffff;
  a->immediate = NULL;
  if (packet[0] == OPCODE_SEND_IMMEDIATE) {
    if (rest < LAB_BASE + LAB_EXTENSION + 4) return false;
    a->immediate = packet + LAB_BASE + LAB_EXTENSION;
    packet += 4;
    rest -= 4;
  }
  rest -= LAB_BASE + LAB_EXTENSION;
  if (rest < padding) return false;
  a->payload = packet + LAB_BASE + LAB_EXTENSION;
  a->bytes = rest - padding;
  return true;
}

/* Into a receive's parts, from `offset` of all of them together. */
static bool scatter(const struct lab_receive* receive, u32 offset, const u8* from, u32 bytes) {
  u32 k;

  for (k = 0; k < receive->parts && bytes > 0; k++) {
    const struct ib_sge* part = &receive->part[k];
    u32 some;

    if (offset >= part->length) {
      offset -= part->length;
      continue;
    }
    some = min(part->length - offset, bytes);
    memcpy((u8*)lab_pointer(part->addr) + offset, from, some);
    from += some;
    bytes -= some;
    offset = 0;
  }
  return bytes == 0;
}

static void receive_locked(struct lab_device* lab, struct lab_qp* pair, const struct arrived* a) {
  const struct lab_receive* receive = &pair->ring[pair->head];
  struct ib_wc wc = {.status = IB_WC_SUCCESS, .opcode = IB_WC_RECV, .qp = &pair->ib, .port_num = 1};
  int index = 0;

  if (pair->state != IB_QPS_RTR && pair->state != IB_QPS_RTS) return;
  if (pair->ib.qp_num == 1) {
    index = lab_partition_of(&lab->port, a->key);
  } else if (pair->ib.qp_num > 1) {
    u16 own = lab->port.partitions[pair->partition];

    index = ((own ^ a->key) & 0x7fff) == 0 && ((own | a->key) & 0x8000) ? pair->partition : -1;
  }
  if (index < 0) {
    lab->port.bad_partitions++;
    return;
  }
  if (pair->ib.qp_num != 0 && a->qkey != (pair->ib.qp_num == 1 ? IB_QP1_QKEY : pair->qkey)) {
    lab->port.bad_qkeys++;
    return;
  }
  if (pair->count == 0) {
    lab_without_receive++;
    return;
  }
  if ((a->global && !scatter(receive, 0, a->global, LAB_GLOBAL_ROUTE)) ||
      !scatter(receive, LAB_GLOBAL_ROUTE, a->payload, a->bytes)) {
    lab_refuse(lab, "a message above its receive");
    return;
  }
  pair->head = (pair->head + 1) % pair->cap.max_recv_wr;
  pair->count--;
  wc.wr_id = receive->id;
  wc.byte_len = LAB_GLOBAL_ROUTE + a->bytes;
  wc.src_qp = a->from_pair;
  wc.slid = a->from;
  wc.sl = a->level;
  wc.pkey_index = index;
  if (a->global) wc.wc_flags |= IB_WC_GRH;
  if (a->immediate) {
    wc.wc_flags |= IB_WC_WITH_IMM;
    memcpy(&wc.ex.imm_data, a->immediate, 4);
  }
  lab_received++;
  lab_complete_locked(lab_cq_of(pair->ib.recv_cq), &wc, a->is_solicited);
}

static void deliver_to_group_locked(struct lab_device* lab, const struct arrived* a) {
  struct lab_attachment* one;

  if (!a->global) {
    lab_refuse(lab, "a packet to a group without its GID");
    return;
  }
  list_for_each_entry(one, &lab->attachments, entry) {
    if (memcmp(&one->group, a->global + 24, sizeof one->group) == 0)
      receive_locked(lab, one->pair, a);
  }
}

void lab_deliver_locked(struct lab_device* lab, const u8* packet, u32 bytes) {
  struct arrived a;
  struct lab_qp* pair;

  if (!read_packet(packet, bytes, &a) || (a.pair == 0) != (a.lane == MANAGEMENT_LANE)) {
    lab_refuse(lab, "a packet that is malformed");
    return;
  }
  if (a.pair > 0 && lab->port.state < IB_PORT_ARMED) {
    lab_untimely++;
    return;
  }
  if (a.pair == IB_MULTICAST_QPN) {
    deliver_to_group_locked(lab, &a);
    return;
  }
  if (!is_own(lab, a.to) && !(a.pair == 0 && a.to == PERMISSIVE)) {
    lab_refuse(lab, "a packet to another LID");
    return;
  }
  list_for_each_entry(pair, &lab->pairs, entry) {
    if (pair->ib.qp_num != a.pair) continue;
    receive_locked(lab, pair, &a);
    return;
  }
  lab_for_no_pair++;
}
