// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/* The port: what it can, what the subnet manager set, and what the kernel asks of it. */
#include <rdma/ib_mad.h>

#include "ib_lab.h"

static const u64 DEFAULT_PREFIX = 0xfe80000000000000;

void lab_port_init(struct lab_port* port, u64 guid, u8 mtu_cap) {
  int level;

  port->state = IB_PORT_DOWN;
  port->physical = IB_PORT_PHYS_STATE_POLLING;
  port->mtu_cap = mtu_cap;
  port->mtu = mtu_cap;
  port->prefix = DEFAULT_PREFIX;
  port->capabilities = IB_PORT_SYS_IMAGE_GUID_SUP | IB_PORT_CLIENT_REG_SUP | IB_PORT_SL_MAP_SUP;
  port->operational_lanes = 1;
  port->subnet_timeout = 18;
  put_unaligned_be64(guid, port->guids[0]);
  port->partitions[0] = IB_DEFAULT_PKEY_FULL;
  for (level = 0; level < 8; level++) port->lane_of_level[level] = 0;
}

void lab_tell(struct lab_device* lab, enum ib_event_type type) {
  struct ib_event event = {.device = &lab->ib, .event = type, .element.port_num = 1};

  ib_dispatch_event(&event);
}

void lab_link_up_locked(struct lab_device* lab) {
  lab->port.state = IB_PORT_INIT;
  lab->port.physical = IB_PORT_PHYS_STATE_LINK_UP;
}

void lab_link_down_locked(struct lab_device* lab, u8 physical) {
  bool was_up = lab->port.state != IB_PORT_DOWN;

  lab->port.state = IB_PORT_DOWN;
  lab->port.physical = physical;
  if (was_up) lab_tell(lab, IB_EVENT_PORT_ERR);
}

int lab_partition_of(const struct lab_port* port, u16 key) {
  int index;

  for (index = 0; index < LAB_PARTITIONS; index++) {
    u16 own = port->partitions[index];

    if ((own & 0x7fff) != 0 && ((own ^ key) & 0x7fff) == 0 && ((own | key) & 0x8000)) return index;
  }
  return -1;
}

int lab_query_port(struct ib_device* device, u32 number, struct ib_port_attr* attributes) {
  struct lab_device* lab = lab_of(device);
  const struct lab_port* port = &lab->port;
  unsigned long flags;

  spin_lock_irqsave(&lab->lock, flags);
  attributes->subnet_prefix = port->prefix;
  attributes->state = port->state;
  attributes->phys_state = port->physical;
  attributes->max_mtu = port->mtu_cap;
  attributes->active_mtu = port->mtu;
  attributes->gid_tbl_len = LAB_GUIDS;
  attributes->pkey_tbl_len = LAB_PARTITIONS;
  attributes->port_cap_flags = port->capabilities;
  attributes->max_msg_sz = LAB_MOST_PAYLOAD;
  attributes->bad_pkey_cntr = port->bad_partitions;
  attributes->qkey_viol_cntr = port->bad_qkeys;
  attributes->lid = port->lid;
  attributes->sm_lid = port->manager_lid;
  attributes->sm_sl = port->manager_level;
  attributes->lmc = port->lmc;
  attributes->max_vl_num = 1;
  attributes->subnet_timeout = port->subnet_timeout;
  attributes->active_width = IB_WIDTH_4X;
  attributes->active_speed = IB_SPEED_QDR;
  spin_unlock_irqrestore(&lab->lock, flags);
  return 0;
}

int lab_modify_port(struct ib_device* device, u32 number, int mask, struct ib_port_modify* change) {
  struct lab_device* lab = lab_of(device);
  unsigned long flags;

  spin_lock_irqsave(&lab->lock, flags);
  lab->port.capabilities |= change->set_port_cap_mask;
  lab->port.capabilities &= ~change->clr_port_cap_mask;
  if (mask & IB_PORT_RESET_QKEY_CNTR) lab->port.bad_qkeys = 0;
  spin_unlock_irqrestore(&lab->lock, flags);
  return 0;
}

int lab_query_gid(struct ib_device* device, u32 number, int index, union ib_gid* gid) {
  struct lab_device* lab = lab_of(device);
  unsigned long flags;

  if (index < 0 || index >= LAB_GUIDS) return -EINVAL;
  spin_lock_irqsave(&lab->lock, flags);
  put_unaligned_be64(lab->port.prefix, gid->raw);
  memcpy(gid->raw + 8, lab->port.guids[index], 8);
  spin_unlock_irqrestore(&lab->lock, flags);
  return 0;
}

int lab_query_pkey(struct ib_device* device, u32 number, u16 index, u16* key) {
  struct lab_device* lab = lab_of(device);

  if (index >= LAB_PARTITIONS) return -EINVAL;
  *key = READ_ONCE(lab->port.partitions[index]);
  return 0;
}

int lab_port_immutable(struct ib_device* device, u32 number, struct ib_port_immutable* fixed) {
  fixed->pkey_tbl_len = LAB_PARTITIONS;
  fixed->gid_tbl_len = LAB_GUIDS;
  fixed->core_cap_flags = RDMA_CORE_PORT_IBA_IB;
  fixed->max_mad_size = IB_MGMT_MAD_SIZE;
  return 0;
}

enum rdma_link_layer lab_link_layer(struct ib_device* device, u32 number) {
  return IB_LINK_LAYER_INFINIBAND;
}
