#include "endpoint.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace guest {
namespace {

constexpr int kCompletions = 64;
constexpr std::uint8_t kPort = 1;
constexpr std::uint8_t kGidIndex = 0;

ibv_context* open_first_device() {
  int count = 0;
  ibv_device** devices = ibv_get_device_list(&count);
  if (devices == nullptr || count == 0) die("no RDMA device in this guest");
  ibv_context* context = ibv_open_device(devices[0]);
  if (context == nullptr) die("ibv_open_device");
  ibv_free_device_list(devices);
  return context;
}

constexpr int kRemoteAccess =
    IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

void modify(ibv_qp* qp, ibv_qp_attr attributes, int mask, const char* what) {
  if (ibv_modify_qp(qp, &attributes, mask) != 0) die(std::string("ibv_modify_qp to ") + what);
}

ibv_ah_attr route_to(const Address& other) {
  ibv_ah_attr attributes{};
  attributes.is_global = 1;
  attributes.port_num = kPort;
  attributes.grh.dgid = other.gid;
  attributes.grh.sgid_index = kGidIndex;
  attributes.grh.hop_limit = 64;
  return attributes;
}

}  // namespace

struct Endpoint::Objects {
  Objects(std::size_t buffer_bytes, const EndpointOptions& options);
  ~Objects();
  Objects(const Objects&) = delete;
  Objects& operator=(const Objects&) = delete;

  ibv_qp* make_qp(ibv_qp_type type) const;
  static void to_init(ibv_qp* qp);
  void start_datagrams() const;
  void to_ready(const Address& other, const Patience& patience) const;
  std::vector<ibv_sge> cut(std::size_t at, std::uint32_t length, int parts) const;

  ibv_context* context = open_first_device();
  std::vector<std::uint8_t> buffer;
  ibv_pd* pd = nullptr;
  ibv_cq* cq = nullptr;
  ibv_mr* mr = nullptr;
  ibv_qp* rc = nullptr;
  ibv_qp* ud = nullptr;
  ibv_ah* ah = nullptr;
};

Endpoint::Objects::Objects(std::size_t buffer_bytes, const EndpointOptions& options)
    : buffer(buffer_bytes) {
  if (options.in_kernel) die("queues of the kernel are for a VM that is none");
  pd = ibv_alloc_pd(context);
  if (pd == nullptr) die("ibv_alloc_pd");
  cq = ibv_create_cq(
      context, options.completions != 0 ? static_cast<int>(options.completions) : kCompletions,
      nullptr, nullptr, 0);
  if (cq == nullptr) die("ibv_create_cq");
  mr = ibv_reg_mr(pd, buffer.data(), buffer.size(), IBV_ACCESS_LOCAL_WRITE | kRemoteAccess);
  if (mr == nullptr) die("ibv_reg_mr");
  rc = make_qp(IBV_QPT_RC);
  ud = make_qp(IBV_QPT_UD);
}

Endpoint::Objects::~Objects() {
  if (ah != nullptr) ibv_destroy_ah(ah);
  ibv_destroy_qp(ud);
  ibv_destroy_qp(rc);
  ibv_dereg_mr(mr);
  ibv_destroy_cq(cq);
  ibv_dealloc_pd(pd);
  ibv_close_device(context);
}

Endpoint::Endpoint(std::size_t buffer_bytes, const EndpointOptions& options)
    : objects_(std::make_unique<Objects>(buffer_bytes, options)) {}

Endpoint::~Endpoint() = default;

void Endpoint::map_memory_anew() {
  die("a guest cannot take memory away from its adapter");
}

std::uint8_t* Endpoint::buffer() {
  return objects_->buffer.data();
}

ibv_qp* Endpoint::Objects::make_qp(ibv_qp_type type) const {
  ibv_qp_init_attr init{};
  init.send_cq = cq;
  init.recv_cq = cq;
  init.qp_type = type;
  init.cap = {.max_send_wr = 16,
              .max_recv_wr = 16,
              .max_send_sge = 4,
              .max_recv_sge = 4,
              .max_inline_data = 0};
  ibv_qp* qp = ibv_create_qp(pd, &init);
  if (qp == nullptr) die("ibv_create_qp");
  to_init(qp);
  return qp;
}

void Endpoint::Objects::to_init(ibv_qp* qp) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = kPort;
  int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
  if (qp->qp_type == IBV_QPT_RC) {
    attributes.qp_access_flags = kRemoteAccess;
    mask |= IBV_QP_ACCESS_FLAGS;
  } else {
    attributes.qkey = kQkey;
    mask |= IBV_QP_QKEY;
  }
  modify(qp, attributes, mask, "INIT");
}

