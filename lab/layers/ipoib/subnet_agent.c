// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/* Answers subnet management, and the counters of the port that a performance manager asks for (IBTA
 * volume 1, 14.2 and 16.1). The kernel's MAD layer has done the hops of a directed route before,
 * and sends the answer. */
#include <rdma/ib_mad.h>
#include <rdma/ib_pma.h>
#include <rdma/ib_smi.h>

#include "ib_lab.h"

enum {
  STATUS_BAD_VERSION = 1 << 2,
  STATUS_UNKNOWN_METHOD = 2 << 2,
  STATUS_UNKNOWN_ATTRIBUTE = 3 << 2,
  STATUS_BAD_FIELD = 7 << 2,
  PARTITIONS_IN_BLOCK = 32,
};

static u64 port_guid(const struct lab_device* lab) {
  return get_unaligned_be64(lab->port.guids[0]);
}

static void put_node_info(struct lab_device* lab, struct ib_smp* smp) {
  struct ib_node_info* info = (void*)smp->data;

  info->base_version = 1;
  info->class_version = 1;
  info->node_type = RDMA_NODE_IB_CA;
  info->num_ports = 1;
  info->sys_guid = info->node_guid = lab->ib.node_guid;
  info->port_guid = cpu_to_be64(port_guid(lab));
  info->partition_cap = cpu_to_be16(LAB_PARTITIONS);
  info->device_id = cpu_to_be16(1);
  info->revision = cpu_to_be32(1);
  info->local_port_num = 1;
}

static void put_port_info(struct lab_device* lab, struct ib_smp* smp) {
  const struct lab_port* port = &lab->port;
  struct ib_port_info* info = (void*)smp->data;

  memset(smp->data, 0, sizeof smp->data);
  info->mkey =
      cpu_to_be64(port->key_protection == 0 || be64_to_cpu(smp->mkey) == port->management_key
                      ? port->management_key
                      : 0);
  info->gid_prefix = cpu_to_be64(port->prefix);
  info->lid = cpu_to_be16(port->lid);
  info->sm_lid = cpu_to_be16(port->manager_lid);
  info->cap_mask = cpu_to_be32(port->capabilities);
  info->mkey_lease_period = cpu_to_be16(port->key_lease);
  info->local_port_num = 1;
  info->link_width_enabled = info->link_width_supported = 3;
  info->link_width_active = IB_WIDTH_4X;
  info->linkspeed_portstate = 7 << 4 | port->state;
  info->portphysstate_linkdown = port->physical << 4 | IB_PORT_PHYS_STATE_POLLING;
  info->mkeyprot_resv_lmc = port->key_protection << 6 | port->lmc;
  info->linkspeedactive_enabled = IB_SPEED_QDR << 4 | 7;
  info->neighbormtu_mastersmsl = port->mtu << 4 | port->manager_level;
  info->vlcap_inittype = 1 << 4;
  info->vl_high_limit = port->lane_limit;
  info->vl_arb_high_cap = info->vl_arb_low_cap = 8;
  info->inittypereply_mtucap = port->mtu_cap;
  info->vlstallcnt_hoqlife = 0;
  info->operationalvl_pei_peo_fpi_fpo = port->operational_lanes << 4;
  info->pkey_violations = cpu_to_be16(port->bad_partitions);
  info->qkey_violations = cpu_to_be16(port->bad_qkeys);
  info->guid_cap = LAB_GUIDS;
  info->clientrereg_resv_subnetto = port->subnet_timeout;
  info->resv_resptimevalue = 16;
}

/* ---- Set ---- */

static bool may_become(enum ib_port_state now, u8 wanted) {
  switch (wanted) {
    case IB_PORT_NOP:
    case IB_PORT_DOWN: return true;
    case IB_PORT_ARMED: return now == IB_PORT_INIT || now == IB_PORT_ARMED;
    case IB_PORT_ACTIVE: return now == IB_PORT_ARMED || now == IB_PORT_ACTIVE;
  }
  return false;
}

static void set_state_locked(struct lab_device* lab, u8 wanted, u8 physical) {
  struct lab_port* port = &lab->port;
  const bool was_active = port->state == IB_PORT_ACTIVE;

  if (physical == IB_PORT_PHYS_STATE_DISABLED) {
    port->disabled = true;
    lab_link_down_locked(lab, IB_PORT_PHYS_STATE_DISABLED);
    lab_cable_say_locked(lab, LAB_LINK_DOWN);
  } else if (wanted == IB_PORT_DOWN || physical == IB_PORT_PHYS_STATE_POLLING) {
    port->disabled = false;
    lab_link_down_locked(lab, IB_PORT_PHYS_STATE_POLLING);
    lab_cable_say_locked(lab, LAB_LINK_TRAINING);
  } else if (wanted != IB_PORT_NOP) {
    port->state = wanted;
    if (wanted == IB_PORT_ACTIVE && !was_active) lab_tell(lab, IB_EVENT_PORT_ACTIVE);
  }
}

