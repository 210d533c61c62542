// An Endpoint of a VM that is none: plays the guest's driver at a daemon's socket for VMs, which
// PARAVANE_VM_SOCKET names. PARAVANE_VM_MAC is the MAC address of its adapter.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "endpoint.h"
#include "testing/attached_vm.h"

namespace guest {
namespace {

namespace fake = paravane::fake;

constexpr std::uint32_t kRequests = 64;
constexpr std::uint32_t kParts = 4;
constexpr std::uint32_t kCompletions = 256;
constexpr std::chrono::seconds kLatestEvent(10);  // an upgrade may come in between
constexpr useconds_t kBetweenLooks = 50;          // the daemon may have no processor but this one

const char* told(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) die(std::string("it is not said what ") + name + " is");
  return value;
}

std::array<std::uint8_t, 6> mac_of(const char* text) {
  std::array<std::uint8_t, 6> mac{};
  if (std::sscanf(text, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &mac[0], &mac[1], &mac[2], &mac[3],
                  &mac[4], &mac[5]) != 6)
    die(std::string("not a MAC address: ") + text);
  return mac;
}

fake::GidBytes bytes_of(const ibv_gid& gid) {
  fake::GidBytes bytes{};
  std::memcpy(bytes.data(), gid.raw, bytes.size());
  return bytes;
}

}  // namespace

struct Endpoint::Objects {
  Objects(std::size_t buffer_bytes, const EndpointOptions& options);

  fake::FakeQp& make_qp(std::uint8_t type) {
    return guest.create_qp({.pd = &pd,
                            .send_cq = &cq,
                            .receive_cq = &cq,
                            .type = type,
                            .max_send_wr = kRequests,
                            .max_recv_wr = kRequests,
                            .max_send_sge = kParts,
                            .max_recv_sge = kParts});
  }
  std::vector<pvrdma_sge> cut(std::size_t at, std::uint32_t length, int parts) const;
  std::optional<ibv_wc> take() const;
  bool await_event(std::uint64_t before, std::chrono::steady_clock::time_point end);
  std::optional<ibv_wc> wait_told(std::chrono::steady_clock::time_point end);

  fake::AttachedVm vm{told("PARAVANE_VM_SOCKET")};
  std::array<std::uint8_t, 6> mac = mac_of(told("PARAVANE_VM_MAC"));
  bool has_booted = vm.boot(mac, mac.back());
  fake::FakeGuest& guest = vm.guest();
  const bool in_kernel;
  bool missed_event = false;
  fake::FakePd& pd = guest.create_pd(in_kernel ? guest.kernel() : guest.open_context());
  fake::FakeCq& cq;
  fake::FakeMr& buffer;
  fake::FakeQp& rc = make_qp(fake::kTypeRc);
  fake::FakeQp& ud = make_qp(fake::kTypeUd);
  pvrdma_av route{};
};

Endpoint::Objects::Objects(std::size_t buffer_bytes, const EndpointOptions& options)
    : in_kernel(options.in_kernel),
      cq(guest.create_cq(*pd.context,
                         options.completions != 0 ? options.completions : kCompletions)),
      buffer(guest.register_memory(pd, buffer_bytes)) {
  if (!has_booted) die("the driver gives the device up");
  if (!guest.start_datagrams(ud, kQkey)) die("the UD queue pair cannot be moved");
}

std::vector<pvrdma_sge> Endpoint::Objects::cut(std::size_t at, std::uint32_t length,
                                               int parts) const {
  std::vector<pvrdma_sge> sges;
  const std::uint32_t piece = length / static_cast<std::uint32_t>(parts);
  std::uint32_t done = 0;
  for (int i = 0; i < parts; ++i) {
    const std::uint32_t size = i + 1 == parts ? length - done : piece;
    sges.push_back(buffer.sge(at + done, size));
    done += size;
  }
  return sges;
}

Endpoint::Endpoint(std::size_t buffer_bytes, const EndpointOptions& options)
    : objects_(std::make_unique<Objects>(buffer_bytes, options)) {}

Endpoint::~Endpoint() {
  objects_->guest.unload();
}

void Endpoint::map_memory_anew() {
  objects_->vm.map_anew();
}

std::uint8_t* Endpoint::buffer() {
  return reinterpret_cast<std::uint8_t*>(objects_->buffer.at(0));
}

void Endpoint::connect(Rendezvous& peer, const Patience& patience) {
  Address own{};
  own.rc_qpn = objects_->rc.number;
  own.ud_qpn = objects_->ud.number;
  own.buffer = objects_->buffer.va();
  own.rkey = objects_->buffer.rkey;
  std::ranges::copy(objects_->guest.gid(), own.gid.raw);
  peer.tell(own);
  other_ = peer.hear<Address>();
  connect_again(patience);
  objects_->route = objects_->guest.address_vector(objects_->pd, bytes_of(other_.gid));
}

