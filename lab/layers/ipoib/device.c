// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/* The adapters lab0 and lab1, and the module that brings them. */
#include <linux/module.h>
#include <linux/platform_device.h>
#include <rdma/ib_mad.h>

#include "ib_lab.h"

static ulong guid = 0x0250560000f00100;
module_param(guid, ulong, 0444);
MODULE_PARM_DESC(guid,
                 "of the first node; its port has the next one, the second node that plus 256");
static uint adapters = 1;
module_param(adapters, uint, 0444);
MODULE_PARM_DESC(adapters, "1 or 2, each with a cable of its own");
static uint mtu = IB_MTU_4096;
module_param(mtu, uint, 0444);
MODULE_PARM_DESC(mtu, "greatest of the port, as InfiniBand numbers it: 4 for 2048, 5 for 4096");

ulong lab_sent, lab_received, lab_without_receive, lab_for_no_pair, lab_full_queues, lab_untimely;
static ulong refused;
module_param_named(sent, lab_sent, ulong, 0444);
module_param_named(received, lab_received, ulong, 0444);
module_param(refused, ulong, 0444);
module_param_named(without_receive, lab_without_receive, ulong, 0444);
module_param_named(for_no_pair, lab_for_no_pair, ulong, 0444);
module_param_named(full_queues, lab_full_queues, ulong, 0444);
module_param_named(untimely, lab_untimely, ulong, 0444);

void lab_refuse(const struct lab_device* lab, const char* what) {
  refused++;
  pr_warn_ratelimited("%s: refused: %s\n", dev_name(&lab->ib.dev), what);
}

static struct platform_device* parent;
enum { MOST_ADAPTERS = 2 };
static struct lab_device* devices[MOST_ADAPTERS];

static int query_device(struct ib_device* device, struct ib_device_attr* attributes,
                        struct ib_udata* udata) {
  memset(attributes, 0, sizeof *attributes);
  attributes->fw_ver = 1;
  attributes->hw_ver = 1;
  attributes->sys_image_guid = device->node_guid;
  attributes->kernel_cap_flags = IBK_LOCAL_DMA_LKEY;
  attributes->page_size_cap = PAGE_SIZE;
  attributes->max_mr_size = ~0ULL;
  attributes->max_qp = 1024;
  attributes->max_qp_wr = LAB_MOST_WORK;
  attributes->max_send_sge = attributes->max_recv_sge = LAB_MOST_SGE;
  attributes->max_cq = 1024;
  attributes->max_cqe = LAB_MOST_COMPLETIONS;
  attributes->max_pd = attributes->max_mr = 1024;
  attributes->max_ah = 65536;
  attributes->max_pkeys = LAB_PARTITIONS;
  attributes->max_mcast_grp = attributes->max_total_mcast_qp_attach = 4096;
  attributes->max_mcast_qp_attach = 1024;
  attributes->atomic_cap = IB_ATOMIC_NONE;
  return 0;
}

static void firmware(struct ib_device* device, char* text) {
  snprintf(text, IB_FW_VERSION_NAME_MAX, "1");
}

static int alloc_pd(struct ib_pd* pd, struct ib_udata* udata) {
  return udata ? -EOPNOTSUPP : 0;
}

static int dealloc_pd(struct ib_pd* pd, struct ib_udata* udata) {
  return 0;
}

static int create_ah(struct ib_ah* ib, struct rdma_ah_init_attr* wanted, struct ib_udata* udata) {
  struct lab_ah* ah = container_of(ib, struct lab_ah, ib);
  const struct rdma_ah_attr* attributes = wanted->ah_attr;

  if (udata) return -EOPNOTSUPP;
  ah->lid = rdma_ah_get_dlid(attributes);
  ah->level = rdma_ah_get_sl(attributes);
  ah->is_global = rdma_ah_get_ah_flags(attributes) & IB_AH_GRH;
  if (ah->is_global) {
    const struct ib_global_route* global = rdma_ah_read_grh(attributes);

    ah->source = global->sgid_attr->gid;
    ah->destination = global->dgid;
    ah->flow_label = global->flow_label;
    ah->traffic_class = global->traffic_class;
    ah->hop_limit = global->hop_limit;
  }
  return 0;
}

static int query_ah(struct ib_ah* ib, struct rdma_ah_attr* attributes) {
  const struct lab_ah* ah = container_of(ib, struct lab_ah, ib);

  memset(attributes, 0, sizeof *attributes);
  attributes->type = ib->type;
  rdma_ah_set_dlid(attributes, ah->lid);
  rdma_ah_set_sl(attributes, ah->level);
  rdma_ah_set_port_num(attributes, 1);
  if (ah->is_global)
    rdma_ah_set_grh(attributes, (union ib_gid*)&ah->destination, ah->flow_label, 0, ah->hop_limit,
                    ah->traffic_class);
  return 0;
}

static int destroy_ah(struct ib_ah* ah, u32 flags) {
  return 0;
}