static u16 set_port_info_locked(struct lab_device* lab, const struct ib_smp* smp) {
  struct lab_port* port = &lab->port;
  const struct ib_port_info* info = (const void*)smp->data;
  const u8 wanted = info->linkspeed_portstate & 0xf, physical = info->portphysstate_linkdown >> 4;
  const u8 mtu = info->neighbormtu_mastersmsl >> 4;
  const u16 lid = be16_to_cpu(info->lid), manager = be16_to_cpu(info->sm_lid);
  const bool again = info->clientrereg_resv_subnetto & 0x80;
  const bool other_lid = lid != port->lid,
             other_prefix = be64_to_cpu(info->gid_prefix) != port->prefix;
  const bool other_manager =
      manager != port->manager_lid || (info->neighbormtu_mastersmsl & 0xf) != port->manager_level;

  if (lid == 0 || lid >= 0xC000 || manager == 0 || manager >= 0xC000 || mtu < IB_MTU_256 ||
      mtu > port->mtu_cap || !may_become(port->state, wanted) || (info->mkeyprot_resv_lmc & 7) != 0)
    return STATUS_BAD_FIELD;
  port->management_key = be64_to_cpu(info->mkey);
  port->key_protection = info->mkeyprot_resv_lmc >> 6;
  port->key_lease = be16_to_cpu(info->mkey_lease_period);
  port->prefix = be64_to_cpu(info->gid_prefix);
  port->lid = lid;
  port->manager_lid = manager;
  port->manager_level = info->neighbormtu_mastersmsl & 0xf;
  port->mtu = mtu;
  port->lane_limit = info->vl_high_limit;
  port->subnet_timeout = info->clientrereg_resv_subnetto & 0x1f;
  if (other_prefix) lab_tell(lab, IB_EVENT_GID_CHANGE);
  if (other_lid) lab_tell(lab, IB_EVENT_LID_CHANGE);
  if (other_manager) lab_tell(lab, IB_EVENT_SM_CHANGE);
  set_state_locked(lab, wanted, physical);
  if (again) lab_tell(lab, IB_EVENT_CLIENT_REREGISTER);
  return 0;
}

/* ---- Tables ---- */

static u16 partitions_locked(struct lab_device* lab, struct ib_smp* smp, bool set) {
  const u32 block = be32_to_cpu(smp->attr_mod) & 0xffff;
  u16* own;
  int k;

  if (block >= LAB_PARTITIONS / PARTITIONS_IN_BLOCK) return STATUS_BAD_FIELD;
  own = lab->port.partitions + block * PARTITIONS_IN_BLOCK;
  if (set) {
    for (k = 0; k < PARTITIONS_IN_BLOCK; k++) own[k] = get_unaligned_be16(smp->data + 2 * k);
    lab_tell(lab, IB_EVENT_PKEY_CHANGE);
  }
  for (k = 0; k < PARTITIONS_IN_BLOCK; k++) put_unaligned_be16(own[k], smp->data + 2 * k);
  return 0;
}

static u16 guids_locked(struct lab_device* lab, struct ib_smp* smp, bool set) {
  if (smp->attr_mod != 0) return STATUS_BAD_FIELD;
  if (set) {
    memcpy(lab->port.guids[1], smp->data + 8,
           (LAB_GUIDS - 1) * 8); /* the first is the port's for good */
    lab_tell(lab, IB_EVENT_GID_CHANGE);
  }
  memcpy(smp->data, lab->port.guids, sizeof lab->port.guids);
  return 0;
}

static u16 arbitration_locked(struct lab_device* lab, struct ib_smp* smp, bool set) {
  const u32 part = be32_to_cpu(smp->attr_mod) >> 16;
  u8* own;

  if (part != 1 && part != 3) return STATUS_BAD_FIELD; /* low, high: both of 8 entries */
  own = lab->port.arbitration[part == 3];
  if (set) memcpy(own, smp->data, 16);
  memcpy(smp->data, own, 64);
  return 0;
}

static u16 lanes_locked(struct lab_device* lab, struct ib_smp* smp, bool set) {
  if (set) memcpy(lab->port.lane_of_level, smp->data, sizeof lab->port.lane_of_level);
  memset(smp->data, 0, sizeof smp->data);
  memcpy(smp->data, lab->port.lane_of_level, sizeof lab->port.lane_of_level);
  return 0;
}

/* ---- Requests ---- */