void Endpoint::connect(Rendezvous& peer, const Patience& patience) {
  Address own{};
  own.rc_qpn = objects_->rc->qp_num;
  own.ud_qpn = objects_->ud->qp_num;
  own.buffer = reinterpret_cast<std::uint64_t>(buffer());
  own.rkey = objects_->mr->rkey;
  if (ibv_query_gid(objects_->context, kPort, kGidIndex, &own.gid) != 0) die("ibv_query_gid");
  peer.tell(own);
  other_ = peer.hear<Address>();
  objects_->start_datagrams();
  connect_again(patience);
  ibv_ah_attr attributes = route_to(other_);
  objects_->ah = ibv_create_ah(objects_->pd, &attributes);
  if (objects_->ah == nullptr) die("ibv_create_ah");
}

void Endpoint::connect_again(const Patience& patience) {
  objects_->to_ready(other_, patience);
}

void Endpoint::reset() {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RESET;
  modify(objects_->rc, attributes, IBV_QP_STATE, "RESET");
  while (poll()) {
  }
  objects_->to_init(objects_->rc);
}

void Endpoint::Objects::start_datagrams() const {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  modify(ud, attributes, IBV_QP_STATE, "RTR (UD)");
  attributes.qp_state = IBV_QPS_RTS;
  modify(ud, attributes, IBV_QP_STATE | IBV_QP_SQ_PSN, "RTS (UD)");
}

void Endpoint::Objects::to_ready(const Address& other, const Patience& patience) const {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = IBV_MTU_1024;
  attributes.dest_qp_num = other.rc_qpn;
  attributes.max_dest_rd_atomic = 4;
  attributes.min_rnr_timer = 12;
  attributes.ah_attr = route_to(other);
  modify(rc, attributes,
         IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
             IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
         "RTR");
  attributes = {};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.timeout = patience.timeout;
  attributes.retry_cnt = patience.retries;
  attributes.rnr_retry = 7;
  attributes.max_rd_atomic = 4;
  modify(rc, attributes,
         IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
             IBV_QP_MAX_QP_RD_ATOMIC,
         "RTS");
}

std::vector<ibv_sge> Endpoint::Objects::cut(std::size_t at, std::uint32_t length, int parts) const {
  std::vector<ibv_sge> sges;
  const std::uint64_t base = reinterpret_cast<std::uint64_t>(buffer.data()) + at;
  const std::uint32_t piece = length / static_cast<std::uint32_t>(parts);
  std::uint32_t done = 0;
  for (int i = 0; i < parts; ++i) {
    const std::uint32_t size = i + 1 == parts ? length - done : piece;
    sges.push_back({.addr = base + done, .length = size, .lkey = mr->lkey});
    done += size;
  }
  return sges;
}

void Endpoint::post_receive(bool datagram, std::size_t at, std::uint32_t length, int parts) {
  std::vector<ibv_sge> sges = objects_->cut(at, length, parts);
  ibv_recv_wr request{};
  request.sg_list = sges.data();
  request.num_sge = static_cast<int>(sges.size());
  ibv_recv_wr* bad = nullptr;
  if (ibv_post_recv(datagram ? objects_->ud : objects_->rc, &request, &bad) != 0)
    die("ibv_post_recv");
}

void Endpoint::post_send(bool datagram, ibv_send_wr request, std::size_t at, std::uint32_t length,
                         int parts) {
  std::vector<ibv_sge> sges = objects_->cut(at, length, parts);
  request.sg_list = sges.data();
  request.num_sge = static_cast<int>(sges.size());
  request.send_flags |= IBV_SEND_SIGNALED;
  if (datagram) {
    request.wr.ud.ah = objects_->ah;
    request.wr.ud.remote_qpn = other_.ud_qpn;
    request.wr.ud.remote_qkey = kQkey;
  }
  ibv_send_wr* bad = nullptr;
  if (ibv_post_send(datagram ? objects_->ud : objects_->rc, &request, &bad) != 0)
    die("ibv_post_send");
}

std::optional<ibv_wc> Endpoint::poll() {
  ibv_wc completion{};
  const int n = ibv_poll_cq(objects_->cq, 1, &completion);
  if (n < 0) die("ibv_poll_cq");
  return n == 1 ? std::optional(completion) : std::nullopt;
}

bool Endpoint::missed_event() const {
  return false;
}

ibv_wc Endpoint::wait() {
  const std::optional<ibv_wc> completion = wait_for(std::chrono::seconds(30));
  if (!completion) die("no completion in 30 s");
  return *completion;
}

std::optional<ibv_wc> Endpoint::wait_for(std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
    if (const auto completion = poll()) return completion;
  }
  return std::nullopt;
}

}  // namespace guest