void Endpoint::connect_again(const Patience& patience) {
  if (!objects_->guest.connect(objects_->rc, bytes_of(other_.gid), other_.rc_qpn,
                               {.path_mtu = IBV_MTU_1024,
                                .reads = 4,
                                .timeout = patience.timeout,
                                .retry_count = patience.retries}))
    die("the RC queue pair cannot be moved");
}

void Endpoint::reset() {
  if (!objects_->guest.to_reset(objects_->rc)) die("the RC queue pair cannot be reset");
}

void Endpoint::post_receive(bool datagram, std::size_t at, std::uint32_t length, int parts) {
  const std::vector<pvrdma_sge> sges = objects_->cut(at, length, parts);
  fake::FakeQp& qp = datagram ? objects_->ud : objects_->rc;
  if (!qp.post_receive({.sges = sges})) die("the ring of receives is full");
}

// The device counts opcodes and flags as libibverbs does.
void Endpoint::post_send(bool datagram, ibv_send_wr request, std::size_t at, std::uint32_t length,
                         int parts) {
  const std::vector<pvrdma_sge> sges = objects_->cut(at, length, parts);
  fake::SendWr wr{.opcode = request.opcode,
                  .flags = request.send_flags | fake::kSendSignaled,
                  .imm = request.imm_data,
                  .sges = sges};
  switch (request.opcode) {
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      wr.remote_addr = request.wr.atomic.remote_addr;
      wr.rkey = request.wr.atomic.rkey;
      wr.compare_add = request.wr.atomic.compare_add;
      wr.swap = request.wr.atomic.swap;
      break;
    default:
      wr.remote_addr = request.wr.rdma.remote_addr;
      wr.rkey = request.wr.rdma.rkey;
      break;
  }
  if (datagram) {
    wr.av = &objects_->route;
    wr.remote_qpn = other_.ud_qpn;
    wr.remote_qkey = kQkey;
  }
  if (!(datagram ? objects_->ud : objects_->rc).post_send(wr)) die("the ring of sends is full");
}

std::optional<ibv_wc> Endpoint::poll() {
  const std::optional<ibv_wc> completion = objects_->take();
  if (!completion) ::usleep(kBetweenLooks);
  return completion;
}

std::optional<ibv_wc> Endpoint::Objects::take() const {
  pvrdma_cqe found{};
  if (!cq.take(found)) return std::nullopt;
  ibv_wc completion{};
  completion.wr_id = found.wr_id;
  completion.status = static_cast<ibv_wc_status>(found.status);
  completion.opcode = static_cast<ibv_wc_opcode>(found.opcode);
  completion.byte_len = found.byte_len;
  completion.imm_data = found.imm_data;
  completion.src_qp = found.src_qp;
  completion.wc_flags = found.wc_flags;
  return completion;
}

ibv_wc Endpoint::wait() {
  const std::optional<ibv_wc> completion = wait_for(std::chrono::seconds(30));
  if (!completion) die("no completion in 30 s");
  return *completion;
}

// False: none came after `before` events of the queue.
bool Endpoint::Objects::await_event(std::uint64_t before,
                                    std::chrono::steady_clock::time_point end) {
  while (cq.events() == before) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= end) return false;
    vm.await_interrupt(std::chrono::ceil<std::chrono::milliseconds>(end - now));
  }
  return true;
}

std::optional<ibv_wc> Endpoint::Objects::wait_told(std::chrono::steady_clock::time_point end) {
  while (true) {
    if (const auto completion = take()) return completion;
    const std::uint64_t events = cq.events();
    cq.arm();
    if (const auto completion = take()) return completion;
    if (await_event(events, end)) continue;
    if (cq.unconsumed() == 0) return std::nullopt;
    missed_event |= !await_event(events, std::chrono::steady_clock::now() + kLatestEvent);
  }
}

bool Endpoint::missed_event() const {
  return objects_->missed_event;
}

std::optional<ibv_wc> Endpoint::wait_for(std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  if (objects_->in_kernel) return objects_->wait_told(end);
  while (true) {
    if (const auto completion = objects_->take()) return completion;
    objects_->cq.arm();
    if (const auto completion = objects_->take()) return completion;
    const auto now = std::chrono::steady_clock::now();
    if (now >= end) return std::nullopt;
    objects_->vm.await_interrupt(std::chrono::ceil<std::chrono::milliseconds>(end - now));
  }
}

}  // namespace guest