static u16 answer_locked(struct lab_device* lab, struct ib_smp* smp, bool set) {
  u16 status = 0;

  switch (be16_to_cpu(smp->attr_id)) {
    case 0x10:  // NodeDescription
      if (set) return STATUS_UNKNOWN_METHOD;
      memset(smp->data, 0, sizeof smp->data);
      memcpy(smp->data, lab->ib.node_desc, sizeof smp->data);
      return 0;
    case 0x11:  // NodeInfo
      if (set) return STATUS_UNKNOWN_METHOD;
      memset(smp->data, 0, sizeof smp->data);
      put_node_info(lab, smp);
      return 0;
    case 0x14: return guids_locked(lab, smp, set);
    case 0x15:  // PortInfo
      if ((be32_to_cpu(smp->attr_mod) & 0xff) > 1) return STATUS_BAD_FIELD;
      if (set) status = set_port_info_locked(lab, smp);
      put_port_info(lab, smp);
      return status;
    case 0x16: return partitions_locked(lab, smp, set);
    case 0x17: return lanes_locked(lab, smp, set);
    case 0x18: return arbitration_locked(lab, smp, set);
  }
  return STATUS_UNKNOWN_ATTRIBUTE;
}

/* 14.2.4.1: a wrong key is not answered. */
static bool has_key(const struct lab_port* port, const struct ib_smp* smp, int flags) {
  if (port->management_key == 0 || (flags & IB_MAD_IGNORE_MKEY)) return true;
  if (be64_to_cpu(smp->mkey) == port->management_key) return true;
  return smp->method == IB_MGMT_METHOD_GET && port->key_protection < 2;
}

static int answer_subnet(struct lab_device* lab, int flags, const struct ib_smp* in,
                         struct ib_smp* out) {
  const bool set = in->method == IB_MGMT_METHOD_SET;
  unsigned long saved;
  u16 status;

  if (in->method == IB_MGMT_METHOD_TRAP_REPRESS)
    return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_CONSUMED;
  if (in->method != IB_MGMT_METHOD_GET && !set) return IB_MAD_RESULT_SUCCESS;
  if (in->attr_id == IB_SMP_ATTR_SM_INFO || in->attr_id == IB_SMP_ATTR_NOTICE)
    return IB_MAD_RESULT_SUCCESS;
  *out = *in;
  spin_lock_irqsave(&lab->lock, saved);
  if (!has_key(&lab->port, in, flags)) {
    spin_unlock_irqrestore(&lab->lock, saved);
    return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_CONSUMED;
  }
  status = in->base_version != 1 || in->class_version != 1 ? STATUS_BAD_VERSION
                                                           : answer_locked(lab, out, set);
  spin_unlock_irqrestore(&lab->lock, saved);
  out->method = IB_MGMT_METHOD_GET_RESP;
  out->status = cpu_to_be16(status);
  if (in->mgmt_class == IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE) out->status |= IB_SMP_DIRECTION;
  return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}

static int answer_performance(const struct ib_pma_mad* in, struct ib_pma_mad* out) {
  if (in->mad_hdr.method != IB_MGMT_METHOD_GET && in->mad_hdr.method != IB_MGMT_METHOD_SET)
    return IB_MAD_RESULT_SUCCESS;
  *out = *in;
  out->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
  out->mad_hdr.status = 0;
  memset(out->data, 0, sizeof out->data);
  if (in->mad_hdr.attr_id == IB_PMA_CLASS_PORT_INFO) {
    struct ib_class_port_info* info = (void*)out->data;

    info->base_version = 1;
    info->class_version = 1;
    ib_set_cpi_resp_time(info, 18);
  } else if (in->mad_hdr.attr_id == IB_PMA_PORT_COUNTERS) {
    struct ib_pma_portcounters* counters = (void*)out->data;

    counters->port_select = 1;
    counters->port_xmit_packets = cpu_to_be32(lab_sent);
    counters->port_rcv_packets = cpu_to_be32(lab_received);
  } else {
    out->mad_hdr.status = cpu_to_be16(STATUS_UNKNOWN_ATTRIBUTE);
  }
  return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}

int lab_process_mad(struct ib_device* device, int flags, u32 number, const struct ib_wc* wc,
                    const struct ib_grh* global, const struct ib_mad* in, struct ib_mad* out,
                    size_t* out_bytes, u16* out_partition) {
  switch (in->mad_hdr.mgmt_class) {
    case IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE:
    case IB_MGMT_CLASS_SUBN_LID_ROUTED:
      return answer_subnet(lab_of(device), flags, (const struct ib_smp*)in, (struct ib_smp*)out);
    case IB_MGMT_CLASS_PERF_MGMT: return answer_performance((const void*)in, (void*)out);
  }
  return IB_MAD_RESULT_SUCCESS;
}
