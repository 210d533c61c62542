/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* An InfiniBand adapter without hardware, for guests of the lab alone: one port, unreliable
 * datagrams, management datagrams, multicast. Its packets leave and arrive through /dev/lab_cable0,
 * as the byte stream of a cable between hosts. It exists to put the kernel's own ib_ipoib and MAD
 * layer behind a cable; it has no users' verbs, no reliable connections, and no speed.
 *
 * One spin lock guards all that is not set once; names that end in _locked need it. Completion
 * handlers are called from a work queue without it. Packets are as in
 * src/wire/infiniband/datagram.h: from the local route header to the padding, numbers in the byte
 * order of the wire.
 */
#ifndef IB_LAB_H
#define IB_LAB_H

#include <linux/list.h>
#include <linux/miscdevice.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/version.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#if __has_include(<linux/unaligned.h>)
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h> /* before Linux 6.12 */
#endif

enum {
  LAB_LOCAL_ROUTE = 8,
  LAB_GLOBAL_ROUTE = 40,
  LAB_BASE = 12,
  LAB_EXTENSION = 8,
  LAB_MOST_PAYLOAD = 4096,
  LAB_MOST_PACKET =
      LAB_LOCAL_ROUTE + LAB_GLOBAL_ROUTE + LAB_BASE + LAB_EXTENSION + 4 + LAB_MOST_PAYLOAD,
  LAB_INVARIANT_CRC = 4, /* counted by lengths, never sent */

  LAB_MOST_SGE = 18, /* a frame with all fragments of an skb */
  LAB_MOST_WORK = 8192,
  LAB_MOST_COMPLETIONS = 65536,
  LAB_PARTITIONS = 64,
  LAB_GUIDS = 8,
  LAB_FIRST_UD_PAIR = 0x48,
};

/* ---- The cable ---- */

enum lab_frame_kind { LAB_PACKET = 0, LAB_HELLO = 1, LAB_BEAT = 2, LAB_LINK = 3 };
enum lab_link_word { LAB_LINK_DOWN = 0, LAB_LINK_TRAINING = 1, LAB_LINK_UP = 2 };
enum { LAB_FRAME_HEADER = 4 };

struct lab_frame {
  struct list_head entry;
  u32 bytes;
  u32 sent;
  u8 data[];
};

struct lab_cable {
  struct miscdevice file;
  char name[16];
  struct mutex reading, writing; /* one reader and one writer at a time */
  wait_queue_head_t readable;
  struct list_head frames; /* that wait to be read */
  u32 waiting;
  bool open;
  bool greeted;        /* the other end's hello came */
  unsigned long heard; /* jiffies */
  struct delayed_work beat;
  u32 filled; /* of input, which `writing` guards */
  u8 input[LAB_FRAME_HEADER + LAB_MOST_PACKET];
};

/* ---- The port ---- */

struct lab_port {
  enum ib_port_state state;
  u8 physical;   /* IB_PORT_PHYS_STATE_... */
  bool disabled; /* by the subnet manager */
  u8 mtu_cap;    /* enum ib_mtu, as the next */
  u8 mtu;        /* of the link */
  u16 lid, manager_lid;
  u8 manager_level;
  u8 lmc;
  u8 subnet_timeout;
  u8 key_protection;
  u16 key_lease;
  u64 management_key;
  u64 prefix;
  u32 capabilities;
  u8 lane_limit;
  u8 operational_lanes;
  u8 guids[LAB_GUIDS][8];
  u16 partitions[LAB_PARTITIONS];
  u16 bad_partitions, bad_qkeys;
  u8 lane_of_level[8];
  u8 arbitration[2][64]; /* low, high */
};

/* ---- Verbs ---- */

struct lab_pd {
  struct ib_pd ib;
};

struct lab_ah {
  struct ib_ah ib;
  u16 lid;
  u8 level;
  bool is_global;
  union ib_gid source, destination;
  u32 flow_label;
  u8 traffic_class, hop_limit;
};

struct lab_cq {
  struct ib_cq ib;
  struct work_struct notice;
  struct ib_wc* ring;
  u32 size, head, count;
  bool armed, armed_for_solicited;
};

struct lab_receive {
  u64 id;
  u32 parts;
  struct ib_sge part[LAB_MOST_SGE];
};

struct lab_qp {
  struct ib_qp ib;
  struct list_head entry;
  enum ib_qp_state state;
  u32 qkey;
  u16 partition; /* index */
  u32 next_packet;
  bool signals_all;
  struct ib_qp_cap cap;
  struct lab_receive* ring;
  u32 head, count;
};

struct lab_attachment {
  struct list_head entry;
  struct lab_qp* pair;
  union ib_gid group;
};