/* The kernel takes no adapter without these. */
static struct ib_mr* get_dma_mr(struct ib_pd* pd, int access) {
  return ERR_PTR(-EOPNOTSUPP);
}

static struct ib_mr* reg_user_mr(struct ib_pd* pd, u64 start, u64 length, u64 address, int access,
                                 struct ib_udata* udata) {
  return ERR_PTR(-EOPNOTSUPP);
}

static int dereg_mr(struct ib_mr* mr, struct ib_udata* udata) {
  return -EOPNOTSUPP;
}

static const struct ib_device_ops operations = {
    .owner = THIS_MODULE,
    .query_device = query_device,
    .get_dev_fw_str = firmware,
    .query_port = lab_query_port,
    .modify_port = lab_modify_port,
    .get_port_immutable = lab_port_immutable,
    .get_link_layer = lab_link_layer,
    .query_gid = lab_query_gid,
    .query_pkey = lab_query_pkey,
    .process_mad = lab_process_mad,
    .alloc_pd = alloc_pd,
    .dealloc_pd = dealloc_pd,
    .create_ah = create_ah,
    .query_ah = query_ah,
    .destroy_ah = destroy_ah,
    .create_cq = lab_create_cq,
    .destroy_cq = lab_destroy_cq,
    .poll_cq = lab_poll_cq,
    .req_notify_cq = lab_req_notify_cq,
    .create_qp = lab_create_qp,
    .modify_qp = lab_modify_qp,
    .query_qp = lab_query_qp,
    .destroy_qp = lab_destroy_qp,
    .post_send = lab_post_send,
    .post_recv = lab_post_recv,
    .attach_mcast = lab_attach,
    .detach_mcast = lab_detach,
    .get_dma_mr = get_dma_mr,
    .reg_user_mr = reg_user_mr,
    .dereg_mr = dereg_mr,
    INIT_RDMA_OBJ_SIZE(ib_pd, lab_pd, ib),
    INIT_RDMA_OBJ_SIZE(ib_ah, lab_ah, ib),
    INIT_RDMA_OBJ_SIZE(ib_cq, lab_cq, ib),
    INIT_RDMA_OBJ_SIZE(ib_qp, lab_qp, ib),
};

static int fill_device(struct lab_device* lab, int number) {
  const u64 node = guid + 0x100 * number;
  char name[IB_DEVICE_NAME_MAX];
  int result;

  spin_lock_init(&lab->lock);
  INIT_LIST_HEAD(&lab->pairs);
  INIT_LIST_HEAD(&lab->attachments);
  lab->next_pair = LAB_FIRST_UD_PAIR;
  lab_port_init(&lab->port, node + 1, mtu);
  lab->ib.node_guid = cpu_to_be64(node);
  lab->ib.node_type = RDMA_NODE_IB_CA;
  lab->ib.phys_port_cnt = 1;
  lab->ib.num_comp_vectors = 1;
  lab->ib.dev.parent = &parent->dev;
  snprintf(name, sizeof name, "lab%d", number);
  snprintf(lab->ib.node_desc, sizeof lab->ib.node_desc, "Linux %s", name);
  ib_set_device_ops(&lab->ib, &operations);
  lab->workers = alloc_workqueue("ib_%s", WQ_UNBOUND, 0, name);
  if (!lab->workers) return -ENOMEM;
  result = lab_cable_start(lab, number);
  if (result == 0) {
    result = ib_register_device(&lab->ib, name, NULL);
    if (result == 0) return 0;
    lab_cable_end(lab);
  }
  destroy_workqueue(lab->workers);
  return result;
}

static int add_device(int number) {
  struct lab_device* lab = ib_alloc_device(lab_device, ib);
  int result;

  if (!lab) return -ENOMEM;
  result = fill_device(lab, number);
  if (result == 0)
    devices[number] = lab;
  else
    ib_dealloc_device(&lab->ib);
  return result;
}

static void end(void) {
  int number;

  for (number = 0; number < MOST_ADAPTERS; number++) {
    struct lab_device* lab = devices[number];

    if (!lab) continue;
    lab_cable_end(lab);
    ib_unregister_device(&lab->ib);
    destroy_workqueue(lab->workers);
    ib_dealloc_device(&lab->ib);
  }
  platform_device_unregister(parent);
}

static int __init start(void) {
  int number, result = 0;

  if (mtu < IB_MTU_2048 || mtu > IB_MTU_4096 || adapters < 1 || adapters > MOST_ADAPTERS)
    return -EINVAL;
  parent = platform_device_register_simple("ib_lab", PLATFORM_DEVID_NONE, NULL, 0);
  if (IS_ERR(parent)) return PTR_ERR(parent);
  for (number = 0; number < adapters && result == 0; number++) result = add_device(number);
  if (result != 0) end();
  return result;
}

static void __exit finish(void) {
  end();
}

module_init(start);
module_exit(finish);
MODULE_DESCRIPTION("An InfiniBand adapter without hardware, for the lab");
MODULE_LICENSE("Dual MIT/GPL");
