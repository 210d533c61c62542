// paravane-many: many programs at once, each with a few queue pairs that are connected with those
// of its counterpart at the other end, and mostly idle.
//
//   paravane-many [OPTION]... PORT            one end
//   paravane-many [OPTION]... PORT ADDRESS    the other, which ends it: by SIGINT to its programs
//     --programs N   (100) each a process with a device, a completion queue and a memory region of
//     its own. They find one another at PORT and those that follow
//     --pairs N      queue pairs of each (10)
//     --every MS     how often a program writes by one of them (1000); 0: not before the end
//
// At the end each queue pair writes once more, so one that was lost shows. Says "ready" when all
// are connected, and how the programs have ended: well, by DEVICE_FATAL or by a request that
// failed.
//
// Ends with 0 if all have ended well, with 3 if all others lost their device, with 1 otherwise.

#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "rendezvous.h"

namespace {

using guest::die;
using guest::Rendezvous;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kMostPairs = 64;
constexpr std::uint32_t kBytes = 4096;
constexpr std::uint8_t kPort = 1;
constexpr std::chrono::seconds kPatience(
    30);  // for a completion, or the event of a device that is lost at the other end
constexpr int kLookMs = 500;

enum class End : std::uint8_t { kWell, kFatal, kRequestFailed };
constexpr int kDeviceLost = 3;
constexpr int kFailed = 4;

struct Options {
  unsigned programs = 100;
  unsigned pairs = 10;
  std::chrono::milliseconds every{1000};
  unsigned port = 0;
  std::string address;
};

struct Peer {
  ibv_gid gid;
  std::uint64_t buffer;
  std::uint32_t rkey;
  std::array<std::uint32_t, kMostPairs> qpns;
};

void modify(ibv_qp* qp, ibv_qp_attr attributes, int mask, const char* what) {
  if (ibv_modify_qp(qp, &attributes, mask) != 0) die(std::string("ibv_modify_qp to ") + what);
}

ibv_context* open_first_device() {
  int count = 0;
  ibv_device** devices = ibv_get_device_list(&count);
  ibv_context* context = devices != nullptr && count > 0 ? ibv_open_device(devices[0]) : nullptr;
  if (context == nullptr) die("no RDMA device in this guest");
  const int flags = fcntl(context->async_fd, F_GETFL);
  fcntl(context->async_fd, F_SETFL, flags | O_NONBLOCK);
  return context;
}

class Program {
 public:
  Program(const Options& options, Rendezvous peer)
      : options_(options),
        peer_(std::move(peer)),
        context_(open_first_device()),
        buffer_(std::size_t{2} * kBytes) {
    pd_ = ibv_alloc_pd(context_);
    if (pd_ == nullptr) die("ibv_alloc_pd");
    cq_ = ibv_create_cq(context_, static_cast<int>(2 * options.pairs), nullptr, nullptr, 0);
    if (cq_ == nullptr) die("ibv_create_cq");
    mr_ = ibv_reg_mr(pd_, buffer_.data(), buffer_.size(),
                     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    if (mr_ == nullptr) die("ibv_reg_mr");
    for (unsigned i = 0; i < options.pairs; ++i) qps_.push_back(make_qp());
  }

  void connect() {
    Peer own{};
    if (ibv_query_gid(context_, kPort, 0, &own.gid) != 0) die("ibv_query_gid");
    own.buffer = reinterpret_cast<std::uint64_t>(buffer_.data());
    own.rkey = mr_->rkey;
    for (std::size_t i = 0; i < qps_.size(); ++i) own.qpns[i] = qps_[i]->qp_num;
    peer_.tell(own);
    other_ = peer_.hear<Peer>();
    for (std::size_t i = 0; i < qps_.size(); ++i) to_ready(qps_[i], other_.qpns[i]);
    peer_.tell<std::uint32_t>(0);
    peer_.hear<std::uint32_t>();
  }

  // Until it is told to end, or its device is lost.
  End act() {
    while (!was_interrupted()) {
      if (is_lost(std::chrono::milliseconds(0))) return tell(End::kFatal);
      if (const End end = write_now_and_then(); end != End::kWell) return tell(end);
    }
    for (std::size_t i = 0; i < qps_.size(); ++i) {
      if (const End end = write(i); end != End::kWell) return tell(end);
    }
    return tell(End::kWell);
  }

  End serve() {
    while (!peer_.is_telling()) {
      if (is_lost(std::chrono::milliseconds(0))) return End::kFatal;
      if (const End end = write_now_and_then(); end != End::kWell) return end;
    }
    if (is_lost(std::chrono::milliseconds(0))) return End::kFatal;
    const auto end = peer_.hear<End>();
    // Both lose their device at the same moment, and hear of it one after the other.
    if (end != End::kWell && is_lost(kPatience)) return End::kFatal;
    return end;
  }

 private:
  ibv_qp* make_qp() const {
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq_;
    init.qp_type = IBV_QPT_RC;
    init.cap = {.max_send_wr = 4,
                .max_recv_wr = 4,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = 0};
    ibv_qp* qp = ibv_create_qp(pd_, &init);
    if (qp == nullptr) die("ibv_create_qp");
    return qp;
  }

  void to_ready(ibv_qp* qp, std::uint32_t other) const {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = kPort;
    attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    modify(qp, attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
           "INIT");
    attributes = {};
    attributes.qp_state = IBV_QPS_RTR;
    attributes.path_mtu = IBV_MTU_1024;
    attributes.dest_qp_num = other;
    attributes.max_dest_rd_atomic = 1;
    attributes.min_rnr_timer = 12;
    attributes.ah_attr.is_global = 1;
    attributes.ah_attr.port_num = kPort;
    attributes.ah_attr.grh.dgid = other_.gid;
    attributes.ah_attr.grh.hop_limit = 64;
    modify(qp, attributes,
           IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
               IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
           "RTR");
    attributes = {};
    attributes.qp_state = IBV_QPS_RTS;
    attributes.timeout = 14;
    attributes.retry_cnt = 7;
    attributes.rnr_retry = 7;
    attributes.max_rd_atomic = 1;
    modify(qp, attributes,
           IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
               IBV_QP_MAX_QP_RD_ATOMIC,
           "RTS");
  }

  // Sleeps for a while, and writes if it is time.
  End write_now_and_then() {
    pollfd polled{.fd = context_->async_fd, .events = POLLIN, .revents = 0};
    poll(&polled, 1, kLookMs);
    if (polled.revents != 0 || options_.every.count() == 0 ||
        Clock::now() - written_ < options_.every)
      return End::kWell;
    written_ = Clock::now();
    next_ = (next_ + 1) % qps_.size();
    return write(next_);
  }

  // By one of the queue pairs, and waits for its completion.
  End write(std::size_t pair) {
    ibv_sge piece{.addr = reinterpret_cast<std::uint64_t>(buffer_.data()),
                  .length = kBytes,
                  .lkey = mr_->lkey};
    ibv_send_wr request{};
    request.wr_id = pair;
    request.sg_list = &piece;
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE;
    request.send_flags = IBV_SEND_SIGNALED;
    request.wr.rdma = {.remote_addr = other_.buffer + kBytes, .rkey = other_.rkey};
    ibv_send_wr* bad = nullptr;
    if (ibv_post_send(qps_[pair], &request, &bad) != 0) die("ibv_post_send");
    const Clock::time_point until = Clock::now() + kPatience;
    while (Clock::now() < until) {
      ibv_wc completion{};
      const int n = ibv_poll_cq(cq_, 1, &completion);
      if (n < 0) die("ibv_poll_cq");
      if (n == 1)
        return completion.status == IBV_WC_SUCCESS && completion.wr_id == pair ? End::kWell
                                                                               : fail(completion);
      if (is_lost(std::chrono::milliseconds(1))) return End::kFatal;
    }
    die("no completion, and no event");
  }

  static End fail(const ibv_wc& completion) {
    std::fprintf(stderr, "a request failed: %s\n", ibv_wc_status_str(completion.status));
    return End::kRequestFailed;
  }

  bool is_lost(std::chrono::milliseconds patience) const {
    pollfd polled{.fd = context_->async_fd, .events = POLLIN, .revents = 0};
    if (poll(&polled, 1, static_cast<int>(patience.count())) <= 0) return false;
    ibv_async_event event{};
    if (ibv_get_async_event(context_, &event) != 0) return false;
    ibv_ack_async_event(&event);
    return event.event_type == IBV_EVENT_DEVICE_FATAL;
  }

  static bool was_interrupted() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    const timespec none{};
    return sigtimedwait(&set, nullptr, &none) == SIGINT;
  }