struct lab_device {
  struct ib_device ib;
  spinlock_t lock;
  struct workqueue_struct* workers;
  struct lab_port port;
  struct lab_cable cable;
  struct list_head pairs;
  struct list_head attachments;
  u32 next_pair;
};

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
typedef struct uverbs_attr_bundle lab_user; /* of a program that makes a completion queue */
#else
typedef struct ib_udata lab_user;
#endif

static inline struct lab_device* lab_of(struct ib_device* device) {
  return container_of(device, struct lab_device, ib);
}
static inline struct lab_qp* lab_qp_of(struct ib_qp* pair) {
  return container_of(pair, struct lab_qp, ib);
}
static inline struct lab_cq* lab_cq_of(struct ib_cq* queue) {
  return container_of(queue, struct lab_cq, ib);
}

/* An adapter without a DMA device is given addresses of the kernel. */
static inline u8* lab_pointer(u64 address) {
  return (u8*)(uintptr_t)address;
}

/* What was seen, below /sys/module/ib_lab/parameters. Untimely: to a port that was not yet Armed,
 * or down; such packets are on the way when a link goes down, and a port drops them (IBTA volume
 * 1, 7.2). */
extern ulong lab_sent, lab_received, lab_without_receive, lab_for_no_pair, lab_full_queues,
    lab_untimely;
/* Counts a packet that no end of a link may send, and has the kernel's log say what it was. Any
 * context. */
void lab_refuse(const struct lab_device* lab, const char* what);

/* port.c */
void lab_port_init(struct lab_port* port, u64 guid, u8 mtu_cap);
void lab_link_up_locked(struct lab_device* lab);
void lab_link_down_locked(struct lab_device* lab, u8 physical);
/* The index of a partition that lets `key` pass; -1. */
int lab_partition_of(const struct lab_port* port, u16 key);
int lab_query_port(struct ib_device* device, u32 number, struct ib_port_attr* attributes);
int lab_modify_port(struct ib_device* device, u32 number, int mask, struct ib_port_modify* change);
int lab_query_gid(struct ib_device* device, u32 number, int index, union ib_gid* gid);
int lab_query_pkey(struct ib_device* device, u32 number, u16 index, u16* key);
int lab_port_immutable(struct ib_device* device, u32 number, struct ib_port_immutable* fixed);
enum rdma_link_layer lab_link_layer(struct ib_device* device, u32 number);
/* From any context. */
void lab_tell(struct lab_device* lab, enum ib_event_type event);

/* subnet_agent.c */
int lab_process_mad(struct ib_device* device, int flags, u32 number, const struct ib_wc* wc,
                    const struct ib_grh* global, const struct ib_mad* in, struct ib_mad* out,
                    size_t* out_bytes, u16* out_partition);

/* queue_pairs.c */
int lab_create_qp(struct ib_qp* pair, struct ib_qp_init_attr* wanted, struct ib_udata* udata);
int lab_modify_qp(struct ib_qp* pair, struct ib_qp_attr* change, int mask, struct ib_udata* udata);
int lab_query_qp(struct ib_qp* pair, struct ib_qp_attr* attributes, int mask,
                 struct ib_qp_init_attr* initial);
int lab_destroy_qp(struct ib_qp* pair, struct ib_udata* udata);
int lab_post_send(struct ib_qp* pair, const struct ib_send_wr* work, const struct ib_send_wr** bad);
int lab_post_recv(struct ib_qp* pair, const struct ib_recv_wr* work, const struct ib_recv_wr** bad);
int lab_attach(struct ib_qp* pair, union ib_gid* group, u16 lid);
int lab_detach(struct ib_qp* pair, union ib_gid* group, u16 lid);

/* completions.c */
int lab_create_cq(struct ib_cq* queue, const struct ib_cq_init_attr* wanted, lab_user* user);
int lab_destroy_cq(struct ib_cq* queue, struct ib_udata* udata);
int lab_poll_cq(struct ib_cq* queue, int most, struct ib_wc* wc);
int lab_req_notify_cq(struct ib_cq* queue, enum ib_cq_notify_flags flags);
void lab_complete_locked(struct lab_cq* queue, const struct ib_wc* wc, bool is_solicited);
/* Of a queue pair that ends. */
void lab_forget_locked(struct lab_cq* queue, const struct ib_qp* pair);

/* delivery.c */
void lab_send_locked(struct lab_device* lab, struct lab_qp* pair, const struct ib_send_wr* work);
void lab_deliver_locked(struct lab_device* lab, const u8* packet, u32 bytes);

/* cable.c */
int lab_cable_start(struct lab_device* lab, int number);
void lab_cable_end(struct lab_device* lab);
/* Room for a frame to fill; NULL: no memory, or the cable is full or down. lab_cable_put_locked()
 * takes it. */
struct lab_frame* lab_new_frame(u32 body_bytes);
void lab_cable_put_locked(struct lab_device* lab, struct lab_frame* frame);
void lab_cable_say_locked(struct lab_device* lab, enum lab_link_word word);

#endif
