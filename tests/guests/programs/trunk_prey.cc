// paravane-trunk-prey: one end of trunks whose other end is a thief (thief.cc).
//
//   paravane-trunk-prey DEVICE PORT [queue-pairs | all]
//     queue-pairs    the queue pairs allow READ, WRITE and atomics, which those of a trunk never do
//     all            and the memory is registered for the peer as well
//
// One trunk's memory stays throughout. Each try has a queue pair of its own beside it, in the same
// protection domain. Prints one line of JSON: how often memory was found changed.

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

#include "keyhole.h"
#include "rendezvous.h"
#include "transport/hca/verbs_port.h"

namespace {

using namespace paravane;
using namespace paravane::transport_hca;

constexpr int kRemote = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
constexpr std::byte kSecret{0x5E};

int queue_pairs_allow = 0;
int memory_allows = 0;
ibv_qp* last_queue_pair = nullptr;

}  // namespace

// The linker has VerbsPort call these two.
extern "C" {

int __real_ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask);
int __wrap_ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) {
  last_queue_pair = qp;
  if ((mask & IBV_QP_ACCESS_FLAGS) != 0)
    attributes->qp_access_flags |= static_cast<unsigned>(queue_pairs_allow);
  if (queue_pairs_allow != 0 && (mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0)
    attributes->max_dest_rd_atomic = 1;
  return __real_ibv_modify_qp(qp, attributes, mask);
}

ibv_mr* __real_ibv_reg_mr(ibv_pd* domain, void* at, std::size_t bytes, int access);
ibv_mr* __wrap_ibv_reg_mr(ibv_pd* domain, void* at, std::size_t bytes, int access) {
  return __real_ibv_reg_mr(domain, at, bytes, access | memory_allows);
}
}

namespace {

template <typename T>
T value_of(Result<T> result) {
  if (!result) guest::die(result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

unsigned access_of(ibv_qp* qp) {
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  if (ibv_query_qp(qp, &attributes, IBV_QP_ACCESS_FLAGS, &init) != 0) guest::die("ibv_query_qp");
  return attributes.qp_access_flags;
}

void hide_secrets(TrunkPort& port) {
  for (std::uint32_t i = 0; i < kTrunkBuffers; ++i) std::ranges::fill(port.send_buffer(i), kSecret);
}

bool is_as_it_was(TrunkPort& port) {
  for (std::uint32_t i = 0; i < kTrunkBuffers; ++i) {
    const auto is = [](std::byte expected) {
      return [expected](std::byte byte) { return byte == expected; };
    };
    if (!std::ranges::all_of(port.send_buffer(i), is(kSecret))) return false;
    if (!std::ranges::all_of(port.receive_buffer(i), is({}))) return false;
  }
  return true;
}

std::uint64_t number_of(const std::byte* at) {
  return reinterpret_cast<std::uintptr_t>(at);
}

class Prey {
 public:
  explicit Prey(std::string_view device)
      : device_(std::static_pointer_cast<VerbsDevice>(
            value_of(VerbsDevice::open({.device = std::string(device)})))),
        kept_(value_of(VerbsPort::create(device_))) {
    hide_secrets(*kept_);
  }

  void serve(guest::Rendezvous& thief) {
    while (thief.hear<bool>()) try_once(thief);
  }

  void print() const {
    fmt::print(R"({{"tries": {}, "changed": {}, "path_mtu": {}, "queue_pairs_allow": {}}})"
               "\n",
               tries_, changed_, path_mtu_, allowed_);
  }

 private:
  void try_once(guest::Rendezvous& thief) {
    const auto port = value_of(VerbsPort::create(device_));
    hide_secrets(*port);
    const TrunkAddress own = port->address();
    path_mtu_ = own.path_mtu_bytes;
    thief.tell(guest::Seat{.qpn = own.qpn,
                           .psn = own.psn,
                           .gid = std::bit_cast<std::array<std::uint8_t, 16>>(own.gid),
                           .secret = number_of(kept_->send_buffer(0).data()),
                           .target = number_of(kept_->receive_buffer(0).data())});
    const auto seat = thief.hear<guest::Seat>();
    value_of(port->connect({.qpn = seat.qpn,
                            .psn = seat.psn,
                            .gid = std::bit_cast<std::array<std::byte, 16>>(seat.gid),
                            .path_mtu_bytes = guest::kPathMtuBytes}));
    allowed_ = std::max(allowed_, access_of(last_queue_pair));
    thief.tell(true);
    thief.hear<bool>();  // it has tried
    ++tries_;
    if (is_as_it_was(*kept_) && is_as_it_was(*port)) return;
    ++changed_;
  }

  std::shared_ptr<VerbsDevice> device_;
  std::unique_ptr<VerbsPort> kept_;
  unsigned tries_ = 0;
  unsigned changed_ = 0;
  unsigned allowed_ = 0;  // by a queue pair, as the kernel says
  std::uint32_t path_mtu_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) guest::die("usage: paravane-trunk-prey DEVICE PORT [queue-pairs | all]");
  const std::string_view opened = argc > 3 ? argv[3] : "";
  if (!opened.empty()) queue_pairs_allow = kRemote;
  if (opened == "all") memory_allows = kRemote;
  VerbsDevice::load_providers();
  Prey prey(argv[1]);  // its keys can be read before the thief comes
  guest::Rendezvous thief =
      guest::Rendezvous::serve(static_cast<std::uint16_t>(std::atoi(argv[2])));
  prey.serve(thief);
  prey.print();
  return 0;
}