  End tell(End end) {
    peer_.tell(end);
    return end;
  }

  const Options& options_;
  Rendezvous peer_;
  ibv_context* context_;
  std::vector<std::uint8_t> buffer_;
  ibv_pd* pd_ = nullptr;
  ibv_cq* cq_ = nullptr;
  ibv_mr* mr_ = nullptr;
  std::vector<ibv_qp*> qps_;
  Peer other_{};
  std::size_t next_ = 0;
  Clock::time_point written_ = Clock::now();
};

// What it has is left to the kernel, as that of a program that is killed.
[[noreturn]] void run_program(const Options& options, unsigned number, int ready) {
  const auto port = static_cast<std::uint16_t>(options.port + number);
  const bool acting = !options.address.empty();
  Program program(options,
                  acting ? Rendezvous::reach(options.address, port) : Rendezvous::serve(port));
  program.connect();
  if (::write(ready, "", 1) != 1) die("write");
  switch (acting ? program.act() : program.serve()) {
    case End::kWell: _exit(0);
    case End::kFatal: _exit(kDeviceLost);
    default: _exit(kFailed);
  }
}

[[noreturn]] void usage() {
  std::fprintf(stderr,
               "usage: paravane-many [--programs N] [--pairs N] [--every MS] PORT [ADDRESS]\n");
  std::exit(2);
}

Options parse(int argc, char** argv) {
  Options options;
  int at = 1;
  const auto number = [&](unsigned most) {
    unsigned value = 0;
    const char* text = at < argc ? argv[at++] : "";
    const auto [end, error] = std::from_chars(text, text + std::strlen(text), value);
    if (error != std::errc{} || *end != '\0' || value > most) usage();
    return value;
  };
  while (at < argc && std::strncmp(argv[at], "--", 2) == 0) {
    const std::string name = argv[at++];
    if (name == "--programs") {
      options.programs = number(1000);
    } else if (name == "--pairs") {
      options.pairs = number(kMostPairs);
    } else if (name == "--every") {
      options.every = std::chrono::milliseconds(number(60'000));
    } else {
      usage();
    }
  }
  options.port = number(60'000);
  if (at < argc) options.address = argv[at++];
  if (at != argc || options.programs == 0 || options.pairs == 0) usage();
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  sigset_t held;
  sigemptyset(&held);
  sigaddset(&held, SIGINT);
  sigprocmask(SIG_BLOCK, &held, nullptr);
  std::array<int, 2> ready{};
  if (pipe(ready.data()) != 0) die("pipe");
  for (unsigned i = 0; i < options.programs; ++i) {
    const pid_t child = fork();
    if (child < 0) die("fork");
    if (child == 0) run_program(options, i, ready[1]);
  }
  close(ready[1]);
  unsigned connected = 0;
  for (char byte = 0; connected < options.programs && read(ready[0], &byte, 1) == 1;) ++connected;
  std::printf(connected == options.programs ? "ready\n" : "only %u are ready\n", connected);
  unsigned well = 0;
  unsigned lost = 0;
  unsigned failed = 0;
  for (unsigned i = 0; i < options.programs; ++i) {
    int status = 0;
    if (wait(&status) < 0) die("wait");
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    well += code == 0 ? 1 : 0;
    lost += code == kDeviceLost ? 1 : 0;
    failed += code == kFailed ? 1 : 0;
  }
  std::printf("programs: %u well, %u by DEVICE_FATAL, %u by a request, %u otherwise\n", well, lost,
              failed, options.programs - well - lost - failed);
  if (well == options.programs) return 0;
  return well + lost == options.programs ? kDeviceLost : 1;
}
